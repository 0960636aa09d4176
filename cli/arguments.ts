/** Parsers of option values. Each refuses an invalid value with a sentence; commander adds the option's name. */
import { readFileSync } from 'node:fs'
import { InvalidArgumentError, Option } from 'commander'
import { THROTTLES } from '../machines/documents/fields.ts'
import { utcOf } from '../machines/instant.ts'
import { FromNow } from './service-clock.ts'
import { DURATION_MS_MAX, readDuration, readInteger, showDuration, TIMER_MS_MAX } from './units.ts'

/** `tls_cert` and `tls-cert` as commander names the option's value: `tlsCert`. */
export function camel(name: string): string {
  return name.replace(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** A whole number within the range. */
export function integer(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = readInteger(text, least, most)
    if (value === undefined) throw new InvalidArgumentError(`A whole number from ${least} to ${most} is expected.`)
    return value
  }
}

/** A duration with its unit, in milliseconds. */
export function duration(text: string): number {
  const ms = readDuration(text)
  if (ms === undefined || ms > DURATION_MS_MAX)
    throw new InvalidArgumentError('A duration such as 30s, 10m or 2h is expected.')
  return ms
}

/** The same for a time that the command itself waits. */
export function waitingTime(text: string): number {
  const ms = duration(text)
  if (ms > TIMER_MS_MAX) throw new InvalidArgumentError(`The longest possible wait is ${showDuration(TIMER_MS_MAX)}.`)
  return ms
}

/** An option for a waiting time; the help shows the default as a user would write it. */
export function waitingTimeOption(flags: string, help: string, byDefaultMs: number): Option {
  return new Option(flags, help).argParser(waitingTime).default(byDefaultMs, showDuration(byDefaultMs))
}

/** For commands that follow what they have created. */
export const WAIT_LIMIT = ['--wait-limit <duration>', 'Follow it for at most this long.', waitingTime] as const

/** Of what asks for a run. */
export function throttleOption(): Option {
  const help = 'full may change things, dry_run (the default) only simulates.'
  return new Option('--throttle <throttle>', help).choices(THROTTLES)
}

/** For moves that stop a run. */
export const DISCARD_WORK = [
  '--discard-work',
  'Tell its runner to discard uncommitted work; the bundled runner leaves that to its command.',
] as const

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** Whether it is a time (RFC 3339): Date.parse alone accepts nearly anything, and 10 is the first of October 2001. */
export function isTime(text: string): boolean {
  return RFC_3339.test(text) && !Number.isNaN(Date.parse(text))
}

/** A time as RFC 3339, or a duration from now, which becomes one before the command runs. */
export function moment(text: string): string | FromNow {
  const ms = readDuration(text)
  const at = ms !== undefined ? Date.now() + ms : isTime(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at) || at > 8.64e15) {
    throw new InvalidArgumentError(
      'A time such as 2030-01-31T08:00:00Z, or a duration from now such as 2h, is expected.',
    )
  }
  return ms === undefined ? utcOf(at) : new FromNow(ms)
}

/** The same for the past: a duration counts back from now. */
export function past(text: string): string | FromNow {
  const ms = readDuration(text)
  if (ms !== undefined) return new FromNow(-ms)
  try {
    return moment(text)
  } catch {
    throw new InvalidArgumentError('A time such as 2030-01-31T08:00:00Z, or a duration such as 2h, is expected.')
  }
}

/** RFC 3339, kept to the letter: events are identified by their time as written. */
export function time(text: string): string {
  if (isTime(text)) return text
  throw new InvalidArgumentError('A time such as 2030-01-31T08:00:00Z is expected.')
}

/** A JSON object, given directly or as `@FILE`. */
export function jsonObject(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text)
  } catch (error) {
    throw new InvalidArgumentError(`A JSON object, or @FILE with one, is expected: ${(error as Error).message}.`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError('A JSON object, or @FILE with one, is expected.')
  }
  return value as Record<string, unknown>
}

/** A command for `--exec`. An empty one, from a variable that is not set, would do nothing and count as done. */
export function shellCommand(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('A shell command is expected.')
  return text
}

/** For options that may be repeated, or given once with commas. `before` is false after the same option with `--no-`. */
export function collect(text: string, before: readonly string[] | false | undefined): string[] {
  const added = text.split(',').map((part) => part.trim())
  return [...(before || []), ...added.filter((part) => part !== '')]
}

/** The same for options whose values are known: each value counts once. */
export function collectFrom(choices: readonly string[]): typeof collect {
  return (text, before) => {
    const chosen = collect(text, before)
    if (chosen.length === 0 || !chosen.every((value) => choices.includes(value)))
      throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`)
    return [...new Set(chosen)]
  }
}

/** For options with texts that may contain commas: each occurrence is one text. */
export function each(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), text]
}

const ORIGIN_CHARS_MAX = 180

/** For every command that changes something. */
export const ORIGIN = [
  '--origin <text>',
  'Origin of the change; stored after the name of this machine.',
  origin,
] as const

function origin(text: string): string {
  if (text.trim() === '' || text.length > ORIGIN_CHARS_MAX || /[\p{Cc}\p{Cs}]/u.test(text)) {
    throw new InvalidArgumentError(`One line of 1 to ${ORIGIN_CHARS_MAX} characters is expected.`)
  }
  return text
}

/** For moves that apply only to the version that was read. */
export const IF_VERSION = ['--if-version <n>', 'Only if this is still its version.', integer(1, 1_000_000_000)] as const

/** Bound on the limit of every list. */
const LIMIT_MAX = 100_000
export const LIMIT = ['--limit <n>', 'Show at most this many.', integer(1, LIMIT_MAX), 50] as const
