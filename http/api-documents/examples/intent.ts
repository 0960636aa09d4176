/** Examples for a project's intent, by route: records, inspections, hypotheses, drift. */
import type { Example } from '../examples.ts'
import { AT, BRIEF_ID, BY, PROJECT_ID, REQUEST_ID, RUN_ID } from './constants.ts'

const RECORD_ID = 'ir_7c1f0e2d3b4a59687f8e9d0c'
const OTHER_ID = 'ir_0c9d8e7f68594a3b2d0e1f7c'
const HYPOTHESIS_ID = 'hyp_3e4d5c6b7a8990817263544f'
const DISCOVERY_ID = 'disc_f4453627180998a7b6c5d4e3'
const OBSERVATION_ID = 'obs_5a5b5c5d5e5f606162636465'
const KEY = 'greeter.intent.greet-in-their-language'

const says = {
  title: 'People are greeted in their own language',
  capability: 'Whoever asks reads a greeting that they understand.',
  threat: 'Texts written into the code.',
  strategy: 'Every text comes from the catalogue of its language.',
  scope: { paths: ['src/greet'] },
}
const evidence = { evidence_type: 'automated_test', description: 'the language tests pass', gate_name: 'languages' }
const record = {
  id: RECORD_ID,
  schema_version: 'intendant.intent_record.v1',
  project: 'greeter',
  project_id: PROJECT_ID,
  slug: 'greet-in-their-language',
  key: KEY,
  state: 'proposed',
  version: 1,
  ...says,
  confidence: 1,
  evidence: [{ id: `${RECORD_ID}.e1`, ...evidence, required: true }],
  relationships: [],
  supersedes: [],
  state_by: BY,
  state_at: AT,
  created_by: BY,
  created_at: AT,
}
const accepted = { ...record, state: 'accepted', reason: 'We mean it.' }
const relationship = { id: `${RECORD_ID}.r1`, type: 'supports', to: OTHER_ID, by: BY, at: AT }

const source = { tool: 'archaeologist', tool_version: '1.4.0' }
const repository = { path: 'git@example.com:greeter.git', revision: '8f2c1d0' }
const observations = [
  {
    ref: 'o1',
    observation_type: 'structural',
    files: ['src/greet/catalogue.ts'],
    summary: 'Every greeting is looked up by language.',
  },
]
const drawn = {
  key: 'own-language',
  title: says.title,
  confidence: 0.8,
  based_on: ['o1'],
  possible_intent: { capability: says.capability, strategy: says.strategy },
  questions: ['Is a missing language meant to fall back to English?'],
}
const discovered = { source, repository, observations, hypotheses: [drawn] }
const made = {
  id: DISCOVERY_ID,
  project: 'greeter',
  untrusted: true,
  source,
  repository,
  created_by: BY,
  created_at: AT,
}
const discovery = {
  ...made,
  schema_version: 'intendant.discovery.v1',
  project_id: PROJECT_ID,
  observations,
  hypotheses: [{ hypothesis_id: HYPOTHESIS_ID, ...drawn }],
}
const summary = { ...made, observation_count: 1, hypothesis_ids: [HYPOTHESIS_ID] }
const hypothesis = {
  id: HYPOTHESIS_ID,
  schema_version: 'intendant.hypothesis.v1',
  project: 'greeter',
  project_id: PROJECT_ID,
  state: 'open',
  untrusted: true,
  ...drawn,
  discovery_id: DISCOVERY_ID,
  revision: repository.revision,
  files: ['src/greet/catalogue.ts'],
  sightings: 1,
  created_by: BY,
  created_at: AT,
}
const decided = { decided_by: BY, decided_at: AT }
const acceptedHypothesis = {
  body: { record: { title: 'People read their own language' }, reason: 'That is what we mean.' },
  answer: {
    hypothesis: {
      ...hypothesis,
      state: 'accepted',
      intent_record_id: RECORD_ID,
      edited: ['title'],
      reason: 'That is what we mean.',
      ...decided,
    },
    intent_record: {
      ...record,
      state: 'accepted',
      title: 'People read their own language',
      hypothesis_id: HYPOTHESIS_ID,
    },
  },
}

const drift = {
  project: 'greeter',
  intent_record: { id: RECORD_ID, key: KEY, title: says.title, state: 'accepted', version: 1 },
  status: 'drifted',
  since: AT,
  severity: 'high',
  action: 'repair',
  because: [
    {
      code: 'evidence_failed',
      detail: 'required evidence failed: the language tests pass',
      evidence_id: `${RECORD_ID}.e1`,
      observation: {
        id: OBSERVATION_ID,
        result: 'fail',
        observed_by: 'engine',
        source_type: 'engine_gate',
        observed_at: AT,
        engine_run_id: RUN_ID,
        run_request_id: REQUEST_ID,
      },
    },
  ],
  observations: 12,
  last_observed_at: AT,
}
const exception = { classification: 'allowed_exception', reason: 'French follows.', review_at: '2026-03-31T12:00:00Z' }
const brief = {
  id: BRIEF_ID,
  schema_version: 'intendant.formation_brief.v1',
  project: 'greeter',
  project_id: PROJECT_ID,
  state: 'draft',
  version: 1,
  title: `Repair: ${says.title}`,
  mission: { objective: `Bring the code back in line with the intent record ${KEY}: ${says.title}.` },
  throttle: 'dry_run',
  approvals: [],
  created_at: AT,
}
const moved = (state: string) => ({ body: { reason: 'We mean it.' }, answer: { ...accepted, state } })

/** The paths that SPEC names are served a second time beneath `/api`, with the same examples. */
function both(examples: Readonly<Record<string, Example>>): Record<string, Example> {
  const twins = Object.entries(examples).map(([route, example]) => [route.replace(' /', ' /api/'), example] as const)
  return { ...examples, ...Object.fromEntries(twins) }
}

export const intentExamples: Readonly<Record<string, Example>> = {
  ...both({
    'POST /projects/:id/intent-records': { body: { ...says, evidence: [evidence] }, answer: record },
    'GET /projects/:id/intent-records': { answer: { items: [accepted] } },
    'POST /projects/:id/discoveries': { body: discovered, answer: discovery },
    'GET /projects/:id/discoveries': { answer: { items: [summary] } },
    'GET /projects/:id/hypotheses': { answer: { items: [hypothesis] } },
    'POST /hypotheses/:id/accept': acceptedHypothesis,
    'GET /projects/:id/drift': { answer: { items: [drift] } },
  }),
  'GET /api/intent-records/:id': { answer: accepted },
  'PATCH /api/intent-records/:id': {
    body: { tradeoff: 'A new text waits for its translations.' },
    answer: { ...record, tradeoff: 'A new text waits for its translations.', version: 2, updated_at: AT },
  },
  'POST /api/intent-records/:id/accept': moved('accepted'),
  'POST /api/intent-records/:id/activate': moved('active'),
  'POST /api/intent-records/:id/deprecate': moved('deprecated'),
  'POST /api/intent-records/:id/contradict': moved('contradicted'),
  'POST /api/intent-records/:id/supersede': {
    body: { replacement: 'greet-everybody-well', reason: 'Said better.' },
    answer: { ...accepted, state: 'superseded', superseded_by: OTHER_ID },
  },
  'POST /api/intent-records/:id/relationships': {
    body: { type: 'supports', to: 'greet-everybody-well' },
    answer: { ...accepted, relationships: [relationship] },
  },
  'DELETE /api/intent-records/:id/relationships/:relationship_id': { answer: accepted },
  'GET /api/projects/:id/intent-check': {
    answer: {
      project: 'greeter',
      records: 12,
      hypotheses: 3,
      errors: 0,
      warnings: 1,
      findings: [{ level: 'warning', code: 'no_charter', detail: 'The project has no charter: say what it is for.' }],
      more: false,
    },
  },
  'GET /api/discoveries/:id': { answer: discovery },
  'GET /api/hypotheses/:id': { answer: hypothesis },
  'POST /api/hypotheses/:id/reject': {
    body: { reason: 'It is an accident of the first version.' },
    answer: { ...hypothesis, state: 'rejected', reason: 'It is an accident of the first version.', ...decided },
  },
  'GET /api/projects/:id/drift/:record': { answer: drift },
  'GET /api/projects/:id/drift/:record/history': {
    answer: {
      items: [
        {
          at: AT,
          kind: 'status',
          status: 'drifted',
          previous_status: 'holding',
          since: AT,
          cause: 'observation',
          observation_id: OBSERVATION_ID,
        },
      ],
    },
  },
  'POST /api/projects/:id/drift/:record/classify': {
    body: exception,
    answer: { ...drift, action: 'none', classification: { ...exception, by: BY, at: AT } },
  },
  'POST /api/projects/:id/drift/:record/repair-brief': { body: {}, answer: brief },
}
