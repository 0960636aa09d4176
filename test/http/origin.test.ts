import t from 'tap'
import { startTestService, type TestService } from './service-harness.ts'

const AT = '2026-01-31T12:00:00Z'

const eventsOf = (s: TestService): any[] =>
  s.service.runtime.journal.events(0, 1_000, 1e9).events.map(({ text }) => JSON.parse(text))
const newest = (s: TestService, type: string): any => eventsOf(s).findLast((event) => event.event_type === type)

t.test('exactly the routes by which a person changes something accept an origin', async (t) => {
  const s = await startTestService(t)
  let taking = 0
  for (const [path, methods] of Object.entries<any>(s.openApi.paths)) {
    for (const [method, operation] of Object.entries<any>(methods)) {
      const right = operation['x-right']
      const isPersons = method !== 'get' && !['none', 'any', 'runner'].includes(right)
      const schema = operation.requestBody?.content['application/json'].schema
      const body = schema?.$ref === undefined ? schema : s.openApi.components.schemas[schema.$ref.split('/').at(-1)]
      const takes =
        body?.properties?.origin !== undefined || operation.parameters.some(({ name }: any) => name === 'origin')
      t.equal(takes, isPersons, `${method} ${path}`)
      if (takes) taking += 1
    }
  }
  t.ok(taking >= 20, `${taking} routes`)
})

t.test('a given origin is kept unchanged in the event and the document', async (t) => {
  const s = await startTestService(t)
  const origin = 'build-7 «nightly» {{x}} \\ "quoted"'
  const by = { id: /^tok_/, name: 'admin', origin }
  await s.expect(201, 'POST', '/api/projects', { key: 'p', name: 'P', origin })
  t.match(newest(s, 'project_created').by, by)
  const asked = { entry_event: 'scan_requested', throttle: 'full', origin, idempotency_key: 'k' }
  const made = await s.expect(201, 'POST', '/api/projects/p/run-requests', asked)
  t.match(made.body.requested_by, by)
  t.match(newest(s, 'run_request_created'), { by, payload: { requested_by: by } })
  const again = await s.expect(200, 'POST', '/api/projects/p/run-requests', { ...asked, origin: 'elsewhere' })
  t.equal(again.headers.get('idempotent-replay'), 'true', 'the origin is not compared for idempotency')
  t.match((await s.expect(200, 'POST', `/api/run-requests/${made.body.id}/approve`, { origin })).body.approved_by, by)
  const cancelled = await s.expect(200, 'POST', `/api/run-requests/${made.body.id}/cancel`, { origin, reason: 'no' })
  t.match(cancelled.body.cancel, { requested_by: by, reason: 'no' })
  t.match(newest(s, 'run_request_cancelled').by, by)
  const token = await s.expect(201, 'POST', '/api/tokens', { name: 'ci', roles: ['viewer'], origin })
  t.match(token.body.created_by, by)
  await s.expect(204, 'DELETE', `/api/tokens/${token.body.id}?origin=${encodeURIComponent(origin)}`)
  t.match(newest(s, 'token_revoked').by, by)
  const emitted = { event_type: 'greeting_composed', project: 'p', occurred_at: AT, payload: { greeting: 'hi' } }
  await s.expect(200, 'POST', '/api/events', { events: [emitted], origin })
  t.match(newest(s, 'greeting_composed').by, by)
})

t.test('a missing origin becomes token name @ peer address', async (t) => {
  const s = await startTestService(t)
  const ann = await s.token('ann', { roles: ['operator'] })
  await s.project('p')
  t.equal(newest(s, 'project_created').by.origin, 'admin@127.0.0.1')
  const made = await s.expect(
    201,
    'POST',
    '/api/projects/p/run-requests',
    { entry_event: 'scan_requested' },
    { token: ann },
  )
  t.equal(made.body.requested_by.origin, 'ann@127.0.0.1')
  await s.expect(200, 'POST', '/api/run-requests/cancel', { project: 'p' }, { token: ann })
  t.equal(newest(s, 'run_request_cancelled').by.origin, 'ann@127.0.0.1')
})

t.test("a runner's posts have no origin, even on routes where a person's may have one", async (t) => {
  const s = await startTestService(t)
  await s.project('p')
  const runner = { token: await s.runner('r1') }
  const { id } = await s.request('p')
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, runner)
  await s.expect(200, 'POST', `/api/run-requests/${id}/accepted`, {}, runner)
  t.same(newest(s, 'run_request_accepted').by, { id: 'r1', name: 'runner:r1' })
  await s.expect(200, 'POST', `/api/run-requests/${id}/release`, { origin: 'r1 says' }, runner)
  t.same(newest(s, 'run_request_released').by, { id: 'r1', name: 'runner:r1' })
  await s.expect(422, 'POST', `/api/run-requests/${id}/accepted`, { origin: 'no' }, runner)
})

t.test('an origin is a single bounded line of text', async (t) => {
  const s = await startTestService(t)
  for (const origin of ['', 'x'.repeat(257), 'a\nb', '\ud800', 7, null]) {
    const { body } = await s.expect(422, 'POST', '/api/projects', { name: 'P', origin })
    t.match(body.errors, [{ pointer: '/origin' }], JSON.stringify(origin))
  }
  t.equal((await s.expect(201, 'POST', '/api/projects', { name: 'P', origin: '💡'.repeat(256) })).status, 201)
  await s.expect(422, 'PATCH', '/api/projects/p', { origin: 'a change needs more than that' })
  await s.expect(200, 'PATCH', '/api/projects/p', { origin: 'here', name: 'Q' })
  const { id } = (await s.expect(201, 'POST', '/api/tokens', { name: 'x', roles: ['viewer'] })).body
  await s.expect(400, 'DELETE', `/api/tokens/${id}?origin=`)
  await s.expect(400, 'DELETE', `/api/tokens/${id}?origin=a%0Ab`)
})
