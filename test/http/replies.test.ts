/** Answers that are alike for every resource. */
import t from 'tap'
import { onNamed } from '../../http/replies.ts'
import type { ServiceContext } from '../../http/route.ts'
import type { Exchange } from '../../http/wire/exchange.ts'
import type { Answer } from '../../runtime/api.ts'

type Named = Parameters<typeof onNamed>[2]

const SNAPSHOT = { value: 'active', context: { name: 'pay' } }
const MADE = { ok: true, snapshot: SNAPSHOT, version: 1, sequence: 7, accepted: 0, duplicates: 0 } as unknown as Answer
const TAKEN = {
  ok: false,
  refusal: { code: 'already_exists', detail: 'this campaign already exists' },
  state: 'active',
} as Answer
const EPOCH = 'a'.repeat(32)
const SERVICE = {
  runtime: { journal: { epoch: EPOCH, lastSequence: 7, incarnationAt: () => undefined } },
} as unknown as ServiceContext

/** What the client is answered, in order. */
function told(answer: Answer, isSeen: boolean, more: Partial<Named> = {}): unknown[] {
  const heard: unknown[] = []
  const exchange = {
    later: (go: unknown) => go,
    setHeader: (name: string) => heard.push(name),
    answer: (status: number, body: unknown) => heard.push(status, body),
    problem: (code: string, _: string, members: object) => heard.push(code, members),
  } as unknown as Exchange
  const named: Named = {
    kind: 'campaign',
    path: '/api/campaigns/pay',
    documentOf: ({ context }) => ({ shown: context.name }),
    isSeen: () => isSeen,
    ...more,
  }
  onNamed(SERVICE, exchange, named)(answer)
  return heard
}

t.test(
  'a create by name is answered with the entity, or with the state of its holder, to a caller who may see it',
  (t) => {
    t.same(told(MADE, true), ['Watch-Cursor', 'Location', 201, { shown: 'pay' }])
    const again = { ...MADE, repeat: 'replay' } as Answer
    t.same(told(again, true), ['Watch-Cursor', 'Idempotent-Replay', 200, { shown: 'pay' }])
    t.same(told(TAKEN, true), ['already_exists', { state: 'active' }])
    const heard: unknown[] = []
    told(TAKEN, true, { refused: (_, answer) => heard.push(answer) })
    t.same(heard, [TAKEN], "with the resource's own refusal")
    t.end()
  },
)

t.test('a caller who may not see the holder of a name is answered only that the name is taken', (t) => {
  t.same(told(MADE, false), ['already_exists', {}], 'even if the key created it')
  t.same(told({ ...MADE, repeat: 'replay' } as Answer, false), ['already_exists', {}])
  t.same(told(TAKEN, false), ['already_exists', {}])
  t.same(told(TAKEN, false, { refused: () => t.fail('its state would be revealed') }), ['already_exists', {}])
  t.end()
})
