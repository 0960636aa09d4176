/**
 * The runs of a brief that have not ended, and which one the brief follows. Invariant: the brief's state is that of the
 * latest run under way or, if none is, what became of the last one that it followed.
 */
import type { Approval, BriefRun } from '../documents/formation-brief.ts'
import type { Throttle } from '../machine.ts'
import { covers, speaksFor } from './approvals.ts'
import type { FormationBriefContext, Of } from './context.ts'

/** A run that is queued, at work, or lost: a lost one may report again, or be queued again. */
export interface OpenRun extends BriefRun {
  /** It waits for an approval at this revision that the brief can give. */
  readonly waiting?: { readonly revision?: string } | undefined
}

/**
 * Most runs of one brief that have not ended: a request for another is refused (`brief_busy`). Each takes some 400
 * bytes in a record that is rewritten with each of their moves. Concurrent requests may exceed the bound.
 */
export const OPEN_RUNS_MAX = 256

type RunMessage = { readonly run_request_id: string }

export function openRun({ internal }: FormationBriefContext, { run_request_id }: RunMessage): OpenRun | undefined {
  return internal.runs.find((one) => one.run_request_id === run_request_id)
}

/** The latest run that is under way. A lost run does not count: nobody knows whether it is. */
export function latestUnderWay(runs: readonly OpenRun[]): OpenRun | undefined {
  return runs.findLast(({ state }) => state !== 'lost')
}

/** The run that the brief follows next if this one has stopped. */
export function otherUnderWay(
  { internal }: FormationBriefContext,
  { run_request_id }: RunMessage,
): OpenRun | undefined {
  return latestUnderWay(internal.runs.filter((one) => one.run_request_id !== run_request_id))
}

export function isFollowed({ run }: FormationBriefContext, { run_request_id }: RunMessage): boolean {
  return run?.run_request_id === run_request_id
}

/** The run as the document shows it. */
export function shown({ waiting: _, ...run }: OpenRun): BriefRun {
  return run
}

/** Adds or replaces a run; oldest first. A known run keeps its place; a new one follows those requested before it. */
export function withRun(runs: readonly OpenRun[], run: OpenRun, at: string): readonly OpenRun[] {
  const place = runs.findIndex((one) => one.run_request_id === run.run_request_id)
  if (place >= 0) return runs.with(place, run)
  // A request time in the future means that the clock was set back: that run was requested earlier.
  const isEarlier = (one: OpenRun): boolean => one.requested_at <= run.requested_at || at < one.requested_at
  return runs.toSpliced(runs.findLastIndex(isEarlier) + 1, 0, run)
}

export function withoutRun(runs: readonly OpenRun[], { run_request_id }: RunMessage): readonly OpenRun[] {
  return runs.filter((one) => one.run_request_id !== run_request_id)
}

/** The run as its request reports it: queued, for the first time or again. */
export function queuedRun(context: FormationBriefContext, message: Of<'run_queued'>): OpenRun {
  const { run_request_id, requested_at, digest, throttle, revision, approved, reason, at } = message
  const mayApprove = !approved && speaksFor(context, message)
  return {
    run_request_id,
    requested_at,
    digest,
    throttle,
    state: 'queued',
    ...(reason === undefined ? {} : { reason }),
    observations: openRun(context, message)?.observations ?? 0,
    changed_at: at,
    ...(mayApprove ? { waiting: revision === undefined ? {} : { revision } } : {}),
  }
}

const FULL: Throttle = 'full'

/** Whether the run waits for exactly this approval. */
export function waitsFor({ digest, waiting }: OpenRun, approval: Approval): boolean {
  return waiting !== undefined && approval.throttle === FULL && covers(approval, digest, waiting.revision)
}

/** The newest approval that the run waits for, given after it was requested but before the brief heard of it. */
export function approvedMeanwhile({ approvals }: FormationBriefContext, run: OpenRun): Approval | undefined {
  return approvals.findLast((one) => one.at >= run.requested_at && waitsFor(run, one))
}
