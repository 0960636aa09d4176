/**
 * The journal: the one contract between the actor system and whatever keeps its steps. A step is durable when
 * it is answered; steps of different actors share nothing. storage/disk-journal.ts implements it on one machine, and an in-memory
 * one for tests and simulation; both pass test/storage/contract.
 */
import type { Term } from '../machines/machine.ts'
import type { LogIdentity } from './log/log-identity.ts'

export interface NewEvent {
  /** `evt_` + 32 hex digits. */
  readonly id: string
  readonly project: string
  readonly traceId: string | null
  /** A work item the event speaks of, for its history. */
  readonly itemId?: string
  /** The event's JSON text, exactly as Watch and HTTP send it. */
  readonly text: string
}

export interface TimerRow {
  readonly name: string
  /** Absolute, milliseconds since the epoch. */
  readonly dueMs: number
  readonly generation: number
  readonly message: object
}

/** A message on its way from one actor to another. (sender, n) identifies it; n grows by one per sender. */
export interface OutboxRow {
  readonly n: number
  readonly toKind: string
  readonly toId: string
  readonly message: object
}

export interface OutboxKey {
  readonly kind: string
  readonly id: string
  readonly n: number
}

/** A name once given, so that it is not given twice: [scope, key] -> value. */
export interface Reservation {
  readonly scope: string
  readonly key: string
  readonly value: string
}

/** A record's text, perhaps made when it is first read. */
export interface RecordText {
  readonly record: string
}

/** One step of one actor, self-contained. Everything in it becomes durable together or not at all. */
export interface Step extends RecordText {
  readonly kind: string
  readonly id: string
  /** The actor's version after this step; the step is valid only upon version - 1. 1 for the first. */
  readonly version: number
  /** JSON text of the actor's whole record (runtime/record.ts). May be made when it is first read. */
  readonly record: string
  /** The same, alone: where it is given, the step and its events need not stay in memory until the view is written. */
  readonly recordText?: RecordText
  /**
   * What the step changed of the record of version - 1 (storage/log/record-change.ts): kept in the record's place until the
   * view holds the batch. Absent where there is no such record, or it is of another shape.
   */
  readonly change?: string | undefined
  readonly termsAdded: readonly Term[]
  readonly termsRemoved: readonly Term[]
  readonly events: readonly NewEvent[]
  readonly timersSet: readonly TimerRow[]
  readonly timersCleared: readonly { readonly name: string; readonly dueMs: number }[]
  readonly outbox: readonly OutboxRow[]
  /** The outbox row whose delivery this step is. */
  readonly consumed?: OutboxKey
  readonly reservation?: Reservation
}

export interface Commit {
  readonly batch: number
  /** Sequence of the first event in the batch; events are numbered in the order of the steps. */
  readonly firstSequence: number
  /** Sequence of the last event in the log after this batch. */
  readonly lastSequence: number
}

/** A commit that failed: nothing of it is visible, and the journal takes no more. */
export class JournalFailure extends Error {
  override readonly name = 'JournalFailure'
}

export interface StoredEvent {
  readonly sequence: number
  readonly text: string
}

export interface EventPage {
  readonly events: readonly StoredEvent[]
  /** First sequence that the log still holds, read in the same transaction as the page. */
  readonly oldestSequence: number
  /** Last sequence of the log as seen by this page. */
  readonly lastSequence: number
}

export interface ListQuery {
  readonly kind: string
  readonly index: string
  readonly value: string
  readonly limit: number
  /** The page ends with the row that fills so many characters of records. */
  readonly charsMax?: number
  /** Newest (highest order) first. */
  readonly reverse: boolean
  /** Go on behind this row: the `order` and `id` of the last row of the page before. */
  readonly after?: { readonly order: string; readonly id: string }
  /** The page as it is now, a moment old: nothing is waited for. */
  readonly mayLag?: true
  /** The view is waited for as long as it takes. */
  readonly waits?: true | undefined
}

export interface ListRow {
  readonly id: string
  readonly order: string
  /** JSON text of the actor's record, from the same read transaction. */
  readonly record: string
}

/** A row of an index, without its record. */
export interface IndexRow {
  /** As `keyPart` stores it. */
  readonly value: string
  readonly order: string
  readonly id: string
}

export interface ListPage {
  readonly rows: readonly ListRow[]
  readonly more: boolean
  /** Last event sequence that the page is true for: its `Watch-Cursor`. */
  readonly sequence: number
}

/** What retention may remove: events before a sequence, or recorded before a time (milliseconds since the epoch). */
export type TrimCut = { readonly beforeSequence: number } | { readonly recordedBeforeMs: number }

export interface TrimStep {
  readonly removed: number
  /** Of these, those that could not be read: what indexes know of them stays, and leads nowhere. */
  readonly lost?: number
  /** The cut is not reached yet: call again. */
  readonly more: boolean
}

/** Reservations of a scope to look at, in the order of their keys. */
export interface ReservationSweep {
  readonly scope: string
  /** Those behind this key; from the first one without. */
  readonly after: string | undefined
  readonly limit: number
  /** Nobody asks for a reservation of this value any more, whatever happens. */
  readonly isOver: (value: string) => boolean
}

export interface SweptReservations {
  readonly looked: number
  readonly removed: number
  /** The last one looked at; undefined: no others are behind it. */
  readonly last: string | undefined
}

/** An entity to forget, with the terms that its present record is listed under. */
export interface RemovedEntity {
  readonly kind: string
  readonly id: string
  readonly terms: readonly Term[]
}

export interface BackupBounds {
  /** How much longer the log may get meanwhile. */
  readonly growthBytesMax: number
  /** What stays free where the copy is. */
  readonly reserveBytes: number
}

export interface BackupReport {
  readonly directory: string
  readonly bytes: number
  /** Last event sequence that the backup is sure to hold. */
  readonly sequence: number
  /** Files of the log that are damaged, a sentence each: a restore takes the backup only where it is not verified. */
  readonly faults: readonly string[]
}

/** Lists that outlast the version of the program that has made them: one whose machines list otherwise makes them anew. */
export interface LastingLists {
  /** By which version of each kind's machine the rows are made. */
  versions(): Readonly<Record<string, number>>
  /** Makes those of a kind anew. `termsOf`: undefined of what cannot be read, which stays listed. Resolves to the rows that were missing or wrong. */
  rebuild(kind: string, termsOf: (record: string) => readonly Term[] | undefined): Promise<number>
  note(versions: Readonly<Record<string, number>>): Promise<void>
}

/** In every cursor is which log it is of. */
export interface Journal extends LogIdentity {
  /** True when `append` answers before it returns, so that one turn may stack several steps of one actor. */
  readonly synchronous: boolean
  readonly lastSequence: number
  readonly oldestSequence: number

  /** Make the steps durable, in order, as one batch. `done` is called once, with the failure or the commit. */
  append(steps: readonly Step[], done: (failure: JournalFailure | null, commit: Commit | null) => void): void

  /** The actor's record as last committed (unapplied batches first, then the view). */
  actor(kind: string, id: string): string | undefined
  /** Sequence of an event already recorded, by its identity. */
  eventSequence(project: string, traceId: string | null, eventId: string): number | undefined
  /** Whether any event of this trace was recorded in the project. */
  hasTrace(project: string, traceId: string): boolean
  reservation(scope: string, key: string): string | undefined

  /** Up to `limit` events after `afterSequence`, at most about `bytesMax` of text (at least one event). */
  events(afterSequence: number, limit: number, bytesMax: number): EventPage
  /** The same before `beforeSequence`, newest first. */
  eventsBackward(beforeSequence: number, limit: number, bytesMax: number): EventPage
  /** Sequences of the events of a trace or of a work item, ascending, after `afterSequence`. */
  history(of: 'trace' | 'item', id: string, afterSequence: number, limit: number): readonly number[]
  /** The same before `beforeSequence`, descending. */
  historyBackward(of: 'trace' | 'item', id: string, beforeSequence: number, limit: number): readonly number[]
  event(sequence: number): string | undefined

  /**
   * A page of an index. Waits until the view has reached the last acknowledged batch, unless the query says that it may lag; at
   * most 250 ms, unless it says that it waits, then rejects with ViewBehind.
   */
  list(query: ListQuery): Promise<ListPage>
  /** Number of entities under (kind, index, value). */
  count(kind: string, index: string, value: string): number

  /** Timers due in [fromMs, toMs), earliest first. Read at start and when the window moves on. */
  timers(
    fromMs: number,
    toMs: number,
    limit: number,
  ): readonly (TimerRow & { readonly kind: string; readonly id: string })[]
  /** Every message not yet consumed, by sender and n. Read at start. */
  outbox(): Iterable<OutboxKey & OutboxRow>
  /** Every id under an index, with its record: read at start, in pages of its own. */
  scan(kind: string, index: string, value: string): Iterable<ListRow>
  /** Every row of an index, value by value, then in the order of a list: read at start. What the view lacks comes last. */
  scanIndex(kind: string, index: string): Iterable<IndexRow>

  /** True: hold the next append until `resume` is called, once (the view is too far behind). False: go on. */
  waitForRoom(resume: () => void): boolean
  /** Resolves when lists show every batch acknowledged before the call; rejects with the JournalFailure. */
  settled(): Promise<void>

  /**
   * One step of retention: at most 2,000 of the oldest events, their ids and histories. Nothing an unapplied batch needs. Under the
   * disk reserve nothing where there is no room for the step itself.
   */
  trim(cut: TrimCut): Promise<TrimStep>
  /**
   * Forget entities (settled and past retention) that the caller keeps no actor of: record and list rows. One with
   * an unapplied step, or unknown, is passed over. Resolves to the number removed.
   */
  removeEntities(entities: readonly RemovedEntity[]): Promise<number>
  /**
   * Forget the reservations that are over. One that is given anew meanwhile stays; of those that are not applied yet some
   * may be passed over.
   */
  sweepReservations(sweep: ReservationSweep): Promise<SweptReservations>

  /** Durable batches that lists do not show yet. */
  readonly backlogBatches: number
  /** Tells how long the write of each batch took until it was on disk, milliseconds; of journals that write. One observer. */
  onFlush?(observe: (ms: number) => void): void
  /** Why the journal takes no writes now (`disk_reserve`, `view_backlog`, `read_only`), or undefined. Cheap: asked before each message. */
  refuses(): string | undefined
  /** Takes no writes until it is opened again, whatever becomes of the disk. Call it before the first write. */
  stayReadOnly?(): void
  /** Of journals that keep their lists. Nothing else may use the journal while they are made anew. */
  readonly lists?: LastingLists
  /**
   * Copies all of it into `directory`, which must be absent or empty, while it is used; of journals that can. Rejects with HomeRefused,
   * BackupAborted, and with what the copying failed of.
   */
  backup?(directory: string, bounds: BackupBounds, giveUp?: AbortSignal): Promise<BackupReport>
  close(): Promise<void>
}

/** How long whoever asks waits for what was acknowledged, and is not in the view yet. */
export const LIST_WAIT_MS = 250

/** The view did not reach the last acknowledged batch in time: 503, retry. */
export class ViewBehind extends Error {
  override readonly name = 'ViewBehind'
}
