/**
 * What the rest of the service sees of the actor system. Everything that changes state is a message to an
 * actor; every answer comes after the flush; reads come from committed data and never pass a mailbox.
 */

import type { PreparedEvent } from '../machines/events/envelope.ts'
import type { ActorKind, ActorRef, By, Message, MessageBody, Refusal, SnapshotOf } from '../machines/machine.ts'
import type { Commit, Journal } from '../storage/journal.ts'
import type { Nature } from '../storage/nature.ts'
import type { Settings } from './settings.ts'
import type { ReadTurns } from './stream/read-turns.ts'

/** The message was taken (or is a repeat of one that was), and its step is on disk. */
export interface Taken {
  readonly ok: true
  readonly snapshot: SnapshotOf<any>
  readonly version: number
  /** The machine's word for a repeat (`replay`, `already_accepted`): nothing changed. */
  readonly repeat?: string
  /** Last sequence of the log that contains this step: the `cursor` of the answer. */
  readonly sequence: number
  /** Of the recorded events in the message: how many are new in the log, and how many it already held. */
  readonly accepted: number
  readonly duplicates: number
}

/** Nothing changed. `refusal.code` is one of the problem table's. */
export interface Refused {
  readonly ok: false
  readonly refusal: Refusal
  /** The actor's state and the messages that it would take, where there is an actor. */
  readonly state?: string
  readonly allowed?: readonly string[]
  /** Seconds after which a retry may help (503). */
  readonly retryAfterSeconds?: number
}

export type Answer = Taken | Refused
export type Reply = (answer: Answer) => void

/** One committed step, told to listeners in commit order, after the flush and before the replies. */
export interface CommittedStep {
  readonly ref: ActorRef
  /** Undefined when the step created the entity. */
  readonly before: SnapshotOf<any> | undefined
  readonly after: SnapshotOf<any>
  readonly version: number
}

/** One committed event with what Watch filters by, so that nobody parses it again. */
export interface CommittedEvent {
  readonly sequence: number
  readonly text: string
  readonly event_type: string
  readonly project: string
  readonly trace_id: string | null
  readonly run_request_id?: string
  readonly item_id?: string
  readonly session_id?: string
  readonly campaign?: string
  readonly initiative?: string
}

export type CommitListener = (
  steps: readonly CommittedStep[],
  events: readonly CommittedEvent[],
  commit: Commit,
) => void

/** The place of an entity in a list: newest first is by `order`, then by `id`, the greatest first. */
export interface ListRow {
  readonly order: string
  readonly id: string
}

export interface ListRequest {
  readonly kind: ActorKind
  readonly index: string
  readonly value: string
  /** 1 to 500; of large records, at most as many as a page may have characters. */
  readonly limit: number
  /** The `next` of the page before. */
  readonly after?: ListRow
  /** The list ends at the first row whose order is below this. */
  readonly downTo?: string
  /** Rows that do not match are skipped; at most a bounded number of rows is read for a page. */
  readonly matches?: (snapshot: SnapshotOf<any>) => boolean
  /**
   * `next` is there only if something that matches follows, as far as a page looks: it must not tell of rows that whoever asks may
   * not know of.
   */
  readonly looksAhead?: true
  /** Never rejects with ViewBehind: for who has nobody waiting, as a service that starts on a machine that is busy with others. */
  readonly waits?: true
}

export interface ListResult {
  readonly snapshots: readonly SnapshotOf<any>[]
  /** The last of the snapshots; without an id where others were read behind it: all of that order were. */
  readonly next?: ListRow
  readonly sequence: number
}

export interface Runtime {
  readonly settings: Settings
  readonly journal: Journal
  readonly nature: Nature
  /** Searches in the log and replays take turns by it. */
  readonly readTurns: ReadTurns

  /**
   * Put a message from outside into an actor's mailbox. `reply` is called once, always after this call returned. The
   * message is the runtime's from here on: it is stamped as it is.
   */
  ask(ref: ActorRef, message: MessageBody, reply: Reply): void
  /** The same for code that is not hot: the message is copied. */
  askAsync(ref: ActorRef, message: MessageBody): Promise<Answer>
  /** The committed snapshot; undefined when the entity does not exist. Throws Quarantined when it cannot be read. */
  read(ref: ActorRef): SnapshotOf<any> | undefined
  /** A page of an index. Rejects with ViewBehind. */
  list(request: ListRequest): Promise<ListResult>
  /** Every entity under an index term, as it stands in the view: for loading derived state at start. */
  scan(
    kind: ActorKind,
    index: string,
    value: string,
  ): Iterable<{ readonly ref: ActorRef; readonly snapshot: SnapshotOf<any> }>
  /** Whether something that was said to it has no answer yet: what is read of it may be old in a moment. */
  isBusy(ref: ActorRef): boolean
  /** Start the actor's renewable deadlines again in full length (heartbeat): writes nothing. */
  renew(ref: ActorRef): void
  /** Wall-clock end of a deadline that runs now, milliseconds since the epoch. */
  deadlineMs(ref: ActorRef, name: string): number | undefined
  /** How many deadlines of that name (`offer`, `lease`) have passed since the start: their machine took them for that. */
  deadlinesPassed(name: string): number
  /** What waits: for the metrics. */
  readonly load: { readonly messagesInFlight: number; waitMs(): number; takeDeepest(): number }
  onCommit(listener: CommitListener): void
  /** Lets what only the running service knows be filled into a deadline's message at the moment it falls due. */
  beforeDeadline(amend: (ref: ActorRef, message: MessageBody) => MessageBody): void
  /** What `isNeeded` says yes to is not forgotten, also when its life has ended and retention has passed. Asked often. */
  keepWhile(isNeeded: (ref: ActorRef) => boolean): void
  /** Actors whose record cannot be read: their messages are refused with 503 `quarantined`. */
  quarantined(): readonly { readonly ref: ActorRef; readonly reason: string }[]
  /** Messages of the service's own whose step threw: they are tried again. */
  readonly setAside: { readonly count: number }
  /** Stop taking messages, finish and answer what was taken, close the journal. */
  close(): Promise<void>
}

export type { ActorKind, ActorRef, By, Message, MessageBody, Nature, PreparedEvent, SnapshotOf }
