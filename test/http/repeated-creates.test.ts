/** A create repeated under its key gets the same answer, whatever has become of what it depends on. */
import t, { type Test } from 'tap'
import { retentionSweepMs } from '../../runtime/limits.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { GATE } from './campaign-harness.ts'
import { DISCOVERY, intentOf } from './intent-harness.ts'
import { finish, fleet, PRESERVED, submit, take } from './ledger-harness.ts'
import { type Reply, startTestService, type TestService } from './service-harness.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const KEY = { 'idempotency-key': 'k' }
const MISSION = { mission: { objective: 'x' } }
const MANIFEST = { engine: 'factory', engine_version: '1', supported_throttle_modes: ['dry_run', 'full'] }

const MADE: readonly (readonly [path: string, body: object, other: object])[] = [
  ['/api/projects/shop/run-requests', { entry_event: 'scan_requested' }, { entry_event: 'task_requested' }],
  ['/api/work-items', { project: 'shop', objective: 'Tidy up' }, { project: 'shop', objective: 'Sweep' }],
  ['/api/projects/shop/discoveries', DISCOVERY, { ...DISCOVERY, hypotheses: [] }],
  ['/api/projects/shop/formation-briefs', MISSION, { ...MISSION, title: 'T' }],
  ['/formation-briefs', { project: 'shop', ...MISSION }, { project: 'shop', ...MISSION, title: 'T' }],
  ['/api/projects/shop/intent-records', { slug: 's', title: 'T' }, { slug: 's', title: 'U' }],
  [
    '/api/campaigns',
    { name: 'pay', project: 'shop', mission: 'M', done_evidence: [GATE] },
    { name: 'pay', project: 'shop', mission: 'N', done_evidence: [GATE] },
  ],
  [
    '/api/projects/shop/engine-capabilities',
    { ...MANIFEST, supported_entry_events: ['greet_requested'] },
    { ...MANIFEST, supported_entry_events: ['task_requested'] },
  ],
]

const nameOf = ({ body }: Reply): string => body.id ?? body.name

async function saidAgain(
  t: Test,
  s: TestService,
  path: string,
  body: object | undefined,
  before: Reply,
): Promise<Reply> {
  const again = await s.expect(200, 'POST', path, body, { headers: KEY })
  t.equal(again.headers.get('idempotent-replay'), 'true')
  t.equal(nameOf(again), nameOf(before))
  return again
}

for (const [path, body, other] of MADE) {
  t.test(`${path}: repeated after its project was archived`, async (t) => {
    const s = await startTestService(t)
    await s.project('shop')
    const made = await s.expect(201, 'POST', path, body, { headers: KEY })
    await s.expect(200, 'PATCH', '/api/projects/shop', { archived: true })
    await saidAgain(t, s, path, body, made)
    const reused = await s.expect(422, 'POST', path, other, { headers: KEY })
    t.equal(reused.body.code, 'idempotency_key_reused')
    const anew = await s.expect(409, 'POST', path, other, { headers: { 'idempotency-key': 'other' } })
    t.equal(anew.body.code, 'project_archived')
  })
}

t.test('an inspection without a key, repeated after its project was archived', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const made = await s.expect(201, 'POST', '/api/projects/shop/discoveries', DISCOVERY)
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: true })
  const again = await s.expect(200, 'POST', '/api/projects/shop/discoveries', DISCOVERY)
  t.equal(again.body.id, made.body.id)
  await s.expect(409, 'POST', '/api/projects/shop/discoveries', { ...DISCOVERY, hypotheses: [] })
})

t.test('work repeated after its engine stopped serving it', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const bodies = MADE.slice(0, 2)
  const made = []
  for (const [path, body] of bodies) made.push(await s.expect(201, 'POST', path, body, { headers: KEY }))
  const manifest = { ...MANIFEST, supported_entry_events: ['sweep_requested'] }
  await s.expect(201, 'POST', '/api/projects/shop/engine-capabilities', manifest)
  for (const [i, [path, body, other]] of bodies.entries()) {
    await saidAgain(t, s, path, body, made[i]!)
    const anew = await s.expect(422, 'POST', path, other, { headers: { 'idempotency-key': 'other' } })
    t.equal(anew.body.code, 'engine_incapable')
  }
})

t.test('a manifest repeated after its runner was removed', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  await s.runner('r1')
  const path = '/api/projects/shop/engine-capabilities'
  const body = { ...MANIFEST, supported_entry_events: ['greet_requested'], runner_id: 'r1' }
  const made = await s.expect(201, 'POST', path, body, { headers: KEY })
  await s.expect(204, 'DELETE', '/api/runners/r1')
  await saidAgain(t, s, path, body, made)
  const anew = await s.call('POST', path, { ...body, engine_version: '2' }, { headers: { 'idempotency-key': 'other' } })
  t.match(anew, { status: 422, body: { code: 'unknown_runner' } })
})

t.test('a token create repeated after the token has expired', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const body = { name: 'short', roles: ['viewer'], expires_at: new Date(platform.wallMs() + HOUR_MS).toISOString() }
  const made = await s.expect(201, 'POST', '/api/tokens', body, { headers: KEY })
  platform.advance(2 * HOUR_MS)
  const again = await saidAgain(t, s, '/api/tokens', body, made)
  t.match([again.body.state, again.body.token], ['expired', undefined])
  t.match((await s.expect(422, 'POST', '/api/tokens', body)).body.errors, [{ pointer: '/expires_at' }])
})

t.test('an item and an initiative repeated after the item that they name was swept', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, { retentionMs: HOUR_MS, lateEventsMs: 1 }, { platform })
  const runner = await fleet(s, 'shop')
  const landed = await submit(s, {})
  const { request_id } = await take(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/started`, {}, runner)
  await finish(s, runner, request_id)
  platform.advance(HOUR_MS / 2)
  const waits = { project: 'shop', objective: 'Next', depends_on: [landed.id] }
  const item = await s.expect(201, 'POST', '/api/work-items', waits, { headers: KEY })
  await s.expect(200, 'POST', `/api/work-items/${item.body.id}/cancel`)
  const shared = {
    name: 'checkout',
    outcome: 'O',
    members: [{ kind: 'work_item', ref: landed.id }],
    projects: ['shop'],
  }
  const initiative = await s.expect(201, 'POST', '/api/initiatives', shared, { headers: KEY })
  const gone = async (): Promise<boolean> => (await s.call('GET', `/api/work-items/${landed.id}`)).status === 404
  for (platform.advance(DAY_MS - HOUR_MS / 2); !(await gone()); ) platform.advance(retentionSweepMs)
  await saidAgain(t, s, '/api/initiatives', shared, initiative)
  await s.expect(422, 'POST', '/api/initiatives', { ...shared, name: 'other' })
  await saidAgain(t, s, '/api/work-items', waits, item)
  await s.expect(422, 'POST', '/api/work-items', { ...waits, objective: 'Another' })
})

t.test('an initiative is not shown to a narrower token of the same name that repeats its create', async (t) => {
  const s = await startTestService(t)
  for (const key of ['shop', 'bank']) await s.project(key)
  const members = [
    { kind: 'project', ref: 'shop' },
    { kind: 'project', ref: 'bank' },
  ]
  const body = { name: 'checkout', outcome: 'O', members }
  const wide = await s.token('ann', { roles: ['admin'] })
  await s.expect(201, 'POST', '/api/initiatives', body, { headers: KEY, token: wide })
  const token = await s.token('ann', { roles: ['admin'], projects: ['shop'] })
  const again = await s.expect(422, 'POST', '/api/initiatives', body, { headers: KEY, token })
  t.match(again.body, { code: 'unknown_member', state: undefined })
})

t.test('a resume repeated after its project was archived, and made anew once its key is free', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const runner = await fleet(s, 'shop')
  const item = await submit(s, {})
  await finish(s, runner, (await take(s, runner)).request_id, PRESERVED)
  const path = `/api/work-items/${item.id}/resume`
  const made = await s.expect(201, 'POST', path, {}, { headers: KEY })
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: true })
  await saidAgain(t, s, path, {}, made)
  await s.expect(422, 'POST', path, { objective: 'Anew' }, { headers: KEY })
  const other = await s.expect(409, 'POST', path, {}, { headers: { 'idempotency-key': 'other' } })
  t.equal(other.body.code, 'project_archived')
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: false })
  platform.advance(DAY_MS + 1)
  t.match((await s.expect(409, 'POST', path, {}, { headers: KEY })).body.detail, /being resumed/)
  await s.expect(200, 'POST', `/api/work-items/${made.body.id}/cancel`)
  const anew = await s.expect(201, 'POST', path, {}, { headers: KEY })
  t.not(anew.body.id, made.body.id)
  await saidAgain(t, s, path, {}, anew)
})

t.test('a repair brief repeated after it was archived or its record was deprecated', async (t) => {
  const s = await startTestService(t)
  const intent = await intentOf(s)
  const record = await intent.record({ slug: 'kept', evidence: [{ description: 'it passes' }] }, 'accepted')
  await intent.observe(record.id, { evidence_id: `${record.id}.e1`, result: 'fail' })
  const path = '/api/projects/shop/drift/kept/repair-brief'
  const drafted = async () => (await s.expect(200, 'GET', '/api/projects/shop/drift/kept')).body.repair_brief_id
  const first = await s.expect(201, 'POST', path)
  const told = await s.expect(200, 'POST', path, undefined, { headers: KEY })
  t.equal(told.body.id, first.body.id, 'the key leads to the existing brief')
  await s.expect(200, 'POST', `/api/formation-briefs/${first.body.id}/archive`)
  t.equal((await saidAgain(t, s, path, undefined, first)).body.state, 'archived')
  const second = await s.expect(201, 'POST', path, undefined, { headers: { 'idempotency-key': 'two' } })
  await saidAgain(t, s, path, undefined, first)
  t.equal(await drafted(), second.body.id, 'the record names the newer one')
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: true })
  await saidAgain(t, s, path, undefined, first)
  await intent.move(record.id, 'deprecate', { reason: 'over' })
  await saidAgain(t, s, path, undefined, first)
  await s.expect(409, 'POST', path)
})

t.test('a create that waits behind another with its key is answered with what that one creates', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const [path, body] = MADE[1]!
  const { runtime } = s.service
  const ask = runtime.ask.bind(runtime)
  let go = (): void => {}
  runtime.ask = (...asked) => {
    if (asked[1].type !== 'create') return ask(...asked)
    runtime.ask = ask
    go = () => ask(...asked)
  }
  const given = { ...body, allow_duplicate: true }
  const posts = [1, 2].map(() => s.call('POST', path, given, { headers: KEY }))
  for (let asked = 0; asked < 5; asked++) await s.expect(200, 'GET', '/healthz')
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: true })
  go()
  const answers = await Promise.all(posts)
  t.same(answers.map(({ status }) => status).sort(), [200, 201])
  t.equal(nameOf(answers[0]!), nameOf(answers[1]!))
})
