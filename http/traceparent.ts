/** W3C trace context, level 1: the `traceparent` header. A malformed one is ignored, as the standard demands. */
import type { TraceParent } from '../runtime/entities/run-requests.ts'

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/

/** The caller's trace as a new work item keeps it: as a link, since each item has a trace of its own. */
export function submittedTrace(header: string): { readonly submitted_trace_id?: string } {
  const parent = parseTraceparent(header)
  return parent === undefined ? {} : { submitted_trace_id: parent.traceId }
}

export function parseTraceparent(header: string): TraceParent | undefined {
  if (header === '') return undefined
  const parts = TRACEPARENT.exec(header)
  if (parts === null || parts[1] === 'ff') return undefined
  const [, version, traceId = '', spanId = '', rest] = parts
  if (version === '00' && rest !== undefined) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId }
}
