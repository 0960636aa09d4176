/**
 * Reads of a view that is damaged or can no longer be written. Once LMDB has failed to write a meta page, it refuses
 * reads too, with messages of its own, and a range ends as if it were empty. The writer learns the cause a moment
 * later. A reader that comes in between gets what it would get then: a JournalFailure. So does one that meets a
 * corrupt page, since LMDB keeps using a transaction that it has given up, and its other answers cannot be trusted
 * either.
 */
import { MARKER, type Range, type ReadTransaction, type Table, type ViewTables } from '../environments.ts'
import { JournalFailure } from '../journal.ts'
import type { Platform } from '../platform.ts'

/** `MDB_PANIC: ...` when a read transaction begins, `Invalid argument: MDB_PANIC: ...` when one is used again. */
const UNREADABLE = /\bMDB_(PANIC|CORRUPTED|PAGE_NOTFOUND|CURSOR_FULL|BAD_TXN)\b/
/** How long the writer has to report its failure; it does so within milliseconds of the first refused read. */
const TOLD_WITHIN_MS = 1_000

/**
 * The same tables. `onUntold` receives the first refused read's error if the writer has not reported the cause by
 * then.
 */
export function withFailedReads(
  view: ViewTables,
  platform: Pick<Platform, 'setTimer' | 'nextTurn'>,
  onUntold: (error: Error) => void,
): ViewTables {
  let isRefused = false
  const told = (error: unknown): unknown => {
    if (!(error instanceof Error && UNREADABLE.test(error.message))) return error
    // One turn later: what the writer posted while this thread was busy is delivered after the timers.
    if (!isRefused) platform.setTimer(() => platform.nextTurn(() => onUntold(error)), TOLD_WITHIN_MS)
    isRefused = true
    return new JournalFailure(`stored data can no longer be read: ${error.message}`, { cause: error })
  }
  const reads: Reads = { told, probe: () => view.marker.doesExist(MARKER) }
  return Object.fromEntries(
    Object.entries(view).map(([name, table]) => [
      name,
      name === 'env' ? table : new ToldTable(table as Table<never>, reads),
    ]),
  ) as unknown as ViewTables
}

interface Reads {
  /** Translates what LMDB threw into the error that the reader gets. */
  readonly told: (error: unknown) => unknown
  /** Throws if LMDB refuses reads. */
  readonly probe: () => void
}

/** Hot: adds one call per read and nothing else. */
class ToldTable<K> implements Table<K> {
  readonly #table: Table<K>
  readonly #reads: Reads

  constructor(table: Table<K>, reads: Reads) {
    this.#table = table
    this.#reads = reads
  }

  get(key: K, reading?: { readonly transaction?: ReadTransaction }): string | undefined {
    try {
      return this.#table.get(key, reading)
    } catch (error) {
      throw this.#reads.told(error)
    }
  }

  doesExist(key: K, value?: undefined, reading?: { readonly transaction?: ReadTransaction }): boolean {
    try {
      return this.#table.doesExist(key, value, reading)
    } catch (error) {
      throw this.#reads.told(error)
    }
  }

  getKeys(range?: Range<K>): Iterable<K> {
    return new ToldRows(() => this.#table.getKeys(range), this.#reads)
  }

  getRange(range?: Range<K>): Iterable<{ readonly key: K; readonly value: string }> {
    return new ToldRows(() => this.#table.getRange(range), this.#reads)
  }

  getKeysCount(range?: Range<K>): number {
    try {
      return this.#table.getKeysCount(range)
    } catch (error) {
      throw this.#reads.told(error)
    }
  }

  useReadTransaction(): ReadTransaction {
    try {
      return this.#table.useReadTransaction()
    } catch (error) {
      throw this.#reads.told(error)
    }
  }

  put(key: K, value: string): unknown {
    return this.#table.put(key, value)
  }

  remove(key: K): unknown {
    return this.#table.remove(key)
  }
}

/** Queries LMDB only when iterated. The end of a range is believed only if LMDB can still be read. */
class ToldRows<V> implements Iterable<V> {
  readonly #rows: () => Iterable<V>
  readonly #reads: Reads

  constructor(rows: () => Iterable<V>, reads: Reads) {
    this.#rows = rows
    this.#reads = reads
  }

  [Symbol.iterator](): Iterator<V> {
    const { told, probe } = this.#reads
    try {
      const rows = this.#rows()[Symbol.iterator]()
      return {
        next: () => {
          try {
            const row = rows.next()
            if (row.done === true) probe()
            return row
          } catch (error) {
            throw told(error)
          }
        },
        return: () => rows.return?.() ?? { done: true, value: undefined },
      }
    } catch (error) {
      throw told(error)
    }
  }
}
