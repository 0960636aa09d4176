/**
 * Whether an agent ended because its provider gives no answers: a usage limit, too many requests, an overload. Only the
 * end of an agent that failed is looked at, or all that an agent said: one that works on rate limits may write about
 * them.
 */
import { PROVIDER_UNAVAILABLE, USAGE_LIMIT } from '../../machines/run-request/failure.ts'
import { endIn } from './limit-end.ts'
import { Refused } from './refused.ts'

export interface Limit {
  readonly code: typeof USAGE_LIMIT | typeof PROVIDER_UNAVAILABLE
  /** The provider's words, or the agent's. */
  readonly message: string
  /** When the provider is back, RFC 3339; absent if nobody said so. */
  readonly retry_after?: string
}

/** How an agent ended. `code`: null if a signal ended it. */
export interface Ended {
  readonly code: number | null
  /** The end of its standard output, and of its standard error. */
  readonly printed: string
  readonly complained: string
}

/** EX_TEMPFAIL of sysexits.h: a temporary failure, try again later. */
const TEMPORARY = 75
/** Lines at the end of each stream that may say why an agent failed; an API's error object has up to a dozen. */
const LINES_MAX = 15
/** An agent that says no more than this, and nothing else than that it is limited, has done nothing. */
const ALL_SAID_LINES_MAX = 3
const ALL_SAID_CHARS_MAX = 400
const MESSAGE_CHARS_MAX = 300

/** What agents print when a limit of their account stops them: Claude Code, Codex CLI. */
const LIMIT_NOTICES = [
  /\b(?:usage|session|weekly|daily|hour) limit reached\b/i,
  /\byou(?:'|\u2019)ve hit your (?:\w+ ){0,2}limit\b/i,
] as const

/** Errors of providers as agents pass them on: Anthropic, OpenAI, Google, litellm, the AI SDK. */
const LIMIT_ERRORS = [
  /\brate_limit_(?:error|exceeded)\b|\bRateLimitError\b|\brateLimitExceeded\b/,
  /\bRESOURCE_EXHAUSTED\b|\bResource (?:has been )?exhausted\b/i,
  /\bexceeded your current quota\b/i,
  /\b(?:error|status|code|HTTP(?:\/[\d.]+)?)\b\W{0,4}429\b|\b429 Too Many Requests\b/i,
  /\berror: Too Many Requests\b/i,
] as const

const OUTAGES = [
  /\boverloaded_error\b|\b529 Overloaded\b|Exception - Overloaded\b/i,
  /\bAPI Error\b\W{0,4}5(?:0[0234]|29)\b/i,
] as const

/**
 * Undefined if nothing says that the provider is away. `pattern`: the setting AGENT_LIMIT; its first group that was
 * matched may hold a time or a duration. `nowMs`: milliseconds since the epoch.
 */
export function limitIn(ended: Ended, pattern: RegExp | undefined, nowMs: number): Limit | undefined {
  const said = ended.code === 0 ? allSaid(ended) : [lastLines(ended.complained), lastLines(ended.printed)]
  for (const text of said) {
    const found = named(text, pattern, nowMs) ?? known(text, ended.code === 0, nowMs)
    if (found !== undefined) return found
  }
  return ended.code === TEMPORARY ? temporary(ended, nowMs) : undefined
}

/** Throws Refused if it is no regular expression. */
export function limitPattern(source: string | undefined): RegExp | undefined {
  try {
    return source === undefined ? undefined : new RegExp(source, 'i')
  } catch (error) {
    throw new Refused('not_configured', `AGENT_LIMIT is no regular expression: ${(error as Error).message}`)
  }
}

function allSaid({ printed, complained }: Ended): string[] {
  const text = printed.trim()
  const isShort = text.length <= ALL_SAID_CHARS_MAX && text.split('\n').length <= ALL_SAID_LINES_MAX
  return isShort && complained.length <= ALL_SAID_CHARS_MAX ? [text] : []
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-LINES_MAX).join('\n')
}

function named(text: string, pattern: RegExp | undefined, nowMs: number): Limit | undefined {
  const match = pattern?.exec(text)
  if (match == null) return undefined
  const when = match.slice(1).find((group) => group !== undefined)
  const endMs =
    when === undefined ? endIn(text, nowMs) : (endIn(`resets in ${when}`, nowMs) ?? endIn(`resets ${when}`, nowMs))
  return limit(USAGE_LIMIT, lineOf(text, match), endMs)
}

function known(text: string, isAllSaid: boolean, nowMs: number): Limit | undefined {
  const limits = isAllSaid ? LIMIT_NOTICES : [...LIMIT_NOTICES, ...LIMIT_ERRORS]
  const isLimit = firstOf(limits, text)
  const found = isLimit ?? (isAllSaid ? null : firstOf(OUTAGES, text))
  if (found === null) return undefined
  return limit(isLimit === null ? PROVIDER_UNAVAILABLE : USAGE_LIMIT, lineOf(text, found), endIn(text, nowMs))
}

function firstOf(patterns: readonly RegExp[], text: string): RegExpExecArray | null {
  for (const pattern of patterns) {
    const match = pattern.exec(text)
    if (match !== null) return match
  }
  return null
}

/** The agent says so with its exit code, and in its last line perhaps until when. */
function temporary({ printed, complained }: Ended, nowMs: number): Limit {
  const lines = printed.trim().split('\n')
  const after = retryAfterIn(lines.at(-1)!)
  const words = (after === undefined ? lines : lines.slice(0, -1)).at(-1) || complained.trim().split('\n').at(-1)
  const endMs = typeof after === 'number' ? nowMs + after * 1000 : Date.parse(after ?? '')
  const end = after === undefined ? endIn(words ?? '', nowMs) : endMs
  return limit(PROVIDER_UNAVAILABLE, words || `the agent ended with exit code ${TEMPORARY}`, end)
}

function retryAfterIn(line: string): number | string | undefined {
  try {
    const after = JSON.parse(line)?.retry_after
    return typeof after === 'number' || typeof after === 'string' ? after : undefined
  } catch {
    return undefined
  }
}

function limit(code: Limit['code'], words: string, endMs: number | undefined): Limit {
  const message = words.trim().slice(0, MESSAGE_CHARS_MAX).toWellFormed()
  // Beyond what a date can hold, nothing was said.
  const end = new Date(endMs ?? Number.NaN)
  return { code, message, ...(Number.isNaN(end.getTime()) ? {} : { retry_after: end.toISOString() }) }
}

/** The line in which the match begins. */
function lineOf(text: string, { index }: RegExpExecArray): string {
  const end = text.indexOf('\n', index)
  return text.slice(text.lastIndexOf('\n', index) + 1, end === -1 ? undefined : end)
}
