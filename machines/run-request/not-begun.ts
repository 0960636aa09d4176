/** Failures that say that their run could not begin: nothing was done, and the work is as it was. */
import type { FailureClass } from '../documents/run-request.ts'

const NOT_BEGUN: FailureClass = 'dispatch'

/** `failureClass`: as whoever ran it has said it, also in a payload. */
export function saysNotBegun(failureClass: unknown): boolean {
  return failureClass === NOT_BEGUN
}
