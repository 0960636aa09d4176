/** Commands emitted as events: each creates one run request in a trace of its own, however often it is sent. */
import t from 'tap'
import { HoldablePlatform } from '../platforms/holdable.ts'
import { until } from '../until.ts'
import { startTestService } from './service-harness.ts'

const AT = '2026-01-31T12:00:00Z'
const command = (more: object = {}): object => ({
  project: 'greeter',
  event_type: 'greet_requested',
  occurred_at: AT,
  payload: { name: 'world' },
  ...more,
})

t.test('an emitted command must state an unused trace id, or none', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const emit = (status: number, ...events: object[]) => s.expect(status, 'POST', '/api/events', { events })
  const trace_id = 'ab'.repeat(16)
  const first = await emit(200, command({ trace_id }))
  const again = await emit(200, command({ trace_id }))
  t.same(again.body.run_requests, first.body.run_requests, 'a repeated command finds its request')
  const other = await emit(409, command({ trace_id, payload: { name: 'moon' } }))
  t.match(other.body, { code: 'trace_in_use', errors: [{ pointer: '/events/0/trace_id' }] })
  const taken = await s.request('greeter', { trace_id: 'cd'.repeat(16), idempotency_key: 'k' })
  t.equal((await emit(409, command({ trace_id: taken.trace_id }))).body.code, 'trace_in_use')
  for (const odd of ['t1', '0'.repeat(32), 'AB'.repeat(16)]) {
    const refused = await emit(422, command({ trace_id: odd }))
    t.match(refused.body, { code: 'invalid_event', errors: [{ pointer: '/events/0/trace_id' }] }, odd)
  }
  await emit(200, command({ trace_id: 't1', event_type: 'noted', payload: {} }))
  const twice = await emit(
    409,
    command({ trace_id: 'ef'.repeat(16) }),
    command({ trace_id: 'ef'.repeat(16), payload: { name: 'moon' } }),
  )
  t.equal(twice.body.errors[0].pointer, '/events/1/trace_id')
  await emit(200, command({ trace_id: 'ef'.repeat(16) }))
  const races = await Promise.all(
    ['x', 'y', 'z'].map((name) =>
      s.call('POST', '/api/events', { events: [command({ trace_id: '12'.repeat(16), payload: { name } })] }),
    ),
  )
  t.same(races.map(({ status }) => status).sort(), [200, 409, 409])
  const all = (await s.expect(200, 'GET', '/api/run-requests')).body.items
  t.equal(new Set(all.map((item: any) => item.trace_id)).size, all.length, 'an explicit trace has one request')
})

t.test(
  'of several commands one continues the traceparent, the others start traces, and a repeat changes nothing',
  async (t) => {
    const s = await startTestService(t)
    await s.project('greeter')
    const headers = { traceparent: `00-${'12'.repeat(16)}-${'34'.repeat(8)}-01` }
    const events = [command(), command({ payload: { name: 'moon' } }), command({ event_type: 'noted', payload: {} })]
    const first = await s.expect(200, 'POST', '/api/events', { events }, { headers })
    t.match(first.body, { accepted: 3, duplicates: 0 })
    const again = await s.expect(200, 'POST', '/api/events', { events }, { headers })
    t.match(again.body, { accepted: 0, duplicates: 3, run_requests: first.body.run_requests })
    const traces: string[] = []
    for (const id of first.body.run_requests)
      traces.push((await s.expect(200, 'GET', `/api/run-requests/${id}`)).body.trace_id)
    t.equal(traces[0], '12'.repeat(16))
    t.not(traces[1], traces[0])
    const chains = []
    for (const trace of traces) {
      const { events: told } = (await s.expect(200, 'GET', `/api/traces/${trace}`)).body
      chains.push([told[0], told.find((event: any) => event.event_type === 'run_request_created')])
    }
    const [[asked, run], [own, ownRun]] = chains as [any, any]
    t.match(run, { causation_id: asked.id, parent_span_id: '34'.repeat(8) }, 'its run is a child of the caller’s span')
    t.match(ownRun, { causation_id: own.id, parent_span_id: own.span_id }, 'the others begin with a span of their own')
    const gathered = command({ payload: { name: 'mars' }, gather_id: 'planets', span_id: '56'.repeat(8) })
    const [id] = (await s.expect(200, 'POST', '/api/events', { events: [gathered] })).body.run_requests
    const { trace_id } = (await s.expect(200, 'GET', `/api/run-requests/${id}`)).body
    const [cause, created] = (await s.expect(200, 'GET', `/api/traces/${trace_id}`)).body.events
    const caused = { causation_id: cause.id, gather_id: 'planets', parent_span_id: '56'.repeat(8) }
    t.match(created, { event_type: 'run_request_created', ...caused }, 'its effects name it as their cause')
  },
)

t.test(
  'an emitted command needs approval for full, a type that clients may emit, and a project that is not archived',
  async (t) => {
    const s = await startTestService(t)
    await s.project('greeter')
    const made = await s.expect(200, 'POST', '/api/events', { events: [command({ throttle: 'full' })] })
    const [id] = made.body.run_requests
    const request = (await s.expect(200, 'GET', `/api/run-requests/${id}`)).body
    t.match(request, { state: 'queued', throttle: 'full', waiting_because: { code: 'not_approved' } })
    t.match(request.requested_by, { name: 'admin' })
    const events = (await s.expect(200, 'GET', `/api/traces/${request.trace_id}`)).body.events
    t.same(
      events.map((event: any) => [event.event_type, event.by?.name]),
      [
        ['greet_requested', 'admin'],
        ['run_request_created', 'admin'],
      ],
    )
    t.equal(events[1].causation_id, events[0].id)
    for (const event_type of [
      'work_item_settled',
      'pacing_paused',
      'run_request_created',
      'token_created',
      'campaign_paused',
    ]) {
      const refused = await s.expect(403, 'POST', '/api/events', { events: [command({ event_type })] })
      t.equal(refused.body.code, 'service_owned_type', event_type)
    }
    await s.expect(200, 'PATCH', '/api/projects/greeter', { archived: true })
    const late = command({ occurred_at: '2026-01-31T12:00:01Z' })
    t.equal((await s.expect(409, 'POST', '/api/events', { events: [late] })).body.code, 'project_archived')
  },
)

t.test('a command sent again is answered with its run request, even if the project was archived since', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const events = [command()]
  const { body: first } = await s.expect(200, 'POST', '/api/events', { events })
  await s.expect(200, 'PATCH', '/api/projects/greeter', { archived: true })
  const { run_requests } = first
  const again = await s.expect(200, 'POST', '/api/events', { events: [...events, command({ event_type: 'noted' })] })
  t.match(again.body, { accepted: 1, duplicates: 1, run_requests })
  const other = command({ payload: { name: 'moon' } })
  const refused = await s.expect(409, 'POST', '/api/events', { events: [...events, other] })
  t.equal(refused.body.code, 'project_archived')
  t.equal((await s.expect(200, 'GET', '/api/run-requests')).body.items.length, 1)
})

t.test(
  'an emitted advance is answered once its initiative has taken it, so that the next is judged by it',
  async (t) => {
    const platform = new HoldablePlatform()
    const s = await startTestService(t, {}, { platform })
    for (const key of ['greeter', 'other']) await s.project(key)
    const members = ['greeter', 'other'].map((ref) => ({ kind: 'project', ref }))
    await s.expect(201, 'POST', '/api/initiatives', { name: 'languages', outcome: 'All are greeted', members })
    const advance = (project: string) => {
      const payload = { initiative: 'languages', trigger_id: 't1', operator_origin: 'cron' }
      const event_type = 'initiative_advance_requested'
      const member = { kind: 'project', ref: project }
      const event = { project, event_type, occurred_at: AT, throttle: 'full', payload: { ...payload, member } }
      return s.call('POST', '/api/events', { events: [event] })
    }
    platform.holdAt(s.service.runtime.journal)
    let isAnswered = false
    const first = advance('greeter').then((reply) => {
      isAnswered = true
      return reply
    })
    await until(
      async () => platform.held,
      (held) => held > 0,
    )
    await s.expect(200, 'GET', '/healthz')
    t.notOk(isAnswered)
    platform.letGo()
    t.equal((await first).status, 200)
    t.match(await advance('other'), { status: 422, body: { errors: [{ pointer: '/events/0/payload/trigger_id' }] } })
  },
)
