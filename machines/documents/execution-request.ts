/**
 * What a runner gets from its poll: everything it needs to begin, by reference if it is large. A runner refuses a
 * `schema_version` whose number it does not know.
 */
import { anyObject, type Static, stringEnum, Type } from '../schema.ts'
import { by, serviceId, spanId, throttle, time, traceId } from './fields.ts'
import { access, briefReference, eventTypeName, repoReference } from './run-request.ts'

export const EXECUTION_REQUEST_SCHEMA_VERSION = 'intendant.execution_request.v1'

const executionTrace = Type.Object(
  {
    trace_id: traceId('Trace of the run.'),
    span_id: spanId('Span of the hand-out; parent of the engine’s first span.'),
    traceparent: Type.String({ description: 'Both as a W3C traceparent.' }),
  },
  { description: 'Trace context for the engine.' },
)

export const executionRequestDocument = Type.Object(
  {
    schema_version: stringEnum([EXECUTION_REQUEST_SCHEMA_VERSION], {
      description: 'Version of the document schema.',
    }),
    request_id: serviceId('runreq', 'The run request: part of every path the runner posts to.'),
    attempt: Type.Integer({
      minimum: 1,
      description: 'The fencing token: include it in every post about this request.',
    }),
    offer_expires_at: time('Post `accepted` before this time.'),
    idempotency_key: Type.String({ description: 'Idempotency key of the work: the same work never has two.' }),
    project: Type.Object({
      id: serviceId('proj', 'The project.'),
      key: Type.String({ description: 'Key of the project: the `project` of every event.' }),
    }),
    requested_by: by,
    requested_at: time('When the request was made.'),
    repo: repoReference,
    brief: Type.Optional(briefReference),
    work_item_id: Type.Optional(serviceId('wi', 'The work item. Absent for a run request that was created directly.')),
    engine: Type.Object({
      entry_event: eventTypeName('Type of the event that starts the work.'),
      throttle,
      access,
      payload: anyObject('Payload of the entry event.'),
    }),
    timeout_seconds: Type.Optional(Type.Integer({ description: 'Maximum duration of the run, from `started`.' })),
    reporting: Type.Object({
      trace_summary_required: Type.Boolean({ description: 'Post a trace summary.' }),
      evidence_observations_required: Type.Boolean({ description: 'Post evidence observations.' }),
    }),
    trace: executionTrace,
  },
  { title: 'ExecutionRequest' },
)
export type ExecutionRequest = Static<typeof executionRequestDocument>
