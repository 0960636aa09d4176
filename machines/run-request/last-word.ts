/**
 * Whether anything of a run can be missing: not where its runner had the last word about it, and not where no runner ever
 * began it. Read from what the moves keep for other reasons, the last post and the times of the attempt.
 */
import type { SnapshotOf } from '../machine.ts'
import type { RunRequestContext } from './context.ts'
import { RESTORED_ATTEMPTS } from './moves.ts'

/** A settled request of which everything is there that will be; false also while it is open. */
export function isWhole({ value, context }: SnapshotOf<RunRequestContext>): boolean {
  const { attempt, times, internal } = context
  const spokenOf = internal.last_post?.attempt
  if (spokenOf === attempt) return true
  if ((value !== 'cancelled' && value !== 'failed') || times.accepted_at !== undefined) return false
  // It ended while it waited: of its last run the runner spoke, or there was none.
  return spokenOf === attempt - 1 || !mayHaveBegun(context)
}

/** Whether a runner may have begun an attempt that is over: nothing of it is kept, but how the request came back. */
function mayHaveBegun({ attempt, internal }: RunRequestContext): boolean {
  return internal.retries > 0 || internal.requeued_by !== undefined || attempt > RESTORED_ATTEMPTS
}
