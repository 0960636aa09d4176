/**
 * Whether a run request may name its brief. Invariant: what runs was compiled and approved to the letter, at this
 * revision, with the intent as it stands now; if any of these has changed since, a fresh approval is needed.
 */

import type { RunRequestCreate } from '../../machines/documents/run-request.ts'
import { lapseOf, speaksFor, standingApproval } from '../../machines/formation-brief/approvals.ts'
import { intentDigest } from '../../machines/formation-brief/compiler.ts'
import type { FormationBriefContext } from '../../machines/formation-brief/context.ts'
import { OPEN_RUNS_MAX } from '../../machines/formation-brief/runs.ts'
import type { By } from '../../machines/machine.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import type { Refused, Runtime, SnapshotOf } from '../api.ts'
import { readable } from '../reader.ts'
import { sourcesOf } from './brief-sources.ts'

/** What the brief contributes to a run that follows it. */
export interface BriefOfRun {
  /** What the brief was compiled for, used where the run says nothing. */
  readonly repo: NonNullable<RunRequestCreate['repo']>
  /** Who approved the brief, and thereby the run; undefined if the run needs an approval of its own. */
  readonly approvedBy: By | undefined
  /** The run names another repository or branch than the brief was approved for. */
  readonly isElsewhere: boolean
}

type BriefAnswer = { readonly ok: true; readonly brief: BriefOfRun } | Refused

/** Undefined if the request names no brief. */
export function briefOfRun(
  runtime: Runtime,
  project: SnapshotOf<any>,
  body: RunRequestCreate,
): BriefAnswer | undefined {
  if (body.brief === undefined) return undefined
  const { id, digest } = body.brief
  const { key } = project.context
  const brief: SnapshotOf<FormationBriefContext> | undefined = runtime.read({ kind: 'formation_brief', id })
  if (brief === undefined || brief.context.project !== key) {
    return refused('unknown_brief', `The project ${key} has no formation brief ${id}.`, '/brief/id')
  }
  const { compiled } = brief.context
  if (brief.value === 'archived') {
    return refused('brief_archived', 'An archived brief is kept for audit only.', '/brief/id')
  }
  if (compiled === undefined) {
    return refused('brief_not_compiled', `The brief is ${brief.value}: compile it first.`, '/brief/id')
  }
  if (compiled.digest !== digest) {
    const detail = `The brief's digest is ${compiled.digest}; ${digest} was given.`
    return refused('brief_digest_mismatch', detail, '/brief/digest')
  }
  if (brief.context.internal.runs.length >= OPEN_RUNS_MAX) {
    return refused(
      'brief_busy',
      `${OPEN_RUNS_MAX} runs of the brief have not ended: wait for some to end, or cancel them.`,
    )
  }
  return approvedBrief(runtime, { brief: brief.context, repository: project.context.repository }, body)
}

interface BriefOfProject {
  readonly brief: FormationBriefContext
  /** Repository of the project: that of a brief that names none. */
  readonly repository: string | undefined
}

function approvedBrief(
  runtime: Runtime,
  { brief: context, repository }: BriefOfProject,
  body: RunRequestCreate,
): BriefAnswer {
  const { sections, compiled } = context
  const revision = body.repo?.revision ?? compiled!.revision
  const sources = sourcesOf(runtime, context)
  const lapse = lapseOf(context, sources, revision)
  if (lapse !== undefined) return refused(lapse.code, lapse.detail)
  const intent = intentDigest(sources)
  const { throttle = 'dry_run', entry_event, retry, again = false } = body
  const full = standingApproval(context, revision, intent, 'full')
  const isElsewhere = worksElsewhere(body.repo, {
    path: sections.repo?.path ?? repository,
    branch: sections.repo?.branch,
  })
  const asked = { throttle, entry_event, retries: retry !== undefined, again, elsewhere: isElsewhere }
  const approvedBy = throttle === 'full' && speaksFor(context, asked) ? full?.by : undefined
  const repo = { ...sections.repo, ...(revision === undefined ? {} : { revision }) }
  return { ok: true, brief: { repo, approvedBy, isElsewhere } }
}

/** Why a run that awaits approval cannot be approved as things stand: its brief would not allow the request now. */
export function whyNotApprovable(
  runtime: Runtime,
  { value, context }: SnapshotOf<RunRequestContext>,
): Refused | undefined {
  const { asked, internal } = context
  if (asked.brief === undefined || value !== 'queued' || internal.approved) return undefined
  const brief: SnapshotOf<FormationBriefContext> | undefined = runtime.read({
    kind: 'formation_brief',
    id: asked.brief.id,
  })
  if (brief === undefined) return undefined
  const lapse = lapseOf(brief.context, sourcesOf(runtime, brief.context), asked.repo?.revision)
  return lapse === undefined ? undefined : refused(lapse.code, lapse.detail)
}

/** Why no approval of the brief holds any more; undefined if one does, or none was given. */
export function lapseOfBrief(runtime: Runtime, { value, context }: SnapshotOf<FormationBriefContext>) {
  if (context.approvals.length === 0 || value === 'archived') return undefined
  return readable(() => lapseOf(context, sourcesOf(runtime, context)))
}

/** Whether a run deviates from what was agreed: what it leaves out it takes from the brief, then from the project. */
function worksElsewhere(
  named: RunRequestCreate['repo'],
  agreed: { path: string | undefined; branch: string | undefined },
) {
  if (named === undefined) return false
  const { path = agreed.path, branch = agreed.branch } = named
  return path !== agreed.path || branch !== agreed.branch
}

/** A refused run request; `pointer` names the faulty member of its body. */
export function refused(code: string, detail: string, pointer?: string): Refused {
  return { ok: false, refusal: pointer === undefined ? { code, detail } : { code, detail, pointer } }
}
