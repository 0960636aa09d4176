/**
 * Times that others give, as this program counts them. An offset leads past the years that RFC 3339 can tell (9999-12-31T23:59:59-23:59 is
 * in the year 10000): such a time is the last moment that it can, or the first, so that none is shown that no reader takes.
 */

/** The first moment that `instantMs` answers. */
export const FIRST_INSTANT_MS = Date.parse('0000-01-01T00:00:00Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')

/** Milliseconds since the epoch. NaN: of a leap second, which no clock here can be set to. */
export function instantMs(time: string): number {
  return withinYears(Date.parse(time))
}

/** UTC with milliseconds: texts that compare as times do. Undefined of a leap second. */
export function utc(time: string): string | undefined {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? undefined : utcOf(ms)
}

/** The same of a moment, milliseconds since the epoch. */
export function utcOf(ms: number): string {
  return new Date(withinYears(ms)).toISOString()
}

function withinYears(ms: number): number {
  return Math.max(FIRST_INSTANT_MS, Math.min(ms, LAST_MS))
}
