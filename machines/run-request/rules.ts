/**
 * Who may move a run request: the fence around an attempt, the guards, and what counts as a repeat or is refused. This
 * is where the hand-out's main invariant is enforced: only the holder of the current attempt is heard.
 */

import type { Failure } from '../documents/run-request.ts'
import { instantMs } from '../instant.ts'
import type { Refusal, SnapshotOf } from '../machine.ts'
import { reusedKey } from '../repeated-create.ts'
import {
  LOST_ACCEPTS_MAX,
  type Of,
  OUTAGES_MAX,
  type RunRequestContext,
  type RunRequestMessage,
  UNACCEPTED_OFFERS_MAX,
} from './context.ts'
import { AGENT_MISSING, outageEndMs, saysOutage } from './failure.ts'
import { isHeld, isLeased, isSettledRun } from './states.ts'

const RUNNER_POSTS = new Set(['accepted', 'started', 'heartbeat', 'events', 'completed', 'failed', 'release'])
/** The states that a requeue aims at: in these, a repeated requeue has nothing left to do. */
const UNDER_WAY = new Set(['queued', 'offered', 'accepted', 'started'])

/** Stands for the holder where a person posts in the holder's name, and there is none. No runner has this id. */
export const NOBODY = ''

interface Post {
  readonly runner_id: string
  readonly attempt?: number
}

/** Whether the post comes from the holder of the current attempt. The attempt may be omitted while it is 1. */
export function holds(context: RunRequestContext, post: Post): boolean {
  return post.runner_id === context.offered_to && (post.attempt ?? 1) === context.attempt
}

/**
 * Whether the runner's old process held the request, so that it is given up. Compares attempts rather than times: if
 * the clock was set back, an old offer would look newer than the session.
 */
export function sessionEnded(
  context: RunRequestContext,
  { runner_id, attempt, session_at }: Of<'runner_session_started'>,
): boolean {
  if (runner_id !== context.offered_to) return false
  if (attempt !== undefined) return attempt === context.attempt
  return session_at === undefined || context.times.offered_at === undefined || context.times.offered_at < session_at
}

/** Whether this runner may be offered the request: it is approved, its time has come, and it names no other runner. */
export function offerable(context: RunRequestContext, { runner_id, atMs }: Of<'offer'>): boolean {
  const { approved, ready } = context.internal
  const { runner_id: named, expires_at } = context.asked
  // The request expired while it was away from the queue. Its timer will end it, but fires slightly later than the
  // dispatcher offers.
  if (expires_at !== undefined && instantMs(expires_at) <= atMs) return false
  return approved && ready && (named === undefined || named === runner_id)
}

/** Whether a post by the holder names a different engine run than the current one, so that it is not a mere repeat. */
export function namesAnotherRun(context: RunRequestContext, message: Of<'accepted' | 'started'>): boolean {
  const { engine_run_id } = message
  return engine_run_id !== undefined && engine_run_id !== context.engine_run_id && holds(context, message)
}

/** Whether the report is about this attempt's engine run, and is the first one. */
export function ofItsEngineRun(context: RunRequestContext, { engine_run_id }: Of<'run_reported'>): boolean {
  return engine_run_id === context.engine_run_id && context.internal.reported !== true
}

/** When the request settled, milliseconds since the epoch; undefined if it has not. */
function settledAtMs({ times }: RunRequestContext): number | undefined {
  const at = times.completed_at ?? times.failed_at ?? times.cancelled_at
  return at === undefined ? undefined : Date.parse(at)
}

/** Whether the runner of the current attempt has itself posted how the run ended. */
export function isEndReported({ attempt, internal }: RunRequestContext): boolean {
  return internal.last_post?.attempt === attempt
}

export function eventsStillTaken(context: RunRequestContext, message: Of<'events'>): boolean {
  return holds(context, message) && message.atMs <= (settledAtMs(context) ?? 0) + context.made.limits.late_events_ms
}

export function lastUnacceptedOffer(context: RunRequestContext, message: Of<'offer_expired'>): boolean {
  return (
    sameOffer(context, message) && message.counted && context.internal.unaccepted_offers + 1 >= UNACCEPTED_OFFERS_MAX
  )
}

export function sameOffer(
  context: RunRequestContext,
  { attempt, runner_id }: Of<'offer_expired' | 'offer_aborted'>,
): boolean {
  return attempt === context.attempt && runner_id === context.offered_to
}

export function lastLostAccept(context: RunRequestContext, message: Of<'lease_expired'>): boolean {
  return message.attempt === context.attempt && context.internal.lost_accepts + 1 >= LOST_ACCEPTS_MAX
}

export function timedOut(context: RunRequestContext): boolean {
  return context.cancel?.code === 'timeout'
}

/**
 * Whether a cancel asks for more than the stop under way: it replaces a timeout's stop, after which the run might have
 * been retried, and one that would have kept uncommitted work.
 */
export function asksForMore(
  context: RunRequestContext,
  { discard_work = false }: { readonly discard_work?: boolean },
): boolean {
  return timedOut(context) || (discard_work && context.cancel?.discard_work !== true)
}

/** Whether it may be cancelled, as far as its run's beginning goes. */
export function isCancelMeant({ times }: RunRequestContext, { unless_begun = false }: Of<'cancel'>): boolean {
  return !unless_begun || times.started_at === undefined
}

/** Whether a cancel would change anything. */
export function isCancellable(
  { value, context }: SnapshotOf<RunRequestContext>,
  cancel: { readonly discard_work?: boolean },
): boolean {
  return value === 'cancelling' ? asksForMore(context, cancel) : value !== 'absent' && !isSettledRun(value)
}

function isLastToRequeue({ internal }: RunRequestContext, { by }: Of<'requeue'>): boolean {
  return internal.requeued_by !== undefined && internal.requeued_by === by?.name
}

function isSameFailure(was: Failure | undefined, said: Failure): boolean {
  return was?.class === said.class && was.code === said.code && was.message === said.message
}

/** Why this message fails the request: in the runner's own words, or by the rule that was broken. */
export function failureOf(context: RunRequestContext, message: RunRequestMessage): Failure {
  if (message.type === 'fail') return { class: message.class ?? 'execution', message: message.message }
  if (message.type === 'failed' && !(message.class === 'cancelled' && timedOut(context))) {
    const { class: failureClass, code, message: text } = message
    return code === undefined ? { class: failureClass, message: text } : { class: failureClass, code, message: text }
  }
  if (message.type === 'offer_expired') {
    return {
      class: 'dispatch',
      code: 'offers_not_accepted',
      message: `${UNACCEPTED_OFFERS_MAX} offers were not accepted`,
    }
  }
  if (context.cancel === undefined) {
    return { class: 'dispatch', code: 'never_started', message: `accepted ${LOST_ACCEPTS_MAX} times and never started` }
  }
  return { class: 'execution', code: 'timeout', message: `ran longer than ${context.asked.timeout_seconds} seconds` }
}

/** The doubling backoff stops growing here, milliseconds: an hour. A longer first backoff is kept as it is. */
const GROWN_PAUSE_MS_MAX = 3_600_000
/** So many outages may have been before one that is no outage of a provider, but of its runner, is retried at once. */
const AGENTLESS_MAX = 10

/** Whether its runner reports that the provider of the agent is unavailable: nothing is wrong with the work. */
export function isOutage(message: RunRequestMessage): message is Of<'failed'> {
  return message.type === 'failed' && saysOutage(message.code)
}

function waitsForProvider({ asked, made }: RunRequestContext): boolean {
  return made.waits_for_provider === true || asked.retry?.wait_for_provider === true
}

/**
 * Whether an outage of its provider also keeps its runner from other work. What a campaign or an initiative has asked
 * for concerns these alone: they wait by themselves, and another may use another provider on the same runner.
 */
export function limitsRunner(context: RunRequestContext): boolean {
  return context.asked.work_item_id === undefined || waitsForProvider(context)
}

/** Whether it is queued, and not offered until its provider is expected back. */
export function isWaitingForProvider({ internal, not_before }: RunRequestContext): boolean {
  return !internal.ready && internal.outage !== undefined && internal.outage.until === not_before
}

/**
 * When a failed run's next attempt may begin: when its provider is expected back, at once if only its runner lacks the
 * agent (but not that of each runner of a large fleet in turn), or by the retry policy. The backoff doubles: retrying at
 * the same pace does not help.
 */
export function retryMs(context: RunRequestContext, message: RunRequestMessage): number {
  const { asked, internal } = context
  const { atMs } = message
  const outages = internal.outage?.count ?? 0
  // Another runner may have the agent, and this one is limited.
  if (isOutage(message) && message.code === AGENT_MISSING && outages < AGENTLESS_MAX) return atMs
  if (isOutage(message)) return outageEndMs(message.result?.retry_after, outages, atMs)
  const firstMs = Math.round((asked.retry?.backoff_seconds ?? 0) * 1000)
  return atMs + Math.min(firstMs * 2 ** internal.retries, Math.max(firstMs, GROWN_PAUSE_MS_MAX))
}

/**
 * Whether it is queued again after a failure, since nobody asked for a stop and time is left: because it waits for its
 * provider, or because the retry policy has attempts left for this class.
 */
export function retries(context: RunRequestContext, message: RunRequestMessage): boolean {
  const { asked, internal } = context
  const { retry } = asked
  if (!internal.approved || (context.cancel !== undefined && !timedOut(context))) return false
  // A retry would only be cancelled as expired, and nobody would hear that the run had failed.
  if (asked.expires_at !== undefined && instantMs(asked.expires_at) <= retryMs(context, message)) return false
  const { class: failed, code } = failureOf(context, message)
  if (saysOutage(code)) return waitsForProvider(context) && (internal.outage?.count ?? 0) + 1 < OUTAGES_MAX
  return retry?.on.includes(failed) === true && internal.retries + 1 < retry.max_attempts
}

/** A word for a message that repeats one taken before; undefined if it is not a repeat. */
export function repeats(
  { value, context }: SnapshotOf<RunRequestContext>,
  message: RunRequestMessage,
): string | undefined {
  switch (message.type) {
    case 'create':
      return value !== 'absent' && twin(value, context, message) === 'replay' ? 'replay' : undefined
    case 'accepted':
      if (value === 'accepted' && namesAnotherRun(context, message)) return undefined
      return isLeased(value) && holds(context, message) ? 'already_accepted' : undefined
    case 'started':
      if (value === 'started' && namesAnotherRun(context, message)) return undefined
      if (value === 'accepted' || context.times?.started_at === undefined) return undefined
      return isLeased(value) && holds(context, message) ? 'already_started' : undefined
    case 'heartbeat':
      if (value === 'lost' || value === 'queued' || isSettledRun(value)) return undefined
      return holds(context, message) ? 'renewed' : undefined
    case 'completed':
    case 'failed':
      return saidBefore(context, message) ? `already_${message.type}` : undefined
    case 'cancel':
      if (value === 'cancelling' && asksForMore(context, message)) return undefined
      return value === 'cancelled' || value === 'cancelling' ? `already_${value}` : undefined
    case 'requeue':
      if (value === 'queued' && isWaitingForProvider(context)) return undefined
      return UNDER_WAY.has(value) && isLastToRequeue(context, message) ? 'already_requeued' : undefined
    case 'fail':
      return value === 'failed' && isSameFailure(context.failure, failureOf(context, message))
        ? 'already_failed'
        : undefined
    case 'approve':
      return value !== 'absent' && !isSettledRun(value) && context.internal.approved ? 'already_approved' : undefined
    case 'expires_at_reached':
      // Counts once it is back in the queue: that sets the timer anew.
      return isHeld(value) ? 'not_queued' : undefined
    case 'timeout_reached':
      // It is being stopped, or nobody would hear of the stop: its runner's next post sets the timer anew.
      return value === 'lost' || value === 'cancelling' ? 'not_running' : undefined
    case 'run_reported':
      // The report is about an attempt that is over; its engine run was told of its end then.
      return value === 'absent' || !ofItsEngineRun(context, message) ? 'already_known' : undefined
    default:
      return undefined
  }
}

/** Whether this is the same post of the same attempt, even if a retry or an operator has moved the request on since. */
function saidBefore(context: RunRequestContext, message: Of<'completed' | 'failed'>): boolean {
  const last = context.internal?.last_post
  if (last === undefined || last.digest !== message.digest || last.type !== message.type) return false
  return last.runner_id === message.runner_id && last.attempt === (message.attempt ?? 1)
}

/** What another create of the same id means (the id derives from project, key and generation). */
function twin(state: string, context: RunRequestContext, message: Of<'create'>): 'replay' | 'reused' | 'settled' {
  const settledMs = settledAtMs(context)
  const { fingerprint, key_given, limits } = context.made
  if (key_given) {
    if (settledMs !== undefined && message.atMs >= settledMs + limits.idempotency_ms) return 'settled'
    return message.fingerprint === fingerprint ? 'replay' : 'reused'
  }
  if (!isSettledRun(state)) return 'replay'
  return context.throttle === 'full' && message.again !== true ? 'replay' : 'settled'
}

/** Why a message was refused, if there is more to say than that the state does not allow it. */
export function refusal(
  { value, context }: SnapshotOf<RunRequestContext>,
  message: RunRequestMessage,
): Refusal | undefined {
  if (value === 'absent') return undefined
  if (message.type === 'create') {
    return twin(value, context, message) === 'reused'
      ? reusedKey('request')
      : { code: 'settled_twin', detail: 'the request with this key has settled: a new one replaces it' }
  }
  if (message.type === 'requeue' && isSettledRun(value)) {
    return { code: 'illegal_move', detail: 'a settled request cannot be requeued: make a new request' }
  }
  if (message.type === 'cancel' && !isSettledRun(value) && !isCancelMeant(context, message)) {
    const detail = `it has begun on ${context.offered_to}, and was to be cancelled only if it had not`
    return { code: 'illegal_move', detail }
  }
  return RUNNER_POSTS.has(message.type) ? fenced(context, message as Of<'accepted'>, message.type) : undefined
}

function fenced(context: RunRequestContext, post: Post, type: string): Refusal | undefined {
  const { attempt, offered_to } = context
  // The state says why: it has no holder.
  if (post.runner_id === NOBODY) return undefined
  if (post.runner_id !== offered_to) {
    return { code: 'stale_attempt', detail: `runner ${post.runner_id} does not hold this request` }
  }
  if (post.attempt === undefined && attempt > 1) {
    return { code: 'attempt_required', detail: `attempt is required from the second attempt on` }
  }
  const given = post.attempt ?? 1
  if (given !== attempt) {
    const how = given < attempt ? 'is over' : 'has not begun'
    return { code: 'stale_attempt', detail: `attempt ${given} ${how}: the request is in attempt ${attempt}` }
  }
  const last = context.internal.last_post
  if ((type === 'completed' || type === 'failed') && last !== undefined && last.attempt === attempt) {
    return { code: 'result_conflict', detail: `this attempt was already reported as ${last.type}, with another body` }
  }
  return undefined
}
