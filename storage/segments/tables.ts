/** The tables of a log in files, behind the interface that storage uses. */
import { Buffer } from 'node:buffer'
import { CorruptRow, textOf } from '../checked-text.ts'
import type { AppendedTable, LogTables, Range, ReadTransaction } from '../environments.ts'
import { KIND } from './frame.ts'
import { type LogSnapshot, partOf, type RowKind } from './log-state.ts'
import type { Place } from './row-index.ts'
import type { Segment } from './segment.ts'
import type { SegmentedLog } from './segmented-log.ts'

interface Reading {
  readonly transaction?: ReadTransaction
}

/** How many bytes are read ahead when rows are read one after another. */
const AHEAD_BYTES = 128 * 1024

export function tablesOf(log: SegmentedLog): LogTables {
  return {
    env: log,
    events: new SegmentTable(log, KIND.events),
    redo: new SegmentTable(log, KIND.redo),
    head: {
      get: (name, reading) =>
        reading?.transaction === undefined ? log.headOf(name) : snapshotOf(log, reading).head.get(name),
      put: (name, text) => log.putHead(name, text),
    },
  }
}

/** What a read sees: the log as it was when the transaction began, or, without one, as it is. */
function snapshotOf(log: SegmentedLog, reading: Reading | undefined): LogSnapshot {
  return (reading?.transaction as (LogSnapshot & ReadTransaction) | undefined) ?? log.snapshot
}

/** A row of a file. */
interface At {
  segment: number
  row: number
}

class SegmentTable implements AppendedTable {
  readonly #log: SegmentedLog
  readonly #kind: RowKind
  readonly #ahead = new Ahead()

  constructor(log: SegmentedLog, kind: RowKind) {
    this.#log = log
    this.#kind = kind
  }

  get(key: number, reading?: Reading): string | undefined {
    const snapshot = snapshotOf(this.#log, reading)
    // A row added after the snapshot may be in the same files.
    if (key > partOf(snapshot.last, this.#kind)) return undefined
    const at = this.#atOrBefore(snapshot, key)
    if (at === undefined || this.#key(snapshot, at) !== key) return undefined
    return snapshot.segments[at.segment]!.text(this.#place(snapshot, at))
  }

  *getKeys(range: Range<number> = {}): Generator<number> {
    const snapshot = snapshotOf(this.#log, range)
    for (const at of this.#range(snapshot, range)) yield this.#key(snapshot, at)
  }

  *getRange(range: Range<number> = {}): Generator<{ readonly key: number; readonly value: string }> {
    const snapshot = snapshotOf(this.#log, range)
    const isOne = range.limit === 1 || range.reverse === true
    for (const at of this.#range(snapshot, range)) {
      const segment = snapshot.segments[at.segment]!
      const place = this.#place(snapshot, at)
      yield { key: this.#key(snapshot, at), value: isOne ? segment.text(place) : this.#ahead.text(segment, place) }
    }
  }

  getKeysCount(range: Range<number> = {}): number {
    let count = 0
    for (const _ of this.getKeys(range)) count += 1
    return count
  }

  append(key: number, texts: readonly string[], between = ''): void {
    this.#log.append(this.#kind, key, texts, between)
  }

  removeBefore(key: number): void {
    this.#log.removeBefore(this.#kind, key)
  }

  *#range(
    snapshot: LogSnapshot,
    { start, end, limit = Number.POSITIVE_INFINITY, reverse }: Range<number>,
  ): Generator<At> {
    const from = partOf(snapshot.from, this.#kind)
    const last = partOf(snapshot.last, this.#kind)
    let at: At | undefined
    if (reverse === true) {
      at = this.#atOrBefore(snapshot, Math.min(start ?? last, last))
      for (let count = 0; at !== undefined && count < limit; count += 1) {
        const key = this.#key(snapshot, at)
        if (key < from || (end !== undefined && key <= end)) return
        yield at
        at = this.#step(snapshot, at, -1)
      }
      return
    }
    at = this.#atOrAfter(snapshot, Math.max(start ?? from, from))
    for (let count = 0; at !== undefined && count < limit; count += 1) {
      const key = this.#key(snapshot, at)
      if (key > last || (end !== undefined && key >= end)) return
      yield at
      at = this.#step(snapshot, at, 1)
    }
  }

  /** The last row whose key is at most this one. */
  #atOrBefore(snapshot: LogSnapshot, key: number): At | undefined {
    for (let segment = this.#lastBeginningBefore(snapshot, key); segment >= 0; segment -= 1) {
      const last = this.#lastUpTo(snapshot, segment)
      if (last < partOf(snapshot.from, this.#kind)) return undefined
      // The file has no rows of this kind.
      if (this.#after(snapshot, segment) === last) continue
      const row = this.#rows(snapshot, segment).atOrBefore(key)
      if (row >= 0)
        return this.#key(snapshot, { segment, row }) < partOf(snapshot.from, this.#kind) ? undefined : { segment, row }
    }
    return undefined
  }

  #atOrAfter(snapshot: LogSnapshot, key: number): At | undefined {
    const before = this.#atOrBefore(snapshot, key)
    if (before !== undefined) return this.#key(snapshot, before) === key ? before : this.#step(snapshot, before, 1)
    const from = partOf(snapshot.from, this.#kind)
    for (let segment = 0; segment < snapshot.segments.length; segment += 1) {
      if (this.#lastUpTo(snapshot, segment) < Math.max(key, from)) continue
      const rows = this.#rows(snapshot, segment)
      const row = rows.atOrBefore(Math.max(key, from) - 1) + 1
      if (row < rows.count) return { segment, row }
    }
    return undefined
  }

  #step(snapshot: LogSnapshot, at: At, by: 1 | -1): At | undefined {
    let { segment, row } = at
    row += by
    for (;;) {
      const { count } = this.#rows(snapshot, segment)
      if (row >= 0 && row < count) return { segment, row }
      segment += by
      if (snapshot.segments[segment] === undefined) return undefined
      row = by === 1 ? 0 : this.#rows(snapshot, segment).count - 1
    }
  }

  /** The last file that begins before this key; -1 if there is none. */
  #lastBeginningBefore(snapshot: LogSnapshot, key: number): number {
    let low = 0
    let high = snapshot.segments.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#after(snapshot, middle) < key) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  /** Key of the last row before this file. */
  #after(snapshot: LogSnapshot, segment: number): number {
    return partOf(snapshot.segments[segment]!.header.after, this.#kind)
  }

  /** Key of the last row in this file or before it. */
  #lastUpTo(snapshot: LogSnapshot, segment: number): number {
    return partOf(snapshot.segments[segment + 1]?.header.after ?? snapshot.last, this.#kind)
  }

  #rows(snapshot: LogSnapshot, segment: number) {
    const of = snapshot.segments[segment]!
    this.#log.used(of)
    return of.rows(this.#kind)
  }

  #key(snapshot: LogSnapshot, { segment, row }: At): number {
    return this.#rows(snapshot, segment).key(row)
  }

  #place(snapshot: LogSnapshot, { segment, row }: At): Place {
    return this.#rows(snapshot, segment).place(row)
  }
}

/** Bytes of one file, read ahead. Whole frames of a file never change. */
class Ahead {
  #bytes: Buffer = Buffer.alloc(0)
  #buffer: Buffer | undefined
  #segment: Segment | undefined
  #at = 0

  /** Throws CorruptRow, and file system errors. */
  text(segment: Segment, place: Place): string {
    const { at, bytes, checksum } = place
    if (bytes > AHEAD_BYTES) return segment.text(place)
    const isHere = this.#segment === segment && at >= this.#at && at + bytes <= this.#at + this.#bytes.length
    if (!isHere && !this.#read(segment, at)) throw new CorruptRow()
    const row = this.#bytes.subarray(at - this.#at, at - this.#at + bytes)
    if (row.length < bytes) throw new CorruptRow()
    return textOf(row, checksum)
  }

  #read(segment: Segment, at: number): boolean {
    this.#segment = undefined
    this.#buffer ??= Buffer.allocUnsafeSlow(AHEAD_BYTES)
    const bytes = this.#buffer.subarray(0, Math.min(AHEAD_BYTES, segment.bytes - at))
    if (!segment.read(bytes, at)) return false
    this.#segment = segment
    this.#bytes = bytes
    this.#at = at
    return true
  }
}
