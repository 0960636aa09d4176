/** Ids and keys of what the service makes, derived from the names that must be unique and from what was asked for. */
import { deriveId } from '../machines/derived-id.ts'
import { digestOf } from '../machines/digest.ts'
import type { Nature } from './api.ts'

export { deriveId, type IdPrefix, projectIdOf } from '../machines/derived-id.ts'
export { digestOf } from '../machines/digest.ts'

/** `generation` goes up when an earlier holder of the key is settled and its key has run out. */
export function runRequestIdOf(projectId: string, idempotencyKey: string, generation: number): string {
  return deriveId('runreq', 'run_request', projectId, idempotencyKey, String(generation))
}

/** What makes two run requests the same work, where the caller gives no key of its own. */
interface RunRequestFacts {
  readonly project: string
  readonly repo_revision: string | null
  readonly brief_digest: string | null
  readonly entry_event: string
  readonly payload: object
  readonly throttle: string
  readonly requester: string
}

export function derivedKeyOf(facts: RunRequestFacts): string {
  return digestOf(facts)
}

const TRACE_ID_DIGITS = 32
const SPAN_ID_DIGITS = 16
const TRACE_TIME_DIGITS = 12

/**
 * The id of a new trace (W3C Trace Context). It begins with the millisecond of its making: what the view keeps by trace is
 * then written side by side, and forgotten so, where random ids touch a page each. The other 20 digits are random; level 2
 * of the standard asks for 14.
 */
export function newTraceId(nature: Pick<Nature, 'wallMs' | 'randomHex'>): string {
  const time = Math.floor(nature.wallMs()).toString(16).padStart(TRACE_TIME_DIGITS, '0')
  return time + nature.randomHex(TRACE_ID_DIGITS - TRACE_TIME_DIGITS)
}

export function newSpanId(nature: Pick<Nature, 'randomHex'>): string {
  return nature.randomHex(SPAN_ID_DIGITS)
}
