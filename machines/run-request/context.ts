/**
 * What a run request remembers and what it can be told. The context is the served document's own fields in
 * groups, and `made` and `internal`: what the moves need and nobody is shown.
 */
import type { FailureClass, RunRequest, RunRequestCreate } from '../documents/run-request.ts'
import type { RunResult } from '../documents/run-result.ts'
import type { PreparedEvent } from '../events/envelope.ts'
import type { By, Hearing, Message, MessageBody } from '../machine.ts'

/** Offers that nobody accepts, and accepts after which nobody starts, before it fails with class `dispatch`. */
export const UNACCEPTED_OFFERS_MAX = 5
export const LOST_ACCEPTS_MAX = 5
/** Former holders that are remembered, so that they may still read what they worked on. */
export const HELD_BY_MAX = 32

/** Lengths taken from the settings when the request is made; they hold for its whole life. Milliseconds. */
interface RunRequestLimits {
  /** How long a cancelled run may take to stop. */
  readonly grace_ms: number
  /** How long events of a settled attempt are still recorded. */
  readonly late_events_ms: number
  /** How long the idempotency key is kept after settlement. */
  readonly idempotency_ms: number
}

/** The runner's last `completed` or `failed`, so that the same post again gets the same answer. */
export interface LastPost {
  readonly type: 'completed' | 'failed'
  readonly attempt: number
  readonly runner_id: string
  readonly digest: string
}

/** What was decided when the request was made and never changes, and what nobody is shown. */
export interface Made {
  /** Hash of what was asked for: tells a repeat from another use of the same key. */
  readonly fingerprint: string
  /** Whether the idempotency key was given, or derived from what was asked for. */
  readonly key_given: boolean
  /** What `full` work on it locks; null locks nothing. */
  readonly repository: string | null
  readonly span_id: string | null
  readonly parent_span_id: string | null
  readonly causation_id: string | null
  readonly gather_id: string | null
  readonly limits: RunRequestLimits
  /** An approval of its brief does not speak for the repository or the branch that it names. */
  readonly elsewhere?: true | undefined
  /** Keys of the projects that it tells its runner of beside its own. */
  readonly told_of?: readonly string[] | undefined
}

/** What the moves need to know and nobody is shown. */
export interface RunRequestInternal {
  readonly approved: boolean
  /** false until `not_before` has come. */
  readonly ready: boolean
  /** Runners that hold or held it, newest last. */
  readonly held_by: readonly string[]
  readonly unaccepted_offers: number
  readonly lost_accepts: number
  /** Runs that failed and were queued again by the retry policy. */
  readonly retries: number
  readonly last_post?: LastPost | undefined
  /** Who was the last to say that it is to be handed out again: who has lost the answer asks again. */
  readonly requeued_by?: string | undefined
  /** A trace summary or evidence was given for the engine run of this attempt: it hears how the request leaves it. */
  readonly reported?: boolean | undefined
}

/** Optional members may be set to undefined, which JSON leaves out: clearing is one assignment, no copy. */
type Clearable<T> = { readonly [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K] }

/** What was asked for, all of it shown: made once, never changed, and so never copied. */
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

/** When each move was made; those of an attempt go with it. */
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
 * The document's members, in groups. Each step copies the outer object once (`Object.assign` into a literal), and
 * V8 turns such a copy of 20 members or more into a dictionary: measured 0.24 us for 18, 3.5 us for 20, 7.9 us for
 * 41. So it has 18, and what never changes hangs on two of them, which are never copied and so encoded once.
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

/** Makes the request. Members that the caller may leave out have the defaults of the create body. */
export interface CreateRunRequest extends MessageBody, Omit<RunRequestCreate, 'idempotency_key' | 'trace_id'> {
  readonly type: 'create'
  readonly id: string
  /** Key and id of the project. */
  readonly project: string
  readonly project_id: string
  /** The given key, or the derived `sha256:...`. */
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
  /** A `full` request that was approved before it was made. `dry_run` needs none. */
  readonly approved?: boolean
  /** The same, by who approved its brief. */
  readonly approved_by?: By
  readonly limits: RunRequestLimits
  /** It names another repository or branch than its brief was approved for. */
  readonly elsewhere?: true
  /** Keys of the projects that its payload speaks of beside its own: its runner is allowed for each of them. */
  readonly told_of?: readonly string[]
}

interface RunnerPost extends MessageBody {
  readonly runner_id: string
  /** The fencing token: may be left out while the attempt is 1. */
  readonly attempt?: number
}

interface Approve extends MessageBody {
  readonly type: 'approve'
}

/** From the dispatcher: the runner's poll takes it. */
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

interface RunEvents extends RunnerPost, Hearing {
  readonly type: 'events'
  readonly events: readonly PreparedEvent[]
}

interface Completed extends RunnerPost {
  readonly type: 'completed'
  readonly result: RunResult
  /** Hash of the body: tells the same post from another one. */
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

/** From the edge: the poll's connection was gone before the offer was written. */
interface OfferAborted extends MessageBody {
  readonly type: 'offer_aborted'
  /** Absent: no poll was there to carry it. */
  readonly why?: 'lane_paused' | 'project_archived' | 'runner_changed' | undefined
  readonly runner_id: string
  readonly attempt: number
}

interface Cancel extends MessageBody {
  readonly type: 'cancel'
  readonly reason?: string
  readonly code?: string
  readonly discard_work?: boolean
}

interface Requeue extends MessageBody {
  readonly type: 'requeue'
}

/** The log was restored from a backup: runners may hold attempts that it knows nothing of. */
interface Restored extends MessageBody {
  readonly type: 'restored'
}

/** From the engine run, when something is reported on it for the first time. */
interface RunReported extends MessageBody {
  readonly type: 'run_reported'
  readonly engine_run_id: string
}

/** From an operator, who gives a lost run up. */
interface Fail extends MessageBody {
  readonly type: 'fail'
  readonly message: string
  readonly class?: FailureClass
}

/** From the runner's actor: what its old process held is not held any more. */
interface RunnerSessionStarted extends MessageBody {
  readonly type: 'runner_session_started'
  readonly runner_id: string
  /** The attempt that the old process held: a later one belongs to the new process and stays. */
  readonly attempt?: number
  /** In messages of an older version, instead: when the new session began. */
  readonly session_at?: string
  readonly reason?: string
}

interface OfferExpired extends MessageBody {
  readonly type: 'offer_expired'
  readonly attempt: number
  readonly runner_id: string
  /** Whether it counts against the five: only if the runner has called since. */
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

/** What only the runtime and other actors send. */
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
