/**
 * The engine run's documents: the trace summary, the posts of evidence, and the run that both belong to. Observations
 * are facts about the past: they are taken in every state of the run.
 */
import { OBSERVATIONS_A_POST_MAX } from '../bounds.ts'
import { anyObject, type Static, stringEnum, Type } from '../schema.ts'
import { by, CLOSED, LIST_MAX, NAME_LENGTH_MAX, name, serviceId, strings, throttle, time } from './fields.ts'
import { evidenceObservation, evidenceObservationDocument } from './observation.ts'

/** The most observations of one engine run: they are part of its snapshot. */
export const OBSERVATIONS_A_RUN_MAX = 500

/** A condensed trace. Open: an engine may add fields of its own. */
export const traceSummaryBody = Type.Object(
  {
    schema_version: Type.Optional(name('Version of the document schema.')),
    trace_id: Type.Optional(name('The trace.')),
    root_event: Type.Optional(anyObject('The event that started the trace.')),
    entry_event: Type.Optional(name('Type of the entry event.')),
    blocks_executed: Type.Optional(strings('Workflow blocks that ran.')),
    blocks_skipped: Type.Optional(strings('Blocks that the throttle skipped.')),
    mutators_simulated: Type.Optional(strings('Changes that were only simulated.')),
    mutators_executed: Type.Optional(strings('Changes that were actually made.')),
    gates: Type.Optional(
      Type.Array(anyObject('A gate: name, phase, status.'), {
        maxItems: LIST_MAX,
        description: 'Gate phases and outcomes.',
      }),
    ),
    retry_requests: Type.Optional(Type.Integer({ minimum: 0, description: 'Number of gate retries requested.' })),
    terminal_event: Type.Optional(anyObject('The event that ended the work.')),
    commit: Type.Optional(anyObject('Outcome of the commit.')),
    push: Type.Optional(anyObject('Outcome of the push.')),
    errors: Type.Optional(Type.Array(Type.Unknown(), { maxItems: LIST_MAX, description: 'Errors during the run.' })),
    correlation_ids: Type.Optional(strings('Ids in other systems.', NAME_LENGTH_MAX)),
  },
  { additionalProperties: true, title: 'TraceSummary' },
)
export type TraceSummary = Static<typeof traceSummaryBody> & Readonly<Record<string, unknown>>

export const evidenceObservationsBody = Type.Object(
  {
    observations: Type.Array(evidenceObservation, {
      minItems: 1,
      maxItems: OBSERVATIONS_A_POST_MAX,
      description: 'The observations, recorded all or none.',
    }),
  },
  { ...CLOSED, title: 'EvidenceObservations' },
)
export type EvidenceObservationsBody = Static<typeof evidenceObservationsBody>

const ENGINE_RUN_STATES = ['open', 'summarized', 'closed'] as const

export const engineRunDocument = Type.Object(
  {
    id: serviceId('run', 'The engine run.'),
    project: Type.String({ description: 'Key of the project.' }),
    project_id: Type.String({ description: 'Id of the project.' }),
    state: stringEnum(ENGINE_RUN_STATES, {
      description: '`summarized` once it has a trace summary, `closed` once the run request has left it.',
    }),
    run_request_id: Type.String({ description: 'The run request that led to it.' }),
    formation_brief_id: Type.Optional(Type.String({ description: 'The brief that it follows.' })),
    attempt: Type.Integer({ description: 'The attempt of the run request.' }),
    runner_id: Type.String({ description: 'The runner that ran it.' }),
    throttle,
    trace_id: Type.String({ description: 'Trace of the run.' }),
    outcome: Type.Optional(Type.String({ description: 'How the run request left it: its state then.' })),
    trace_summary: Type.Optional(traceSummaryBody),
    trace_summary_by: Type.Optional(by),
    evidence: Type.Array(evidenceObservationDocument, { description: 'Observations, oldest first.' }),
    opened_at: time('When it was opened.'),
    summarized_at: Type.Optional(time('When the newest trace summary was posted.')),
    closed_at: Type.Optional(time('When the run request left it.')),
  },
  { title: 'EngineRun' },
)
export type EngineRun = Static<typeof engineRunDocument>
