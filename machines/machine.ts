/**
 * The contract between a statechart and the runtime that hosts it. A machine is pure: no clock, no
 * randomness, no I/O; everything a step depends on is in the snapshot and in the message.
 *
 * XState's own vocabulary is the whole of it: `emit(fact)` is a fact for the event log; the declared
 * actions below are messages and timers; any other declared action is an effect.
 */
import type { AnyStateMachine } from 'xstate'
import type { PreparedEvent } from './events/envelope.ts'
import type { Testimony } from './testimony.ts'

/** Every kind of actor there is, each with one module (machines/index.ts) and one row of the table in ARCHITECTURE.md. */
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
] as const
export type ActorKind = (typeof ACTOR_KINDS)[number]

export interface ActorRef {
  readonly kind: ActorKind
  readonly id: string
}

/** Who caused a message: a token's id and name, and for persons the origin. Shown in the envelope of every event the service emits. */
export interface By {
  readonly id: string
  readonly name: string
  /** Opaque text, never read. */
  readonly origin?: string
}

/** Who caused what no person and no runner asked for: a deadline, a timer, the hand-out itself. */
export const SERVICE_BY: By = { id: 'service', name: 'intendant' }

/** Whom a sentence names as who did it: the service itself, where nobody else is named. */
export function nameOf(by: By | undefined): string {
  return (by ?? SERVICE_BY).name
}

/** What a sender writes. Plain JSON; without `by` it is the service's own doing. */
export interface MessageBody {
  readonly type: string
  readonly by?: By
  /** Facts stated by others, to be recorded. The runtime leaves out those that the log already holds. */
  readonly events?: readonly PreparedEvent[]
}

/**
 * What the runtime adds where it has left some of the events out: all of them, each once. What the log holds may have come
 * by a door that drives nothing: it is not recorded again, and who is to hear of it knows what was heard before.
 */
export interface Hearing {
  readonly heard?: readonly PreparedEvent[]
}

/** What the runtime adds when the message is taken from the mailbox: one reading of the clock. */
interface Stamp {
  /** RFC 3339, UTC, microseconds. Never repeats within a process. */
  readonly at: string
  /** The same reading, whole milliseconds since the epoch: for computing due times. */
  readonly atMs: number
}

export type Message<B extends MessageBody = MessageBody> = B & Stamp

export type Throttle = 'full' | 'dry_run'

/** The part of the common envelope (SPEC 6.1) that an actor's own facts share. */
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

/** A fact of the actor itself: the runtime gives it envelope, time, id and `by`. */
export interface OwnFact {
  readonly type: string
  readonly payload: object
}

/** A fact that somebody else stated and the edge has validated and identified: recorded as it is. */
export interface RecordedFact {
  readonly type: string
  readonly recorded: PreparedEvent
}

export type Fact = OwnFact | RecordedFact

/** Parameters of the declared action `send`: a message to another actor, delivered at least once, applied once. None: nobody is told. */
export interface SendParams {
  readonly to: ActorRef
  readonly message: MessageBody & Record<string, unknown>
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
 * Implementations of the declared actions for `setup({ actions })`. They do nothing: the runtime reads the
 * action's name and parameters from the step and carries them out after the commit.
 */
export const declaredActions = {
  send: (_: unknown, _params: SendParams | undefined): void => {},
  schedule: (_: unknown, _params: ScheduleParams): void => {},
  cancelTimer: (_: unknown, _params: CancelTimerParams): void => {},
}

/** One row of a list index: the entity is found under (index, value), ordered by `order`, then by id. */
export interface Term {
  readonly index: string
  readonly value: string
  readonly order: string
}

/** Lengths of the deadlines that live in memory on the monotonic clock (settings). Milliseconds. */
export interface DeadlineLengths {
  readonly offerMs: number
  readonly leaseMs: number
}

/**
 * A deadline that holds in a snapshot. Kept in memory, never written; started in full length when the service
 * starts. `key` names one occasion. A post of a type in `renewedBy` that leaves the key as it was begins it anew: signs of
 * life of who holds it, never what others say about it.
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
  /** The index, and the values in it, under which they stand; ordered by when they were made. */
  readonly index: string
  readonly values: readonly string[]
  /** When the entity's life ended (RFC 3339); undefined: it goes on. */
  at(snapshot: SnapshotOf<any>): string | undefined
}

/** Why a machine did not take a message. `code` is one of the problem table's (http/problems.ts). */
export interface Refusal {
  readonly code: string
  readonly detail: string
  /** What the message says is refused, not the move: said otherwise it is taken, and it stays in `allowed`. */
  readonly isOfContent?: true
  /** JSON pointer into the body of the request, where one member of it is at fault. */
  readonly pointer?: string
  /** The same, where several members are. */
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
}

/** What of an XState snapshot a durable machine has: plain states, no children, no history. */
export interface SnapshotOf<C> {
  readonly status: 'active'
  readonly value: string
  readonly context: C
}

/** The guard of moves that only an emitted request makes, never who is at the door: they are left out of `allowed`, too. */
export const EMITTED_GUARD = 'isEmitted'

/**
 * One resource's statechart and what the runtime must know about it. Every machine starts in the state
 * `absent`, which is never stored and accepts only the message that creates the entity.
 */
export interface MachineModule<C = any, M extends MessageBody = any> {
  readonly kind: ActorKind
  /** Bumped, with a migration, whenever the structure, the context's shape, or the terms change. */
  readonly version: number
  readonly machine: AnyStateMachine
  /** Pure functions from version n's persisted snapshot to version n+1's, by n. */
  readonly migrations: Readonly<Record<number, (snapshot: any) => unknown>>
  /** Messages only the runtime sends (timers, deadlines, other actors): left out of `allowed` in a problem. */
  readonly internal: readonly string[]
  /** Asked before the step. A word for the repeat (`replay`, `already_accepted`), or undefined: not a repeat. */
  repeats(snapshot: SnapshotOf<C>, message: Message<M>): string | undefined
  /** Asked after the chart took no transition: the specific refusal, or undefined for a plain illegal move. */
  refusal(snapshot: SnapshotOf<C>, message: Message<M>): Refusal | undefined
  /** The envelope of the actor's own facts, read from the snapshot after the step. */
  envelope(context: C): FactEnvelope
  /** The index rows of this snapshot. Short: each one that changes costs two writes. */
  terms(snapshot: SnapshotOf<C>): readonly Term[]
  /** The states in which deadlines may hold: what the service looks up when it starts (index `state`). */
  readonly deadlineStates: readonly string[]
  /** The deadlines that hold in this snapshot. */
  deadlines(snapshot: SnapshotOf<C>, lengths: DeadlineLengths): readonly Deadline[]
  /** What the facts that the actor states of itself assert: held against its snapshots by `verify`. */
  readonly testimony: Testimony<C>
  /** Absent: entities of this kind are kept for ever. */
  readonly retirement?: Retirement
  /** Members of the context that are objects, made with it and never changed: they are written out once. */
  readonly lasting?: readonly (keyof C & string)[]
  /** The resource as it is served, without what only the running service knows (presence, lease end). */
  document(snapshot: SnapshotOf<C>): object
}
