/**
 * The actor system as the rest of the service sees it. Every change of state is a message to an actor, and every
 * answer comes after the flush. Reads come from committed data and never pass through a mailbox.
 */

import type { PreparedEvent } from '../machines/events/envelope.ts'
import type { ActorKind, ActorRef, By, Message, MessageBody, Refusal, SnapshotOf } from '../machines/machine.ts'
import type { Commit, Journal } from '../storage/journal.ts'
import type { Platform } from '../storage/platform.ts'
import type { Settings } from './settings.ts'
import type { ReadTurns } from './stream/read-turns.ts'

/** The message was taken (or is a repeat of one that was), and its step is on disk. */
export interface Taken {
  readonly ok: true
  readonly snapshot: SnapshotOf<any>
  readonly version: number
  /** The machine's name for a repeat (`replay`, `already_accepted`): nothing changed. */
  readonly repeat?: string
  /** Sequence of the log's last event once this step is in it: the `cursor` of the answer. */
  readonly sequence: number
  /** Recorded events in the message: `accepted` of them are new to the log, `duplicates` it already held. */
  readonly accepted: number
  readonly duplicates: number
}

/** The message was refused and nothing changed. `refusal.code` is a code of the problem table. */
export interface Refused {
  readonly ok: false
  readonly refusal: Refusal
  /** The actor's state; absent if the actor does not exist. */
  readonly state?: string
  /** The messages it would take in it; absent if it was to be created. */
  readonly allowed?: readonly string[]
  /** The service cannot take it now and may later (503). After how long, the table of problems says. */
  readonly isPassing?: true
}

export type Answer = Taken | Refused
export type Reply = (answer: Answer) => void

/** One committed step. Listeners hear of steps in commit order, after the flush and before the replies. */
export interface CommittedStep {
  readonly ref: ActorRef
  /** Undefined when the step created the entity. */
  readonly before: SnapshotOf<any> | undefined
  readonly after: SnapshotOf<any>
  readonly version: number
}

/** One committed event with the fields that Watch filters by, so that no listener parses the text again. */
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
  readonly sentinel?: string
}

export type CommitListener = (
  steps: readonly CommittedStep[],
  events: readonly CommittedEvent[],
  commit: Commit,
) => void

/** An entity's position in a list. Newest first sorts by `order`, then by `id`, both descending. */
export interface ListRow {
  readonly order: string
  readonly id: string
}

export interface ListRequest {
  readonly kind: ActorKind
  readonly index: string
  /** With several values: the rows under any of them, each once, in one order. */
  readonly value: string | readonly string[]
  /** 1 to 500; a page of large records ends earlier, at a bound on its characters. */
  readonly limit: number
  /** The `next` of the page before. */
  readonly after?: ListRow
  /** The list ends at the first row whose order is below this. */
  readonly downTo?: string
  /** Rows that do not match are skipped; the number of rows read for one page is bounded. */
  readonly matches?: (snapshot: SnapshotOf<any>) => boolean
  /**
   * Return `next` only if a matching row follows, as far as one page reads: otherwise `next` would reveal to callers
   * that rows exist which they may not see.
   */
  readonly looksAhead?: true
  /** Never reject with ViewBehind: for callers with no client waiting, such as a start on a busy machine. */
  readonly waits?: true
}

export interface ListResult {
  readonly snapshots: readonly SnapshotOf<any>[]
  /** The last of the snapshots. An empty `id` means that rows after it were read, to the end of that `order`. */
  readonly next?: ListRow
  readonly sequence: number
}

export interface Runtime {
  readonly settings: Settings
  readonly journal: Journal
  readonly platform: Platform
  /** Searches in the log and replays take turns through this. */
  readonly readTurns: ReadTurns

  /**
   * Put a message from outside into an actor's mailbox. `reply` is called exactly once, always after this call has
   * returned. The runtime owns the message from here on and stamps it in place.
   */
  ask(ref: ActorRef, message: MessageBody, reply: Reply): void
  /** Promise form of `ask` for code that is not hot; the message is copied. */
  askAsync(ref: ActorRef, message: MessageBody): Promise<Answer>
  /** The committed snapshot; undefined when the entity does not exist. Throws Quarantined when it cannot be read. */
  read(ref: ActorRef): SnapshotOf<any> | undefined
  /** A page of an index. Rejects with ViewBehind. */
  list(request: ListRequest): Promise<ListResult>
  /** Every entity under an index term, as the view has it: for loading derived state at start. */
  scan(
    kind: ActorKind,
    index: string,
    value: string,
  ): Iterable<{ readonly ref: ActorRef; readonly snapshot: SnapshotOf<any> }>
  /** True while the actor has mail or an uncommitted step: its committed state may be about to change. */
  isBusy(ref: ActorRef): boolean
  /** Restart the actor's renewable deadlines in full length (heartbeat). Writes nothing. */
  renew(ref: ActorRef): void
  /** Wall-clock end of a running deadline, milliseconds since the epoch. */
  deadlineMs(ref: ActorRef, name: string): number | undefined
  /** Deadlines of this name (`offer`, `lease`) that their machines have accepted as expired since the start. */
  deadlinesPassed(name: string): number
  /** Messages waiting and the time they wait: for the metrics. */
  readonly load: { readonly messagesInFlight: number; waitMs(): number; takeDeepest(): number }
  onCommit(listener: CommitListener): void
  /** Registers a hook that adds what only the running service knows to a deadline's or timer's message when it falls due. */
  beforeDue(amend: (ref: ActorRef, message: MessageBody) => MessageBody): void
  /** Retention keeps every entity for which any `isNeeded` returns true, even one past its age. Called often. */
  addRetentionGuard(isNeeded: (ref: ActorRef) => boolean): void
  /** Actors whose record cannot be read: messages to them are refused with 503 `quarantined`. */
  quarantined(): readonly { readonly ref: ActorRef; readonly reason: string }[]
  /** Internal messages whose step threw and that are being retried. */
  readonly setAside: { readonly count: number }
  /** Stop taking messages, finish and answer those taken, close the journal. */
  close(): Promise<void>
}

export type { ActorKind, ActorRef, By, Message, MessageBody, Platform, PreparedEvent, SnapshotOf }
