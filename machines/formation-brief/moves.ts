/** What each move of a formation brief changes and asks for: pure functions of (context, message). */

import { changed, creationRecord } from '../creation.ts'
import { APPROVALS_MAX, type Approval, type BriefRun, type FormationBriefPatch } from '../documents/formation-brief.ts'
import type { By, SendParams } from '../machine.ts'
import { SERVICE_BY } from '../machine.ts'
import { covers, speaksFor } from './approvals.ts'
import { compiledBriefId } from './compiled.ts'
import { type Artifact, compileBrief, editArtifact, intentDigest } from './compiler.ts'
import type { FormationBriefContext, Of } from './context.ts'
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
    internal: { creation: creationRecord(message) },
  }
}

/** The sections after a patch: null takes one away. */
export function patched(sections: BriefSections, patch: FormationBriefPatch): BriefSections {
  const next = Object.entries({ ...sections, ...patch }).filter(([, value]) => value !== null)
  return Object.fromEntries(next) as unknown as BriefSections
}

/** Names of the sections that the patch really changes. */
export function changedSections({ sections }: FormationBriefContext, { sections: patch }: Of<'update'>): string[] {
  const given = Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, value ?? undefined]))
  return changed<object>(sections, given)
}

export function updated(context: FormationBriefContext, message: Of<'update'>): Change {
  const sections = patched(context.sections, message.sections)
  return { sections, version: context.version + 1, updated_at: message.at }
}

/** The revision that an approval or a compile speaks of, where its message names none. */
function revisionOf({ sections, approvals, compiled }: FormationBriefContext): string | undefined {
  return compiled?.revision ?? approvals.at(-1)?.revision ?? sections.repo?.revision
}

/** What a compile at the message's revision, with its sources, gives. */
export function artifactOf(context: FormationBriefContext, { sources, revision }: Of<'approve' | 'compile'>): Artifact {
  return compileBrief(context, sources, revision ?? revisionOf(context))
}

/** The approval that the message is. Of a brief that is not compiled yet, it names the digest that it will have. */
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

/** The newest approval goes on to a run that waits for exactly this one. */
export function approvalOfRun({ run, internal, approvals }: FormationBriefContext): SendParams | undefined {
  const approval = approvals.at(-1)!
  if (run === undefined || internal.waiting === undefined || approval.throttle !== 'full') return undefined
  if (!covers(approval, run.digest, internal.waiting.revision)) return undefined
  return { to: { kind: 'run_request', id: run.run_request_id }, message: { type: 'approve', by: approval.by } }
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

/** The artifact becomes an actor of its own, by a message that commits with the move. */
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

export function runQueued(context: FormationBriefContext, message: Of<'run_queued'>): Change {
  const { run_request_id, requested_at, digest, throttle, revision, approved: isApproved, reason, at } = message
  const known = context.run?.run_request_id === run_request_id ? context.run : undefined
  const run: BriefRun = {
    run_request_id,
    requested_at,
    digest,
    throttle,
    state: 'queued',
    ...(reason === undefined ? {} : { reason }),
    observations: known?.observations ?? 0,
    changed_at: at,
  }
  const mayApprove = !isApproved && speaksFor(context, message)
  const waiting = mayApprove ? { ...(revision === undefined ? {} : { revision }) } : undefined
  return { run, reason: undefined, internal: { ...context.internal, waiting } }
}

const RUN_STATES = { run_accepted: 'accepted', run_started: 'started', run_completed: 'completed' } as const

export function runMoved(
  { run, internal }: FormationBriefContext,
  { type, at }: Of<'run_accepted' | 'run_started' | 'run_completed'>,
): Change {
  const { reason: _, ...same } = run!
  const next = { ...same, state: RUN_STATES[type], changed_at: at }
  return { run: next, reason: undefined, internal: { ...internal, waiting: undefined } }
}

export function runStopped({ run, internal }: FormationBriefContext, message: Of<'run_stopped'>): Change {
  const { outcome, at } = message
  const reason = `the run ${outcome === 'lost' ? 'was lost' : outcome === 'failed' ? 'failed' : 'was cancelled'}: ${message.reason}`
  const next = { ...run!, state: outcome, reason: message.reason, changed_at: at }
  return { run: next, reason, internal: { ...internal, waiting: undefined } }
}

/** How many of the observations are about records that the brief stands on. */
export function observationsOf({ compiled: reference }: FormationBriefContext, message: Of<'run_observed'>): number {
  const known = new Set(reference?.source_intent.map(({ id }) => id))
  return message.intent_record_ids.filter((id) => known.has(id)).length
}

export function runObserved(context: FormationBriefContext, message: Of<'run_observed'>): Change {
  const run = context.run!
  const observations = run.observations + observationsOf(context, message)
  return { run: { ...run, observations, changed_at: message.at } }
}
