/** Sentinels over HTTP: added, changed, fired; what falls due while the service is down. */
import t, { type Test } from 'tap'
import { loadSettings } from '../../cli/settings.ts'
import { projectIdOf } from '../../machines/ids.ts'
import { withRuntime } from '../../runtime/offline/offline.ts'
import { systemPlatform } from '../../storage/platform.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { MemoryJournal } from '../storage/memory.ts'
import { until } from '../until.ts'
import { begin, finish, fleet, reading, submit } from './ledger-harness.ts'
import { startOnDisk, startTestService, type TestService } from './service-harness.ts'

const NIGHTLY = {
  name: 'nightly',
  project: 'shop',
  cron: '30 2 * * *',
  time_zone: 'Europe/Berlin',
  item: { objective: 'Update the dependencies', kind: 'maintenance' },
}
const PATH = '/api/sentinels/nightly'

async function add(s: TestService, more: object = {}): Promise<any> {
  return (await s.expect(201, 'POST', '/api/sentinels', { ...NIGHTLY, ...more })).body
}

t.test('a sentinel is added, read, listed, changed, paused, resumed and removed', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const { headers, body: made } = await s.expect(201, 'POST', '/api/sentinels', NIGHTLY)
  t.equal(headers.get('location'), PATH)
  t.match(made, { ...NIGHTLY, state: 'active', fired: 0, by: { name: 'admin' } })
  t.match(made.next_at, /T0[01]:30:00\.000Z$/, 'in its time zone')
  t.same((await s.expect(200, 'GET', PATH)).body, made)
  t.same((await s.expect(200, 'GET', '/api/sentinels?project=shop')).body.items, [made])
  t.equal((await s.expect(409, 'POST', '/api/sentinels', NIGHTLY)).body.code, 'already_exists')

  const { body: moved } = await s.expect(200, 'PATCH', PATH, { cron: '0 4 * * *', time_zone: 'UTC' })
  t.match(moved.next_at, /T04:00:00\.000Z$/)
  const { body: other } = await s.expect(200, 'PATCH', PATH, { item: { objective: 'Tidy up' } })
  t.same(other.item, { objective: 'Tidy up' }, 'the item is replaced as a whole')
  t.equal(other.next_at, moved.next_at)

  t.notOk('next_at' in (await s.expect(200, 'POST', `${PATH}/pause`, {})).body)
  t.match((await s.expect(200, 'GET', '/api/sentinels?state=paused')).body.items, [{ name: 'nightly' }])
  t.equal((await s.expect(200, 'POST', `${PATH}/resume`, {})).body.next_at, moved.next_at)
  t.equal((await s.expect(200, 'POST', `${PATH}/remove`, {})).body.state, 'removed')
  t.equal((await s.expect(409, 'POST', `${PATH}/fire`, {})).body.code, 'illegal_move')
  t.match(await add(s), { state: 'active', cron: NIGHTLY.cron }, 'a name is free again')
  const { items } = (await s.expect(200, 'GET', '/api/events?sentinel=nightly&order=asc')).body
  t.same(
    items.map(({ event_type, payload }: any) => [event_type, payload.changed ?? payload.state]),
    [
      ['sentinel_added', 'active'],
      ['sentinel_updated', ['cron', 'time_zone']],
      ['sentinel_updated', ['item']],
      ['sentinel_updated', ['state']],
      ['sentinel_updated', ['state']],
      ['sentinel_removed', 'removed'],
      ['sentinel_added', 'active'],
    ],
  )
})

t.test('what can never fall due, or is no pattern, zone or item, is refused', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const refused = async (more: object) =>
    (await s.expect(422, 'POST', '/api/sentinels', { ...NIGHTLY, ...more })).body.errors[0]
  for (const cron of [
    '',
    '* * * *',
    '* * * * * *',
    '61 * * * *',
    'at noon',
    '@daily',
    '2030-01-01T00:00:00',
    '0 0 30 2 *',
  ])
    t.equal((await refused({ cron })).pointer, '/cron', cron)
  t.match(await refused({ cron: '61 * * * *' }), { detail: /is not a cron pattern: .*minute/ })
  t.match(await refused({ cron: '0 0 30 2 *' }), { detail: /never matches/ })
  for (const time_zone of ['', 'Mars/Olympus', 'Europe'])
    t.equal((await refused({ time_zone })).pointer, '/time_zone', time_zone)
  for (const time_zone of ['+02:00', '-0530', '+02'])
    t.match(await refused({ time_zone }), { pointer: '/time_zone', detail: /Etc\/GMT-2, not an offset from UTC/ })
  for (const [n, time_zone] of ['europe/berlin', 'Asia/Calcutta', 'US/Eastern', 'Etc/GMT-2'].entries()) {
    const made = await s.expect(201, 'POST', '/api/sentinels', { ...NIGHTLY, name: `zone-${n}`, time_zone })
    t.equal(made.body.time_zone, time_zone, 'kept as it is given')
  }
  t.equal((await refused({ item: { objective: ' ' } })).pointer, '/item/objective')
  t.equal((await refused({ item: { objective: 'x', kind: 'release' } })).pointer, '/item/kind')
  t.equal((await refused({ name: 'No Slug' })).pointer, '/name')
  await s.expect(422, 'POST', '/api/sentinels', { ...NIGHTLY, project: 'bank' })
  await add(s)
  t.equal((await s.expect(422, 'PATCH', PATH, { cron: '0 0 31 2 *' })).body.errors[0].pointer, '/cron')
  await s.runner('gone')
  await s.expect(204, 'DELETE', '/api/runners/gone')
  const { body } = await s.expect(422, 'PATCH', PATH, { item: { objective: 'x', runner_id: 'gone' } })
  t.equal(body.errors[0].pointer, '/item/runner_id')
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: true })
  t.equal((await s.expect(409, 'POST', `${PATH}/fire`, {})).body.code, 'project_archived')
})

t.test('fired by hand, it submits its item in the name of the caller, once until that has settled', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await add(s)
  const fired = (await s.expect(200, 'POST', `${PATH}/fire`, {})).body
  const { item_id } = fired.last
  const item = await until(reading(s, item_id), ({ run_request_id }) => run_request_id !== undefined)
  t.match(item, {
    objective: NIGHTLY.item.objective,
    kind: 'maintenance',
    lane: 'maintenance',
    source: { kind: 'sentinel', ref: 'nightly' },
    submitted_by: { name: 'admin' },
  })
  const [listed] = (await s.expect(200, 'GET', '/api/sentinels')).body.items
  t.match(listed.last, { item_id, item_state: 'queued' }, 'a list tells how the item is')
  const again = (await s.expect(200, 'POST', `${PATH}/fire`, {})).body
  t.match(again, { fired: 1, last: { skipped: 'duplicate', item_id, item_state: 'queued' } })
  const { request_id } = await begin(s, runner)
  await finish(
    s,
    runner,
    request_id,
    { project: 'shop', success: true, workflow: 'maintain', summary: 'done' },
    'project_maintenance_completed',
  )
  await until(reading(s, item_id), ({ state }) => state !== 'running')
  t.equal((await s.expect(200, 'POST', `${PATH}/fire`, {})).body.fired, 2)
})

t.test('a firing sent again under its key submits nothing, whatever has become of its item', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  await add(s)
  const fire = (key: string) => s.expect(200, 'POST', `${PATH}/fire`, {}, { headers: { 'idempotency-key': key } })
  const { last } = (await fire('a')).body
  await s.expect(200, 'POST', `/api/work-items/${last.item_id}/cancel`, {})
  const { body } = await fire('a')
  t.match(body, { fired: 1, last: { item_id: last.item_id } })
  t.notOk(body.last.skipped)
  t.equal((await fire('b')).body.fired, 2)
})

t.test('a firing that was refused for the moment submits its item when it is sent again at once', async (t) => {
  const journal = new MemoryJournal()
  const s = await startTestService(t, {}, { openJournal: async () => journal })
  await fleet(s, 'shop')
  await add(s)
  for (const headers of [{ 'idempotency-key': 'a' }, undefined]) {
    const fire = (status: number) =>
      s.expect(status, 'POST', `${PATH}/fire`, {}, headers === undefined ? {} : { headers })
    journal.refuse('disk_reserve')
    await fire(503)
    journal.refuse(undefined)
    const { last } = (await fire(200)).body
    t.notOk(last.skipped, headers === undefined ? 'without a key' : 'with a key')
    await until(reading(s, last.item_id), ({ state }) => state === 'queued')
    await s.expect(200, 'POST', `/api/work-items/${last.item_id}/cancel`, {})
  }
})

t.test('of a firing and an equal item that come at the same moment, one makes the item', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  await add(s)
  const body = { project: 'shop', ...NIGHTLY.item }
  const fire = () => s.call('POST', `${PATH}/fire`, {})
  const post = () => s.call('POST', '/api/work-items', body)
  for (let round = 0; round < 10; round++) {
    await Promise.all(round % 2 === 0 ? [fire(), post()] : [post(), fire()])
    const open = async () => (await s.expect(200, 'GET', '/api/work-items?state=submitted,queued')).body.items
    const items = await until(open, ({ length }) => length > 0)
    t.equal(items.length, 1, `round ${round}`)
    for (const { id } of items) await s.expect(200, 'POST', `/api/work-items/${id}/cancel`, {})
  }
})

t.test('an item that a person has submitted already is not submitted beside it', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  const { id } = await submit(s, { ...NIGHTLY.item })
  await add(s)
  const { last } = (await s.expect(200, 'POST', `${PATH}/fire`, {})).body
  t.match(last, { skipped: 'duplicate', item_id: id })
})

t.test('a token of another project sees no sentinel, and learns only that its name is taken', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  await s.project('bank')
  await add(s)
  const { token } = (
    await s.expect(201, 'POST', '/api/tokens', { name: 'bank', roles: ['author', 'operator'], projects: ['bank'] })
  ).body
  const own = { token }
  t.same((await s.expect(200, 'GET', '/api/sentinels', undefined, own)).body.items, [])
  for (const [method, path, body] of [
    ['GET', PATH],
    ['PATCH', PATH, { cron: '0 4 * * *' }],
    ['POST', `${PATH}/fire`, {}],
    ['POST', `${PATH}/remove`, {}],
  ] as const)
    await s.expect(404, method, path, body, own)
  const { body } = await s.expect(409, 'POST', '/api/sentinels', { ...NIGHTLY, project: 'bank' }, own)
  t.same([body.code, body.state], ['already_exists', undefined])
})

t.test('after a short stop it falls due late, and what a long one has passed over is not made up for', async (t) => {
  const home = t.testdir()
  let aheadMs = 0
  const platform = { ...systemPlatform, wallMs: () => systemPlatform.wallMs() + aheadMs }
  const first = await startOnDisk(t, home, { platform })
  await first.project('shop')
  const { next_at } = await add(first)
  await first.service.close()

  aheadMs = Date.parse(next_at) + 5 * 60_000 - Date.now()
  const second = await startOnDisk(t, home, { platform })
  const reads = (s: TestService) => async () => (await s.expect(200, 'GET', PATH)).body
  const fired = await until(reads(second), ({ last }) => last !== undefined)
  t.match(fired, { fired: 1, last: { due_at: next_at } })
  t.match(await reading(second, fired.last.item_id)(), { objective: NIGHTLY.item.objective })
  await second.service.close()

  aheadMs += 3 * 86_400_000
  const third = await startOnDisk(t, home, { platform })
  const skipped = await until(reads(third), ({ last }) => last.skipped !== undefined)
  t.match(skipped, { fired: 1, last: { due_at: fired.next_at, skipped: 'missed' } })
  t.ok(Date.parse(skipped.next_at) > Date.now() + aheadMs)
})

/** The sentinels listed as needing somebody for this reason. */
const called = async (s: TestService, reason: string): Promise<any[]> =>
  (await s.expect(200, 'GET', `/api/attention?reason=${reason}`)).body.items

/** A service whose sentinel `nightly` falls due each hour, or with this pattern, and how to go on to the next time. */
async function recurring(t: Test, cron = '0 * * * *') {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  await fleet(s, 'shop')
  await add(s, { cron, time_zone: 'UTC' })
  const read = async () => (await s.expect(200, 'GET', PATH)).body
  const on = async (): Promise<any> => {
    const { next_at } = await read()
    platform.advance(Date.parse(next_at) - platform.wallMs() + 100)
    return until(read, (sentinel) => sentinel.next_at !== next_at)
  }
  return { s, on, platform }
}

t.test(
  'a sentinel that submits nothing three times in a row needs attention, until it submits something',
  async (t) => {
    const { s, on } = await recurring(t)
    const { item_id } = (await on()).last
    const { last } = await on()
    t.equal(last.skipped, 'duplicate')
    t.match(await on(), { skipping: { times: 2, since: last.at } })
    t.same(await called(s, 'skipping'), [])
    await s.expect(200, 'POST', `${PATH}/fire`, {})
    const sentinel = await on()
    t.match(sentinel, { skipping: { times: 3, since: last.at } }, 'a firing by hand does not count')
    t.same(await called(s, 'skipping'), [
      { kind: 'sentinel', reason: 'skipping', project: 'shop', since: last.at, sentinel },
    ])
    await s.expect(200, 'POST', `/api/work-items/${item_id}/cancel`, {})
    t.notOk('skipping' in (await on()))
    t.same(await called(s, 'skipping'), [])
  },
)

t.test('one that falls due often needs attention only once it has submitted nothing for an hour', async (t) => {
  const { s, on, platform } = await recurring(t, '*/15 * * * *')
  await on()
  for (let times = 1; times <= 4; times++) t.match(await on(), { skipping: { times } })
  t.same(await called(s, 'skipping'), [], 'three quarters of an hour')
  await on()
  // A minute more: it was told of the first of these times a moment after that.
  platform.advance(60_000)
  t.match(await called(s, 'skipping'), [{ sentinel: { name: 'nightly' } }])
  t.match((await s.expect(200, 'GET', '/metrics')).body, /^intendant_sentinels_skipping 1$/m)
  await s.expect(200, 'POST', `${PATH}/pause`, {})
  t.same(await called(s, 'skipping'), [], 'a paused one is as somebody wants it')
  t.notOk('skipping' in (await s.expect(200, 'POST', `${PATH}/resume`, {})).body)
})

t.test('times at which its project is archived call for nobody', async (t) => {
  const { s, on } = await recurring(t)
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: true })
  for (let times = 1; times <= 4; times++) t.match(await on(), { last: { skipped: 'project_archived' } })
  t.same(await called(s, 'skipping'), [])
})

t.test(
  'a sentinel whose last three items have failed needs attention, until it is changed or one is closed',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop')
    await add(s)
    const fail = async (): Promise<string> => {
      const { last } = (await s.expect(200, 'POST', `${PATH}/fire`, {})).body
      t.notOk(last.skipped)
      const { request_id } = await begin(s, runner)
      await s.expect(200, 'POST', `/api/run-requests/${request_id}/completed`, { result: {} }, runner)
      await until(reading(s, last.item_id), ({ state }) => state === 'failed')
      return last.item_id
    }
    const first = await fail()
    const second = await fail()
    t.same(await called(s, 'failing'), [])
    const third = await fail()
    const { settled_at: since } = await reading(s, third)()
    const reason = 'run ended without its project_maintenance_completed'
    const items = [first, second, third].map((item_id) => ({ item_id, state: 'failed', reason }))
    const sentinel = { name: 'nightly', failing: { since, items } }
    const failing = [{ kind: 'sentinel', reason: 'failing', project: 'shop', since, sentinel }]
    t.match(await called(s, 'failing'), failing)
    t.same((await s.expect(200, 'GET', PATH)).body.failing, sentinel.failing)
    const { last } = (await s.expect(200, 'POST', `${PATH}/fire`, {})).body
    await until(reading(s, last.item_id), ({ state }) => state === 'queued')
    t.match(await called(s, 'failing'), failing, 'another is under way')
    await s.expect(200, 'POST', `/api/work-items/${last.item_id}/cancel`, {})
    t.same(await called(s, 'failing'), [], 'a cancelled one has not failed')
    t.notOk('failing' in (await s.expect(200, 'GET', PATH)).body)
    await s.expect(200, 'PATCH', PATH, { item: { objective: 'Tidy up', kind: 'maintenance' } })
    for (let n = 0; n < 3; n++) await fail()
    t.match(await called(s, 'failing'), [{ sentinel: { name: 'nightly' } }])
    await s.expect(200, 'PATCH', PATH, { item: { objective: 'Sweep', kind: 'maintenance' } })
    t.same(await called(s, 'failing'), [], 'what it submits now has not failed')
    t.equal((await reading(s, second)()).state, 'failed')
  },
)

t.test('a sentinel in a zone that the service does not know says so, and takes another zone', async (t) => {
  const home = t.testdir()
  const platform = new AdvanceablePlatform()
  const first = await startOnDisk(t, home, { platform })
  await first.project('shop')
  await first.service.close()
  const stored = { name: 'abroad', project: 'shop', project_id: projectIdOf('shop'), cron: '0 * * * *' }
  const more = { by: { id: 'tok_1', name: 'ann' }, time_zone: 'Mars/Olympus', item: { objective: 'Sweep' } }
  await withRuntime(loadSettings({ flags: { home }, env: {} }), async (runtime) => {
    const answer = await runtime.askAsync({ kind: 'sentinel', id: 'abroad' }, {
      type: 'create',
      ...stored,
      ...more,
    } as never)
    t.ok(answer.ok)
  })
  const s = await startOnDisk(t, home, { platform })
  const path = '/api/sentinels/abroad'
  const { body: sentinel } = await s.expect(200, 'GET', path)
  t.match(sentinel, { state: 'active', time_zone: 'Mars/Olympus' })
  t.notOk('next_at' in sentinel)
  t.same(await called(s, 'unscheduled'), [
    { kind: 'sentinel', reason: 'unscheduled', project: 'shop', since: sentinel.created_at, sentinel },
  ])
  platform.advance(180_000)
  t.notOk('next_at' in (await s.expect(200, 'GET', path)).body)
  t.match(await s.expect(200, 'PATCH', path, { item: { objective: 'Sweep well' } }), { body: { state: 'active' } })
  t.match((await s.expect(422, 'PATCH', path, { cron: '30 * * * *' })).body, {
    code: 'invalid_body',
    errors: [{ pointer: '/time_zone', detail: /^must be given, since the Node.js .* Mars\/Olympus/ }],
  })
  t.match((await s.expect(200, 'POST', `${path}/fire`, {})).body, { fired: 1 })
  await s.expect(200, 'POST', `${path}/pause`, {})
  t.same(await called(s, 'unscheduled'), [])
  t.match((await s.expect(409, 'POST', `${path}/resume`, {})).body, {
    code: 'illegal_move',
    state: 'paused',
    detail: /does not know its time zone Mars\/Olympus/,
  })
  await s.expect(200, 'PATCH', path, { time_zone: 'Europe/Berlin' })
  t.match((await s.expect(200, 'POST', `${path}/resume`, {})).body, { state: 'active', next_at: /:00:00\.000Z$/ })
})
