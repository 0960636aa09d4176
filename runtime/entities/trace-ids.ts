/** Ids of traces and spans (W3C Trace Context). They are minted; the service's other ids derive from what they name. */
import type { Nature } from '../api.ts'

const TRACE_ID_DIGITS = 32
const SPAN_ID_DIGITS = 16
const TRACE_TIME_DIGITS = 12

/**
 * The id of a new trace (W3C Trace Context). It begins with the millisecond of its creation, so that the view's rows by
 * trace are written, and later forgotten, side by side, where random ids would each touch a page. The other 20 digits
 * are random; level 2 of the standard asks for 14.
 */
export function newTraceId(nature: Pick<Nature, 'wallMs' | 'randomHex'>): string {
  const time = Math.floor(nature.wallMs()).toString(16).padStart(TRACE_TIME_DIGITS, '0')
  return time + nature.randomHex(TRACE_ID_DIGITS - TRACE_TIME_DIGITS)
}

export function newSpanId(nature: Pick<Nature, 'randomHex'>): string {
  return nature.randomHex(SPAN_ID_DIGITS)
}
