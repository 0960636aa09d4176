/**
 * The two environments of a home and their tables, as storage needs them of whatever keeps them: ordered rows, one
 * writer each, whole transactions, snapshots to read from. The log is in files written at their end (storage/segments/), the view in
 * LMDB (storage/view/lmdb-view.ts); the simulation has its own, on a disk that breaks. `log` is written by `transactionSync` alone
 * and `view` by `commit` alone.
 */
import type { FreeBytes } from './home/disk-reserve.ts'
import type { InstanceLock } from './home/instance-lock.ts'
import type { Forgetter } from './retention/forgetter.ts'

/** [kind, id] and the like; parts compare as numbers before strings, strings by their UTF-8. */
export type Key = (string | number | Uint8Array)[]

/** One snapshot to read from; to be ended by whoever asked for it. */
export interface ReadTransaction {
  done(): void
}

export interface Range<K> {
  /** The first row, itself included; with `reverse` the highest one. */
  readonly start?: K
  /** Not included. */
  readonly end?: K
  readonly limit?: number
  readonly reverse?: boolean
  /** False: the rows as they are when each is read. */
  readonly snapshot?: boolean
  readonly transaction?: ReadTransaction
}

interface Reading {
  readonly transaction?: ReadTransaction
}

/** Rows in the order of their keys, as they were committed. */
interface Rows<K> {
  get(key: K, reading?: Reading): string | undefined
  getKeys(range?: Range<K>): Iterable<K>
  getRange(range?: Range<K>): Iterable<{ readonly key: K; readonly value: string }>
  getKeysCount(range?: Range<K>): number
}

/** Rows that come and go one by one. */
export interface Table<K> extends Rows<K> {
  doesExist(key: K, value?: undefined, reading?: Reading): boolean
  useReadTransaction(): ReadTransaction
  put(key: K, value: string): unknown
  remove(key: K): unknown
}

/** Rows that come behind the last one and leave from the first on; both within a `transactionSync`. */
export interface AppendedTable extends Rows<number> {
  /** A row of these texts, with `between` (one ASCII character, or nothing) between two. Throws where there is a key that is not before this one. */
  append(key: number, texts: readonly string[], between?: string): void
  removeBefore(key: number): void
}

/** Texts by name. Inside a `transactionSync` a read sees what it has put. */
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
   * When it returns, all that can be read is on disk. Writes nothing new, and so needs no space. Throws HomeRefused `locked` where
   * another process has written since the log was opened.
   */
  sync(): void
  /** Opened for reading: takes in what its writer has written since. Throws HomeRefused `corrupt`. */
  refresh(): void
}

/** Puts rows; one that puts many stops now and then. */
export type Write = (() => void) | (() => Iterable<boolean>)

/** Where it stops, and whether others may go on there. */
export function* pausesOf(write: Write): Generator<boolean, void> {
  yield* (write() as Iterable<boolean> | undefined) ?? []
}

export interface ViewEnvironment extends Environment {
  /**
   * What `write` puts (reading nothing of it) is one transaction; resolves when it is on disk, rejects when it failed, or with what
   * `write` throws, and then nothing of it is put. Where `write` yields, what it has put may be sent on, and where it yields true
   * others may go on: none of them writes the view before this has ended.
   */
  commit(write: Write): Promise<void>
}

export interface LogTables {
  readonly env: LogEnvironment
  /** Sequence number of the first -> the texts of some events, one a line (storage/log/event-rows.ts). */
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
  /** ['trace' | 'item', id, first sequence] -> the further sequences (storage/view/history-chunk.ts). */
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
  /** Begins a copy of both. Throws HomeRefused `not_empty`. */
  copyTo(directory: string): Copy
  close(): Promise<void>
}

/** A copy that grows, and is there under its name only once it is whole. */
export interface Copy {
  /** How long it would be now, bytes. */
  readonly bytesNeeded: number
  /** Where it grows. */
  readonly freeBytes: FreeBytes
  view(): Promise<void>
  log(): Promise<void>
  /**
   * What was copied of the log is looked at: a sentence for each file, named as it is where it came from, that is not what was written and
   * with which a home can be opened all the same. Rejects where none can.
   */
  faults(): Promise<readonly string[]>
  /** How much the log has grown since the copy began. */
  grownBytes(): number
  /** It is not wanted any more: what is being copied ends. May be called again and again. */
  giveUp(): void
  /** Both are whole: flushes them and gives them their name. Returns their size, bytes. */
  keep(): number
  discard(): void
}

/** What the environments are opened on: a folder of a file system, or a simulated disk. */
export interface Medium {
  /** As refusals name it. */
  readonly home: string
  /** Nothing was ever kept here. */
  readonly isNew: boolean
  readonly freeBytes: FreeBytes
  /** Throws HomeRefused `locked`. */
  lock(): Promise<InstanceLock>
  /** Rejects with HomeRefused `corrupt` for what would end the process when it is opened. */
  assertWhole(): Promise<void>
  /**
   * `check` sees the head before anything else is opened or made, and throws to stop there. Removes what was left of a backup of this
   * log, so only while it is locked.
   */
  open(check: (head: LogTables['head']) => void): Promise<Environments>
}

/** The names under which the tables of a view are kept. */
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
/** JSON: `Incarnations` of the log. Absent: no start has written since this is kept. */
export const HEAD_INCARNATIONS = 'incarnations'
/** JSON: `MachineVersions` of the newest program that writes it. Absent: written under schema 3 or before. */
export const HEAD_MACHINES = 'machines'
/** JSON: `ForgottenTimes` of what is below the floor. */
export const HEAD_FORGOTTEN = 'forgotten'
export const MARKER = 'marker'

/** What the view holds: every batch up to `batch`, of the log `epoch`. */
export interface Marker {
  readonly epoch: string
  readonly batch: number
  readonly sequence: number
}

/** Sorts behind every string and number: the end of a range over a prefix. */
export const LAST_PART: Uint8Array = Uint8Array.of(0xff)
