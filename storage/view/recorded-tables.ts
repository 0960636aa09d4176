/**
 * The view's tables as storage puts into them: a commit is taken down as plain values first, so that what throws in the midst of that leaves
 * nothing, and the same can be put again, or by another thread. To hand rows to LMDB costs 3.6 us each (an object, a buffer, a
 * promise), and all of a fold in one go: with a thousand cycles a second the thread that serves stood still for 11 to 20 ms,
 * three times a second.
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
 * One row behind the other: the number of its table, its value (null: it is taken out), how many parts its key has (0: it is one text),
 * and these. Flat, since a thread is given a copy, and each array in it would cost as much as five texts.
 */
export type PackedRows = (string | number | null)[]

/** Carries out what was taken down, within a commit. */
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
 * The thread has ended between two jobs: what it was asked for is not begun, or done and not told of, and may be asked for again. Of
 * one that ends in the midst of a job that cannot be said: it may hold LMDB's lock, for which whoever writes next would wait for ever.
 */
export class NotBegun extends Error {
  override readonly name = 'NotBegun'
}

/** Rows on their way to where they are written, some at a time. */
export interface Sending {
  send(rows: PackedRows): void
  /** Resolves when all that was sent is on disk. Rejects with NotBegun where the same may be put in another way. */
  commit(): Promise<void>
  /** Nothing of it is to be written. */
  drop(): void
}

/** Undefined: there is nobody to send rows to, now. */
export type Begin = () => Sending | undefined

/** So few values (less than a hundred rows) are put here: a third of a millisecond, and no thread need be started for them. */
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
 * @param tables put into, and read.
 * @param commit makes what is put in it one transaction on disk.
 * @param begin where more than a little goes; without it all is put here.
 */
export function recordedTables(
  tables: Omit<ViewTables, 'env'>,
  commit: (put: () => void) => Promise<void>,
  begin: Begin | undefined,
): Omit<ViewTables, 'env'> & { readonly commit: ViewEnvironment['commit'] } {
  let recording: PackedRows | undefined
  const rows = (): PackedRows => {
    if (recording === undefined) throw new Error('a row is put outside of a commit')
    return recording
  }

  /** Takes down what is put up to the next pause: whether others may go on in it. Undefined: that was all. */
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
      // The very same rows, so that it is nothing to them if they were put before.
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
