import { TEMPLATE_VERSION } from '../../../machines/formation-brief/prompt-phases.ts'
import { COMPILER_VERSION } from '../../../machines/formation-brief/snapshot.ts'
import { AT, BRIEF_ID, BY, DIGEST, PROJECT_ID, REQUEST_ID } from './constants.ts'

const RECORD_ID = 'ir_5a6b7c8d9e0f112233445566'
const PACK_DIGEST = `sha256:${'fedcba9876543210'.repeat(4)}`
const INTENT_DIGEST = `sha256:${'00ff11ee22dd33cc'.repeat(4)}`

const sections = {
  title: 'Greet in every language',
  mission: { objective: 'Greet everybody who asks, in their own language.', engineering_intent_refs: [RECORD_ID] },
  protected_capabilities: [{ id: RECORD_ID, statement: 'A greeting never fails.', severity: 'high' }],
  forbidden_moves: ['Weaken a test.'],
  evidence_plan: { required: ['A test for each language.'] },
  engine_controls: { entry_event: 'execution_requested' },
  repo: { path: 'git@example.com:greeter.git', revision: '4f2a9c1' },
}
const draft = {
  id: BRIEF_ID,
  schema_version: 'intendant.formation_brief.v1',
  project: 'greeter',
  project_id: PROJECT_ID,
  state: 'draft',
  version: 1,
  ...sections,
  throttle: 'dry_run',
  approvals: [],
  created_by: BY,
  created_at: AT,
}
const reviewable = { ...draft, state: 'reviewable', submitted_at: AT }
const approval = {
  throttle: 'full',
  digest: DIGEST,
  revision: '4f2a9c1',
  intent_digest: INTENT_DIGEST,
  by: BY,
  at: AT,
}
const approved = { ...reviewable, state: 'approved', approvals: [approval] }
const queued = {
  ...approved,
  state: 'queued',
  digest: DIGEST,
  compiled: {
    digest: DIGEST,
    prompt_pack_digest: PACK_DIGEST,
    revision: '4f2a9c1',
    source_intent: [{ id: RECORD_ID, version: 3 }],
    edited: false,
    compiled_by: BY,
    compiled_at: AT,
  },
  run: {
    run_request_id: REQUEST_ID,
    requested_at: AT,
    digest: DIGEST,
    throttle: 'full',
    state: 'queued',
    observations: 0,
    changed_at: AT,
  },
}
const prompt = {
  phase: 'execution',
  prompt_text: '# Execution\n\nCarry out the plan, exactly within the objective and the scope below.\n',
  context_refs: [RECORD_ID],
  access_level: 'full',
  edited: false,
}
const compiled = {
  schema_version: 'intendant.compiled_brief.v1',
  formation_brief_id: BRIEF_ID,
  project: 'greeter',
  digest: DIGEST,
  snapshot: {
    schema_version: 'intendant.compiled_brief.v1',
    compiler_version: COMPILER_VERSION,
    formation_brief_id: BRIEF_ID,
    brief_version: 1,
    project: 'greeter',
    project_id: PROJECT_ID,
    ...sections,
    throttle: 'dry_run',
    source_intent: [{ id: RECORD_ID, key: 'greeter.intent.never-fails', version: 3, title: 'A greeting never fails' }],
    external_references: [],
    prompt_pack: { digest: PACK_DIGEST, template_version: TEMPLATE_VERSION },
  },
  prompt_pack: {
    digest: PACK_DIGEST,
    schema_version: 'intendant.prompt_pack.v1',
    formation_brief_id: BRIEF_ID,
    brief_version: 1,
    compiler_version: COMPILER_VERSION,
    template_version: TEMPLATE_VERSION,
    source_intent: [{ id: RECORD_ID, version: 3 }],
    external_references: [],
    prompts: [prompt],
    human_edits: [],
  },
  compiled_by: BY,
  compiled_at: AT,
}
const edit = { prompt_text: '# Execution\n\nOne language at a time.\n', reason: 'Small steps.' }
const edited = {
  ...compiled,
  prompt_pack: {
    ...compiled.prompt_pack,
    prompts: [{ ...prompt, prompt_text: edit.prompt_text, edited: true }],
    human_edits: [{ phase: 'execution', by: BY, at: AT, previous_digest: PACK_DIGEST, reason: edit.reason }],
  },
}

export const formationBriefExamples = {
  'POST /api/projects/:id/formation-briefs': { body: sections, answer: draft },
  'POST /formation-briefs': { body: { project: 'greeter', ...sections }, answer: draft },
  'GET /api/projects/:id/formation-briefs': { answer: { items: [queued] } },
  'GET /api/formation-briefs/:id': { answer: queued },
  'GET /formation-briefs/:id': { answer: queued },
  'PATCH /api/formation-briefs/:id': {
    body: { title: 'Greet in three languages', forbidden_moves: null },
    answer: { ...draft, title: 'Greet in three languages', version: 2, updated_at: AT },
  },
  'POST /api/formation-briefs/:id/submit': { body: {}, answer: reviewable },
  'POST /api/formation-briefs/:id/approve': { body: { throttle: 'full', revision: '4f2a9c1' }, answer: approved },
  'POST /formation-briefs/:id/compile-prompts': { body: {}, answer: compiled },
  'POST /api/formation-briefs/:id/compile-prompts': { body: {}, answer: compiled },
  'GET /api/formation-briefs/:id/compiled': { answer: compiled },
  'PUT /api/formation-briefs/:id/prompts/:phase': { body: edit, answer: edited },
  'POST /api/formation-briefs/:id/archive': {
    body: { reason: 'Done in another way.' },
    answer: { ...draft, state: 'archived', reason: 'Done in another way.', archived_at: AT },
  },
}
