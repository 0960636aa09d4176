/**
 * When a cron pattern falls due. Pure: the same pattern, zone and time give the same answer. The pattern is matched
 * against what the clocks of the zone show, counted as if that were UTC; which moment it is, is found here, since
 * croner's own zones go back to a time before the one asked about in the hour that comes twice.
 */
import { Cron } from 'croner'

const DAY_MS = 86_400_000
/** Any day that exists comes within so many years: 29 February on a given day of the week, across a 2100. */
const YEARS_MAX = 40
/** Zones whose formatters are kept. Callers may spell one in many ways, and each takes some 20 KB. */
const ZONES_MAX = 500
/** Answers kept, some 200 bytes each. */
const ANSWERS_MAX = 1_000

type Format = Pick<Intl.DateTimeFormat, 'format'>
const formats = new Map<string, Format>()

/** What was found for a time: it holds for every later time before `dueMs`. */
interface Answer {
  readonly afterMs: number
  readonly dueMs: number
  readonly text: string
}

/** The last answer for each pattern and zone. Most sentinels share a pattern, and finding a time takes 0.2 ms. */
const answers = new Map<string, Answer>()

/**
 * The first time behind `afterMs` (milliseconds since the epoch) at which the pattern, of five fields, matches, as
 * RFC 3339 in UTC; undefined if there is none. Where clocks go forward, a time that is left out comes an hour later;
 * where they go back, a time that comes twice counts once. Throws an Error that says what is wrong with the pattern or
 * the zone.
 */
export function nextDue(cron: string, timeZone: string, afterMs: number): string | undefined {
  const key = `${timeZone} ${cron}`
  const known = answers.get(key)
  if (known !== undefined && known.afterMs <= afterMs && afterMs < known.dueMs) return known.text
  const dueMs = found(cron, timeZone, afterMs)
  if (dueMs === undefined) return undefined
  const answer = { afterMs, dueMs, text: new Date(dueMs).toISOString() }
  if (answers.size >= ANSWERS_MAX) answers.clear()
  answers.set(key, answer)
  return answer.text
}

/** Whether this Node.js can tell the times of a zone. One that a newer Node.js has taken may be unknown to it. */
export function knowsZone(timeZone: string): boolean {
  try {
    formatOf(timeZone)
    return true
  } catch {
    return false
  }
}

/** What is wrong with a sentinel whose stored zone is unknown, and what to do. */
export function unknownZone(timeZone: string): string {
  return `the Node.js ${process.versions.node} of the service does not know its time zone ${timeZone}: change that, or use a newer Node.js`
}

function found(cron: string, timeZone: string, afterMs: number): number | undefined {
  const format = formatOf(timeZone)
  // Times that were left out a moment ago, and still come, stand before what the clocks show now.
  const offsetMs = Math.min(offsetAt(format, afterMs), offsetAt(format, afterMs - DAY_MS))
  const year = new Date(afterMs + offsetMs).getUTCFullYear()
  const pattern = new Cron(`0 ${cron} ${year}-${year + YEARS_MAX}`, { utcOffset: 0, mode: '7-part' })
  for (let shown = pattern.nextRun(new Date(afterMs + offsetMs)); shown !== null; shown = pattern.nextRun(shown)) {
    const dueMs = momentOf(format, shown.getTime())
    if (dueMs > afterMs) return dueMs
  }
  return undefined
}

/** The first moment at which clocks show this; if they leave it out, the one at which they would have shown it. */
function momentOf(format: Format, shownMs: number): number {
  const [earlier, later] = [-DAY_MS, DAY_MS].map((ms) => shownMs - offsetAt(format, shownMs + ms)) as [number, number]
  if (earlier === later || earlier + offsetAt(format, earlier) === shownMs) return earlier
  return later + offsetAt(format, later) === shownMs ? later : earlier
}

/** How far ahead of UTC the clocks are, milliseconds. */
function offsetAt(format: Format, ms: number): number {
  const [month, day, year, hour, minute, second] = format.format(ms).match(/\d+/g)!.map(Number) as Numbers
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000
}
type Numbers = [number, number, number, number, number, number]

function formatOf(timeZone: string): Format {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const number = 'numeric'
  const parts = { year: number, month: number, day: number, hour: number, minute: number, second: number } as const
  const format = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...parts })
  if (formats.size >= ZONES_MAX) formats.clear()
  formats.set(timeZone, format)
  return format
}
