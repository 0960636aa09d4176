/**
 * What each move of a run request changes and asks for: pure functions of (context, message). A change names only the
 * members that differ; only `requeue`, `retry` and `fence` change the attempt, and only upwards.
 */
import { refIn } from '../documents/fields.ts'
import type { Cancellation } from '../documents/run-request.ts'
import { ID_DIGITS } from '../ids.ts'
import { instantMs } from '../instant.ts'
import type { ScheduleParams, SendParams } from '../machine.ts'
import {
  type Asked,
  HELD_BY_MAX,
  type LastPost,
  type Made,
  type Of,
  type Outage,
  type RunRequestContext,
  type RunRequestInternal,
  type RunRequestMessage,
  type Times,
} from './context.ts'
import { statedEndMs } from './failure.ts'
import { failureOf, isOutage, limitsRunner, retryMs, timedOut } from './rules.ts'
import { firstEngineRunOf, heldEngineRun } from './view.ts'

type Change = Partial<RunRequestContext>

/** The context of a newly created request. */
export function create(message: Of<'create'>): RunRequestContext {
  const throttle = message.throttle ?? 'dry_run'
  return {
    id: message.id,
    project: message.project,
    project_id: message.project_id,
    throttle,
    trace_id: message.trace_id,
    created_at: message.at,
    attempt: 1,
    not_before: message.not_before,
    offered_to: undefined,
    engine_run_id: undefined,
    result: undefined,
    failure: undefined,
    cancel: undefined,
    approved_by: message.approved_by,
    asked: askedOf(message),
    times: timesOf(message.approved_by === undefined ? undefined : message.at),
    made: madeOf(message),
    internal: internalOf(message, throttle === 'dry_run' || isApproved(message)),
  }
}

/** Lists every time, so that the `times` of all requests have one shape. */
function timesOf(approved_at: string | undefined): Times {
  return {
    approved_at,
    offered_at: undefined,
    accepted_at: undefined,
    started_at: undefined,
    completed_at: undefined,
    failed_at: undefined,
    cancelled_at: undefined,
    lost_at: undefined,
  }
}

function askedOf(message: Of<'create'>): Asked {
  return {
    entry_event: message.entry_event,
    payload: message.payload ?? {},
    access: message.access ?? 'full',
    lane: message.lane ?? 'interactive',
    brief: message.brief,
    repo: message.repo,
    labels: message.labels ?? [],
    runner_id: message.runner_id,
    priority: message.priority ?? 0,
    idempotency_key: message.idempotency_key,
    again: message.again,
    timeout_seconds: message.timeout_seconds,
    expires_at: message.expires_at,
    retry: message.retry,
    reporting: message.reporting,
    requested_by: message.requested_by,
    work_item_id: message.work_item_id,
  }
}

function madeOf(message: Of<'create'>): Made {
  return {
    fingerprint: message.fingerprint,
    key_given: message.key_given,
    repository: message.repository ?? null,
    span_id: message.span_id ?? null,
    parent_span_id: message.parent_span_id ?? null,
    causation_id: message.causation_id ?? null,
    gather_id: message.gather_id ?? null,
    limits: message.limits,
    elsewhere: message.elsewhere,
    told_of: message.told_of,
    waits_for_provider: message.waits_for_provider,
  }
}

function isApproved({ approved, approved_by }: Of<'create'>): boolean {
  return approved === true || approved_by !== undefined
}

function internalOf(message: Of<'create'>, approved: boolean): RunRequestInternal {
  return {
    approved,
    ready: message.not_before === undefined || instantMs(message.not_before) <= message.atMs,
    held_by: [],
    unaccepted_offers: 0,
    lost_accepts: 0,
    retries: 0,
  }
}

export function approve({ times, internal }: RunRequestContext, { by, at }: Of<'approve'>): Change {
  return { approved_by: by, times: { ...times, approved_at: at }, internal: { ...internal, approved: true } }
}

export function ready({ internal }: RunRequestContext): Change {
  return { internal: { ...internal, ready: true } }
}

export function offer({ times, internal }: RunRequestContext, { at, runner_id }: Of<'offer'>): Change {
  const isKnown = internal.held_by.includes(runner_id)
  const held_by = isKnown ? internal.held_by : [...internal.held_by, runner_id].slice(-HELD_BY_MAX)
  return {
    offered_to: runner_id,
    times: { ...times, offered_at: at },
    internal: remembering(internal, held_by, internal.last_post),
  }
}

/**
 * The engine run of the current holder. If it named none, the id derives from the request and the attempt: for the
 * first attempt it has the request's digits, so that a look-up needs no index (`view.ts`); for later ones the last
 * digits are the attempt.
 */
function engineRunOf(context: RunRequestContext, message: RunRequestMessage): string {
  const given = (message as Partial<Of<'started'>>).engine_run_id ?? context.engine_run_id
  if (given !== undefined) return given
  if (context.attempt === 1) return firstEngineRunOf(context.id)
  const attempt = context.attempt.toString(16).padStart(4, '0')
  return `run_${context.id.slice(-ID_DIGITS, -attempt.length)}${attempt}`
}

export function accept(context: RunRequestContext, message: RunRequestMessage): Change {
  const { times } = context
  return {
    engine_run_id: engineRunOf(context, message),
    times: { ...times, accepted_at: times.accepted_at ?? message.at },
  }
}

/** For `started` and whatever implies it: earlier moves that were never posted get the same time. */
export function start(context: RunRequestContext, message: RunRequestMessage): Change {
  return { engine_run_id: engineRunOf(context, message), times: begun(context.times, message.at) }
}

/** For a post of a run that was believed lost: the run has begun, even if the log that recorded it is gone. */
export function revive({ times }: RunRequestContext, { at }: RunRequestMessage): Change {
  return { times: begun(times, at) }
}

function begun(times: Times, at: string): Times {
  return { ...times, accepted_at: times.accepted_at ?? at, started_at: times.started_at ?? at }
}

export function complete(context: RunRequestContext, message: Of<'completed'>): Change {
  const { at, result } = message
  return {
    engine_run_id: engineRunOf(context, message),
    result,
    times: { ...begun(context.times, at), completed_at: at },
    internal: remembering(context.internal, context.internal.held_by, lastPost(context, message)),
  }
}

/** Hot, so copied member by member: a spread costs several times as much. */
function remembering(
  internal: RunRequestInternal,
  held_by: readonly string[],
  last_post: LastPost | undefined,
): RunRequestInternal {
  return {
    approved: internal.approved,
    ready: internal.ready,
    held_by,
    unaccepted_offers: internal.unaccepted_offers,
    lost_accepts: internal.lost_accepts,
    retries: internal.retries,
    last_post,
    outage: internal.outage,
    requeued_by: internal.requeued_by,
    reported: internal.reported,
  }
}

function lastPost({ attempt }: RunRequestContext, { type, runner_id, digest }: Of<'completed' | 'failed'>): LastPost {
  return { type, attempt, runner_id, digest }
}

/** Ends the request as failed, on the word of its runner or an operator, or by a rule. */
export function fail(context: RunRequestContext, message: RunRequestMessage): Change {
  const times = { ...context.times, failed_at: message.at }
  const failed: Change = { failure: failureOf(context, message), times }
  if (message.type !== 'failed') return failed
  return { ...failed, result: message.result, internal: { ...context.internal, last_post: lastPost(context, message) } }
}

/** Asks the holder to stop, because a person asked for it or because the run took too long. */
export function requestCancel(context: RunRequestContext, message: RunRequestMessage): Change {
  return { cancel: cancellationOf(context, message) }
}

function cancellationOf(context: RunRequestContext, message: RunRequestMessage): Cancellation {
  const cancel = { requested_at: message.at, discard_work: false }
  if (message.type === 'timeout_reached') {
    return { ...cancel, reason: `ran longer than ${context.asked.timeout_seconds} seconds`, code: 'timeout' }
  }
  if (message.type === 'expires_at_reached') return { ...cancel, reason: 'still queued at expires_at', code: 'expired' }
  // A stronger stop without a reason keeps the first one's reason, unless that was the timeout's, which no person gave.
  const before = timedOut(context) ? undefined : context.cancel?.reason
  const { by, reason = before, code, discard_work = false } = message as Of<'cancel'>
  return {
    requested_at: message.at,
    ...(by === undefined ? {} : { requested_by: by }),
    ...(reason === undefined ? {} : { reason }),
    ...(code === undefined ? {} : { code }),
    discard_work,
  }
}

export function cancelNow(context: RunRequestContext, message: RunRequestMessage): Change {
  return { cancel: cancellationOf(context, message), times: { ...context.times, cancelled_at: message.at } }
}

export function endCancelled(context: RunRequestContext, message: RunRequestMessage): Change {
  const times = { ...context.times, cancelled_at: message.at }
  if (message.type !== 'failed') return { times }
  const internal = { ...context.internal, last_post: lastPost(context, message) }
  return { times, result: message.result, internal }
}

export function lose({ times }: RunRequestContext, { at }: RunRequestMessage): Change {
  return { times: { ...times, lost_at: at } }
}

/** Clears what belongs to the holder and its attempt; only the approval survives. */
function withoutHolder({
  attempt,
  times: { approved_at },
  internal,
}: RunRequestContext): Change & Pick<RunRequestContext, 'internal'> {
  const times = timesOf(approved_at)
  return {
    attempt: attempt + 1,
    offered_to: undefined,
    engine_run_id: undefined,
    cancel: undefined,
    times,
    internal: internal.reported === undefined ? internal : { ...internal, reported: undefined },
  }
}

/** Back to the queue as a new attempt, so that posts from the old attempt's holder are refused. */
export function requeue(context: RunRequestContext, message: RunRequestMessage): Change {
  const back = withoutHolder(context)
  const { internal } = back
  if (message.type === 'offer_expired' && message.counted) {
    return { ...back, internal: { ...internal, unaccepted_offers: internal.unaccepted_offers + 1 } }
  }
  if (message.type === 'lease_expired') {
    return { ...back, internal: { ...internal, lost_accepts: internal.lost_accepts + 1 } }
  }
  if (message.type === 'requeue') return { ...back, internal: { ...internal, requeued_by: message.by?.name } }
  return back
}

/** The same, for an operator who does not wait until the provider is expected back. */
export function tryNow(context: RunRequestContext, message: Of<'requeue'>): Change {
  const { internal, ...back } = requeue(context, message)
  return { ...back, not_before: undefined, internal: { ...internal!, ready: true } }
}

/** More attempts than a request can have had between a backup and its restore. */
const RESTORED_ATTEMPTS = 1_000

/** After a restore: raises the attempt past any that a holder in the lost part of the log could name. */
export function fence({ attempt }: RunRequestContext): Change {
  return { attempt: attempt + RESTORED_ATTEMPTS }
}

/**
 * Back to the queue after a failure, with the dispatch counters reset: after the backoff of the retry policy, or when
 * its provider is expected back, which is no retry.
 */
export function retry(context: RunRequestContext, message: RunRequestMessage): Change {
  const back = withoutHolder(context)
  const not_before = new Date(retryMs(context, message)).toISOString()
  const { retries } = back.internal
  const why = isOutage(message) ? { outage: outageOf(context, message, not_before) } : { retries: retries + 1 }
  const counted = { ready: false, unaccepted_offers: 0, lost_accepts: 0, ...why }
  const said = message.type === 'failed' ? { last_post: lastPost(context, message) } : {}
  return { ...back, not_before, internal: { ...back.internal, ...counted, ...said } }
}

function outageOf({ internal }: RunRequestContext, message: Of<'failed'>, until: string): Outage {
  const { code, message: words, runner_id, result } = message
  const { count = 0, preservation_ref: before } = internal.outage ?? {}
  const preservation_ref = refIn(result?.preservation_ref) ?? before
  return { count: count + 1, runner_id, code: code!, message: words, until, preservation_ref }
}

/** Tells the runner that its provider is unavailable; undefined if the message says no such thing, or it is not the runner's concern. */
export function limitRunner(context: RunRequestContext, message: RunRequestMessage): SendParams | undefined {
  if (!isOutage(message) || !limitsRunner(context)) return undefined
  const { id } = context
  const { code, message: words, runner_id, result } = message
  const retry_after = statedEndMs(result?.retry_after, message.atMs)
  const until = retry_after === undefined ? {} : { until: new Date(retry_after).toISOString() }
  const told = { type: 'limit', run_request_id: id, code: code!, message: words, ...until } as const
  return { to: { kind: 'runner', id: runner_id }, message: told }
}

export function noteReported({ internal }: RunRequestContext): Change {
  return { internal: { ...internal, reported: true } }
}

/** The state in which a settled request left its engine run. */
export function outcomeOf({ times }: RunRequestContext): string {
  if (times.completed_at !== undefined) return 'completed'
  return times.failed_at !== undefined ? 'failed' : 'cancelled'
}

/** Tells the engine run's actor how its request left it; the message creates that actor if there was none. */
export function endEngineRun(context: RunRequestContext, outcome: string): SendParams {
  const run = heldEngineRun({ status: 'active', value: outcome, context })!
  return { to: { kind: 'engine_run', id: run.id }, message: { type: 'end', run, outcome } }
}

export function notBefore(c: RunRequestContext): ScheduleParams {
  return { timer: 'not_before', dueMs: instantMs(c.not_before!), message: { type: 'not_before_reached' } }
}

export function expiry(c: RunRequestContext): ScheduleParams {
  return { timer: 'expires_at', dueMs: instantMs(c.asked.expires_at!), message: { type: 'expires_at_reached' } }
}

/** Counted from `started`, even if the run was lost and came back in between. */
export function timeout(c: RunRequestContext): ScheduleParams {
  const dueMs = Date.parse(c.times.started_at!) + c.asked.timeout_seconds! * 1000
  return { timer: 'timeout', dueMs, message: { type: 'timeout_reached', attempt: c.attempt } }
}

/** The attempt's timers that are set in this context; called before the move that ends the attempt. */
export function attemptTimers(c: RunRequestContext): readonly string[] {
  const timers: string[] = []
  if (c.asked.timeout_seconds !== undefined && c.times.started_at !== undefined) timers.push('timeout')
  // Set by earlier versions, which kept the grace period of a stop as a timer.
  if (c.cancel !== undefined) timers.push('grace')
  return timers
}

/** All timers that are set in this context; called before the move that settles the request. */
export function allTimers(c: RunRequestContext): readonly string[] {
  const timers = [...attemptTimers(c)]
  if (!c.internal.ready) timers.push('not_before')
  if (c.asked.expires_at !== undefined) timers.push('expires_at')
  return timers
}

/** Timers without which a request in this state would wait, or a run go on, for ever. */
export function neededTimers(value: string, c: RunRequestContext): readonly string[] {
  if (value === 'started') return c.asked.timeout_seconds === undefined ? [] : ['timeout']
  if (value !== 'queued') return []
  const timers = c.internal.ready ? [] : ['not_before']
  return c.asked.expires_at === undefined ? timers : [...timers, 'expires_at']
}
