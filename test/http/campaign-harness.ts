/** Shared by tests of campaigns over HTTP: adding one, answering its formations, working its cycles. */
import { until } from '../until.ts'
import { AT, begin, COMPLETE, finish, fleet, type Runner } from './ledger-harness.ts'
import type { TestService } from './service-harness.ts'

export const GATE = { kind: 'gate', command: 'npm test' }
export const GREEN = [
  { name: 'campaign_done_1', command: 'npm test', passed: true, required: true, output: '', exit_code: 0 },
]

export async function addCampaign(s: TestService, more: object = {}): Promise<any> {
  const body = { name: 'pay', project: 'shop', mission: 'Let customers pay by invoice', done_evidence: [GATE], ...more }
  return (await s.expect(201, 'POST', '/api/campaigns', body)).body
}

/** A runner, and a campaign whose first step is being formed. */
export async function advanced(s: TestService): Promise<Runner> {
  const runner = await fleet(s, 'shop')
  await addCampaign(s)
  await move(s, 'advance')
  return runner
}

/** The same with that step formed: its first cycle waits or runs. */
export async function inFirstCycle(s: TestService): Promise<Runner> {
  const runner = await advanced(s)
  await form(s, runner, step('Add invoices'))
  await comesTo(s, 'active', 'cycle')
  return runner
}

export async function move(s: TestService, name: string, body: object = {}, campaign = 'pay'): Promise<any> {
  return (await s.expect(200, 'POST', `/api/campaigns/${campaign}/${name}`, body)).body
}

export function reading(s: TestService, campaign = 'pay'): () => Promise<any> {
  return async () => (await s.expect(200, 'GET', `/api/campaigns/${campaign}`)).body
}

export const item = async (s: TestService, id: string): Promise<any> =>
  (await s.expect(200, 'GET', `/api/work-items/${id}`)).body

export function comesTo(s: TestService, status: string, stage?: string): Promise<any> {
  return until(reading(s), (one) => one.status === status && (stage === undefined || one.stage === stage))
}

/** Takes the next work, which must be a formation, and answers it. */
export async function form(s: TestService, runner: Runner, result: object): Promise<any> {
  const request = await begin(s, runner)
  if (request.engine.entry_event !== 'campaign_advance_requested')
    throw new Error(`not a formation: ${JSON.stringify(request)}`)
  await s.expect(200, 'POST', `/api/run-requests/${request.request_id}/completed`, { result }, runner)
  return request
}

export const step = (objective: string) => ({
  decision: { decision: 'advance', reason: `${objective} is missing`, objective },
  agent_provider: 'acme-ai',
  prompt: 'as shown',
})
export const done = { decision: 'done', reason: 'all of it holds', gate_results: GREEN }

/** Takes the next work, which must be a cycle, and ends it with the result. */
export async function work(s: TestService, runner: Runner, result: object = COMPLETE): Promise<any> {
  const request = await begin(s, runner)
  if (request.engine.entry_event !== 'execution_requested') throw new Error(`not a cycle: ${JSON.stringify(request)}`)
  await finish(s, runner, request.request_id, result)
  return request
}

/** Fails the run without a task result. */
export async function fail(s: TestService, runner: Runner, request: string, body: object): Promise<void> {
  const failed = { class: 'execution', message: 'it broke', ...body }
  await s.expect(200, 'POST', `/api/run-requests/${request}/failed`, failed, runner)
}

/** Events of one type about the campaign, oldest first. */
export async function events(s: TestService, type: string, campaign = 'pay'): Promise<any[]> {
  const path = `/api/events?campaign=${campaign}&event_type=${type}&order=asc&limit=500`
  return (await s.expect(200, 'GET', path)).body.items
}

export const verdict = (name: string, more: object = {}) => ({
  project: 'shop',
  success: false,
  landed: false,
  summary: 'as told',
  verdict: name,
  ...more,
})

/** The time that events of these tests carry. */
export { AT }
