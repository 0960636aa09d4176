/** What the failure of a run says of the work: whether anything was done, and whether asking again at once is of use. */
import type { FailureClass } from '../documents/run-request.ts'

/** The class of what fails a run before anything was done. */
export const NOT_BEGUN: FailureClass = 'dispatch'
/** The code of a run that has no commit of the name that it was to start from. */
export const UNKNOWN_BASE = 'unknown_base'
/** The code of a run whose agent is not there, or has no provider that answers. */
export const PROVIDER_UNAVAILABLE = 'provider_unavailable'

/**
 * Its run could not begin: nothing was done, and the work is as it was. `failureClass`: as whoever ran it has said it, also
 * in a payload.
 */
export function saysNotBegun(failureClass: unknown): boolean {
  return failureClass === NOT_BEGUN
}

/** The agent's provider cannot be used now: nothing is wrong with the work, and to ask again at once is of no use. */
export const OUTAGE_CODES: ReadonlySet<string> = new Set([PROVIDER_UNAVAILABLE, 'usage_limit'])
