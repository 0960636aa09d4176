/**
 * What a person's approval of a brief allows. It names a digest, a revision and the state of the intent: if any of
 * these has changed since, it takes a fresh approval.
 */
import type { Approval, BriefLapse } from '../documents/formation-brief.ts'
import type { Refusal, Throttle } from '../machine.ts'
import { intentDigest } from './compiler.ts'
import type { FormationBriefContext } from './context.ts'
import { danglingFaults, type Sources } from './snapshot.ts'

/** The parts of a requested run that matter for approvals. */
interface AskedRun {
  readonly throttle: Throttle
  readonly entry_event: string
  readonly revision?: string | undefined
  /** It has a retry policy, which runs it again after a failure. */
  readonly retries: boolean
  /** It repeats work that was done already. */
  readonly again?: boolean | undefined
  /** It names another repository or branch than the brief does; a brief that names none is for its project's. */
  readonly elsewhere?: boolean | undefined
}

/** Whether the approval holds for this digest at this revision. One that names no revision holds for any. */
export function covers(approval: Approval, digest: string, revision: string | undefined): boolean {
  return approval.digest === digest && (approval.revision === undefined || approval.revision === revision)
}

/** The newest approval of the compiled brief that is still valid; undefined if a fresh one is needed. */
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
 * Whether the run goes beyond what any brief says: the approver of a brief has seen where it works, but neither a retry
 * policy nor that the work would be repeated.
 */
export function goesBeyond({
  retries,
  again = false,
  elsewhere = false,
}: Pick<AskedRun, 'retries' | 'again' | 'elsewhere'>): boolean {
  return retries || again || elsewhere
}

/** Whether an approval of the brief, given before or after the request, can cover such a run. */
export function speaksFor({ sections }: FormationBriefContext, run: AskedRun): boolean {
  const agreed = sections.engine_controls?.entry_event
  return !goesBeyond(run) && (agreed === undefined || agreed === run.entry_event)
}

/** Refuses the run if intent frozen in the brief no longer guides runs: no approval permits it. Else undefined. */
export function withdrawal(context: FormationBriefContext, sources: Sources): Refusal | undefined {
  const errors = danglingFaults(context, sources)
  if (errors.length === 0) return undefined
  const named = [...new Set(errors.map(({ detail }) => detail))].join('; ')
  const detail = `The intent behind it no longer guides runs: ${named}. No approval can change that: archive the brief, and write another.`
  return { code: 'brief_incomplete', detail, errors }
}

/** Why no approval of the brief currently covers a run at this revision; undefined if one does. */
export function lapseOf(
  context: FormationBriefContext,
  sources: Sources,
  revision: string | undefined = context.compiled?.revision,
): BriefLapse | undefined {
  const { approvals, compiled } = context
  const latest = approvals.at(-1)!.at
  const withdrawn = withdrawal(context, sources)
  if (withdrawn !== undefined) {
    const { code, detail } = withdrawn
    return { code: code as BriefLapse['code'], detail, since: earliest(sources.unfit, sources) ?? latest }
  }
  const ofText = compiled === undefined ? approvals : approvals.filter(({ digest }) => digest === compiled.digest)
  if (ofText.length === 0) {
    return again(
      'Its prompts were edited since it was approved: read them, and approve it again.',
      compiled!.compiled_at,
    )
  }
  const here = compiled === undefined ? ofText : ofText.filter((one) => covers(one, compiled.digest, revision))
  if (here.length === 0) return again(revisionMoved(ofText, revision), latest)
  const intent = intentDigest(sources)
  if (here.some((one) => one.intent_digest === intent)) return undefined
  const { at } = here.at(-1)!
  const next =
    compiled === undefined ? 'in its current form' : 'if the frozen version should still run, or write another'
  return again(
    `${intentMoved(sources, at)}: approve it again ${next}.`,
    earliest(movedSince(sources, at), sources) ?? at,
  )
}

function again(detail: string, since: string): BriefLapse {
  return { code: 'reapproval_required', detail, since }
}

export function revisionMoved(approvals: readonly Approval[], revision: string | undefined): string {
  const known = [...new Set(approvals.flatMap(({ revision: at }) => at ?? []))].join(', ')
  const asked = revision === undefined ? 'without one' : `at ${revision}`
  return `It was approved for revision ${known}: approve it again ${asked}.`
}

/** A sentence naming the records whose version has changed since the approval was given. */
export function intentMoved(sources: Sources, approvedAt: string): string {
  const moved = movedSince(sources, approvedAt).map(({ id, key, version }) => {
    return `${key} has been at version ${version} since ${sources.since[id]}`
  })
  const named = moved.length === 0 ? '' : `: ${moved.join('; ')}`
  return `The intent behind it has changed since it was approved at ${approvedAt}${named}`
}

function movedSince({ records, since }: Sources, at: string): Sources['records'] {
  return records.filter(({ id }) => (since[id] ?? '') >= at)
}

function earliest(records: readonly { readonly id: string }[], { since }: Sources): string | undefined {
  return records.flatMap(({ id }) => since[id] ?? []).sort()[0]
}
