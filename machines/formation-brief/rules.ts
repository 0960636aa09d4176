/** Who may move a formation brief: its guards, and what counts as a repeat or is refused. */

import { type Approval, FORMATION_BRIEF_STATES } from '../documents/formation-brief.ts'
import type { Refusal, SnapshotOf } from '../machine.ts'
import { creationRefusal, creationRepeat } from '../repeated-create.ts'
import { covers, intentMoved, revisionMoved, withdrawal } from './approvals.ts'
import { type Artifact, editArtifact, intentDigest, isTooLarge } from './compiler.ts'
import type { FormationBriefContext, FormationBriefMessage, Of } from './context.ts'
import { approvalOf, artifactOf, changedSections, observationsOf, runMoved, runQueued } from './moves.ts'
import { isFollowed, openRun, otherUnderWay, waitsFor } from './runs.ts'
import { faultsOf } from './snapshot.ts'

const RUN_MESSAGES = new Set([
  'run_queued',
  'run_accepted',
  'run_started',
  'run_completed',
  'run_stopped',
  'run_observed',
])

type RunMessage = Of<'run_queued' | 'run_accepted' | 'run_started' | 'run_completed' | 'run_stopped' | 'run_observed'>

type Versioned = Of<'update' | 'submit' | 'approve' | 'edit_prompt'>

export function isVersionRead({ version }: FormationBriefContext, { if_version }: Versioned): boolean {
  return if_version === undefined || if_version === version
}

export function changes(context: FormationBriefContext, message: Of<'update'>): boolean {
  return isVersionRead(context, message) && changedSections(context, message).length > 0
}

/** The artifact that the brief compiles to with these sources, or why it cannot be compiled. */
function artifactOrRefusal(context: FormationBriefContext, message: Of<'approve' | 'compile'>): Artifact | Refusal {
  const faults = faultsOf(context, message.sources)
  if (faults.length > 0) {
    return { code: 'brief_incomplete', detail: 'the brief cannot be compiled as it stands', errors: faults }
  }
  const artifact = artifactOf(context, message)
  if (!isTooLarge(artifact)) return artifact
  return { code: 'brief_incomplete', detail: 'the brief with its prompts is too large: refer to less intent' }
}

/**
 * Why the brief cannot be approved; undefined if it can. It does not change from then on, so it must compile; once
 * compiled, its intent must still guide runs.
 */
export function approveRefusal(context: FormationBriefContext, message: Of<'approve'>): Refusal | undefined {
  if (!isVersionRead(context, message)) return notRead(context)
  if (context.compiled !== undefined) return withdrawal(context, message.sources)
  const compiled = artifactOrRefusal(context, message)
  return 'code' in compiled ? compiled : undefined
}

/** Why the approved brief cannot be compiled; undefined if it can. */
export function compileRefusal(context: FormationBriefContext, message: Of<'compile'>): Refusal | undefined {
  const compiled = artifactOrRefusal(context, message)
  if ('code' in compiled) return compiled
  if (message.incapable !== undefined) return { code: 'engine_incapable', detail: message.incapable }
  const { digest, snapshot } = compiled
  if (context.approvals.some((one) => covers(one, digest, snapshot.repo?.revision))) return undefined
  return { code: 'reapproval_required', detail: movedSinceApproval(context, message, snapshot.repo?.revision) }
}

function movedSinceApproval(
  { approvals }: FormationBriefContext,
  { sources }: Of<'compile'>,
  revision: string | undefined,
): string {
  const { intent_digest, at } = approvals.at(-1)!
  if (intent_digest !== intentDigest(sources))
    return `${intentMoved(sources, at)}: approve it again in its current form.`
  if (approvals.every((one) => one.revision !== undefined && one.revision !== revision)) {
    return revisionMoved(approvals, revision)
  }
  return 'This version of the service generates different prompts from those that were approved: approve it again.'
}

/** Whether this message makes the run the latest one under way, so that the brief follows it. */
export function takesTheLead(
  context: FormationBriefContext,
  message: Of<'run_queued' | 'run_accepted' | 'run_started'>,
): boolean {
  if (message.type !== 'run_queued' && openRun(context, message) === undefined) return false
  const { run } = message.type === 'run_queued' ? runQueued(context, message) : runMoved(context, message)
  return run?.run_request_id === message.run_request_id
}

/** Whether the brief follows this run and the run has not ended. */
export function isFollowedAndOpen(
  context: FormationBriefContext,
  message: Of<'run_completed' | 'run_stopped'>,
): boolean {
  return isFollowed(context, message) && openRun(context, message) !== undefined
}

/** Whether the brief follows this run, which stops, and can then follow another one under way in `state`. */
export function leavesFor(
  context: FormationBriefContext,
  message: Of<'run_completed' | 'run_stopped'>,
  state: string,
): boolean {
  return isFollowedAndOpen(context, message) && otherUnderWay(context, message)?.state === state
}

/** Whether the editor has read what the brief is now compiled to. */
function isCurrent(context: FormationBriefContext, message: Of<'edit_prompt'>): boolean {
  const { compiled } = context
  return compiled !== undefined && compiled.digest === message.artifact?.digest && isVersionRead(context, message)
}

function sameText({ artifact, phase, prompt_text }: Of<'edit_prompt'>): boolean {
  return artifact!.prompt_pack.prompts.some((one) => one.phase === phase && one.prompt_text === prompt_text)
}

function isOfPack({ artifact, phase }: Of<'edit_prompt'>): boolean {
  return artifact!.prompt_pack.prompts.some((one) => one.phase === phase)
}

export function mayEdit(context: FormationBriefContext, message: Of<'edit_prompt'>): boolean {
  return isCurrent(context, message) && isOfPack(message) && editTakesRoom(message)
}

function editTakesRoom({ artifact, phase, prompt_text, at }: Of<'edit_prompt'>): boolean {
  return !isTooLarge(editArtifact(artifact!, prompt_text, { phase, by: { id: '', name: '' }, at }))
}

function sameApproval(one: Approval, other: Approval): boolean {
  return (
    one.throttle === other.throttle &&
    one.digest === other.digest &&
    one.revision === other.revision &&
    one.intent_digest === other.intent_digest &&
    one.by.id === other.by.id
  )
}

const UNCOMPILED = new Set(['draft', 'reviewable', 'approved'])
const NOT_APPROVABLE = new Set(['absent', 'draft', 'archived'])
const APPROVABLE = new Set(FORMATION_BRIEF_STATES.filter((state) => !NOT_APPROVABLE.has(state)) as readonly string[])
const EDITABLE = new Set(['compiled', 'completed', 'analyzed'])

/** A word for a message that repeats one taken before, or tells this brief nothing new; undefined otherwise. */
export function repeats(
  { value, context }: SnapshotOf<FormationBriefContext>,
  message: FormationBriefMessage,
): string | undefined {
  if (value === 'absent') return undefined
  if (RUN_MESSAGES.has(message.type)) return noNews(value, context, message as RunMessage)
  switch (message.type) {
    case 'create':
      return creationRepeat(context.internal.creation, message)
    case 'update':
      if (value !== 'draft' && value !== 'reviewable') return undefined
      return isVersionRead(context, message) && !changes(context, message) ? 'unchanged' : undefined
    case 'submit':
      return value === 'reviewable' && isVersionRead(context, message) ? 'already_reviewable' : undefined
    case 'approve': {
      if (!APPROVABLE.has(value) || context.approvals.length === 0 || !isVersionRead(context, message)) return undefined
      // Intent that no longer guides runs is refused, even if an earlier build approved it.
      if (message.sources.unfit.length > 0) return undefined
      const approval = approvalOf(context, message)
      // An approval given before still goes on to a run that has since come to wait for it.
      if (context.internal.runs.some((run) => waitsFor(run, approval))) return undefined
      return context.approvals.some((one) => sameApproval(one, approval)) ? 'already_approved' : undefined
    }
    case 'compile':
      return context.compiled !== undefined && value !== 'archived' ? 'already_compiled' : undefined
    case 'edit_prompt':
      return isCurrent(context, message) && sameText(message) ? 'unchanged' : undefined
    case 'archive':
      return value === 'archived' ? 'already_archived' : undefined
    default:
      return undefined
  }
}

/**
 * `no_news` unless the message is about a run that has not ended, or about observations of the run that the brief
 * follows. An archived brief only takes a queued run, in order to cancel it.
 */
function noNews(value: string, context: FormationBriefContext, message: RunMessage): string | undefined {
  if (UNCOMPILED.has(value)) return 'no_news'
  if (value === 'archived') return message.type === 'run_queued' ? undefined : 'no_news'
  const known = openRun(context, message)
  // A run that was merely offered and waits again has not changed for the brief.
  if (message.type === 'run_queued') return known?.state === 'queued' ? 'no_news' : undefined
  if (message.type !== 'run_observed') return known === undefined ? 'no_news' : undefined
  const isHeardOf = known !== undefined || isFollowed(context, message)
  return isHeardOf && observationsOf(context, message) > 0 ? undefined : 'no_news'
}

/** Why a message was refused, if there is more to say than that the state does not allow it. */
export function refusal(
  { value, context }: SnapshotOf<FormationBriefContext>,
  message: FormationBriefMessage,
): Refusal | undefined {
  if (value === 'absent') return undefined
  switch (message.type) {
    case 'create':
      return creationRefusal(context.internal.creation, message, { what: 'formation brief', isIdFromKey: true })
    case 'update':
    case 'submit':
      return value === 'draft' || value === 'reviewable' ? notRead(context) : undefined
    case 'approve':
      return APPROVABLE.has(value) ? approveRefusal(context, message) : undefined
    case 'compile':
      return value === 'approved' ? compileRefusal(context, message) : undefined
    case 'edit_prompt':
      return EDITABLE.has(value) ? editRefusal(context, message) : untilRunsEnd(context, 'its prompts can be replaced')
    case 'archive':
      return untilRunsEnd(context, 'it can be archived')
    default:
      return undefined
  }
}

/** How many runs are named to a caller who must wait for them. */
const RUNS_NAMED_MAX = 5

/** Refuses what cannot be done while a run of the brief has not ended, and says what to do. */
function untilRunsEnd({ internal: { runs } }: FormationBriefContext, what: string): Refusal | undefined {
  if (runs.length === 0) return undefined
  const named = runs.slice(0, RUNS_NAMED_MAX).map(({ run_request_id, state, waiting }) => {
    return `${run_request_id} ${waiting === undefined ? `is ${state}` : 'waits for an approval'}`
  })
  const more = runs.length > RUNS_NAMED_MAX ? `, and ${runs.length - RUNS_NAMED_MAX} more` : ''
  const detail = `the brief has runs that have not ended (${named.join(', ')}${more}): ${what} only once they have, so cancel them or wait`
  return { code: 'illegal_move', detail }
}

function notRead({ version }: FormationBriefContext): Refusal {
  return { code: 'precondition_failed', detail: `the brief is now at version ${version}` }
}

function editRefusal(context: FormationBriefContext, message: Of<'edit_prompt'>): Refusal | undefined {
  if (!isVersionRead(context, message)) return notRead(context)
  if (!isCurrent(context, message)) {
    return { code: 'precondition_failed', detail: 'the prompts have been changed by somebody else meanwhile' }
  }
  if (!isOfPack(message)) {
    const phases = message.artifact!.prompt_pack.prompts.map(({ phase }) => phase).join(', ')
    return {
      code: 'not_found',
      detail: `the prompts of the brief have no phase ${message.phase}; the phases are ${phases}`,
    }
  }
  if (editTakesRoom(message)) return undefined
  return { code: 'brief_incomplete', detail: 'the brief with its prompts would be too large: shorten the text' }
}
