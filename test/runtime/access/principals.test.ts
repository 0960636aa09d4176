/** Who is let in, on a clock that is turned by hand. */
import t from 'tap'
import { createPrincipals, hashOfToken } from '../../../runtime/access/principals.ts'
import type { Runtime } from '../../../runtime/api.ts'
import { TurnedNature } from '../../natures/turned.ts'

async function principalUntil(nature: TurnedNature, expiresAtMs: number) {
  const context = {
    id: 'tok_1',
    name: 'somebody',
    hash: hashOfToken('secret'),
    roles: ['viewer'],
    rights: [],
    projects: '*',
    expires_at: new Date(expiresAtMs).toISOString(),
  }
  const runtime = {
    nature,
    onCommit: () => {},
    list: async ({ kind }: { kind: string }) => ({
      snapshots: kind === 'token' ? [{ status: 'active', value: 'active', context }] : [],
      sequence: 0,
    }),
  } as unknown as Runtime
  const principals = await createPrincipals(runtime)
  return { principals, principal: principals.find('secret')! }
}

const HOUR_MS = 3_600_000

t.test('who waits is told that its token has expired: at once, however far away that was', async (t) => {
  for (const afterMs of [HOUR_MS, 1_000 * HOUR_MS]) {
    const nature = new TurnedNature()
    const { principals, principal } = await principalUntil(nature, nature.wallMs() + afterMs)
    let told = 0
    principals.onRevoked(principal, () => told++)
    nature.advance(afterMs - 1)
    t.equal(told, 0)
    nature.advance(1)
    t.equal(told, 1)
    t.equal(principals.find('secret'), undefined)
  }
})

t.test('also within a minute of a clock that went on without the timers, as over the sleep of a machine', async (t) => {
  const nature = new TurnedNature()
  const { principals, principal } = await principalUntil(nature, nature.wallMs() + HOUR_MS)
  let told = 0
  principals.onRevoked(principal, () => told++)
  const wallMs = nature.wallMs.bind(nature)
  nature.wallMs = () => wallMs() + 2 * HOUR_MS
  t.notOk(principals.holds(principal))
  nature.advance(60_000)
  t.equal(told, 1)
})

t.test('who waits no more is not told', async (t) => {
  const nature = new TurnedNature()
  const { principals, principal } = await principalUntil(nature, nature.wallMs() + HOUR_MS)
  principals.onRevoked(principal, () => t.fail())()
  nature.advance(2 * HOUR_MS)
})
