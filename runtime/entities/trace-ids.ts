/** Ids of traces and spans (W3C Trace Context). They are minted; the service's other ids derive from what they name. */
import type { Platform } from '../api.ts'

const TRACE_ID_DIGITS = 32
const SPAN_ID_DIGITS = 16
const TRACE_TIME_DIGITS = 12

/**
 * The id of a new trace (W3C Trace Context). It begins with the millisecond of its creation, so that the view's rows by
 * trace are written, and later forgotten, side by side, where random ids would each touch a page. The other 20 digits
 * are random; level 2 of the standard asks for 14.
 */
export function newTraceId(platform: Pick<Platform, 'wallMs' | 'randomHex'>): string {
  const time = Math.floor(platform.wallMs()).toString(16).padStart(TRACE_TIME_DIGITS, '0')
  return time + platform.randomHex(TRACE_ID_DIGITS - TRACE_TIME_DIGITS)
}

export function newSpanId(platform: Pick<Platform, 'randomHex'>): string {
  return platform.randomHex(SPAN_ID_DIGITS)
}
