/** Times of records as numbers, to the microsecond: the age by which requests stand in the queue. */

/** `2026-11-21T09:00:00.123456Z`, as the service's clock writes it: what comes before the point, and the rest. */
const SECOND_CHARACTERS = 19
const TIME_CHARACTERS = 27

/** Requests that are read one after the other were mostly made in one second. */
let second = ''
let secondMicros = 0

/** Microseconds since the epoch of a time of the service's clock; of another RFC 3339 time, to the millisecond. */
export function microsOf(time: string): number {
  if (time.length !== TIME_CHARACTERS || !time.endsWith('Z')) return Date.parse(time) * 1000
  if (!time.startsWith(second) || second === '') {
    second = time.slice(0, SECOND_CHARACTERS)
    secondMicros = Date.parse(`${second}Z`) * 1000
  }
  return secondMicros + Number(time.slice(SECOND_CHARACTERS + 1, -1))
}
