/**
 * What is decided with a reason is decided once: the same move with the same reason, or with none, is a repeat; with
 * another reason it is refused, since the first one stands. Stops are no decisions: whoever asks for one has it.
 */
import { shown } from './clipped.ts'
import type { Refusal } from './machine.ts'

/** Whether the move that has led here is said again with a reason of its own. */
export function isOtherReason(kept: string | undefined, { reason }: { readonly reason?: string }): boolean {
  return reason !== undefined && reason !== kept
}

export function decidedOtherwise(state: string, kept: string | undefined): Refusal {
  const why = kept === undefined ? 'without a reason' : `with another reason: ${shown(kept)}`
  return { code: 'illegal_move', detail: `it is ${state} already, ${why}` }
}
