/**
 * Reads of a view that can no longer be written, or is damaged. From the moment in which LMDB could not write a meta page it lets nobody read the
 * environment either, in words of its own, and a range ends as if there were nothing in it; why it could not be written is
 * told to whoever asked for the write, a moment later. A reader that comes between the two is told what it will be told
 * then: that the journal has failed. So is who comes upon a page that is none: LMDB goes on in a transaction that it has given up, and
 * what it would say of others is no more to be believed.
 */
import { MARKER, type Range, type ReadTransaction, type Table, type ViewTables } from '../environments.ts'
import { JournalFailure } from '../journal.ts'
import type { Nature } from '../nature.ts'

/** `MDB_PANIC: ...` from a read transaction that begins, `Invalid argument: MDB_PANIC: ...` from one that is used again. */
const UNREADABLE = /\bMDB_(PANIC|CORRUPTED|PAGE_NOTFOUND|CURSOR_FULL|BAD_TXN)\b/
/** A writer tells of its failure within milliseconds of the first read that is refused for it. */
const TOLD_WITHIN_MS = 1_000

/** The same tables; `onUntold` hears of the first read that was refused when the writer has had its time to tell why. */
export function withFailedReads(
  view: ViewTables,
  nature: Pick<Nature, 'setTimer' | 'nextTurn'>,
  onUntold: (error: Error) => void,
): ViewTables {
  let isRefused = false
  const told = (error: unknown): unknown => {
    if (!(error instanceof Error && UNREADABLE.test(error.message))) return error
    // A turn later: what the writer told while this thread was busy is heard behind the timers.
    if (!isRefused) nature.setTimer(() => nature.nextTurn(() => onUntold(error)), TOLD_WITHIN_MS)
    isRefused = true
    return new JournalFailure(`what is stored cannot be read any more: ${error.message}`, { cause: error })
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
  /** What the reader is told in place of what LMDB threw. */
  readonly told: (error: unknown) => unknown
  /** Throws where LMDB refuses reads. */
  readonly probe: () => void
}

/** Hot: a call more for each read, and nothing else. */
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

/** LMDB is first asked when the rows are. That a range is over says something only where LMDB can still be read. */
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
