/**
 * Reads of what can no longer be written. From the moment in which LMDB could not write a meta page it lets nobody read the
 * environment either, in words of its own; why it could not be written is told to whoever asked for the write, a moment
 * later. A reader that comes between the two is told what it will be told then: that the journal has failed.
 */
import type { Environments, Range, ReadTransaction, Table } from './environments.ts'
import { JournalFailure } from './journal.ts'
import type { Nature } from './nature.ts'

const PANIC = /^MDB_PANIC/
/** A writer tells of its failure within milliseconds of the first read that is refused for it. */
const TOLD_WITHIN_MS = 1_000

/** The same tables; `onUntold` hears of the first read that was refused when the writer has had its time to tell why. */
export function withFailedReads(
  { log, view }: Pick<Environments, 'log' | 'view'>,
  nature: Pick<Nature, 'setTimer'>,
  onUntold: (error: Error) => void,
): Pick<Environments, 'log' | 'view'> {
  let isRefused = false
  const told = (error: unknown): unknown => {
    if (!(error instanceof Error && PANIC.test(error.message))) return error
    if (!isRefused) nature.setTimer(() => onUntold(error), TOLD_WITHIN_MS)
    isRefused = true
    return new JournalFailure(`what is stored cannot be read any more: ${error.message}`, { cause: error })
  }
  const tables = <T extends object>(of: T): T =>
    Object.fromEntries(
      Object.entries(of).map(([name, table]) => [
        name,
        name === 'env' ? table : new ToldTable(table as Table<never>, told),
      ]),
    ) as T
  return { log: tables(log), view: tables(view) }
}

type Told = (error: unknown) => unknown

/** Hot: a call more for each read, and nothing else. */
class ToldTable<K> implements Table<K> {
  readonly #table: Table<K>
  readonly #told: Told

  constructor(table: Table<K>, told: Told) {
    this.#table = table
    this.#told = told
  }

  get(key: K, reading?: { readonly transaction?: ReadTransaction }): string | undefined {
    try {
      return this.#table.get(key, reading)
    } catch (error) {
      throw this.#told(error)
    }
  }

  doesExist(key: K, value?: undefined, reading?: { readonly transaction?: ReadTransaction }): boolean {
    try {
      return this.#table.doesExist(key, value, reading)
    } catch (error) {
      throw this.#told(error)
    }
  }

  getKeys(range?: Range<K>): Iterable<K> {
    return new ToldRows(() => this.#table.getKeys(range), this.#told)
  }

  getRange(range?: Range<K>): Iterable<{ readonly key: K; readonly value: string }> {
    return new ToldRows(() => this.#table.getRange(range), this.#told)
  }

  getKeysCount(range?: Range<K>): number {
    try {
      return this.#table.getKeysCount(range)
    } catch (error) {
      throw this.#told(error)
    }
  }

  useReadTransaction(): ReadTransaction {
    try {
      return this.#table.useReadTransaction()
    } catch (error) {
      throw this.#told(error)
    }
  }

  put(key: K, value: string): unknown {
    return this.#table.put(key, value)
  }

  putSync(key: K, value: string, how: { readonly append: true }): unknown {
    return this.#table.putSync(key, value, how)
  }

  remove(key: K): unknown {
    return this.#table.remove(key)
  }
}

/** LMDB is first asked when the rows are. */
class ToldRows<V> implements Iterable<V> {
  readonly #rows: () => Iterable<V>
  readonly #told: Told

  constructor(rows: () => Iterable<V>, told: Told) {
    this.#rows = rows
    this.#told = told
  }

  [Symbol.iterator](): Iterator<V> {
    const told = this.#told
    try {
      const rows = this.#rows()[Symbol.iterator]()
      return {
        next: () => {
          try {
            return rows.next()
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
