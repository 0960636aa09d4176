/**
 * The contract between a statechart and the runtime that hosts it. A machine is pure: no clock, no randomness, no I/O;
 * a step depends only on the snapshot and the message.
 *
 * Charts use only XState's own vocabulary: `emit(fact)` states a fact for the event log, and the declared actions below
 * send messages and set timers. The runtime refuses to register a chart with any other action.
 */
import type { AnyStateMachine } from 'xstate'
import type { PreparedEvent } from './events/envelope.ts'
import type { Messages } from './messages.ts'
import type { Testimony } from './testimony.ts'

/** All actor kinds. Each has one module (machines/index.ts) and one row in the table in ARCHITECTURE.md. */
export const ACTOR_KINDS = [
  'project',
  'runner',
  'run_request',
  'engine_run',
  'intent_record',
  'hypothesis',
  'discovery',
  'formation_brief',
  'compiled_brief',
  'engine_capability',
  'token',
  'work_item',
  'campaign',
  'pacing',
  'initiative',
  'agent_session',
  'maintenance_run',
  'usage',
  'sentinel',
] as const
export type ActorKind = (typeof ACTOR_KINDS)[number]

export interface ActorRef<K extends ActorKind = ActorKind> {
  readonly kind: K
  readonly id: string
}

/** Who caused a message: a token's id and name, and a person's origin. Part of the envelope of the service's events. */
export interface By {
  readonly id: string
  readonly name: string
  /** Opaque text; the service never interprets it. */
  readonly origin?: string
}

/** Names the service itself as the cause: deadlines, timers and hand-outs, which no person or runner asked for. */
export const SERVICE_BY: By = { id: 'service', name: 'intendant' }

/** The name to use in a sentence about who did something; the service's own if nobody is given. */
export function nameOf(by: By | undefined): string {
  return (by ?? SERVICE_BY).name
}

/** What a sender writes. Plain JSON; without `by`, the service itself is the cause. */
export interface MessageBody {
  readonly type: string
  readonly by?: By
  /** Events stated by others, to be recorded. The runtime drops those that the log already holds. */
  readonly events?: readonly PreparedEvent[]
}

/**
 * Added by the runtime when it dropped some of the events: all of them, each once. An event may already be in the log
 * because it came through an endpoint that triggers nothing. It is not recorded again, but the machine can still act on
 * it; receivers recognize what they have already handled.
 */
export interface WithKnownEvents {
  readonly heard?: readonly PreparedEvent[]
}

/** Added by the runtime when it takes the message from the mailbox: one reading of the clock. */
interface Stamp {
  /** RFC 3339, UTC, microseconds. Never repeats within a process. */
  readonly at: string
  /** The same reading in whole milliseconds since the epoch, for computing due times. */
  readonly atMs: number
}

export type Message<B extends MessageBody = MessageBody> = B & Stamp

export type Throttle = 'full' | 'dry_run'

/** The part of the common event envelope (SPEC 6.1) that all of an actor's own facts share. */
export interface FactEnvelope {
  readonly project: string
  readonly throttle: Throttle
  readonly trace_id: string | null
  readonly span_id: string | null
  readonly parent_span_id: string | null
  readonly causation_id: string | null
  readonly gather_id: string | null
  readonly run_request_id?: string
}

/** A fact the actor states itself: the runtime adds envelope, time, id and `by`. */
export interface OwnFact {
  readonly type: string
  readonly payload: object
}

/** A fact stated by someone else, already validated and identified by the edge: recorded unchanged. */
export interface RecordedFact {
  readonly type: string
  readonly recorded: PreparedEvent
}

export type Fact = OwnFact | RecordedFact

/** Parameters of `send`: a message to another actor, delivered at least once, applied once. Undefined: none is sent. */
export type SendParams<K extends ActorKind = ActorKind> = {
  [Kind in K]: { readonly to: ActorRef<Kind>; readonly message: Messages[Kind] }
}[K]

/** A message that each of these kinds takes. */
type Shared<K extends ActorKind> = (K extends ActorKind ? (message: Messages[K]) => void : never) extends (
  message: infer M,
) => void
  ? M
  : never

/** `send` to an actor that may be of several kinds. */
export function toEither<K extends ActorKind>(to: ActorRef<K>, message: Shared<K>): SendParams<K> {
  return { to, message } as unknown as SendParams<K>
}

/** Parameters of `schedule`: a durable timer. A second `schedule` of the same name replaces the first. */
export interface ScheduleParams {
  readonly timer: string
  /** Absolute due time, milliseconds since the epoch. */
  readonly dueMs: number
  readonly message: MessageBody & Record<string, unknown>
}

export interface CancelTimerParams {
  readonly timer: string
}

/**
 * Implementations of the declared actions for `setup({ actions })`. They do nothing: the runtime reads the action's
 * name and parameters from the step and carries the action out after the commit.
 */
export const declaredActions = {
  send: (_: unknown, _params: SendParams | undefined): void => {},
  schedule: (_: unknown, _params: ScheduleParams): void => {},
  cancelTimer: (_: unknown, _params: CancelTimerParams): void => {},
}

/** Assigned by the action `touch`: it changes nothing but makes the step count, as XState else returns the same snapshot. */
export const UNCHANGED = {}

/** One row of a list index: the entity is listed under (index, value), sorted by `order`, then by id. */
export interface Term {
  readonly index: string
  readonly value: string
  readonly order: string
}

/** Lengths, from the settings, of the deadlines that are kept in memory on the monotonic clock. Milliseconds. */
export interface DeadlineLengths {
  readonly offerMs: number
  readonly leaseMs: number
}

/**
 * A deadline that applies in a snapshot. Kept in memory, never written; restarted at full length when the service
 * starts. `key` identifies one occasion. A message whose type is in `renewedBy` and that leaves the key unchanged
 * restarts the deadline; only signs of life from the holder belong there, never what others say about the entity.
 */
export interface Deadline {
  readonly name: string
  readonly key: string
  readonly afterMs: number
  readonly renewedBy: readonly string[]
  readonly message: MessageBody & Record<string, unknown>
}

/** Which entities of a kind may be forgotten once retention has passed. */
export interface Retirement {
  /** The index, and the values in it, under which they are listed; ordered by creation time. */
  readonly index: string
  readonly values: readonly string[]
  /** When the entity's life ended (RFC 3339); undefined while it goes on. */
  at(snapshot: SnapshotOf<any>): string | undefined
}

/** Why a machine refused a message. `code` is one from the problem table (http/problems.ts). */
export interface Refusal {
  readonly code: string
  readonly detail: string
  /** The content is refused, not the move: other content would be taken, so the type stays in `allowed`. */
  readonly isOfContent?: true
  /** JSON pointer to the member of the request body that is at fault, if it is a single one. */
  readonly pointer?: string
  /** The same, if several members are at fault. */
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
}

/** The parts of an XState snapshot that a durable machine has: plain states, no children, no history. */
export interface SnapshotOf<C> {
  readonly status: 'active'
  readonly value: string
  readonly context: C
}

/** The guard of moves that only an emitted request makes, never an API caller; they are left out of `allowed` too. */
export const EMITTED_GUARD = 'isEmitted'

/**
 * One resource's statechart and what the runtime must know about it. Every machine starts in the state `absent`, which
 * is never stored and accepts only the message that creates the entity.
 */
export interface MachineModule<C = any, M extends MessageBody = any> {
  readonly kind: ActorKind
  /** Bumped, with a migration, whenever the chart's structure, the context's shape, or the terms change. */
  readonly version: number
  readonly machine: AnyStateMachine
  /** Keyed by n: pure functions from the persisted snapshot of version n to that of version n+1. */
  readonly migrations: Readonly<Record<number, (snapshot: any) => unknown>>
  /** Messages that only the runtime sends (timers, deadlines, other actors): left out of `allowed` in a problem. */
  readonly internal: readonly string[]
  /** Called before the step. A word for the repeat (`replay`, `already_accepted`), or undefined if it is none. */
  repeats(snapshot: SnapshotOf<C>, message: Message<M>): string | undefined
  /** Called if the chart took no transition. Returns the specific refusal, or undefined for a plain illegal move. */
  refusal(snapshot: SnapshotOf<C>, message: Message<M>): Refusal | undefined
  /** The envelope of the actor's own facts, read from the snapshot after the step. */
  envelope(context: C): FactEnvelope
  /** The index rows of this snapshot. Keep them few: each one that changes costs two writes. */
  terms(snapshot: SnapshotOf<C>): readonly Term[]
  /** The states in which deadlines may apply; the service looks them up when it starts (index `state`). */
  readonly deadlineStates: readonly string[]
  /** The deadlines that apply in this snapshot. */
  deadlines(snapshot: SnapshotOf<C>, lengths: DeadlineLengths): readonly Deadline[]
  /** Names of the timers without which this snapshot would wait for ever; `verify` looks for them. Default: none. */
  timers?(snapshot: SnapshotOf<C>): readonly string[]
  /** What the actor's own facts assert about it; `verify` checks them against its snapshots. */
  readonly testimony: Testimony<C>
  /** If absent, entities of this kind are kept forever. */
  readonly retirement?: Retirement
  /** Context members that are objects created with it and never changed: they are serialized once. */
  readonly cachedMembers?: readonly (keyof C & string)[]
  /** The resource as it is served, without what only the running service knows (presence, lease end). */
  document(snapshot: SnapshotOf<C>): object
}
