/** Brings a formation brief over HTTP to the state that a test needs, based on an accepted record. */
import { recordIdOfSlug } from '../../machines/ids.ts'
import type { MessageBody } from '../../runtime/api.ts'
import type { TestService } from './service-harness.ts'

/** Creates an accepted intent record in the project; returns its id. */
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

/** Gives the record another capability text. */
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

/** Creates a brief and brings it to that state, approved for `dry_run` unless other throttles are named. */
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

/** The body that requests a run of the brief. */
export function runOf(brief: { id: string; digest: string }, more: object = {}): object {
  return { entry_event: 'execution_requested', brief: { id: brief.id, digest: brief.digest }, ...more }
}

/** Type and payload of the events of these types, in log order. */
export async function factsOf(s: TestService, types: string): Promise<[string, any][]> {
  const { items } = (await s.expect(200, 'GET', `/api/events?limit=500&event_type=${types}`)).body
  return items.map((event: any) => [event.event_type, event.payload])
}
