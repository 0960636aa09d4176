/**
 * Finds an engine run by its id, whether it is an actor of its own (something was reported on it, or its run request
 * has left it) or exists only within its run request. Reads committed data; an id that a runner chose is looked up in
 * an index.
 */

import type { EngineRun } from '../../machines/documents/engine-run.ts'
import { type EngineRunIdentity, engineRunModule } from '../../machines/engine-run.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { heldEngineRun, requestOfFirstEngineRun, unreportedEngineRun } from '../../machines/run-request/view.ts'
import type { Runtime, SnapshotOf } from '../api.ts'
import { readable } from '../reader.ts'

export interface KnownEngineRun {
  /** Identity to send with a message to the run's actor, in case it is the first. */
  readonly identity: EngineRunIdentity
  readonly document: EngineRun
}

/** Undefined if it does not exist. Rejects with ViewBehind. */
export async function findEngineRun(runtime: Runtime, id: string): Promise<KnownEngineRun | undefined> {
  const found = engineRunAtHand(runtime, id)
  if (found !== undefined) return found
  const { snapshots } = await runtime.list({ kind: 'run_request', index: 'engine_run', value: id, limit: 1 })
  // The view's answer may be outdated: the run may be an actor now, which its request has left.
  return engineRunAtHand(runtime, id) ?? ofRequest(snapshots[0], id)
}

/**
 * Whose engine run it is, if it does not belong to this attempt of this run request: another request's, or has the id
 * reserved for another one's first engine run, or an earlier attempt's. Holds for committed data: the caller must
 * ensure that no other post naming the same run is under way. Rejects with ViewBehind.
 */
export async function otherHolderOfEngineRun(
  runtime: Runtime,
  id: string,
  { requestId, attempt }: { readonly requestId: string; readonly attempt: number | undefined },
): Promise<string | undefined> {
  const heir = requestOfFirstEngineRun(id)
  const inherits = heir === requestId ? undefined : readable(() => runtime.read({ kind: 'run_request', id: heir }), {})
  if (inherits !== undefined) return ANOTHER_REQUEST
  const run = await findEngineRun(runtime, id)
  if (run === undefined) return undefined
  if (run.identity.run_request_id !== requestId) return ANOTHER_REQUEST
  const isEarlier = attempt !== undefined && run.identity.attempt < attempt
  return isEarlier ? `attempt ${run.identity.attempt}` : undefined
}

const ANOTHER_REQUEST = 'another run request'

/** The run, unless only the index can find it. */
export function engineRunAtHand(runtime: Runtime, id: string): KnownEngineRun | undefined {
  const actor = runtime.read({ kind: 'engine_run', id })
  if (actor !== undefined) {
    const { span_id, causation_id, gather_id } = actor.context.internal
    const document = engineRunModule.document(actor) as EngineRun
    return { identity: { ...identityOf(document), span_id, causation_id, gather_id }, document }
  }
  return ofRequest(runtime.read({ kind: 'run_request', id: requestOfFirstEngineRun(id) }), id)
}

function ofRequest(request: SnapshotOf<RunRequestContext> | undefined, id: string): KnownEngineRun | undefined {
  if (request === undefined || request.context.engine_run_id !== id) return undefined
  const identity = heldEngineRun(request)!
  return { identity, document: unreportedEngineRun(identity) }
}

function identityOf(run: EngineRun): Omit<EngineRunIdentity, 'span_id' | 'causation_id' | 'gather_id'> {
  const { project, project_id, run_request_id, formation_brief_id, attempt } = run
  const { runner_id, throttle, trace_id, opened_at } = run
  const brief = formation_brief_id === undefined ? {} : { formation_brief_id }
  return {
    id: run.id,
    project,
    project_id,
    run_request_id,
    ...brief,
    attempt,
    runner_id,
    throttle,
    trace_id,
    opened_at,
  }
}
