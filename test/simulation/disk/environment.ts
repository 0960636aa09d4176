/**
 * One simulated environment: tables, and which of their changes a power failure would take back. It keeps LMDB's
 * promises and no more: a transaction is there completely or not at all, and what was flushed stays.
 */
import type { AppendedTable, ReadTransaction, Table } from '../../../storage/environments.ts'
import { type AnyKey, nameOf, type Row, Rows, TORN, textOf } from './rows.ts'

/** One row as a transaction leaves it. */
export interface Change {
  readonly table: string
  readonly name: string
  readonly before: Row | undefined
  readonly after: Row | undefined
  /** Virtual time at which it was written. */
  readonly atMs: number
}

/** Rows as they were when the reader asked; copied only if they change while it reads. */
interface Reader extends ReadTransaction {
  kept: Map<string, Rows> | undefined
}

export class SimulatedEnvironment {
  private readonly tables: Map<string, Rows>
  /** Changes that are written and not flushed, oldest first. */
  private unflushed: Change[] = []
  private readonly readers = new Set<Reader>()
  /** The transaction under way: its changes are in the tables, and can be taken back. */
  private writing: Change[] | undefined
  /** A transaction that failed on its way: the next process may find it. */
  private left: Change[] | undefined

  constructor(names: readonly string[], tables = new Map(names.map((name) => [name, new Rows()]))) {
    this.tables = tables
  }

  /** A copy as a backup makes one: what is visible now, all of it on disk. */
  copy(): SimulatedEnvironment {
    const tables = new Map([...this.tables].map(([name, rows]) => [name, rows.copy()]))
    return new SimulatedEnvironment([...tables.keys()], tables)
  }

  /** The visible rows of a table. */
  rows(table: string): Rows {
    return this.tables.get(table)!
  }

  /** The process is gone, and its readers with it; a power failure also takes what was not flushed. */
  abandon(by: 'kill' | 'power'): void {
    this.readers.clear()
    const { left } = this
    this.left = undefined
    if (by === 'power') {
      this.takeBack(this.unflushed)
      this.unflushed = []
    } else if (left !== undefined) {
      for (const { table, name, after } of left) this.rows(table).set(name, after)
      this.unflushed.push(...left)
    }
  }

  beginWrite(): void {
    if (this.writing !== undefined) throw new Error('two transactions at once')
    for (const reader of this.readers)
      reader.kept ??= new Map([...this.tables].map(([name, rows]) => [name, rows.copy()]))
    this.writing = []
  }

  write(table: string, key: AnyKey, value: string | undefined, atMs: number): void {
    const name = nameOf(key)
    const after = value === undefined ? undefined : { key, value }
    const before = this.rows(table).set(name, after)
    this.writing!.push({ table, name, before, after, atMs })
  }

  /** The transaction is written: visible to this process and the next, and on disk only with the next flush. */
  endWrite(): void {
    this.unflushed.push(...this.writing!)
    this.writing = undefined
  }

  /**
   * Undoes the transaction under way for this process. `isLeft`: the next one sees it, unless the power fails first.
   */
  abortWrite(isLeft = false): void {
    this.takeBack(this.writing!)
    if (isLeft) this.left = this.writing
    this.writing = undefined
  }

  /** Flushes everything that is written. Returns what was not on disk before. */
  flush(): readonly Change[] {
    const flushed = this.unflushed
    this.unflushed = []
    return flushed
  }

  /** Corrupts the bytes of a row. */
  tear(table: string, name: string): void {
    const row = this.rows(table).find(name)
    if (row !== undefined) this.rows(table).set(name, { key: row.key, value: TORN })
  }

  readTransaction(): ReadTransaction {
    const reader: Reader = { kept: undefined, done: () => this.readers.delete(reader) }
    this.readers.add(reader)
    return reader
  }

  /** A table as storage uses it; `put` says what a write means here. */
  table<K extends AnyKey>(name: string, put: (key: K, value: string | undefined) => void): Table<K> {
    const rowsFor = (reading?: { readonly transaction?: ReadTransaction }): Rows =>
      (reading?.transaction as Reader | undefined)?.kept?.get(name) ?? this.rows(name)
    return {
      get: (key, reading) => textOf(rowsFor(reading).find(nameOf(key))),
      doesExist: (key, _value, reading) => rowsFor(reading).has(nameOf(key)),
      getKeys: (range = {}) =>
        rowsFor(range)
          .range(range)
          .map((row) => row.key as K),
      getRange: (range = {}) =>
        rowsFor(range)
          .range(range)
          .map((row) => ({ key: row.key as K, value: textOf(row)! })),
      getKeysCount: (range = {}) => rowsFor(range).range(range).length,
      useReadTransaction: () => this.readTransaction(),
      put,
      remove: (key) => put(key, undefined),
    }
  }

  /** A table of the log. */
  appended(name: string, put: (key: number, value: string | undefined) => void): AppendedTable {
    return {
      ...this.table<number>(name, put),
      append: (key, texts, between = '') => {
        const last = this.rows(name).last()
        if (last !== undefined && nameOf(last.key) >= nameOf(key))
          throw new Error(`row ${key} is not behind the last row`)
        put(key, texts.join(between))
      },
      removeBefore: (key) => {
        for (const row of this.rows(name).range<number>({ end: key })) put(row.key as number, undefined)
      },
    }
  }

  private takeBack(changes: readonly Change[]): void {
    for (let i = changes.length - 1; i >= 0; i--) {
      const { table, name, before } = changes[i]!
      this.rows(table).set(name, before)
    }
  }
}
