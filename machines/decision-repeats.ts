/**
 * A decision with a reason is made once: the same move with the same reason, or with none, is a repeat; with another
 * reason it is refused, since the first one stands. Stops are not decisions: a repeated stop always succeeds.
 */
import { shown } from './clipped.ts'
import type { Refusal } from './machine.ts'

/** Whether a repeated move gives a reason that differs from the one stored. */
export function givesOtherReason(kept: string | undefined, { reason }: { readonly reason?: string }): boolean {
  return reason !== undefined && reason !== kept
}

export function decidedOtherwise(state: string, kept: string | undefined): Refusal {
  const why = kept === undefined ? 'without a reason' : `with another reason: ${shown(kept)}`
  return { code: 'illegal_move', detail: `it is already ${state}, ${why}` }
}
