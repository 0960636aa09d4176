/** Each event type of SPEC 6.7, 6.9 and 6.10, recorded by a real path through the service, with its exact payload. */
import t from 'tap'
import { until } from '../until.ts'
import { AT, begin, COMPLETE, finish, fleet, history, inState, reading, submit, waits } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'
import { toTheLetter } from './to-the-letter.ts'

/** The item's events of one type. */
async function ofType(s: TestService, id: string, type: string): Promise<any[]> {
  return (await history(s, id)).filter(({ event_type }) => event_type === type)
}

t.test('each event type of SPEC 6.7, 6.9 and 6.10 is recorded with exactly the members of its table', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'till')
  const shared = { project: 'shop', kind: 'task', lane: 'interactive', origin: 'ann-laptop' }
  const ask = { origin: 'ann-laptop' }

  const first = await submit(s, { objective: 'First', ...ask })
  const request = await begin(s, runner)
  const second = await submit(s, { objective: 'Second', depends_on: [first.id], not_before: AT, ...ask })
  const [submitted] = await history(s, second.id)
  t.same(submitted.payload, {
    ...shared,
    item_id: second.id,
    objective: 'Second',
    state: 'queued',
    reason: 'its project’s repository is busy',
    depends_on: [first.id],
    not_before: AT,
  })
  t.match(submitted, {
    project: 'shop',
    throttle: 'full',
    trace_id: second.trace_id,
    by: { name: 'admin', origin: 'ann-laptop' },
  })

  const stated = (event_type: string, payload: object) => ({ event_type, occurred_at: AT, payload })
  const events = [
    stated('task_run_started', { project: 'shop', objective: 'First' }),
    stated('task_reviewed', { project: 'shop', verdict: 'complete', review: 'fine' }),
  ]
  await s.expect(200, 'POST', `/api/run-requests/${request.request_id}/events`, { events }, runner)
  await finish(s, runner, request.request_id, { ...COMPLETE, worktree: '/w/1', worktree_removed: true })
  await inState(s, first.id, 'landed')
  const [started] = await ofType(s, first.id, 'work_item_started')
  t.same(started.payload, {
    ...shared,
    item_id: first.id,
    objective: 'First',
    state: 'running',
    reason: 'running on r1',
  })
  const [settled] = await ofType(s, first.id, 'work_item_settled')
  t.same(settled.payload, {
    ...shared,
    item_id: first.id,
    objective: 'First',
    state: 'landed',
    reason: 'complete: done',
    disposition: { verdict: 'complete', landed_commit: 'abc1234', worktree: '/w/1', worktree_removed: true },
  })

  await until(reading(s, second.id), waits('handed_out'))
  await s.expect(200, 'POST', `/api/work-items/${second.id}/hold`, ask)
  const [held] = await ofType(s, second.id, 'work_item_held')
  t.same(held.payload, {
    ...submitted.payload,
    state: 'held',
    reason: 'held by admin',
    operator_action: {
      command: 'hold',
      origin: 'ann-laptop',
      previous_state: 'queued',
      previous_reason: held.payload.operator_action.previous_reason,
    },
  })
  t.match(held.payload.operator_action.previous_reason, /^handed out: runreq_/)
  await s.expect(200, 'POST', `/api/work-items/${second.id}/release`, ask)
  const [released] = await ofType(s, second.id, 'work_item_released')
  t.same(released.payload, {
    ...submitted.payload,
    state: 'queued',
    reason: released.payload.reason,
    operator_action: {
      command: 'release',
      origin: 'ann-laptop',
      previous_state: 'held',
      previous_reason: 'held by admin',
    },
  })

  const third = await submit(s, { project: 'till', objective: 'Third', ...ask })
  const failing = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, runner)
  const failed = { class: 'execution', message: 'no disk' }
  const other = failing.body.engine.payload.item_id === third.id ? third : second
  await s.expect(200, 'POST', `/api/run-requests/${failing.body.request_id}/failed`, failed, runner)
  const { settled_at } = await inState(s, other.id, 'failed')
  await s.expect(200, 'POST', `/api/work-items/${other.id}/close`, { reason: 'bought a disk', ...ask })
  const [closed] = await ofType(s, other.id, 'work_item_cancelled')
  t.same(closed.payload.operator_action, {
    command: 'close',
    origin: 'ann-laptop',
    previous_state: 'failed',
    previous_reason: 'run failed (execution): no disk',
    previous_settled_at: settled_at,
  })
  t.match(closed.payload, { state: 'cancelled', reason: 'closed: bought a disk' })
  t.equal(closed.trace_id, other.trace_id, 'on the exact item’s trace')

  await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['campaign'], ...ask })
  await s.expect(200, 'POST', '/api/pacing/resume', ask)

  await toTheLetter(t, s, 'ledger-events')
})

t.test(
  'cancelling an item, running or waiting, is recorded on its own trace as work_item_cancelled and not as settled',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop')
    const running = await submit(s)
    const waiting = await submit(s, { objective: 'Later' })
    const { request_id } = await begin(s, runner)
    for (const { id } of [running, waiting]) await s.expect(200, 'POST', `/api/work-items/${id}/cancel`)
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/failed`, { class: 'cancelled', message: 'x' }, runner)
    for (const { id, trace_id } of [running, waiting]) {
      await inState(s, id, 'cancelled')
      const events = await history(s, id)
      t.equal(events.at(-1).event_type, 'work_item_cancelled')
      t.equal(events.at(-1).trace_id, trace_id)
      t.notOk(
        events.some(({ event_type }) => event_type === 'work_item_settled'),
        'never both',
      )
    }
    const trace = (await s.expect(200, 'GET', `/api/traces/${running.trace_id}`)).body
    t.equal(trace.complete, false, 'the trace of an aborted run is incomplete')
    t.ok(trace.events.some(({ event_type }: any) => event_type === 'run_request_cancelled'))
  },
)
