/** A brief, the records behind it, and every message that it takes: shared by the tests of its machine. */

import type { SourceRecord } from '../../machines/documents/compiled-brief.ts'
import type { FormationBriefCreate } from '../../machines/documents/formation-brief.ts'
import type { Artifact } from '../../machines/formation-brief/compiler.ts'
import type { Sources } from '../../machines/formation-brief/snapshot.ts'
import { formationBriefModule as module } from '../../machines/formation-brief.ts'
import type { Message, SnapshotOf } from '../../machines/machine.ts'
import { BY } from './run-request-samples.ts'
import { after, at, step } from './step.ts'

export const OTHER = { id: `tok_${'2'.repeat(24)}`, name: 'bob' }
export const RECORD_ID = `ir_${'1'.repeat(24)}`
const OTHER_RECORD_ID = `ir_${'2'.repeat(24)}`

export const SECTIONS: FormationBriefCreate = {
  title: 'Tidy the checkout',
  mission: {
    objective: 'Make the checkout survive a lost answer.',
    definition_of_done: ['the same order sent twice is one order'],
    stop_conditions: ['a gate fails twice'],
    engineering_intent_refs: [RECORD_ID, 'docs/adr/0007.md'],
  },
  protected_capabilities: [{ id: RECORD_ID, name: 'one order', statement: 'Nobody pays twice.', severity: 'high' }],
  threats_to_watch: ['retries without a key'],
  strategies_to_prefer: ['derive the key from the cart'],
  forbidden_moves: ['weaken a test'],
  tradeoffs: ['an order may take a second longer'],
  evidence_plan: { required: ['a test that sends an order twice'], suggested: ['a trace of a lost answer'] },
  agent_formation: { pattern: 'planner_coder_reviewer', roles: [{ name: 'coder', model_preference: 'large' }] },
  engine_controls: { entry_event: 'execution_requested', commit_allowed: true },
  feedback_hooks: ['say what the run taught'],
  repo: { path: 'git@host:shop', revision: 'r1' },
}

export const RECORD: SourceRecord = {
  id: RECORD_ID,
  key: 'acme.intent.one-order',
  version: 3,
  title: 'One order',
  capability: 'An order is paid once.',
  threat: 'A client that repeats an order after a timeout.',
  confidence: 1,
  scope: { paths: ['src/checkout'] },
  sources: [{ source_type: 'code_observation', source_ref: 'src/checkout/pay.ts', excerpt: 'pay(order) // twice?' }],
  evidence: [{ id: `${RECORD_ID}.e1`, description: 'an order sent twice is one', required: true, gate_name: 'e2e' }],
}

export const SOURCES: Sources = { records: [RECORD], unfit: [], since: {} }
/** The record was rewritten since. */
export const MOVED: Sources = { records: [{ ...RECORD, version: 4, capability: 'Another one.' }], unfit: [], since: {} }
/** The record no longer guides runs. */
export const GONE: Sources = { records: [], unfit: [{ id: RECORD_ID, why: 'is deprecated' }], since: {} }

export const CREATE = {
  type: 'create',
  by: BY,
  id: `brief_${'a'.repeat(24)}`,
  project: 'acme',
  project_id: `proj_${'b'.repeat(24)}`,
  sections: SECTIONS,
  idempotency_key: 'key-1',
  fingerprint: 'fingerprint-1',
}

export const RUN = `runreq_${'c'.repeat(24)}`
export const OTHER_RUN = `runreq_${'d'.repeat(24)}`
const REQUESTED_AT = '2026-01-01T00:00:10.000000Z'

const create = at(0, CREATE)
const submit = at(2, { type: 'submit', by: BY })
const approve = at(3, { type: 'approve', by: BY, throttle: 'dry_run', sources: SOURCES })
const compile = at(4, { type: 'compile', by: BY, sources: SOURCES })
const APPROVED = [create, submit, approve]
export const COMPILED: SnapshotOf<any> = after(module, [...APPROVED, compile])

/** The frozen artifact that the brief's own message makes in the compiled brief's actor. */
export function artifactOf(sent: Message<any>[], last: Message<any>): Artifact {
  const { sends } = step(module, after(module, sent), last)
  const { digest, snapshot, prompt_pack } = sends[0]!.message as unknown as Artifact
  return { digest, snapshot, prompt_pack }
}
export const ARTIFACT: Artifact = artifactOf(APPROVED, compile)

const run_queued = at(10, {
  type: 'run_queued',
  run_request_id: RUN,
  requested_at: REQUESTED_AT,
  digest: ARTIFACT.digest,
  throttle: 'full',
  entry_event: 'execution_requested',
  revision: 'r1',
  approved: false,
  retries: false,
})
const of = { run_request_id: RUN }
const PACK = ARTIFACT.prompt_pack
const UNREVIEWED = { ...ARTIFACT, prompt_pack: { ...PACK, prompts: PACK.prompts.slice(0, 6) } }
const edit = { type: 'edit_prompt', by: BY, phase: 'execution', prompt_text: 'Do it well.', artifact: ARTIFACT }

/** One message of each kind; the labels name what is special. */
export const MESSAGES = {
  create,
  'create (other body)': at(1, { ...CREATE, fingerprint: 'fingerprint-2' }),
  update: at(1, { type: 'update', by: BY, sections: { tradeoffs: null, title: 'Another' } }),
  'update (nothing new)': at(1, { type: 'update', by: BY, sections: { title: SECTIONS.title } }),
  'update (of an older version)': at(1, { type: 'update', by: BY, sections: { title: 'Another' }, if_version: 7 }),
  submit,
  'submit (of an older version)': at(2, { ...submit, if_version: 7 }),
  approve,
  'approve (by another)': at(5, { ...approve, by: OTHER }),
  'approve (full)': at(5, { ...approve, throttle: 'full' }),
  'approve (other revision)': at(5, { ...approve, revision: 'r2' }),
  'approve (moved intent)': at(5, { ...approve, sources: MOVED }),
  'approve (record gone)': at(5, { ...approve, sources: GONE }),
  'approve (of an older version)': at(5, { ...approve, if_version: 7 }),
  compile,
  'compile (moved intent)': at(6, { ...compile, sources: MOVED }),
  'compile (other revision)': at(6, { ...compile, revision: 'r2' }),
  'compile (record gone)': at(6, { ...compile, sources: GONE }),
  'compile (incapable)': at(6, { ...compile, incapable: 'No engine can.' }),
  edit_prompt: at(7, edit),
  'edit_prompt (same text)': at(7, { ...edit, prompt_text: ARTIFACT.prompt_pack.prompts[3]!.prompt_text }),
  'edit_prompt (of an older pack)': at(7, { ...edit, artifact: { ...ARTIFACT, digest: 'sha256:old' } }),
  'edit_prompt (of an older version)': at(7, { ...edit, if_version: 7 }),
  'edit_prompt (no such phase)': at(7, { ...edit, phase: 'review', artifact: UNREVIEWED }),
  'edit_prompt (not compiled)': at(7, { ...edit, artifact: undefined }),
  archive: at(8, { type: 'archive', by: BY, reason: 'done' }),
  run_queued,
  'run_queued (later run)': at(30, {
    ...run_queued,
    run_request_id: OTHER_RUN,
    requested_at: '2026-01-01T00:00:29.000000Z',
  }),
  'run_queued (earlier run)': at(30, {
    ...run_queued,
    run_request_id: OTHER_RUN,
    requested_at: '2026-01-01T00:00:01.000000Z',
  }),
  'run_queued (clock set back)': at(6, {
    ...run_queued,
    run_request_id: OTHER_RUN,
    requested_at: '2026-01-01T00:00:05.000000Z',
  }),
  run_accepted: at(11, { type: 'run_accepted', ...of }),
  'run_accepted (other run)': at(11, { type: 'run_accepted', run_request_id: OTHER_RUN }),
  run_started: at(12, { type: 'run_started', ...of }),
  run_completed: at(13, { type: 'run_completed', ...of }),
  'run_stopped (failed)': at(13, { type: 'run_stopped', ...of, outcome: 'failed', reason: 'tests failed' }),
  'run_stopped (lost)': at(13, { type: 'run_stopped', ...of, outcome: 'lost', reason: 'its runner fell silent' }),
  run_observed: at(13, { type: 'run_observed', ...of, intent_record_ids: [RECORD_ID] }),
  'run_observed (of another record)': at(13, { type: 'run_observed', ...of, intent_record_ids: [OTHER_RECORD_ID] }),
} as const satisfies Record<string, Message<any>>

const M = MESSAGES

/** One snapshot of every state, reached by messages. */
export function states(): Readonly<Record<string, SnapshotOf<any>>> {
  const compiled = [...APPROVED, compile]
  const queued = [...compiled, run_queued]
  return {
    draft: after(module, [create]),
    reviewable: after(module, [create, submit]),
    approved: after(module, APPROVED),
    compiled: after(module, compiled),
    queued: after(module, queued),
    accepted: after(module, [...queued, M.run_accepted]),
    executing: after(module, [...queued, M.run_started]),
    completed: after(module, [...queued, M.run_completed]),
    analyzed: after(module, [...queued, M.run_completed, M.run_observed]),
    archived: after(module, [create, M.archive]),
  }
}
