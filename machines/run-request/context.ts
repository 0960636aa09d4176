/**
 * What a run request remembers and the messages it takes. The context holds the served document's own fields in groups,
 * plus `made` and `internal`, which the moves need and which are never served.
 */
import type { FailureClass, RunRequest, RunRequestCreate } from '../documents/run-request.ts'
import type { RunResult } from '../documents/run-result.ts'
import type { PreparedEvent } from '../events/envelope.ts'
import type { By, Message, MessageBody, WithKnownEvents } from '../machine.ts'

/** Unaccepted offers, and accepted attempts never started, after which it fails with class `dispatch`. */
export const UNACCEPTED_OFFERS_MAX = 5
export const LOST_ACCEPTS_MAX = 5
/**
 * After this many outages a request that waits for its provider fails, so that a person hears of it. At the pauses that
 * the service chooses if nobody says how long an outage lasts, these are two days.
 */
export const OUTAGES_MAX = 100
/** How many former holders are remembered, so that they may still read what they worked on. */
export const HELD_BY_MAX = 32

/** Durations taken from the settings at creation; they apply for the request's whole life. Milliseconds. */
interface RunRequestLimits {
  /** How long a cancelled run may take to stop. */
  readonly grace_ms: number
  /** How long events of a settled attempt are still recorded. */
  readonly late_events_ms: number
  /** How long the idempotency key is kept after settlement. */
  readonly idempotency_ms: number
}

/** The runner's last `completed` or `failed`, so that a repeat of the same post gets the same answer. */
export interface LastPost {
  readonly type: 'completed' | 'failed'
  readonly attempt: number
  readonly runner_id: string
  readonly digest: string
}

/** What was fixed at creation, never changes, and is never served. */
export interface Made {
  /** Hash of what was asked for: tells a repeat from a reuse of the same key. */
  readonly fingerprint: string
  /** Whether the caller gave the idempotency key; otherwise it was derived from what was asked for. */
  readonly key_given: boolean
  /** The repository that `full` work on the request locks; null if it locks none. */
  readonly repository: string | null
  readonly span_id: string | null
  readonly parent_span_id: string | null
  readonly causation_id: string | null
  readonly gather_id: string | null
  readonly limits: RunRequestLimits
  /** An approval of the brief does not cover the repository or the branch that this request names. */
  readonly elsewhere?: true | undefined
  /** Keys of the further projects whose data its runner will see. */
  readonly told_of?: readonly string[] | undefined
  /** A run that fails because its provider is unavailable is queued again for when it is back. */
  readonly waits_for_provider?: true | undefined
}

/** The last outage after which a failed run was queued again. */
export interface Outage {
  /** How many there were. */
  readonly count: number
  readonly runner_id: string
  readonly code: string
  readonly message: string
  /** Its `not_before`. */
  readonly until: string
  /** Where the runs so far have kept what they did; the next one begins there. */
  readonly preservation_ref?: string | undefined
}

/** What the moves need and is never served. */
export interface RunRequestInternal {
  readonly approved: boolean
  /** False until `not_before` has passed. */
  readonly ready: boolean
  /** Runners that hold or have held the request, newest last. */
  readonly held_by: readonly string[]
  readonly unaccepted_offers: number
  readonly lost_accepts: number
  /** How many times a failed run was queued again by the retry policy. */
  readonly retries: number
  readonly last_post?: LastPost | undefined
  /** Outages of its provider that it has waited for, or waits for. */
  readonly outage?: Outage | undefined
  /** Who last requeued the request, so that a caller who lost the answer may ask again. */
  readonly requeued_by?: string | undefined
  /** Something was reported on this attempt's engine run, whose actor must be told how it ends. */
  readonly reported?: boolean | undefined
}

/** Optional members may be set to undefined, which JSON omits: clearing one is an assignment, not a copy. */
type Clearable<T> = { readonly [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K] }

/** What was asked for, all of it served: created once, never changed, and therefore never copied. */
export type Asked = Clearable<
  Pick<
    RunRequest,
    | 'entry_event'
    | 'payload'
    | 'access'
    | 'lane'
    | 'brief'
    | 'repo'
    | 'labels'
    | 'runner_id'
    | 'priority'
    | 'idempotency_key'
    | 'again'
    | 'timeout_seconds'
    | 'expires_at'
    | 'retry'
    | 'reporting'
    | 'requested_by'
    | 'work_item_id'
  >
>

/** When each move was made; all but the approval are cleared with the attempt. */
export type Times = Clearable<
  Pick<
    RunRequest,
    | 'approved_at'
    | 'offered_at'
    | 'accepted_at'
    | 'started_at'
    | 'completed_at'
    | 'failed_at'
    | 'cancelled_at'
    | 'lost_at'
  >
>

/**
 * The document's members, in groups. Each step copies the outer object once (`Object.assign` into a literal), and V8
 * turns such a copy of 20 members or more into a dictionary: measured 0.24 us for 18, 3.5 us for 20, 7.9 us for 41. So
 * it has 18, and what never changes hangs on two of them, which are never copied and are therefore encoded once.
 */
export type RunRequestContext = Clearable<
  Pick<
    RunRequest,
    | 'id'
    | 'project'
    | 'project_id'
    | 'throttle'
    | 'trace_id'
    | 'created_at'
    | 'attempt'
    | 'not_before'
    | 'offered_to'
    | 'engine_run_id'
    | 'result'
    | 'failure'
    | 'cancel'
    | 'approved_by'
  >
> & {
  readonly asked: Asked
  readonly times: Times
  readonly made: Made
  readonly internal: RunRequestInternal
}

/** Creates the request. Members that the caller may omit have the defaults of the create body. */
export interface CreateRunRequest extends MessageBody, Omit<RunRequestCreate, 'idempotency_key' | 'trace_id'> {
  readonly type: 'create'
  readonly id: string
  /** Key and id of the project. */
  readonly project: string
  readonly project_id: string
  /** The caller's key, or the derived `sha256:...`. */
  readonly idempotency_key: string
  readonly key_given: boolean
  /** Hash of the request body; for a derived key, the key itself. */
  readonly fingerprint: string
  readonly repository?: string | null
  readonly requested_by: By
  readonly work_item_id?: string
  readonly trace_id: string
  readonly span_id?: string | null
  readonly parent_span_id?: string | null
  readonly causation_id?: string | null
  readonly gather_id?: string | null
  /** A `full` request was approved before it was created. `dry_run` needs no approval. */
  readonly approved?: boolean
  /** Who approved its brief, if the approval comes from there. */
  readonly approved_by?: By
  readonly limits: RunRequestLimits
  /** The request names another repository or branch than its brief was approved for. */
  readonly elsewhere?: true
  /** Keys of the further projects that its payload mentions: its runner must be allowed each of them. */
  readonly told_of?: readonly string[]
  /** Waits for its provider whatever its retry policy says: for work items whose owner does not wait for it instead. */
  readonly waits_for_provider?: true
}

interface RunnerPost extends MessageBody {
  readonly runner_id: string
  /** The fencing token; may be omitted while the attempt is 1. */
  readonly attempt?: number
}

interface Approve extends MessageBody {
  readonly type: 'approve'
}

/** From the dispatcher: a runner's poll is to get the request. */
interface Offer extends MessageBody {
  readonly type: 'offer'
  readonly runner_id: string
}

interface Accepted extends RunnerPost {
  readonly type: 'accepted'
  readonly engine_run_id?: string
}

interface Started extends RunnerPost {
  readonly type: 'started'
  readonly engine_run_id?: string
}

interface Heartbeat extends RunnerPost {
  readonly type: 'heartbeat'
}

interface RunEvents extends RunnerPost, WithKnownEvents {
  readonly type: 'events'
  readonly events: readonly PreparedEvent[]
}

interface Completed extends RunnerPost {
  readonly type: 'completed'
  readonly result: RunResult
  /** Hash of the body: tells a repeat of the same post from a different one. */
  readonly digest: string
}

interface Failed extends RunnerPost {
  readonly type: 'failed'
  readonly class: FailureClass
  readonly code?: string
  readonly message: string
  readonly result?: RunResult
  readonly digest: string
}

interface Release extends RunnerPost {
  readonly type: 'release'
}

/** From the edge: the poll's connection closed before the offer was written. */
interface OfferAborted extends MessageBody {
  readonly type: 'offer_aborted'
  /** Absent if no poll was left to carry the offer. */
  readonly why?: 'lane_paused' | 'project_archived' | 'label_limit' | 'runner_changed' | undefined
  readonly runner_id: string
  readonly attempt: number
}

interface Cancel extends MessageBody {
  readonly type: 'cancel'
  readonly reason?: string
  readonly code?: string
  readonly discard_work?: boolean
  /** A run that has begun goes on. */
  readonly unless_begun?: boolean
}

interface Requeue extends MessageBody {
  readonly type: 'requeue'
}

/** The log was restored from a backup: runners may hold attempts that it does not know of. */
interface Restored extends MessageBody {
  readonly type: 'restored'
}

/** From the engine run, when something is reported on it for the first time. */
interface RunReported extends MessageBody {
  readonly type: 'run_reported'
  readonly engine_run_id: string
}

/** From an operator, to give up a lost run. */
interface Fail extends MessageBody {
  readonly type: 'fail'
  readonly message: string
  readonly class?: FailureClass
}

/** From the runner's actor: what the runner's old process held is no longer held. */
interface RunnerSessionStarted extends MessageBody {
  readonly type: 'runner_session_started'
  readonly runner_id: string
  /** The attempt that the old process held; a later one belongs to the new process and is kept. */
  readonly attempt?: number
  /** Used instead of `attempt` in messages of an older version: when the new session began. */
  readonly session_at?: string
  readonly reason?: string
}

interface OfferExpired extends MessageBody {
  readonly type: 'offer_expired'
  readonly attempt: number
  readonly runner_id: string
  /** Whether the offer counts towards `UNACCEPTED_OFFERS_MAX`: only if the runner has called since. */
  readonly counted: boolean
}

interface LeaseExpired extends MessageBody {
  readonly type: 'lease_expired'
  readonly attempt: number
}

interface NotBeforeReached extends MessageBody {
  readonly type: 'not_before_reached'
}

interface ExpiresAtReached extends MessageBody {
  readonly type: 'expires_at_reached'
}

interface TimeoutReached extends MessageBody {
  readonly type: 'timeout_reached'
  readonly attempt: number
}

interface GraceEnded extends MessageBody {
  readonly type: 'grace_ended'
  readonly attempt: number
}

export type RunRequestBody =
  | CreateRunRequest
  | Approve
  | Offer
  | Accepted
  | Started
  | Heartbeat
  | RunEvents
  | Completed
  | Failed
  | Release
  | OfferAborted
  | Cancel
  | Requeue
  | Restored
  | RunReported
  | Fail
  | RunnerSessionStarted
  | OfferExpired
  | LeaseExpired
  | NotBeforeReached
  | ExpiresAtReached
  | TimeoutReached
  | GraceEnded

export type RunRequestMessage = Message<RunRequestBody>
export type Of<T extends RunRequestBody['type']> = Message<Extract<RunRequestBody, { type: T }>>

/** Messages that only the runtime and other actors send. */
export const INTERNAL_MESSAGES: readonly RunRequestBody['type'][] = [
  'offer',
  'offer_aborted',
  'offer_expired',
  'lease_expired',
  'runner_session_started',
  'restored',
  'run_reported',
  'not_before_reached',
  'expires_at_reached',
  'timeout_reached',
  'grace_ended',
]
