/** Shared by tests of initiatives over HTTP: one with members, assessments answered by a runner, their events. */
import { until } from '../until.ts'
import { begin, fleet, type Runner } from './ledger-harness.ts'
import type { TestService } from './service-harness.ts'

export const NAME = 'checkout'
export const SHOP = { kind: 'project', ref: 'shop' }
export const BANK = { kind: 'project', ref: 'bank' }
export const ORIGIN = { origin: 'ann-laptop' }

export interface World {
  readonly s: TestService
  readonly runner: Runner
}

export async function add(s: TestService, body: object = {}): Promise<any> {
  const given = { name: NAME, outcome: 'People can pay by invoice', members: [SHOP, BANK], ...ORIGIN, ...body }
  return (await s.expect(201, 'POST', '/api/initiatives', given)).body
}

/** An online runner, two projects, and an initiative over both. */
export async function world(s: TestService, body: object = {}): Promise<World> {
  const runner = await fleet(s, 'shop', 'bank')
  await add(s, body)
  return { s, runner }
}

export async function read({ s }: World, name = NAME): Promise<any> {
  return (await s.expect(200, 'GET', `/api/initiatives/${name}`)).body
}

export async function post({ s }: World, name: string, body: object = {}, headers: Record<string, string> = {}) {
  return s.call('POST', `/api/initiatives/${NAME}/${name}`, { ...ORIGIN, ...body }, { headers })
}

export async function advance(w: World, trigger_id: string, more: object = {}): Promise<any> {
  return (await w.s.expect(200, 'POST', `/api/initiatives/${NAME}/advance`, { trigger_id, ...ORIGIN, ...more })).body
}

/** The runner takes the assessment and answers with the decision. */
export async function answer({ s, runner }: World, decision: object): Promise<any> {
  const request = await begin(s, runner)
  const result = { reason: 'it is time', agent_provider: 'claude', ...decision }
  await s.expect(200, 'POST', `/api/run-requests/${request.request_id}/completed`, { result }, runner)
  return request
}

/** The assessment with that number, counted from 1, once it has ended. */
export async function steered(w: World, count: number): Promise<any> {
  const { assessments } = await until(
    () => read(w),
    (body) => body.assessments.length >= count,
  )
  return assessments[count - 1]
}

/** Requests an assessment, answers it, and returns how it ended. */
export async function steer(w: World, trigger_id: string, decision: object, more: object = {}): Promise<any> {
  const { assessments } = await advance(w, trigger_id, more)
  const request = await answer(w, decision)
  return { request, ended: await steered(w, assessments.length + 1) }
}

/** The initiative's events of a type, oldest first. */
export async function events({ s }: World, event_type: string, name = NAME): Promise<any[]> {
  const query = `initiative=${name}&event_type=${event_type}&order=asc&limit=500`
  return (await s.expect(200, 'GET', `/api/events?${query}`)).body.items
}

export async function item({ s }: World, id: string): Promise<any> {
  return (await s.expect(200, 'GET', `/api/work-items/${id}`)).body
}

/** The item once it has settled. */
export function settledItem(w: World, id: string): Promise<any> {
  return until(
    () => item(w, id),
    ({ settled_at }) => settled_at !== undefined,
  )
}
