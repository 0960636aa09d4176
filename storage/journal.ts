/**
 * The journal: the contract between the actor system and whatever stores its steps. A step is durable once `append`
 * has answered, and steps of different actors share nothing. storage/disk-journal.ts implements it on one machine;
 * tests and the simulation use an in-memory journal. Both pass test/storage/contract.
 */
import type { Term } from '../machines/machine.ts'
import type { LogIdentity } from './log/log-identity.ts'

export interface NewEvent {
  /** `evt_` + 32 hex digits. */
  readonly id: string
  readonly project: string
  readonly traceId: string | null
  /** The work item in whose history the event is listed. */
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

/** A name that may be given only once: [scope, key] -> value. */
export interface Reservation {
  readonly scope: string
  readonly key: string
  readonly value: string
}

/** A record's text, which may be built lazily on first read. */
export interface RecordText {
  readonly record: string
}

/** One step of one actor, self-contained. Everything in it becomes durable together or not at all. */
export interface Step extends RecordText {
  readonly kind: string
  readonly id: string
  /** The actor's version after this step: 1 for the first. The step is valid only on top of version - 1. */
  readonly version: number
  /** JSON text of the actor's whole record (runtime/record.ts). May be built lazily on first read. */
  readonly record: string
  /** The record alone. Where it is given, the step and its events need not stay in memory until the view is written. */
  readonly recordText?: RecordText
  /**
   * What the step changed in the record of version - 1 (storage/log/record-change.ts). The log keeps it instead of the
   * record until the view holds the batch. Absent if there is no such record, or if its shape differs.
   */
  readonly change?: string | undefined
  readonly termsAdded: readonly Term[]
  readonly termsRemoved: readonly Term[]
  readonly events: readonly NewEvent[]
  readonly timersSet: readonly TimerRow[]
  readonly timersCleared: readonly { readonly name: string; readonly dueMs: number }[]
  readonly outbox: readonly OutboxRow[]
  /** The outbox row that this step delivers. */
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

/** A failed commit: nothing of it is visible, and the journal accepts no more writes. */
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
  /** With several values: the rows under any of them, each once, in one order. */
  readonly value: string | readonly string[]
  readonly limit: number
  /** The page ends with the row that brings its records to this many characters. */
  readonly charsMax?: number
  /** Newest (highest order) first. */
  readonly reverse: boolean
  /** Continue after this row: the `order` and `id` of the last row of the previous page. */
  readonly after?: { readonly order: string; readonly id: string }
  /** Answer from the view as it is, a moment old, without waiting for it to catch up. */
  readonly mayLag?: true
  /** Wait for the view as long as it takes, without limit. */
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
  /** In the form in which `keyPart` stores it. */
  readonly value: string
  readonly order: string
  readonly id: string
}

export interface ListPage {
  readonly rows: readonly ListRow[]
  readonly more: boolean
  /** Last event sequence that the page reflects: its `Watch-Cursor`. */
  readonly sequence: number
}

/** What retention may remove: events before a sequence, or recorded before a time (milliseconds since the epoch). */
export type TrimCut = { readonly beforeSequence: number } | { readonly recordedBeforeMs: number }

export interface TrimStep {
  readonly removed: number
  /** How many of these could not be read. Their index entries stay, and lead nowhere. */
  readonly lost?: number
  /** The cut has not been reached yet: call again. */
  readonly more: boolean
}

/** Which reservations of a scope to examine, in key order. */
export interface ReservationSweep {
  readonly scope: string
  /** Only keys after this one; undefined starts at the first. */
  readonly after: string | undefined
  readonly limit: number
  /** True if no caller can ask for a reservation of this value any more. */
  readonly isOver: (value: string) => boolean
}

export interface SweptReservations {
  readonly looked: number
  readonly removed: number
  /** The last key examined; undefined if there are none after it. */
  readonly last: string | undefined
}

/** An entity to forget, with the terms under which its present record is listed. */
export interface RemovedEntity {
  readonly kind: string
  readonly id: string
  readonly terms: readonly Term[]
}

export interface BackupBounds {
  /** How much the log may grow while the backup runs. */
  readonly growthBytesMax: number
  /** How much must stay free on the disk that receives the copy. */
  readonly reserveBytes: number
}

export interface BackupReport {
  readonly directory: string
  readonly bytes: number
  /** Last event sequence that the backup is guaranteed to hold. */
  readonly sequence: number
  /** One sentence for each damaged file of the log. A restore accepts such a backup only when verification is off. */
  readonly faults: readonly string[]
}

/**
 * List rows that outlive the version of the program that wrote them: a version whose machines list entities
 * differently rebuilds them.
 */
export interface LastingLists {
  /** The machine version, by kind, that produced the rows. */
  versions(): Readonly<Record<string, number>>
  /**
   * Rebuilds the rows of a kind. `termsOf` returns undefined for a record that cannot be read, which stays listed.
   * Resolves to the number of rows that were missing or wrong.
   */
  rebuild(kind: string, termsOf: (record: string) => readonly Term[] | undefined): Promise<number>
  note(versions: Readonly<Record<string, number>>): Promise<void>
}

/** Extends LogIdentity because every cursor names the log that it belongs to. */
export interface Journal extends LogIdentity {
  /** True when `append` calls `done` before it returns, so that one turn may stack several steps of one actor. */
  readonly synchronous: boolean
  readonly lastSequence: number
  readonly oldestSequence: number

  /** Makes the steps durable, in order, as one batch. `done` is called once, with the failure or the commit. */
  append(steps: readonly Step[], done: (failure: JournalFailure | null, commit: Commit | null) => void): void

  /** The actor's record as last committed (unapplied batches first, then the view). */
  actor(kind: string, id: string): string | undefined
  /** Sequence of an already recorded event, by its identity. */
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
   * A page of an index. Waits until the view has reached the last acknowledged batch, unless `mayLag` is set. Without
   * `waits` it rejects with ViewBehind after LIST_WAIT_MS.
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
  /** Every id under an index value, with its record, one page at a time. Read at start. */
  scan(kind: string, index: string, value: string): Iterable<ListRow>
  /** Every row of an index, by value and then in list order; rows that the view lacks come last. Read at start. */
  scanIndex(kind: string, index: string): Iterable<IndexRow>

  /** True: the view is too far behind; hold the next append until `resume` is called, once. False: go on. */
  waitForRoom(resume: () => void): boolean
  /** Resolves when lists show every batch acknowledged before the call; rejects with the JournalFailure. */
  settled(): Promise<void>

  /**
   * One step of retention: removes at most 2,000 of the oldest events, with their ids and histories, and nothing that
   * an unapplied batch needs. When the disk is below its reserve and has no room for the step itself, removes nothing.
   */
  trim(cut: TrimCut): Promise<TrimStep>
  /**
   * Forgets the records and list rows of entities (settled and past retention) for which the caller keeps no actor.
   * Skips an entity that is unknown or has an unapplied step. Resolves to the number removed.
   */
  removeEntities(entities: readonly RemovedEntity[]): Promise<number>
  /** Forgets the reservations that are over. One that is given again meanwhile stays; unapplied ones may be skipped. */
  sweepReservations(sweep: ReservationSweep): Promise<SweptReservations>

  /** Durable batches that lists do not reflect yet. */
  readonly backlogBatches: number
  /**
   * Adds an observer of how long each batch took until it was on disk, milliseconds. Only on journals that write to a
   * disk.
   */
  onFlush?(observe: (ms: number) => void): void
  /**
   * Why the journal accepts no writes now (`disk_reserve`, `view_backlog`, `read_only`), or undefined. Cheap: called
   * before each message.
   */
  refuses(): string | undefined
  /** Its free space as last checked; only on journals that write to a disk. */
  readonly disk?: { readonly freeBytes: number | undefined }
  /** Refuses writes until the journal is opened again, even if disk space returns. Call it before the first write. */
  stayReadOnly?(): void
  /** Only on journals that persist their lists. Nothing else may use the journal while lists are being rebuilt. */
  readonly lists?: LastingLists
  /**
   * Copies the whole journal, while in use, into `directory`, which must be absent or empty. Only on journals that
   * can. What `note` returns once everything is copied is kept with the backup (storage/copies/backup-manifest.ts).
   * Rejects with HomeRefused, BackupAborted, or whatever error the copying failed with.
   */
  backup?(directory: string, bounds: BackupBounds, giveUp?: AbortSignal, note?: () => object): Promise<BackupReport>
  close(): Promise<void>
}

/**
 * How long a list waits for acknowledged batches that are not in the view yet, milliseconds: some times what the view
 * may lag behind before writes wait for it.
 */
export const LIST_WAIT_MS = 1_500

/** The view did not reach the last acknowledged batch in time: 503, retry. */
export class ViewBehind extends Error {
  override readonly name = 'ViewBehind'
}
