/** What is answered alike for every resource. */
import t from 'tap'
import { whenNamed } from '../../http/replies.ts'
import type { ServiceContext } from '../../http/route.ts'
import type { Exchange } from '../../http/wire/exchange.ts'
import type { Answer } from '../../runtime/api.ts'

type Named = Parameters<typeof whenNamed>[2]

const SNAPSHOT = { value: 'active', context: { name: 'pay' } }
const MADE = { ok: true, snapshot: SNAPSHOT, version: 1, sequence: 7, accepted: 0, duplicates: 0 } as unknown as Answer
const TAKEN = {
  ok: false,
  refusal: { code: 'already_exists', detail: 'this campaign already exists' },
  state: 'active',
  allowed: ['pause'],
} as Answer
const EPOCH = 'a'.repeat(32)
const SERVICE = {
  runtime: { journal: { epoch: EPOCH, lastSequence: 7, incarnationAt: () => undefined } },
} as unknown as ServiceContext

/** What the asker is told, in the order in which the exchange hears of it. */
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
  whenNamed(SERVICE, exchange, named)(answer)
  return heard
}

t.test('what is made under a chosen name is told to who may see it', (t) => {
  t.same(told(MADE, true), ['Watch-Cursor', 'Location', 201, { shown: 'pay' }])
  const again = { ...MADE, repeat: 'replay' } as Answer
  t.same(told(again, true), ['Watch-Cursor', 'Idempotent-Replay', 200, { shown: 'pay' }])
  t.same(told(TAKEN, true), ['already_exists', { state: 'active', allowed: ['pause'] }])
  const heard: unknown[] = []
  told(TAKEN, true, { refused: (_, answer) => heard.push(answer) })
  t.same(heard, [TAKEN], 'as the resource refuses it')
  t.end()
})

t.test('of what has the name, and is not to be seen, nothing is told but that the name is taken', (t) => {
  t.same(told(MADE, false), ['already_exists', {}], 'of what the key has made, either')
  t.same(told({ ...MADE, repeat: 'replay' } as Answer, false), ['already_exists', {}])
  t.same(told(TAKEN, false), ['already_exists', {}])
  t.same(told(TAKEN, false, { refused: () => t.fail('its state would be told') }), ['already_exists', {}])
  t.end()
})
