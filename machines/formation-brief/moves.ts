/** What each move of a formation brief changes and asks for: pure functions of (context, message). */

import { changed } from '../changed.ts'
import { APPROVALS_MAX, type Approval, type BriefRun, type FormationBriefPatch } from '../documents/formation-brief.ts'
import type { By, SendParams } from '../machine.ts'
import { SERVICE_BY } from '../machine.ts'
import { creationRecord } from '../repeated-create.ts'
import { compiledBriefId } from './compiled.ts'
import { type Artifact, compileBrief, editArtifact, intentDigest } from './compiler.ts'
import type { FormationBriefContext, Of } from './context.ts'
import {
  approvedMeanwhile,
  isFollowed,
  latestUnderWay,
  type OpenRun,
  openRun,
  otherUnderWay,
  queuedRun,
  shown,
  waitsFor,
  withoutRun,
  withRun,
} from './runs.ts'
import type { BriefSections } from './snapshot.ts'

type Change = Partial<FormationBriefContext>

export function created(message: Of<'create'>): FormationBriefContext {
  const { id, project, project_id, at, by } = message
  return {
    id,
    project,
    project_id,
    version: 1,
    sections: { ...message.sections, throttle: message.sections.throttle ?? 'dry_run' },
    approvals: [],
    ...(by === undefined ? {} : { created_by: by }),
    created_at: at,
    internal: { creation: creationRecord(message), runs: [] },
  }
}

/** The sections after a patch; null removes a section. */
function patched(sections: BriefSections, patch: FormationBriefPatch): BriefSections {
  const next = Object.entries({ ...sections, ...patch }).filter(([, value]) => value !== null)
  return Object.fromEntries(next) as unknown as BriefSections
}

/** Names of the sections whose content the patch actually changes. */
export function changedSections({ sections }: FormationBriefContext, { sections: patch }: Of<'update'>): string[] {
  const given = Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, value ?? undefined]))
  return changed<object>(sections, given)
}

export function updated(context: FormationBriefContext, message: Of<'update'>): Change {
  const sections = patched(context.sections, message.sections)
  return { sections, version: context.version + 1, updated_at: message.at }
}

/** The revision that an approval or a compile is about if its message names none. */
function revisionOf({ sections, approvals, compiled }: FormationBriefContext): string | undefined {
  return compiled?.revision ?? approvals.at(-1)?.revision ?? sections.repo?.revision
}

/** The artifact that a compile at the message's revision, with its sources, yields. */
export function artifactOf(context: FormationBriefContext, { sources, revision }: Of<'approve' | 'compile'>): Artifact {
  return compileBrief(context, sources, revision ?? revisionOf(context))
}

/** The approval that the message gives. Before the compile, it names the digest that the compile will yield. */
export function approvalOf(context: FormationBriefContext, message: Of<'approve'>): Approval {
  const { throttle, sources, at, by = SERVICE_BY } = message
  const { compiled, sections } = context
  const revision = message.revision ?? compiled?.revision ?? sections.repo?.revision
  const digest = compiled?.digest ?? compileBrief(context, sources, revision).digest
  const of = { throttle, digest, ...(revision === undefined ? {} : { revision }) }
  return { ...of, intent_digest: intentDigest(sources), by, at }
}

export function approved(context: FormationBriefContext, message: Of<'approve'>): Change {
  return { approvals: [...context.approvals, approvalOf(context, message)].slice(-APPROVALS_MAX) }
}

/** Messages that release runs, and the brief after sending them. */
interface Releases {
  readonly sends: readonly SendParams[]
  readonly change: Change
}

function releases({ internal }: FormationBriefContext, approvalFor: (run: OpenRun) => Approval | undefined): Releases {
  const sends: SendParams[] = []
  const runs = internal.runs.map((run) => {
    const approval = approvalFor(run)
    if (approval === undefined) return run
    sends.push({ to: { kind: 'run_request', id: run.run_request_id }, message: { type: 'approve', by: approval.by } })
    return shown(run)
  })
  return { sends, change: sends.length === 0 ? {} : { internal: { ...internal, runs } } }
}

/** Passes the newest approval on to each run that waits for exactly this one, oldest first. */
export function approvalOfRuns(context: FormationBriefContext): Releases {
  const approval = context.approvals.at(-1)!
  return releases(context, (run) => (waitsFor(run, approval) ? approval : undefined))
}

/** Gives a newly reported run the approval that was given since it was requested. */
export function approvalOfLateRun(context: FormationBriefContext, { run_request_id }: Of<'run_queued'>): Releases {
  return releases(context, (run) =>
    run.run_request_id === run_request_id ? approvedMeanwhile(context, run) : undefined,
  )
}

/** Cancels the run: an archived brief is not run any more. */
export function cancelOfRun({ run_request_id: id }: Of<'run_queued'>): SendParams {
  return {
    to: { kind: 'run_request', id },
    message: { type: 'cancel', by: SERVICE_BY, reason: 'its brief is archived' },
  }
}

export function compiled(artifact: Artifact, at: string, by: By | undefined): Change {
  const { digest, snapshot, prompt_pack } = artifact
  const { revision } = snapshot.repo ?? {}
  return {
    compiled: {
      digest,
      prompt_pack_digest: prompt_pack.digest,
      ...(revision === undefined ? {} : { revision }),
      source_intent: prompt_pack.source_intent,
      edited: prompt_pack.human_edits.length > 0,
      ...(by === undefined ? {} : { compiled_by: by }),
      compiled_at: at,
    },
    reason: undefined,
  }
}

/** Stores the artifact as an actor of its own, by a message that commits with the move. */
export function keepArtifact(context: FormationBriefContext, artifact: Artifact): SendParams {
  const { digest, snapshot, prompt_pack } = artifact
  const { id: formation_brief_id, project, compiled: reference } = context
  const { compiled_by, compiled_at } = reference!
  const whole = { formation_brief_id, project, digest, snapshot, prompt_pack, compiled_by, compiled_at }
  return {
    to: { kind: 'compiled_brief', id: compiledBriefId(digest) },
    message: JSON.parse(JSON.stringify({ type: 'create', ...whole })),
  }
}

export function edited({ phase, prompt_text, reason, artifact, at, by = SERVICE_BY }: Of<'edit_prompt'>): Artifact {
  return editArtifact(artifact!, prompt_text, { phase, by, at, ...(reason === undefined ? {} : { reason }) })
}

/** The brief with these open runs: it follows the latest one under way. */
function following({ run, internal, reason }: FormationBriefContext, runs: readonly OpenRun[]): Change {
  const latest = latestUnderWay(runs)
  const next = latest === undefined ? run : shown(latest)
  return { run: next!, reason: latest === undefined ? reason : undefined, internal: { ...internal, runs } }
}

export function runQueued(context: FormationBriefContext, message: Of<'run_queued'>): Change {
  return following(context, withRun(context.internal.runs, queuedRun(context, message), message.at))
}

const RUN_STATES = { run_accepted: 'accepted', run_started: 'started' } as const

export function runMoved(context: FormationBriefContext, message: Of<'run_accepted' | 'run_started'>): Change {
  const { reason: _, ...same } = shown(openRun(context, message)!)
  const run = { ...same, state: RUN_STATES[message.type], changed_at: message.at }
  return following(context, withRun(context.internal.runs, run, message.at))
}

/** Updates the open runs, and the brief itself if it follows this run. */
function stopped(
  context: FormationBriefContext,
  { run, runs, reason }: { readonly run: BriefRun; readonly runs: readonly OpenRun[]; readonly reason?: string },
): Change {
  const internal = { ...context.internal, runs }
  return isFollowed(context, run) ? { run, reason, internal } : { internal }
}

export function runCompleted(context: FormationBriefContext, message: Of<'run_completed'>): Change {
  const { reason: _, ...same } = shown(openRun(context, message)!)
  const run = { ...same, state: 'completed', changed_at: message.at }
  return stopped(context, { run, runs: withoutRun(context.internal.runs, message) })
}

/** A lost run has not ended: it may report again. */
export function runStopped(context: FormationBriefContext, message: Of<'run_stopped'>): Change {
  const { outcome, at } = message
  const { runs } = context.internal
  const reason = `the run ${outcome === 'lost' ? 'was lost' : outcome === 'failed' ? 'failed' : 'was cancelled'}: ${message.reason}`
  const run = { ...shown(openRun(context, message)!), state: outcome, reason: message.reason, changed_at: at }
  return stopped(context, {
    run,
    runs: outcome === 'lost' ? withRun(runs, run, at) : withoutRun(runs, message),
    reason,
  })
}

/** The run that the brief followed has stopped: it follows another one that is under way. */
export function followOther(context: FormationBriefContext, message: Of<'run_completed' | 'run_stopped'>): Change {
  return { run: shown(otherUnderWay(context, message)!), reason: undefined }
}

/** How many of the observations are about records that the brief stands on. */
export function observationsOf({ compiled: reference }: FormationBriefContext, message: Of<'run_observed'>): number {
  const known = new Set(reference?.source_intent.map(({ id }) => id))
  return message.intent_record_ids.filter((id) => known.has(id)).length
}

export function runObserved(context: FormationBriefContext, message: Of<'run_observed'>): Change {
  const { run, internal } = context
  const seen = observationsOf(context, message)
  const observed = <Run extends BriefRun>(one: Run): Run =>
    one.run_request_id === message.run_request_id
      ? { ...one, observations: one.observations + seen, changed_at: message.at }
      : one
  return { run: observed(run!), internal: { ...internal, runs: internal.runs.map(observed) } }
}
