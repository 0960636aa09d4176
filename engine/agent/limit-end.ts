/** When a limit ends, as providers and agents say it in words. */

const UNITS_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 }
const UNIT = '(?:d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)'
const LENGTH = `\\d+(?:\\.\\d+)?\\s*${UNIT}\\b`
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** `usage limit reached|1762952400`: seconds since the epoch. */
const EPOCH = /\blimit reached\|(\d{10})\b/i
/** `Retry-After: 30`, `"retry_after": 30`, `"retryDelay": "34s"`. */
const SECONDS = /\bretry(?:[-_ ]?after|Delay)["']?\s*[:=]\s*["']?(\d+(?:\.\d+)?)s?\b/i
/** `try again in 3 hours 12 minutes`, `Please retry in 34.07s`, `resets in 4h 5m`. */
const DURATION = new RegExp(`\\b(?:try again|retry|resets?) in ((?:${LENGTH}[\\s,]*(?:and\\s+)?)+)`, 'i')
/** A time of day and perhaps a date: `resets 3pm (Europe/Berlin)`, `try again at Sep 28th, 2026 2:14 AM`. */
const CLOCK = new RegExp(
  '\\b(?:try again|resets?)(?: at)? (?:([a-z]{3})[a-z]* (\\d{1,2})(?:st|nd|rd|th)?,? (?:(\\d{4}),? )?(?:at )?)?' +
    '(?:(\\d{1,2})(?::(\\d\\d))? ?([ap])\\.?m\\b\\.?|(\\d{1,2}):(\\d\\d)\\b)(?: \\(([A-Za-z_+\\-/0-9]+)\\))?',
  'i',
)
/** `resets 2026-01-31T12:00:00Z`. */
const INSTANT = /\b(?:try again|resets?|retry[-_ ]?after)\b\W{0,6}(?:at )?(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))/i

/** A time of day that is past by less than this has come; by more, the next day's is meant. Milliseconds: an hour. */
const PAST_MS_MAX = 3_600_000
const DAY_MS = 86_400_000

/** Milliseconds since the epoch; undefined if the text does not say. Without a time zone, the computer's is meant. */
export function endIn(text: string, nowMs: number): number | undefined {
  const line = text.replace(/\s+/g, ' ')
  const epoch = EPOCH.exec(line)
  if (epoch !== null) return Number(epoch[1]) * 1000
  const seconds = SECONDS.exec(line)
  if (seconds !== null) return nowMs + Number(seconds[1]) * 1000
  const instant = INSTANT.exec(line)
  if (instant !== null) return Date.parse(instant[1]!)
  const duration = DURATION.exec(line)
  if (duration !== null) return nowMs + lengthMs(duration[1]!)
  const clock = CLOCK.exec(line)
  return clock === null ? undefined : clockMs(clock, nowMs)
}

function lengthMs(words: string): number {
  let totalMs = 0
  for (const [, count, unit] of words.matchAll(/(\d+(?:\.\d+)?)\s*([dhms])/gi))
    totalMs += Number(count) * UNITS_MS[unit!.toLowerCase()]!
  return totalMs
}

function clockMs(match: RegExpExecArray, nowMs: number): number | undefined {
  const [, monthName, day, year, hour12, minute12 = '0', half, hour24, minute24, zone] = match
  const hour = half === undefined ? Number(hour24) : (Number(hour12) % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  const minute = half === undefined ? Number(minute24) : Number(minute12)
  const month = monthName === undefined ? undefined : MONTHS.indexOf(monthName.toLowerCase())
  if (month === -1 || hour > 23 || minute > 59) return undefined
  const wall = wallClock(zone)
  if (wall === undefined) return undefined
  const today = new Date(wall(nowMs))
  const [thisYear, date] = [today.getUTCFullYear(), Number(day ?? today.getUTCDate())]
  const at = (inYear: number) => instantOf(Date.UTC(inYear, month ?? today.getUTCMonth(), date, hour, minute), wall)
  const endMs = at(Number(year ?? thisYear))
  if (endMs >= nowMs - PAST_MS_MAX) return endMs
  if (month === undefined) return endMs + DAY_MS
  return year === undefined ? at(thisYear + 1) : endMs
}

/** The wall clock of a zone: from an instant to its local time, as if that were UTC. Undefined: no such zone. */
function wallClock(timeZone: string | undefined): ((ms: number) => number) | undefined {
  const fields = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  try {
    const format = new Intl.DateTimeFormat('en-US', { ...fields, hourCycle: 'h23', ...(timeZone && { timeZone }) })
    return (ms) => {
      const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]))
      return Date.UTC(parts.year!, parts.month! - 1, parts.day, parts.hour, parts.minute)
    }
  } catch {
    return undefined
  }
}

/** The instant at which the wall clock shows this; asked twice, since the offset may differ at the first answer. */
function instantOf(shownMs: number, wall: (ms: number) => number): number {
  const guessMs = shownMs - (wall(shownMs) - shownMs)
  return guessMs + (shownMs - wall(guessMs))
}
