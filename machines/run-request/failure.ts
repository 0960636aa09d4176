/** What a run's failure says about the work: whether anything was done, and whether retrying at once can help. */
import type { FailureClass } from '../documents/run-request.ts'

/** The failure class of a run that failed before anything was done. */
export const NOT_BEGUN: FailureClass = 'dispatch'
/** The failure class of a run that was stopped. A task's result that carries it settles nothing. */
export const STOPPED: FailureClass = 'cancelled'
/** The failure code if the ref that the run was to start from does not exist. */
export const UNKNOWN_BASE = 'unknown_base'
/** The failure code if the agent is missing, or no provider answers it. */
export const PROVIDER_UNAVAILABLE = 'provider_unavailable'

/**
 * Whether the run could not begin: nothing was done, and the work is unchanged. `failureClass` is as the runner stated
 * it, possibly in a payload.
 */
export function saysNotBegun(failureClass: unknown): boolean {
  return failureClass === NOT_BEGUN
}

/** Codes for an unavailable provider: nothing is wrong with the work, and retrying at once is pointless. */
export const OUTAGE_CODES: ReadonlySet<string> = new Set([PROVIDER_UNAVAILABLE, 'usage_limit'])
