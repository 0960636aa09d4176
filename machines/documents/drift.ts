/**
 * Drift: whether the code still matches an accepted record, as one status, with the observations behind it and what to
 * do about it. A person classifies a drift as real, an allowed exception, or an obsolete intent.
 */
import { type Static, stringEnum, Type } from '../schema.ts'
import { by, CLOSED, serviceId, TEXT_LENGTH_MAX, time } from './fields.ts'
import { INTENT_STATES } from './intent-record.ts'
import { EVIDENCE_RESULTS, evidenceId } from './observation.ts'

/** In order of precedence: the first that applies is the status. Lists are in this order, too. */
export const DRIFT_STATUSES = ['contradicted', 'drifted', 'threatened', 'stale', 'unobserved', 'holding'] as const
export type DriftStatus = (typeof DRIFT_STATUSES)[number]

export const DRIFT_SEVERITIES = ['high', 'medium', 'low'] as const
export type DriftSeverity = (typeof DRIFT_SEVERITIES)[number]

const DRIFT_ACTIONS = ['repair', 'ask', 'update_record', 'inspect', 'none'] as const
export type DriftAction = (typeof DRIFT_ACTIONS)[number]

const CLASSIFICATIONS = ['real', 'allowed_exception', 'obsolete_intent'] as const
export type ClassificationWord = (typeof CLASSIFICATIONS)[number]

/** A record whose newest observation is older than this is stale. Milliseconds: 30 days. */
export const STALE_AFTER_MS = 30 * 86_400_000

export const classifyBody = Type.Object(
  {
    classification: stringEnum([...CLASSIFICATIONS, 'none'], {
      description:
        '`real`: the code is wrong; `allowed_exception`: it may differ until `review_at`; `obsolete_intent`: the record is out of date; `none` takes a classification back.',
    }),
    reason: Type.Optional(
      Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX, description: 'The reason. Required for an exception.' }),
    ),
    review_at: Type.Optional(time('When to review it. Required for an exception, and only allowed with one.')),
  },
  {
    ...CLOSED,
    title: 'DriftClassify',
    allOf: [
      {
        if: { properties: { classification: { enum: ['allowed_exception'] } }, required: ['classification'] },
        // biome-ignore lint/suspicious/noThenProperty: the keyword's name in JSON Schema
        then: { required: ['reason', 'review_at'], description: 'required with classification allowed_exception' },
        else: {
          properties: { review_at: { not: {}, description: 'allowed only with classification allowed_exception' } },
        },
      },
    ],
  },
)

const observation = Type.Object(
  {
    id: serviceId('obs', 'The observation.'),
    result: stringEnum(EVIDENCE_RESULTS, { description: 'The result.' }),
    observed_by: Type.String({ description: 'Who or what observed it.' }),
    source_type: Type.String({ description: 'How it was observed.' }),
    observed_at: time('When it was observed.'),
    notes: Type.Optional(Type.String({ description: 'The beginning of its notes.' })),
    supporting_artifacts: Type.Optional(Type.Array(Type.String(), { description: 'The first of its artifacts.' })),
    trace_id: Type.Optional(Type.String({ description: 'Trace that shows it.' })),
    waiver: Type.Optional(
      Type.Object(
        { waived_by: Type.String(), reason: Type.String(), review_at: time('When to review it.') },
        { description: 'Who waived it, why, and when to review it.' },
      ),
    ),
    engine_run_id: Type.String({ description: 'The engine run that reported it.' }),
    run_request_id: Type.String({ description: 'The run request of that run.' }),
  },
  { title: 'DriftObservation', description: 'An observation in short; the engine run holds the whole.' },
)
export type DriftObservation = Static<typeof observation>

const REASON_CODES = [
  'contradiction_observed',
  'conflicting_record',
  'evidence_failed',
  'classified_real',
  'threat_observed',
  'not_observed_since',
  'version_not_observed',
  'waiver_ended',
  'never_observed',
  'evidence_unobserved',
  'evidence_passed',
  'evidence_waived',
] as const

const because = Type.Object(
  {
    code: stringEnum(REASON_CODES, { description: 'Code of the cause.' }),
    detail: Type.String({ description: 'The cause in a sentence.' }),
    evidence_id: Type.Optional(evidenceId('The evidence it concerns.')),
    intent_record_id: Type.Optional(serviceId('ir', 'The other record.')),
    observation: Type.Optional(observation),
  },
  { title: 'DriftReason' },
)
export type DriftReason = Static<typeof because>

const classification = Type.Object(
  {
    classification: stringEnum(CLASSIFICATIONS, { description: 'A person’s classification of the drift.' }),
    reason: Type.Optional(Type.String({ description: 'Why.' })),
    review_at: Type.Optional(time('When to review it.')),
    by: Type.Optional(by),
    at: time('When it was classified.'),
  },
  { title: 'DriftClassification' },
)

const record = Type.Object(
  {
    id: serviceId('ir', 'The record.'),
    key: Type.String({ description: '`<project>.intent.<slug>`.' }),
    title: Type.String({ description: 'Title of the record.' }),
    state: stringEnum(INTENT_STATES, { description: 'State of the record.' }),
    version: Type.Integer({ description: 'Its version.' }),
  },
  { description: 'The record whose drift this is.' },
)

export const driftDocument = Type.Object(
  {
    project: Type.String({ description: 'Key of the project.' }),
    intent_record: record,
    status: stringEnum(DRIFT_STATUSES, { description: 'The first of these statuses that applies.' }),
    since: time(
      'Since when the status holds: for a problem, since its first remaining sign; otherwise since the latest observation, and never before the ' +
        'previous status ended.',
    ),
    severity: Type.Optional(
      stringEnum(DRIFT_SEVERITIES, {
        description: '`high` if required evidence failed; absent while the record holds.',
      }),
    ),
    action: stringEnum(DRIFT_ACTIONS, { description: 'What to do about it.' }),
    because: Type.Array(because, { description: 'The causes of the status.' }),
    classification: Type.Optional(classification),
    repair_brief_id: Type.Optional(serviceId('brief', 'The brief drafted to repair it.')),
    observations: Type.Integer({ description: 'Number of observations of this record so far.' }),
    last_observed_at: Type.Optional(
      time('When it was last observed; observations of evidence it no longer has do not count.'),
    ),
    stale_at: Type.Optional(time('When it becomes stale unless it is observed again.')),
  },
  { title: 'Drift' },
)
export type Drift = Static<typeof driftDocument>

const CHANGE_KINDS = ['status', 'classified', 'classification_ended', 'repair_drafted'] as const

export const driftChangeDocument = Type.Object(
  {
    at: time('When the service took note of it.'),
    kind: stringEnum(CHANGE_KINDS, { description: 'What changed.' }),
    status: stringEnum(DRIFT_STATUSES, { description: 'The new status.' }),
    previous_status: Type.Optional(stringEnum(DRIFT_STATUSES, { description: 'The previous status, if it changed.' })),
    since: Type.Optional(time('Since when the new status holds, if it changed.')),
    cause: Type.Optional(
      Type.String({
        description: 'What changed it: `observation`, `classification`, `time`, `version`, `conflict`, `state`.',
      }),
    ),
    observation_id: Type.Optional(serviceId('obs', 'The observation that changed it.')),
    classification: Type.Optional(
      stringEnum(CLASSIFICATIONS, { description: 'The classification that was made or ended.' }),
    ),
    reason: Type.Optional(Type.String({ description: 'Why.' })),
    formation_brief_id: Type.Optional(serviceId('brief', 'The drafted brief.')),
    by: Type.Optional(by),
  },
  { title: 'DriftChange' },
)
export type DriftChange = Static<typeof driftChangeDocument>
