/**
 * What a person's approval of a brief allows. It names a digest, a revision and the intent as it stood: whatever has
 * moved since is not covered, and takes a fresh approval.
 */
import type { Approval } from '../documents/formation-brief.ts'
import type { Throttle } from '../machine.ts'
import type { FormationBriefContext } from './context.ts'

/** A run that is asked for, as far as approvals go. */
interface AskedRun {
  readonly throttle: Throttle
  readonly entry_event: string
  readonly revision?: string | undefined
  /** It asks to be run again by itself after a failure. */
  readonly retries: boolean
  /** It repeats what was done already. Known where it is asked for: an approval that comes behind that has seen it. */
  readonly again?: boolean
  /** It names another repository or branch than the brief does; one that names none is for its project's. */
  readonly elsewhere?: boolean
}

/** Whether the approval holds for this digest at this revision. One that names no revision holds for each. */
export function covers(approval: Approval, digest: string, revision: string | undefined): boolean {
  return approval.digest === digest && (approval.revision === undefined || approval.revision === revision)
}

/** The newest approval of the compiled brief that nothing has moved away from; undefined: a fresh one is needed. */
export function standingApproval(
  { approvals, compiled }: FormationBriefContext,
  revision: string | undefined,
  intentDigest: string,
  throttle?: Throttle,
): Approval | undefined {
  if (compiled === undefined) return undefined
  return approvals.findLast(
    (one) =>
      covers(one, compiled.digest, revision) &&
      one.intent_digest === intentDigest &&
      (throttle === undefined || one.throttle === throttle),
  )
}

/**
 * Whether an approval of the brief can be the approval of such a run: an approver of a brief has seen which event
 * it starts and where it works, and has not seen a policy that runs it again, nor that it would be done once more.
 */
export function speaksFor(
  { sections }: FormationBriefContext,
  { entry_event, retries, again = false, elsewhere = false }: AskedRun,
): boolean {
  const agreed = sections.engine_controls?.entry_event
  return !retries && !again && !elsewhere && (agreed === undefined || agreed === entry_event)
}
