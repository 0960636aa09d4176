/**
 * Retries with exponential backoff and jitter, so that a fleet does not return in step after the service restarts. A
 * refused request is never sent again unchanged; an unanswered one is.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ForeignRefusal, ServiceRefused, ServiceUnreachable } from './errors.ts'

export interface Backoff {
  /** First pause, in milliseconds; each further one is twice as long. */
  readonly firstMs: number
  /** Longest pause, in milliseconds. `Retry-After` may ask for more, up to a minute. */
  readonly longestMs: number
}

export const DEFAULT_BACKOFF: Backoff = { firstMs: 100, longestMs: 10_000 }

/**
 * Longest pause that `Retry-After` can cause, in milliseconds. The service asks for at most 30 s, but an intermediary
 * may ask for days, and a Node.js timer set to more than 2^31 - 1 ms fires at once.
 */
const RETRY_AFTER_MS_MAX = 60_000

/** The request itself may cause a fault inside the service (500), so this many count as a refusal. */
const FAULTS_MAX = 10

interface RetryOptions {
  readonly signal?: AbortSignal
  readonly backoff?: Backoff
  /** Whether the same request may succeed later. Default: `mayHelp`. */
  readonly mayHelp?: (error: unknown) => boolean
  /** How many faults inside the service count as a refusal. Default 10; Infinity for requests that cannot cause any. */
  readonly faultsMax?: number
  /** Called before each pause. */
  readonly onRetry?: (error: Error, pauseMs: number, tries: number) => void
}

/**
 * Calls `attempt` until it succeeds, is refused for good, or `signal` aborts (throws its reason). The number of tries
 * is not limited: a service that is down for an hour is waited for.
 */
export async function retrying<T>(attempt: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { mayHelp: isWorthwhile = mayHelp, faultsMax = FAULTS_MAX } = options
  let faults = 0
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Error) || !isWorthwhile(error)) throw error
      if (isFault(error) && ++faults >= faultsMax) throw error
      const pauseMs = pauseAfter(error, tries, options.backoff ?? DEFAULT_BACKOFF, Math.random())
      options.onRetry?.(error, pauseMs, tries)
      await pause(pauseMs, options.signal)
    }
  }
}

function isFault(error: Error): boolean {
  return error instanceof ServiceRefused && !(error instanceof ForeignRefusal) && error.problem.status === 500
}

/** Whether the same request may succeed later. */
export function mayHelp(error: unknown): boolean {
  if (error instanceof ServiceUnreachable) return true
  if (!(error instanceof ServiceRefused)) return false
  const { status, retryable } = error.problem
  return retryable === true || status === 408 || status === 425 || status === 429 || status >= 500
}

/**
 * The same for callers that can wait, such as a runner or a follower: they outlast any intermediary, and only the
 * service's own refusal is final. Except 413: an intermediary will not accept a body that is too large for it later
 * either.
 */
export function mayHelpInTime(error: unknown): boolean {
  return error instanceof ForeignRefusal ? error.problem.status !== 413 : mayHelp(error)
}

/**
 * Milliseconds before try number `tries` + 1. `random` is in [0, 1): half of the pause is fixed, half is jitter (the
 * "equal jitter" of the AWS architecture blog, 2015).
 */
export function pauseAfter(error: Error, tries: number, backoff: Backoff, random: number): number {
  const full = Math.min(backoff.longestMs, backoff.firstMs * 2 ** Math.min(tries - 1, 30))
  const jittered = full / 2 + (full / 2) * random
  const asked =
    error instanceof ServiceRefused ? Math.min(RETRY_AFTER_MS_MAX, (error.retryAfterSeconds ?? 0) * 1000) : 0
  return Math.max(jittered, asked > 0 ? asked + jittered / 2 : 0)
}

/** Waits; if `signal` aborts, throws its reason early. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, signal === undefined ? {} : { signal })
  } catch {
    throw signal?.reason
  }
}
