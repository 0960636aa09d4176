import t from 'tap'
import { startTestService, type TestService } from './service-harness.ts'

const AT = '2026-01-31T12:00:00Z'

/** A project, a trusted runner that is there, and its token. */
async function fleet(s: TestService, ...projects: string[]): Promise<{ token: string }> {
  for (const key of projects) await s.project(key)
  const token = await s.runner('r1', { trusted: true, capacity: 4 })
  await s.call('GET', '/api/runners/r1/run-requests/next', undefined, { token })
  return { token }
}

async function take(s: TestService, runner: { token: string }): Promise<any> {
  return (await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, runner)).body
}

const complete = {
  project: 'shop',
  success: true,
  landed: true,
  summary: 'done',
  verdict: 'complete',
  preservation_ref: 'abc1234',
}

t.test('a task is submitted, handed out, started and landed by its result', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const made = await s.expect(201, 'POST', '/api/work-items', { project: 'shop', objective: 'Tidy up' })
  t.match(made.body, { state: 'queued', kind: 'task', lane: 'interactive', source: { kind: 'operator', ref: 'admin' } })
  const { id, trace_id } = made.body
  const request = await take(s, runner)
  t.match(request.engine, { entry_event: 'execution_requested', throttle: 'full', access: 'full' })
  t.same(request.engine.payload, { item_id: id, objective: 'Tidy up' })
  t.equal(request.trace.trace_id, trace_id)
  const handedOut = (await s.expect(200, 'GET', `/api/work-items/${id}`)).body
  t.match(handedOut, { state: 'queued', waiting_because: { code: 'handed_out' }, run_request_id: request.request_id })
  await s.expect(200, 'POST', `/api/run-requests/${request.request_id}/started`, {}, runner)
  const running = (await s.expect(200, 'GET', `/api/work-items/${id}`)).body
  t.match(running, { state: 'running', running_on: 'r1' })
  const event = { event_type: 'task_run_completed', occurred_at: AT, payload: complete }
  await s.expect(200, 'POST', `/api/run-requests/${request.request_id}/events`, { events: [event] }, runner)
  const landed = (await s.expect(200, 'GET', `/api/work-items/${id}`)).body
  t.match(landed, { state: 'landed', disposition: { verdict: 'complete', landed_commit: 'abc1234' } })
  const result = { result: { status: 'completed' } }
  await s.expect(200, 'POST', `/api/run-requests/${request.request_id}/completed`, result, runner)
  const history = (await s.expect(200, 'GET', `/api/events?item_id=${id}&order=asc`)).body.items
  t.same(
    history.map((event: any) => event.event_type),
    ['work_item_submitted', 'work_item_started', 'work_item_settled'],
  )
})
