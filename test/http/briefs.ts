/** A formation brief over HTTP, as far on its way as a test wants it, with a record behind it. */
import { recordIdOfSlug } from '../../machines/ids.ts'
import type { MessageBody } from '../../runtime/api.ts'
import type { TestService } from './service-harness.ts'

/** An accepted intent record of the project; its id. */
export async function acceptedRecord(
  s: TestService,
  project: any,
  slug: string,
  content: object = {},
): Promise<string> {
  const id = recordIdOfSlug(project.id, slug)
  const named = { id, project: project.key, project_id: project.id, slug }
  await tellRecord(s, id, { type: 'create', ...named, content: { title: slug, capability: 'It works.', ...content } })
  await tellRecord(s, id, { type: 'accept' })
  return id
}

export async function tellRecord(s: TestService, id: string, message: object): Promise<void> {
  const answer = await s.service.runtime.askAsync({ kind: 'intent_record', id }, message as MessageBody)
  if (!answer.ok) throw new Error(`${JSON.stringify(message)}: ${JSON.stringify(answer)}`)
}

/** The record says something else now. */
export function rewriteRecord(s: TestService, id: string, capability: string): Promise<void> {
  return tellRecord(s, id, { type: 'update', patch: { capability }, may_rewrite: true })
}

export function sectionsFor(recordId: string, more: object = {}): any {
  return {
    title: 'Tidy the checkout',
    mission: { objective: 'Make the checkout survive a lost answer.', engineering_intent_refs: [recordId] },
    protected_capabilities: [{ id: recordId, statement: 'Nobody pays twice.' }],
    evidence_plan: { required: ['a test that sends an order twice'] },
    ...more,
  }
}

const STEPS = ['draft', 'reviewable', 'approved', 'compiled'] as const

export interface MadeBrief {
  readonly id: string
  readonly path: string
  readonly digest: string
  readonly body: any
}

/** A brief that has come so far. Approved for `dry_run` unless other throttles are named. */
export async function briefIn(
  s: TestService,
  state: (typeof STEPS)[number],
  project: string,
  sections: object,
  throttles: readonly string[] = ['dry_run'],
): Promise<MadeBrief> {
  const made = (await s.expect(201, 'POST', `/api/projects/${project}/formation-briefs`, sections)).body
  const path = `/api/formation-briefs/${made.id}`
  const far = STEPS.indexOf(state)
  if (far > 0) await s.expect(200, 'POST', `${path}/submit`)
  if (far > 1) for (const throttle of throttles) await s.expect(200, 'POST', `${path}/approve`, { throttle })
  if (far > 2) await s.expect(200, 'POST', `/formation-briefs/${made.id}/compile-prompts`)
  const { body } = await s.expect(200, 'GET', path)
  return { id: made.id, path, digest: body.digest, body }
}

/** Ask for a run of the brief. */
export function runOf(brief: { id: string; digest: string }, more: object = {}): object {
  return { entry_event: 'execution_requested', brief: { id: brief.id, digest: brief.digest }, ...more }
}

/** Facts of these types, in the order of the log. */
export async function factsOf(s: TestService, types: string): Promise<[string, any][]> {
  const { items } = (await s.expect(200, 'GET', `/api/events?limit=500&event_type=${types}`)).body
  return items.map((event: any) => [event.event_type, event.payload])
}
