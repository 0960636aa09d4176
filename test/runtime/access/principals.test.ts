/** Principals on a clock that the test advances. */
import t from 'tap'
import { createPrincipals, hashOfToken } from '../../../runtime/access/principals.ts'
import type { CommitListener, Runtime } from '../../../runtime/api.ts'
import { ManualPlatform } from '../../platforms/manual.ts'

const NO_KEY = { read: () => undefined, make: () => Buffer.alloc(32) }

async function principalUntil(platform: ManualPlatform, expiresAtMs: number) {
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
    platform,
    onCommit: () => {},
    list: async ({ kind }: { kind: string }) => ({
      snapshots: kind === 'token' ? [{ status: 'active', value: 'active', context }] : [],
      sequence: 0,
    }),
  } as unknown as Runtime
  const principals = await createPrincipals(runtime, NO_KEY)
  return { principals, principal: principals.find('secret')! }
}

const HOUR_MS = 3_600_000

t.test('a waiting request is told when its token expires, on time even if that is far away', async (t) => {
  for (const afterMs of [HOUR_MS, 1_000 * HOUR_MS]) {
    const platform = new ManualPlatform()
    const { principals, principal } = await principalUntil(platform, platform.wallMs() + afterMs)
    let told = 0
    principals.onRevoked(principal, () => told++)
    platform.advance(afterMs - 1)
    t.equal(told, 0)
    platform.advance(1)
    t.equal(told, 1)
    t.equal(principals.find('secret'), undefined)
  }
})

t.test(
  'a token expiry is noticed within a minute when the clock moved on without the timers, as in a suspended machine',
  async (t) => {
    const platform = new ManualPlatform()
    const { principals, principal } = await principalUntil(platform, platform.wallMs() + HOUR_MS)
    let told = 0
    principals.onRevoked(principal, () => told++)
    const wallMs = platform.wallMs.bind(platform)
    platform.wallMs = () => wallMs() + 2 * HOUR_MS
    t.notOk(principals.holds(principal))
    platform.advance(60_000)
    t.equal(told, 1)
  },
)

t.test('a request that has stopped waiting is not told of an expiry', async (t) => {
  const platform = new ManualPlatform()
  const { principals, principal } = await principalUntil(platform, platform.wallMs() + HOUR_MS)
  principals.onRevoked(principal, () => t.fail())()
  platform.advance(2 * HOUR_MS)
})

t.test('each use of a token is reported once until the next report, and never after its revocation', async (t) => {
  const platform = new ManualPlatform()
  let follow: CommitListener = () => {}
  const token = (id: string, value = 'active') => ({
    status: 'active',
    value,
    context: { id, name: id, hash: hashOfToken(id), roles: ['viewer'], rights: [], projects: '*' },
  })
  const runner = {
    status: 'active',
    value: 'registered',
    context: { id: 'r1', allowed_projects: ['*'], internal: { credentials: [{ hash: hashOfToken('r1') }] } },
  }
  const runtime = {
    platform,
    onCommit: (listener: CommitListener) => {
      follow = listener
    },
    list: async ({ kind }: { kind: string }) => ({
      snapshots: kind === 'token' ? ['one', 'two', 'three'].map((id) => token(id)) : [runner],
      sequence: 0,
    }),
  } as unknown as Runtime
  const principals = await createPrincipals(runtime, NO_KEY)
  t.same(principals.takeUsed(), [], 'none was used')
  for (const secret of ['two', 'one', 'two', 'r1', 'unknown']) principals.find(secret)
  t.same([...principals.takeUsed()].sort(), ['one', 'two'], 'a runner is not noted here')
  t.same(principals.takeUsed(), [])
  principals.holds(principals.find('one')!)
  principals.find('three')
  follow([{ ref: { kind: 'token', id: 'three' }, after: token('three', 'revoked') }] as never, [], {} as never)
  t.same(principals.takeUsed(), ['one'])
})
