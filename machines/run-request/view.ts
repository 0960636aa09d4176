/**
 * How a run request looks from outside: the envelope of its facts, its index rows, its deadlines, and the served
 * document. Internal members are never served.
 */

import { cachedJson } from '../cached-json.ts'
import { quoted } from '../canonical.ts'
import type { EngineRun } from '../documents/engine-run.ts'
import type { RunRequest } from '../documents/run-request.ts'
import type { EngineRunIdentity } from '../engine-run.ts'
import type { Deadline, DeadlineLengths, FactEnvelope, Retirement, SnapshotOf, Term } from '../machine.ts'
import type { Asked, RunRequestContext } from './context.ts'
import { demandTerm } from './demand.ts'
import { AWAITED_RUN_STATES, isLeased, SETTLED_RUN_STATES } from './states.ts'

export function envelope({ id, project, throttle, trace_id, made }: RunRequestContext): FactEnvelope {
  const { span_id, parent_span_id, causation_id, gather_id } = made
  return { project, throttle, trace_id, span_id, parent_span_id, causation_id, gather_id, run_request_id: id }
}

export function terms({ value, context }: SnapshotOf<RunRequestContext>): readonly Term[] {
  const order = context.created_at
  const rows: Term[] = [
    { index: 'all', value: '', order },
    { index: 'project', value: context.project, order },
    { index: 'state', value, order },
  ]
  if (context.offered_to !== undefined) rows.push({ index: 'runner', value: context.offered_to, order })
  for (const label of context.asked.labels) rows.push({ index: 'label', value: label, order })
  const { engine_run_id } = context
  if (engine_run_id !== undefined && engine_run_id !== firstEngineRunOf(context.id))
    rows.push({ index: 'engine_run', value: engine_run_id, order })
  if (value === 'lost') rows.push({ index: 'attention', value: 'lost', order })
  if (value === 'queued') rows.push(demandTerm(context))
  if (value === 'queued' && !context.internal.approved) rows.push({ index: 'attention', value: 'unapproved', order })
  return rows
}

const RUN_PREFIX = 'run_'
const REQUEST_PREFIX = 'runreq_'

/** The id of a first attempt's engine run whose holder named none: it has the digits of the request's id. */
export function firstEngineRunOf(requestId: string): string {
  return RUN_PREFIX + requestId.slice(REQUEST_PREFIX.length)
}

/** The id of the request whose first attempt has this engine run, if its holder named none. */
export function requestOfFirstEngineRun(engineRunId: string): string {
  return REQUEST_PREFIX + engineRunId.slice(RUN_PREFIX.length)
}

/** The request's current engine run; undefined while nobody has accepted the request. */
export function heldEngineRun({ value, context: c }: SnapshotOf<RunRequestContext>): EngineRunIdentity | undefined {
  if (c.engine_run_id === undefined) return undefined
  const closed_at = retirement.at({ status: 'active', value, context: c })
  return {
    id: c.engine_run_id,
    project: c.project,
    project_id: c.project_id,
    run_request_id: c.id,
    ...(c.asked.brief === undefined ? {} : { formation_brief_id: c.asked.brief.id }),
    attempt: c.attempt,
    runner_id: c.offered_to!,
    throttle: c.throttle,
    trace_id: c.trace_id,
    span_id: c.made.span_id,
    causation_id: c.made.causation_id,
    gather_id: c.made.gather_id,
    opened_at: c.times.accepted_at!,
    ...(closed_at === undefined ? {} : { outcome: value, closed_at }),
  }
}

/** The engine run's document, from the request alone: for a run on which nothing was reported. */
export function unreportedEngineRun({
  span_id: _,
  causation_id: __,
  gather_id: ___,
  ...run
}: EngineRunIdentity): EngineRun {
  return { ...run, state: run.outcome === undefined ? 'open' : 'closed', evidence: [] }
}

/** A settled request's life ended with the move that settled it. */
export const retirement: Retirement = {
  index: 'state',
  values: SETTLED_RUN_STATES,
  at: ({ context: { times } }: SnapshotOf<RunRequestContext>) =>
    times.completed_at ?? times.failed_at ?? times.cancelled_at,
}

/** States with a deadline: an offer, a lease or the grace period of a stop. */
export const deadlineStates = AWAITED_RUN_STATES

const NO_DEADLINES: readonly Deadline[] = []

const NOTHING: readonly string[] = []
/** Posts that only the holder makes. A person's stop, even repeated, keeps no dead runner's lease alive. */
const SIGNS_OF_LIFE: readonly string[] = ['accepted', 'started', 'events', 'heartbeat']

export function deadlines(
  { value, context }: SnapshotOf<RunRequestContext>,
  { offerMs, leaseMs }: DeadlineLengths,
): readonly Deadline[] {
  const { attempt, offered_to } = context
  const key = String(attempt)
  if (value === 'offered') {
    const message = { type: 'offer_expired', attempt, runner_id: offered_to, counted: true }
    return [{ name: 'offer', key, afterMs: offerMs, renewedBy: NOTHING, message }]
  }
  if (!isLeased(value)) return NO_DEADLINES
  const message = { type: 'lease_expired', attempt }
  const lease = { name: 'lease', key, afterMs: leaseMs, renewedBy: SIGNS_OF_LIFE, message }
  return value === 'cancelling' ? [lease, graceOf(context, key)] : [lease]
}

/** No post renews it, and asking for the stop again leaves its key unchanged: the grace period is never extended. */
function graceOf({ attempt, made }: RunRequestContext, key: string): Deadline {
  const message = { type: 'grace_ended', attempt }
  return { name: 'grace', key, afterMs: made.limits.grace_ms, renewedBy: NOTHING, message }
}

type Shown = { readonly [K in keyof Omit<RunRequest, 'lease_expires_at' | 'waiting_because'>]-?: unknown }
type Fixed = keyof Asked | 'id' | 'project' | 'project_id' | 'throttle' | 'trace_id' | 'created_at'

/** The document's members that never change. Copied one by one: faster than a spread, and leaks nothing internal. */
function fixedPart(c: RunRequestContext): Pick<Shown, Fixed> {
  const { asked } = c
  return {
    id: c.id,
    project: c.project,
    project_id: c.project_id,
    entry_event: asked.entry_event,
    payload: asked.payload,
    throttle: c.throttle,
    access: asked.access,
    lane: asked.lane,
    brief: asked.brief,
    repo: asked.repo,
    labels: asked.labels,
    runner_id: asked.runner_id,
    priority: asked.priority,
    idempotency_key: asked.idempotency_key,
    again: asked.again,
    timeout_seconds: asked.timeout_seconds,
    expires_at: asked.expires_at,
    retry: asked.retry,
    reporting: asked.reporting,
    trace_id: c.trace_id,
    requested_by: asked.requested_by,
    work_item_id: asked.work_item_id,
    created_at: c.created_at,
  }
}

/** The document's members that moves change. */
function movingPart({ value, context: c }: SnapshotOf<RunRequestContext>): Omit<Shown, Fixed> {
  const { times } = c
  return {
    state: value,
    attempt: c.attempt,
    not_before: c.not_before,
    offered_to: c.offered_to,
    engine_run_id: c.engine_run_id,
    result: c.result,
    failure: c.failure,
    cancel: c.cancel,
    approved_by: c.approved_by,
    approved_at: times.approved_at,
    offered_at: times.offered_at,
    accepted_at: times.accepted_at,
    started_at: times.started_at,
    completed_at: times.completed_at,
    failed_at: times.failed_at,
    cancelled_at: times.cancelled_at,
    lost_at: times.lost_at,
  }
}

/** Assigned, not spread: two spreads of so many members make a dictionary, which took 36 us instead of half of one. */
export function document(snapshot: SnapshotOf<RunRequestContext>): object {
  return Object.assign(fixedPart(snapshot.context), movingPart(snapshot))
}

/**
 * The document's JSON text, with the end of the lease or offer if there is one. Hot: the part that never changes is
 * serialized once for all answers about a run, and the rest is written by hand, which takes a quarter of a serializer's
 * time.
 */
export function documentText(snapshot: SnapshotOf<RunRequestContext>, leaseExpiresAt: string | undefined): string {
  const { context: c } = snapshot
  const asked = cachedJson(c.asked)
  const lease = leaseExpiresAt === undefined ? '' : `,"lease_expires_at":"${leaseExpiresAt}"`
  return (
    `{"id":"${c.id}","project":${quoted(c.project)},"project_id":"${c.project_id}","throttle":"${c.throttle}"` +
    `,"trace_id":${quoted(c.trace_id)},"created_at":"${c.created_at}",${asked.slice(1, -1)}` +
    `${movingText(snapshot)}${lease}}`
  )
}

/** The parts of the document that a runner cannot do without, as JSON text. */
export function standingText({
  value,
  context: { id, attempt, engine_run_id: run },
}: SnapshotOf<RunRequestContext>): string {
  const engineRun = run === undefined ? '' : `,"engine_run_id":${quoted(run)}`
  return `{"id":"${id}","state":"${value}","attempt":${attempt}${engineRun}}`
}

/** The members of `movingPart`, each preceded by a comma. The service's own times need no JSON escaping. */
function movingText({ value, context: c }: SnapshotOf<RunRequestContext>): string {
  let text = `,"state":"${value}","attempt":${c.attempt}`
  if (c.not_before !== undefined) text += `,"not_before":${quoted(c.not_before)}`
  if (c.offered_to !== undefined) text += `,"offered_to":${quoted(c.offered_to)}`
  if (c.engine_run_id !== undefined) text += `,"engine_run_id":${quoted(c.engine_run_id)}`
  if (c.result !== undefined) text += `,"result":${JSON.stringify(c.result)}`
  if (c.failure !== undefined) text += `,"failure":${JSON.stringify(c.failure)}`
  if (c.cancel !== undefined) text += `,"cancel":${JSON.stringify(c.cancel)}`
  if (c.approved_by !== undefined) text += `,"approved_by":${JSON.stringify(c.approved_by)}`
  const { times } = c
  if (times.approved_at !== undefined) text += `,"approved_at":"${times.approved_at}"`
  if (times.offered_at !== undefined) text += `,"offered_at":"${times.offered_at}"`
  if (times.accepted_at !== undefined) text += `,"accepted_at":"${times.accepted_at}"`
  if (times.started_at !== undefined) text += `,"started_at":"${times.started_at}"`
  if (times.completed_at !== undefined) text += `,"completed_at":"${times.completed_at}"`
  if (times.failed_at !== undefined) text += `,"failed_at":"${times.failed_at}"`
  if (times.cancelled_at !== undefined) text += `,"cancelled_at":"${times.cancelled_at}"`
  if (times.lost_at !== undefined) text += `,"lost_at":"${times.lost_at}"`
  return text
}
