/**
 * The view's tables as storage writes to them. A commit is first recorded as plain values, so that an error midway
 * leaves nothing, and the same rows can be written again or by another thread. Handing rows to LMDB costs 3.6 us each
 * (an object, a buffer, a promise), for a whole fold at once: at a thousand cycles a second that blocked the serving
 * thread for 11 to 20 ms, three times a second.
 */
import { setImmediate as turn } from 'node:timers/promises'
import {
  type Key,
  pausesOf,
  type Range,
  type ReadTransaction,
  type Table,
  type ViewEnvironment,
  type ViewTables,
  type Write,
} from '../environments.ts'

const WRITTEN = [
  'snapshots',
  'entities',
  'counts',
  'eventIds',
  'histories',
  'timers',
  'outbox',
  'reservations',
  'marker',
] as const

/**
 * Rows one after the other: the number of the table, the value (null: remove the row), the number of the key's parts
 * (0: the key is one text), then the parts. Flat, because the array is copied to another thread, and each nested array
 * would cost as much as five texts.
 */
export type PackedRows = (string | number | null)[]

/** Writes recorded rows, within a commit. */
export function putRows(rows: PackedRows, tables: Omit<ViewTables, 'env'>): void {
  for (let at = 0; at < rows.length; ) {
    const table = tables[WRITTEN[rows[at] as number]!] as Table<unknown>
    const value = rows[at + 1] as string | null
    const parts = rows[at + 2] as number
    at += 3
    const key = parts === 0 ? rows[at] : rows.slice(at, at + parts)
    at += Math.max(1, parts)
    if (value === null) table.remove(key)
    else table.put(key, value)
  }
}

/**
 * The thread ended between two jobs: the job was not begun, or was done and not reported, and may be asked for again.
 * This cannot be said of a thread that ends during a job: it may hold LMDB's lock, and the next writer would wait for
 * ever.
 */
export class NotBegun extends Error {
  override readonly name = 'NotBegun'
}

/** Rows on their way to the thread that writes them, some at a time. */
export interface Sending {
  send(rows: PackedRows): void
  /** Resolves when all rows sent are on disk. Rejects with NotBegun if the same rows may be written another way. */
  commit(): Promise<void>
  /** Discards the rows sent. */
  drop(): void
}

/** Undefined if no thread can take rows now. */
export type Begin = () => Sending | undefined

/**
 * Up to this many values (less than a hundred rows) are written here: it takes a third of a millisecond and needs no
 * thread.
 */
const PUT_HERE_MAX = 512

class RecordedTable<K extends Key | string> implements Table<K> {
  private readonly table: Table<K>
  private readonly number: number
  private readonly rows: () => PackedRows

  constructor(table: Table<K>, number: number, rows: () => PackedRows) {
    this.table = table
    this.number = number
    this.rows = rows
  }

  get(key: K, reading?: { readonly transaction?: ReadTransaction }): string | undefined {
    return this.table.get(key, reading)
  }

  getKeys(range?: Range<K>): Iterable<K> {
    return this.table.getKeys(range)
  }

  getRange(range?: Range<K>): Iterable<{ readonly key: K; readonly value: string }> {
    return this.table.getRange(range)
  }

  getKeysCount(range?: Range<K>): number {
    return this.table.getKeysCount(range)
  }

  doesExist(key: K, value?: undefined, reading?: { readonly transaction?: ReadTransaction }): boolean {
    return this.table.doesExist(key, value, reading)
  }

  useReadTransaction(): ReadTransaction {
    return this.table.useReadTransaction()
  }

  put(key: K, value: string): void {
    this.record(key, value)
  }

  remove(key: K): void {
    this.record(key, null)
  }

  private record(key: K, value: string | null): void {
    const rows = this.rows()
    if (typeof key === 'string') rows.push(this.number, value, 0, key)
    else {
      rows.push(this.number, value, key.length)
      for (const part of key) rows.push(part as string | number)
    }
  }
}

/**
 * @param tables written to and read.
 * @param commit writes what its argument puts, as one transaction on disk.
 * @param begin where larger writes are sent; without it everything is written here.
 */
export function recordedTables(
  tables: Omit<ViewTables, 'env'>,
  commit: (put: () => void) => Promise<void>,
  begin: Begin | undefined,
): Omit<ViewTables, 'env'> & { readonly commit: ViewEnvironment['commit'] } {
  let recording: PackedRows | undefined
  const rows = (): PackedRows => {
    if (recording === undefined) throw new Error('a row was put outside a commit')
    return recording
  }

  /** Records rows up to the next pause. Returns whether others may run during it, or undefined at the end. */
  function takeDown(pauses: Iterator<boolean, void>, taken: PackedRows): boolean | undefined {
    recording = taken
    try {
      return pauses.next().value ?? undefined
    } finally {
      recording = undefined
    }
  }

  async function write(put: Write): Promise<void> {
    const pauses = pausesOf(put)
    let taken: PackedRows = []
    let sending: Sending | undefined
    const sent: PackedRows[] = []
    const send = (to: Sending): void => {
      to.send(taken)
      sent.push(taken)
      taken = []
    }
    try {
      for (;;) {
        const mayOthers = takeDown(pauses, taken)
        if (mayOthers === undefined) break
        sending ??= begin?.()
        if (sending !== undefined) send(sending)
        if (mayOthers && begin !== undefined) await turn()
      }
    } catch (error) {
      sending?.drop()
      throw error
    }
    if (taken.length > PUT_HERE_MAX) sending ??= begin?.()
    if (sending === undefined) {
      await commit(() => putRows(taken, tables))
      return
    }
    send(sending)
    try {
      await sending.commit()
    } catch (error) {
      if (!(error instanceof NotBegun)) throw error
      // Exactly the same rows, so it does no harm if they were written before.
      await commit(() => {
        for (const rows of sent) putRows(rows, tables)
      })
    }
  }

  const recorded = Object.fromEntries(
    WRITTEN.map((name, number) => [name, new RecordedTable(tables[name] as Table<any>, number, rows)]),
  ) as unknown as Omit<ViewTables, 'env'>
  return { ...recorded, commit: write }
}
