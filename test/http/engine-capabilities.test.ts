/** Engine manifests over HTTP: who may post them, which one counts, and which work is refused or held back by them. */
import t from 'tap'
import { startOnDisk, startTestService, type TestService } from './service-harness.ts'

const manifest = {
  engine: 'factory',
  engine_version: '1.0',
  supported_entry_events: ['greet_requested'],
  supported_throttle_modes: ['dry_run'],
}
const PATH = '/api/projects/greeter/engine-capabilities'
const REQUESTS = '/api/projects/greeter/run-requests'

async function start(t: Parameters<typeof startTestService>[0]): Promise<TestService> {
  const s = await startTestService(t)
  await s.project('greeter')
  return s
}

t.test('each new manifest is recorded once with an event, and the newest of an engine counts', async (t) => {
  const s = await start(t)
  const headers = { 'idempotency-key': 'k' }
  const first = await s.expect(201, 'POST', PATH, manifest, { headers })
  t.match(first.body, { ...manifest, project: 'greeter', state: 'current', version: 1, recorded_by: { name: 'admin' } })
  t.equal((await s.expect(200, 'POST', PATH, manifest)).headers.get('idempotent-replay'), 'true')
  const newer = { ...manifest, engine_version: '2.0' }
  t.equal((await s.expect(422, 'POST', PATH, newer, { headers })).body.code, 'idempotency_key_reused')
  t.equal((await s.expect(201, 'POST', PATH, newer)).body.version, 2)
  await s.expect(201, 'POST', PATH, { ...manifest, engine: 'other' })
  const { items } = (await s.expect(200, 'GET', PATH)).body
  t.same(
    items.map((item: any) => [item.engine, item.engine_version]),
    [
      ['other', '1.0'],
      ['factory', '2.0'],
    ],
  )
  const events = (await s.expect(200, 'GET', '/api/events?event_type=engine_capabilities_recorded')).body.items
  t.same(
    events.map((event: any) => [event.project, event.payload.engine, event.payload.engine_version]),
    [
      ['greeter', 'factory', '1.0'],
      ['greeter', 'factory', '2.0'],
      ['greeter', 'other', '1.0'],
    ],
  )
})

t.test(
  'once a project has a manifest, work that none of its manifests serves is refused with the reason',
  async (t) => {
    const s = await start(t)
    await s.request('greeter', { entry_event: 'scan_requested' })
    const kept = { entry_event: 'scan_requested', idempotency_key: 'kept' }
    const made = (await s.expect(201, 'POST', REQUESTS, kept)).body
    await s.expect(201, 'POST', PATH, manifest)
    const refused = await s.expect(422, 'POST', REQUESTS, { entry_event: 'scan_requested', payload: { again: true } })
    t.match(refused.body, { code: 'engine_incapable', detail: /scan_requested at throttle dry_run.*factory/ })
    t.equal(
      (
        await s.expect(422, 'POST', REQUESTS, {
          entry_event: 'greet_requested',
          payload: { name: 'you' },
          throttle: 'full',
        })
      ).body.code,
      'engine_incapable',
    )
    t.equal((await s.expect(200, 'POST', REQUESTS, kept)).body.id, made.id, 'requests made before are still there')
    await s.request('greeter')
    await s.expect(201, 'POST', PATH, { ...manifest, engine: 'wide', supported_entry_events: ['*'] })
    await s.request('greeter', { entry_event: 'scan_requested', idempotency_key: 'new' })
  },
)

t.test('an emitted command that no engine serves is refused, but a repeat of an earlier one is not', async (t) => {
  const s = await start(t)
  const event = {
    project: 'greeter',
    event_type: 'scan_requested',
    occurred_at: '2026-01-01T00:00:00Z',
    throttle: 'dry_run',
    payload: {},
  }
  const first = (await s.expect(200, 'POST', '/api/events', { events: [event] })).body
  await s.expect(201, 'POST', PATH, manifest)
  const again = (await s.expect(200, 'POST', '/api/events', { events: [event] })).body
  t.match(again, { accepted: 0, duplicates: 1, run_requests: first.run_requests })
  const other = { ...event, occurred_at: '2026-01-02T00:00:00Z' }
  const refused = await s.expect(422, 'POST', '/api/events', { events: [other] })
  t.match(refused.body, { code: 'engine_incapable', errors: [{ pointer: '/events/0/event_type' }] })
})

t.test('a runner lists its own manifests and those that name no runner, a person lists all', async (t) => {
  const s = await start(t)
  const [one, other] = [await s.runner('one'), await s.runner('other')]
  await s.expect(201, 'POST', PATH, { ...manifest, engine: 'shared' })
  for (const token of [one, other]) await s.expect(201, 'POST', PATH, manifest, { token })
  const listed = async (token?: string) =>
    (await s.expect(200, 'GET', PATH, undefined, token === undefined ? {} : { token })).body.items.map(
      ({ runner_id }: any) => runner_id,
    )
  t.same(await listed(), ['other', 'one', undefined])
  t.same(await listed(one), ['one', undefined])
  t.same(await listed(other), ['other', undefined])
})

t.test('a runner with a manifest is offered only work that its newest manifest serves', async (t) => {
  const s = await start(t)
  const token = await s.runner('r1', { allowed_projects: ['greeter'] })
  const as = { token }
  await s.expect(201, 'POST', PATH, { ...manifest, engine: 'wide', supported_entry_events: ['*'] })
  const own = await s.expect(201, 'POST', PATH, manifest, as)
  t.equal(own.body.runner_id, 'r1', 'a manifest posted by a runner is its own')
  const request = await s.request('greeter', { entry_event: 'scan_requested' })
  await s.expect(204, 'GET', '/api/runners/r1/run-requests/next', undefined, as)
  const read = (await s.expect(200, 'GET', `/api/run-requests/${request.id}`)).body
  t.match(read.waiting_because, { code: 'no_capable_engine', detail: /r1/ })
  const pinned = { entry_event: 'scan_requested', runner_id: 'r1' }
  t.equal((await s.expect(422, 'POST', REQUESTS, pinned)).body.code, 'engine_incapable')
  const parked = s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=20', undefined, as)
  await s.expect(201, 'POST', PATH, { ...manifest, supported_entry_events: ['scan_requested'] }, as)
  t.equal((await parked).body.request_id, request.id, 'the newer manifest wakes the parked poll')
})

t.test(
  'the manifest of one runner does not exclude others, and work that no runner serves is listed with the reason',
  async (t) => {
    const s = await start(t)
    const good = await s.runner('good', { allowed_projects: ['greeter'], trusted: true })
    const evil = await s.runner('evil', { allowed_projects: ['greeter'] })
    const narrow = { ...manifest, supported_entry_events: ['nothing_requested'] }
    await s.expect(201, 'POST', PATH, narrow, { token: evil })
    const scan = { entry_event: 'scan_requested' }
    const made = (await s.expect(201, 'POST', REQUESTS, scan)).body
    await s.expect(201, 'POST', REQUESTS, { ...scan, runner_id: 'good' })
    t.equal((await s.expect(422, 'POST', REQUESTS, { ...scan, runner_id: 'evil' })).body.code, 'engine_incapable')
    await s.expect(204, 'GET', '/api/runners/evil/run-requests/next', undefined, { token: evil })
    const given = await s.expect(200, 'GET', '/api/runners/good/run-requests/next', undefined, { token: good })
    t.equal(given.body.request_id, made.id)
    const task = { project: 'greeter', kind: 'task', objective: 'Tidy up.' }
    await s.expect(201, 'POST', '/api/work-items', task)
    const waits = (await s.expect(201, 'POST', REQUESTS, { ...scan, payload: { n: 2 } })).body
    await s.expect(201, 'POST', PATH, narrow, { token: good })
    const late = await s.expect(422, 'POST', REQUESTS, { ...scan, payload: { n: 3 } })
    t.match(late.body, { code: 'engine_incapable', detail: /No manifest of the project supports scan_requested/ })
    const { items } = (await s.expect(200, 'GET', '/api/attention?reason=no_runner')).body
    const why = (id: string) => items.find((item: any) => (item.run_request ?? item.work_item).id === id)?.because
    t.match(why(waits.id), {
      code: 'no_capable_engine',
      detail: /The manifests of .*good.* do not support scan_requested/,
    })
    t.same([...new Set(items.map((item: any) => item.because.code))], ['no_capable_engine'], 'the task as well')
  },
)

t.test('a manifest can be removed, stays removed after a restart, and can be posted again', async (t) => {
  const home = t.testdir()
  const first = await startOnDisk(t, home)
  await first.project('greeter')
  await first.project('other')
  const token = await first.runner('r1', { allowed_projects: ['greeter'] })
  const { id } = (await first.expect(201, 'POST', PATH, manifest)).body
  const own = (await first.expect(201, 'POST', PATH, manifest, { token })).body
  const scan = { entry_event: 'scan_requested' }
  await first.expect(422, 'POST', REQUESTS, scan)
  await first.expect(404, 'DELETE', `/api/projects/other/engine-capabilities/${id}`)
  await first.expect(404, 'DELETE', `${PATH}/cap_${'0'.repeat(24)}`)
  t.equal((await first.expect(403, 'DELETE', `${PATH}/${own.id}`, undefined, { token })).body.code, 'forbidden')
  for (const one of [id, own.id, own.id]) await first.expect(204, 'DELETE', `${PATH}/${one}`)
  t.same((await first.expect(200, 'GET', PATH)).body.items, [])
  await first.service.close()

  const s = await startOnDisk(t, home)
  const made = (await s.expect(201, 'POST', REQUESTS, scan)).body
  const given = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, { token })
  t.equal(given.body.request_id, made.id)
  const events = (await s.expect(200, 'GET', '/api/events?event_type=engine_capabilities_removed')).body.items
  t.same(
    events.map(({ payload }: any) => [payload.engine_capability_id, payload.runner_id]),
    [
      [id, undefined],
      [own.id, 'r1'],
    ],
  )
  t.match((await s.expect(201, 'POST', PATH, manifest)).body, { id, version: 2, state: 'current' })
  await s.expect(422, 'POST', REQUESTS, { ...scan, payload: { n: 2 } })
})

t.test('the manifest of a removed runner no longer counts, also after a restart', async (t) => {
  const home = t.testdir()
  const first = await startOnDisk(t, home)
  await first.project('greeter')
  for (const id of ['gone', 'here']) {
    const token = await first.runner(id, { allowed_projects: ['greeter'] })
    await first.expect(201, 'POST', PATH, manifest, { token })
  }
  await first.expect(204, 'DELETE', '/api/runners/gone')
  await first.service.close()

  const s = await startOnDisk(t, home)
  const states = (await s.expect(200, 'GET', PATH)).body.items.map((item: any) => [item.runner_id, item.state])
  t.same(states, [
    ['here', 'current'],
    ['gone', 'stale'],
  ])
  const scan = { entry_event: 'scan_requested' }
  t.equal((await s.expect(422, 'POST', REQUESTS, scan)).body.code, 'engine_incapable')
  await s.expect(204, 'DELETE', '/api/runners/here')
  await s.expect(201, 'POST', REQUESTS, scan)
})

t.test('the manifest of a runner does not count while the runner is not allowed for the project', async (t) => {
  const s = await start(t)
  const token = await s.runner('r1', { allowed_projects: ['greeter'] })
  await s.expect(201, 'POST', PATH, manifest, { token })
  const state = async () => (await s.expect(200, 'GET', PATH)).body.items[0].state
  const scan = { entry_event: 'scan_requested' }
  t.equal((await s.expect(422, 'POST', REQUESTS, scan)).body.code, 'engine_incapable')
  await s.expect(200, 'PATCH', '/api/runners/r1', { allowed_projects: [] })
  t.equal(await state(), 'stale')
  await s.expect(201, 'POST', REQUESTS, scan)
  await s.expect(200, 'PATCH', '/api/runners/r1', { allowed_projects: ['greeter'] })
  t.equal(await state(), 'current')
  t.equal((await s.expect(422, 'POST', REQUESTS, { ...scan, again: true })).body.code, 'engine_incapable')
})

t.test('manifests are posted by tokens with runner.manage, or by a runner of the project for itself', async (t) => {
  const s = await start(t)
  await s.project('theirs')
  const own = { token: await s.runner('r1', { allowed_projects: ['greeter'] }) }
  const theirs = { token: await s.runner('r2', { allowed_projects: ['theirs'] }) }
  t.equal((await s.expect(404, 'POST', PATH, manifest, theirs)).body.code, 'not_found')
  t.equal((await s.expect(404, 'GET', PATH, undefined, theirs)).body.code, 'not_found')
  t.equal((await s.expect(403, 'POST', PATH, { ...manifest, runner_id: 'r2' }, own)).body.code, 'not_the_runner')
  await s.expect(201, 'POST', PATH, { ...manifest, runner_id: 'r1' }, own)
  t.equal((await s.expect(200, 'GET', PATH, undefined, own)).body.items.length, 1)
  for (const runner_id of ['nobody', 'r2']) {
    t.equal((await s.expect(422, 'POST', PATH, { ...manifest, runner_id })).body.code, 'unknown_runner')
  }
  const author = { token: await s.token('author', { roles: ['author'] }) }
  t.equal((await s.expect(403, 'POST', PATH, manifest, author)).body.code, 'forbidden')
  await s.expect(200, 'GET', PATH, undefined, author)
  await s.expect(200, 'PATCH', '/api/projects/greeter', { archived: true })
  t.equal((await s.expect(409, 'POST', PATH, { ...manifest, engine: 'late' })).body.code, 'project_archived')
})

t.test('an invalid manifest is refused with a pointer to each fault', async (t) => {
  const s = await start(t)
  const wrong = { ...manifest, supported_throttle_modes: ['half'], supported_entry_events: ['Not A Type'], colour: 1 }
  const { body } = await s.expect(422, 'POST', PATH, wrong)
  t.same(body.errors.map(({ pointer }: any) => pointer).sort(), [
    '/colour',
    '/supported_entry_events/0',
    '/supported_throttle_modes/0',
  ])
})
