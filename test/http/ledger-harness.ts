/** Shared by tests of the ledger over HTTP: projects with an online runner; items submitted, started, finished. */
import { until } from '../until.ts'
import type { TestService } from './service-harness.ts'

export const AT = '2026-01-31T12:00:00Z'

export interface Runner {
  readonly token: string
}

/** The result of a task that landed. */
export const COMPLETE = {
  project: 'shop',
  success: true,
  landed: true,
  summary: 'done',
  verdict: 'complete',
  preservation_ref: 'abc1234',
}
export const PRESERVED = {
  ...COMPLETE,
  success: false,
  landed: false,
  land_blocked: 'git_failed',
  preservation_ref: 'task/x',
}

/** Creates the projects and a trusted runner, and brings it online. */
export async function fleet(s: TestService, ...projects: string[]): Promise<Runner> {
  for (const key of projects) await s.project(key)
  const token = await s.runner('r1', { trusted: true, capacity: 4 })
  await s.call('GET', '/api/runners/r1/run-requests/next', undefined, { token })
  return { token }
}

export async function submit(s: TestService, body: object = {}): Promise<any> {
  return (await s.expect(201, 'POST', '/api/work-items', { project: 'shop', objective: 'Tidy up', ...body })).body
}

export function reading(s: TestService, id: string): () => Promise<any> {
  return async () => (await s.expect(200, 'GET', `/api/work-items/${id}`)).body
}

export const waits = (code: string) => (body: any) => body.waiting_because?.code === code

/** The next Execution Request. */
export async function take(s: TestService, runner: Runner): Promise<any> {
  return (await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, runner)).body
}

/** Takes the next request and starts it. */
export async function begin(s: TestService, runner: Runner): Promise<any> {
  const request = await take(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request.request_id}/started`, {}, runner)
  return request
}

/** Posts the run's terminal event, and completes the run. */
export async function finish(
  s: TestService,
  runner: Runner,
  request: string,
  payload: object = COMPLETE,
  event_type = 'task_run_completed',
): Promise<void> {
  const event = { event_type, occurred_at: AT, payload }
  await s.expect(200, 'POST', `/api/run-requests/${request}/events`, { events: [event] }, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request}/completed`, { result: {} }, runner)
}

export function inState(s: TestService, id: string, state: string): Promise<any> {
  return until(reading(s, id), (item) => item.state === state)
}

/** The item's own events, oldest first. */
export async function history(s: TestService, id: string): Promise<any[]> {
  return (await s.expect(200, 'GET', `/api/events?item_id=${id}&order=asc`)).body.items
}
