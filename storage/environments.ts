/**
 * The two environments of a home and their tables, as storage needs them from any implementation: ordered rows, one
 * writer each, whole transactions, read snapshots. The log is in append-only files (storage/segments/), the view in
 * LMDB (storage/view/lmdb-view.ts); the simulation has its own, on a disk that breaks. `log` is written only by
 * `transactionSync`, and `view` only by `commit`.
 */
import type { FreeBytes } from './home/disk-reserve.ts'
import type { InstanceLock } from './home/instance-lock.ts'
import type { Forgetter } from './retention/forgetter.ts'

/** [kind, id] and the like; parts compare as numbers before strings, strings by their UTF-8. */
export type Key = (string | number | Uint8Array)[]

/** One snapshot to read from. Whoever asked for it must end it. */
export interface ReadTransaction {
  done(): void
}

export interface Range<K> {
  /** The first row, inclusive; with `reverse` the highest one. */
  readonly start?: K
  /** Exclusive. */
  readonly end?: K
  readonly limit?: number
  readonly reverse?: boolean
  /** False: each row as it is when it is read. */
  readonly snapshot?: boolean
  readonly transaction?: ReadTransaction
}

interface Reading {
  readonly transaction?: ReadTransaction
}

/** Committed rows, in the order of their keys. */
interface Rows<K> {
  get(key: K, reading?: Reading): string | undefined
  getKeys(range?: Range<K>): Iterable<K>
  getRange(range?: Range<K>): Iterable<{ readonly key: K; readonly value: string }>
  getKeysCount(range?: Range<K>): number
}

/** Rows that are added and removed one by one. */
export interface Table<K> extends Rows<K> {
  doesExist(key: K, value?: undefined, reading?: Reading): boolean
  useReadTransaction(): ReadTransaction
  put(key: K, value: string): unknown
  remove(key: K): unknown
}

/** Rows that are added only at the end and removed only from the beginning, both within a `transactionSync`. */
export interface AppendedTable extends Rows<number> {
  /**
   * Appends a row of these texts, joined by `between` (one ASCII character, or nothing). Throws unless `key` is
   * greater than every key present.
   */
  append(key: number, texts: readonly string[], between?: string): void
  removeBefore(key: number): void
}

/** Texts by name. Inside a `transactionSync` a read sees what that transaction has put. */
interface Head {
  get(name: string, reading?: Reading): string | undefined
  put(name: string, text: string): unknown
}

interface Environment {
  useReadTransaction(): ReadTransaction
  close(): Promise<void>
}

export interface LogEnvironment extends Environment {
  /** When it returns, what `write` put is on disk; when it throws, nothing of it is visible. */
  transactionSync(write: () => void): void
  /**
   * When it returns, everything readable is on disk. Adds no data, and so needs no space. Throws HomeRefused `locked`
   * if another process has written since the log was opened.
   */
  sync(): void
  /** For a log opened for reading: takes in what its writer has written since. Throws HomeRefused `corrupt`. */
  refresh(): void
}

/** Puts rows. One that puts many yields now and then. */
export type Write = (() => void) | (() => Iterable<boolean>)

/** The pauses of a write: true where other work may run. */
export function* pausesOf(write: Write): Generator<boolean, void> {
  yield* (write() as Iterable<boolean> | undefined) ?? []
}

export interface ViewEnvironment extends Environment {
  /**
   * Makes what `write` puts one transaction; `write` must not read its own rows. Resolves when it is on disk. Rejects
   * if the transaction failed, or with what `write` throws; nothing is put then. At each yield the rows so far may be
   * sent on, and where it yields true other work may run, but nothing else writes the view before this has ended.
   */
  commit(write: Write): Promise<void>
}

export interface LogTables {
  readonly env: LogEnvironment
  /** First sequence -> the texts of some events, one per line (storage/log/event-rows.ts). */
  readonly events: AppendedTable
  /** Batch number -> the batch (storage/log/redo.ts). */
  readonly redo: AppendedTable
  /** HEAD_* -> text. */
  readonly head: Head
}

export interface ViewTables {
  readonly env: ViewEnvironment
  /** [kind, id] -> the actor's record. */
  readonly snapshots: Table<Key>
  /** [kind, index, value, order, id] -> ''. */
  readonly entities: Table<Key>
  /** [kind, index, value] -> number of entities, decimal. */
  readonly counts: Table<Key>
  /** [project, trace id or '', event id] -> sequence, decimal. */
  readonly eventIds: Table<Key>
  /** ['trace' | 'item', id, first sequence] -> the other sequences (storage/view/history-chunk.ts). */
  readonly histories: Table<Key>
  /** [due ms, kind, id, name] -> JSON [generation, message]. */
  readonly timers: Table<Key>
  /** [sender kind, sender id, n] -> JSON [to kind, to id, message]. */
  readonly outbox: Table<Key>
  /** [scope, key] -> value. */
  readonly reservations: Table<Key>
  /** 'marker' -> JSON Marker. */
  readonly marker: Table<string>
}

export interface Environments {
  readonly log: LogTables
  readonly view: ViewTables
  readonly forgetter: Forgetter
  /** Begins a copy of both environments. Throws HomeRefused `not_empty`. */
  copyTo(directory: string): Copy
  close(): Promise<void>
}

/** The outcome of a backup, as its manifest records it. */
export interface BackupOutcome {
  /** The last event that the backup certainly holds. */
  readonly sequence: number
  /** Damaged files of the log, a sentence for each. */
  readonly faults: readonly string[]
  /** Whatever the caller wants to keep with the backup. */
  readonly note?: object
}

/** A copy in the making, which gets its final name only once it is whole. */
export interface Copy {
  /** Size of the copy if it were made now, bytes. */
  readonly bytesNeeded: number
  /** Free space where the copy is made. */
  readonly freeBytes: FreeBytes
  view(): Promise<void>
  log(): Promise<void>
  /**
   * Verifies the copied log: one sentence for each damaged file with which a home can still be opened, named as in the
   * source. Rejects if no home can be opened from the copy.
   */
  faults(): Promise<readonly string[]>
  /** How much the log has grown since the copy began, bytes. */
  grownBytes(): number
  /** Ends the copying, because the copy is not wanted any more. May be called repeatedly. */
  giveUp(): void
  /** Call when both are whole: flushes the copy with its outcome and gives it its name. Returns its size, bytes. */
  keep(outcome: BackupOutcome): number
  discard(): void
}

/** Where the environments are stored: a folder of a file system, or a simulated disk. */
export interface Medium {
  /** The name that refusals give. */
  readonly home: string
  /** Nothing has ever been stored here. */
  readonly isNew: boolean
  readonly freeBytes: FreeBytes
  /** Throws HomeRefused `locked`. */
  lock(): Promise<InstanceLock>
  /** Rejects with HomeRefused `corrupt` for damage that would crash the process on opening. */
  assertWhole(): Promise<void>
  /**
   * `check` sees the head before anything else is opened or created, and throws to stop there. Removes leftovers of
   * backups of this log; call only while holding the lock.
   */
  open(check: (head: LogTables['head']) => void): Promise<Environments>
}

/** The names of the view's tables on disk. */
export const VIEW_TABLES = {
  snapshots: 'snapshots',
  entities: 'entities',
  counts: 'counts',
  eventIds: 'event_ids',
  histories: 'histories',
  timers: 'timers',
  outbox: 'outbox',
  reservations: 'idempotency',
  marker: 'marker',
} as const satisfies Record<keyof Omit<ViewTables, 'env'>, string>

export const HEAD_SCHEMA = 'schema'
export const HEAD_EPOCH = 'epoch'
/** `<last batch> <last sequence>`, written by every batch. */
export const HEAD_LAST = 'last'
/** First sequence that the log still holds. */
export const HEAD_FLOOR = 'floor'
/** JSON: `Incarnations` of the log. Absent if no start has written since incarnations were introduced. */
export const HEAD_INCARNATIONS = 'incarnations'
/** JSON: `MachineVersions` of the newest program that wrote the log. Absent if written under schema 3 or before. */
export const HEAD_MACHINES = 'machines'
/** JSON: `ForgottenTimes` of the events below the floor. */
export const HEAD_FORGOTTEN = 'forgotten'
export const MARKER = 'marker'

/** What the view holds: every batch up to `batch` of the log `epoch`. */
export interface Marker {
  readonly epoch: string
  readonly batch: number
  readonly sequence: number
}

/** Sorts after every string and number: the end of a range over a prefix. */
export const LAST_PART: Uint8Array = Uint8Array.of(0xff)
