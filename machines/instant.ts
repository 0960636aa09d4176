/**
 * Times given by others, as this program reads them. An offset can lead past the years that RFC 3339 can express
 * (9999-12-31T23:59:59-23:59 is in the year 10000). Such a time is clamped to the last moment that it can express, or
 * the first, so that no time is served that no reader accepts.
 */

/** The earliest moment that `instantMs` returns. */
export const FIRST_INSTANT_MS = Date.parse('0000-01-01T00:00:00Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')

/** Milliseconds since the epoch. NaN for a leap second, which no clock here can be set to. */
export function instantMs(time: string): number {
  return withinYears(Date.parse(time))
}

/** UTC with milliseconds, so that texts sort as times do. Undefined for a leap second. */
export function utc(time: string): string | undefined {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? undefined : utcOf(ms)
}

/** The same for a moment in milliseconds since the epoch. */
export function utcOf(ms: number): string {
  return new Date(withinYears(ms)).toISOString()
}

/** How far a clock may be ahead of the `Date` of an answer that has just come: that has whole seconds. */
const DATE_LAG_MS = 2_000

/**
 * How far the clock of a service is ahead of one that shows `nowMs`, by the `Date` of its answer, in milliseconds: 0 if
 * they may agree. Undefined if the answer tells no time.
 */
export function aheadMs(date: string | null, nowMs: number): number | undefined {
  const dateMs = Date.parse(date ?? '')
  return Number.isNaN(dateMs) ? undefined : Math.min(Math.max(nowMs, dateMs), dateMs + DATE_LAG_MS) - nowMs
}

function withinYears(ms: number): number {
  return Math.max(FIRST_INSTANT_MS, Math.min(ms, LAST_MS))
}
