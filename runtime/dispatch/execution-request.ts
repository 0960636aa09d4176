/**
 * The document that a poll is answered with: what the runner needs to begin, and the attempt that fences it.
 * Built from the committed snapshot each time, so that a repeated poll gets the same answer.
 */
import { EXECUTION_REQUEST_SCHEMA_VERSION, type ExecutionRequest } from '../../machines/documents/execution-request.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'

/** `offerExpiresMs`: wall-clock end of the offer, milliseconds since the epoch. */
export function executionRequest(snapshot: SnapshotOf<RunRequestContext>, offerExpiresMs: number): ExecutionRequest {
  const { context } = snapshot
  const { asked, trace_id, internal } = context
  // A request without a span of its own uses the first half of its trace id: the same at every repeat.
  const span_id = context.made.span_id ?? trace_id.slice(0, 16)
  return {
    schema_version: EXECUTION_REQUEST_SCHEMA_VERSION,
    request_id: context.id,
    attempt: context.attempt,
    offer_expires_at: new Date(offerExpiresMs).toISOString(),
    idempotency_key: asked.idempotency_key,
    project: { id: context.project_id, key: context.project },
    requested_by: asked.requested_by,
    requested_at: context.created_at,
    repo: asked.repo ?? {},
    ...(asked.brief === undefined ? undefined : { brief: asked.brief }),
    ...(asked.work_item_id === undefined ? undefined : { work_item_id: asked.work_item_id }),
    engine: {
      entry_event: asked.entry_event,
      throttle: context.throttle,
      access: asked.access,
      payload: continuing(asked.payload, internal.outage?.preservation_ref),
    },
    ...(asked.timeout_seconds === undefined ? undefined : { timeout_seconds: asked.timeout_seconds }),
    reporting: {
      trace_summary_required: asked.reporting?.trace_summary_required ?? false,
      evidence_observations_required: asked.reporting?.evidence_observations_required ?? false,
    },
    trace: { trace_id, span_id, traceparent: `00-${trace_id}-${span_id}-01` },
  }
}

/** An earlier run of the same request met an outage of its provider, and has kept what it had done by then. */
function continuing(payload: Readonly<Record<string, unknown>>, base_ref: string | undefined) {
  return base_ref === undefined ? payload : { ...payload, base_ref }
}
