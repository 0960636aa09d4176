/** What a run's failure says about the work: whether anything was done, and whether retrying at once can help. */
import type { FailureClass } from '../documents/run-request.ts'

/** The failure class of a run that failed before anything was done. */
export const NOT_BEGUN: FailureClass = 'dispatch'
/** The failure class of a run that was stopped. A task's result that carries it settles nothing. */
export const STOPPED: FailureClass = 'cancelled'
/** The failure code if the ref that the run was to start from does not exist. */
export const UNKNOWN_BASE = 'unknown_base'
/** The failure code if no provider answers the agent. */
export const PROVIDER_UNAVAILABLE = 'provider_unavailable'
/** The failure code if the agent's program does not exist on the runner's machine: other runners may have it. */
export const AGENT_MISSING = 'agent_missing'

/**
 * Whether the run could not begin: nothing was done, and the work is unchanged. `failureClass` is as the runner stated
 * it, possibly in a payload.
 */
export function saysNotBegun(failureClass: unknown): boolean {
  return failureClass === NOT_BEGUN
}

/** The failure code if a limit of the agent's account is reached. */
export const USAGE_LIMIT = 'usage_limit'

/** Codes for an agent that cannot work now: nothing is wrong with the work, and its runner need not try at once. */
const OUTAGE_CODES: ReadonlySet<string> = new Set([PROVIDER_UNAVAILABLE, USAGE_LIMIT, AGENT_MISSING])

/** Whether the failure is that the runner has no agent that works, so that waiting or another runner helps. */
export function saysOutage(code: unknown): boolean {
  return typeof code === 'string' && OUTAGE_CODES.has(code)
}

/** The longest wait that a provider may impose, milliseconds: eight days, a weekly limit and a day. */
const OUTAGE_MS_MAX = 691_200_000
/** The shortest: a provider that says "now" and is still unavailable is not asked ten times a second. */
const OUTAGE_MS_MIN = 30_000
/** The wait after the first outage of which nobody says how long it lasts, milliseconds: a minute. Doubled each time. */
const OUTAGE_PAUSE_MS = 60_000
/** It stops growing here, milliseconds: half an hour. */
const OUTAGE_PAUSE_MS_MAX = 1_800_000
/** Doublings after which the pause has stopped growing. */
const OUTAGE_DOUBLINGS_MAX = 5

/**
 * When an outage ends by what was said of it, milliseconds since the epoch. `retryAfter` is the member `retry_after` of
 * a Run Result: seconds from now, or a time. Undefined if it is neither, or absurd.
 */
export function statedEndMs(retryAfter: unknown, atMs: number): number | undefined {
  // From a Run Result, which is an open object: the value may be an object that cannot even be converted to text.
  if (typeof retryAfter !== 'number' && typeof retryAfter !== 'string') return undefined
  const dueMs = typeof retryAfter === 'number' ? atMs + retryAfter * 1000 : Date.parse(retryAfter)
  const isBelieved = dueMs >= atMs && dueMs <= atMs + OUTAGE_MS_MAX
  return isBelieved ? Math.max(Math.round(dueMs), atMs + OUTAGE_MS_MIN) : undefined
}

/** The same, or if nothing credible was said the end of a pause that grows with `before`, the outages in a row before. */
export function outageEndMs(retryAfter: unknown, before: number, atMs: number): number {
  const pauseMs = Math.min(OUTAGE_PAUSE_MS * 2 ** Math.min(before, OUTAGE_DOUBLINGS_MAX), OUTAGE_PAUSE_MS_MAX)
  return statedEndMs(retryAfter, atMs) ?? atMs + pauseMs
}
