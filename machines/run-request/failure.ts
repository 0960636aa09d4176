/** What the failure of a run says of the work: whether anything was done, and whether asking again at once is of use. */
import type { FailureClass } from '../documents/run-request.ts'

const NOT_BEGUN: FailureClass = 'dispatch'

/**
 * Its run could not begin: nothing was done, and the work is as it was. `failureClass`: as whoever ran it has said it, also
 * in a payload.
 */
export function saysNotBegun(failureClass: unknown): boolean {
  return failureClass === NOT_BEGUN
}

/** The agent's provider cannot be used now: nothing is wrong with the work, and to ask again at once is of no use. */
export const OUTAGE_CODES: ReadonlySet<string> = new Set(['provider_unavailable', 'usage_limit'])
