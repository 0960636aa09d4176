/** The tables of a log in files, behind the interface that storage uses. */
import { Buffer } from 'node:buffer'
import { CorruptRow, textOf } from '../checked-text.ts'
import type { AppendedTable, LogTables, Range, ReadTransaction } from '../environments.ts'
import { KIND } from './frame.ts'
import type { Place } from './row-index.ts'
import type { Segment } from './segment.ts'
import type { SegmentedLog } from './segmented-log.ts'
import { partOf, type RowsOf, type Sight } from './standing.ts'

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
        reading?.transaction === undefined ? log.headOf(name) : sightOf(log, reading).head.get(name),
      put: (name, text) => log.putHead(name, text),
    },
  }
}

/** What a read sees: the log as it was when the transaction began, or, without one, as it is. */
function sightOf(log: SegmentedLog, reading: Reading | undefined): Sight {
  return (reading?.transaction as (Sight & ReadTransaction) | undefined) ?? log.sight
}

/** A row of a file. */
interface At {
  segment: number
  row: number
}

class SegmentTable implements AppendedTable {
  readonly #log: SegmentedLog
  readonly #kind: RowsOf
  readonly #ahead = new Ahead()

  constructor(log: SegmentedLog, kind: RowsOf) {
    this.#log = log
    this.#kind = kind
  }

  get(key: number, reading?: Reading): string | undefined {
    const sight = sightOf(this.#log, reading)
    // A row added after the snapshot may be in the same files.
    if (key > partOf(sight.last, this.#kind)) return undefined
    const at = this.#atOrBefore(sight, key)
    if (at === undefined || this.#key(sight, at) !== key) return undefined
    return sight.segments[at.segment]!.text(this.#place(sight, at))
  }

  *getKeys(range: Range<number> = {}): Generator<number> {
    const sight = sightOf(this.#log, range)
    for (const at of this.#range(sight, range)) yield this.#key(sight, at)
  }

  *getRange(range: Range<number> = {}): Generator<{ readonly key: number; readonly value: string }> {
    const sight = sightOf(this.#log, range)
    const isOne = range.limit === 1 || range.reverse === true
    for (const at of this.#range(sight, range)) {
      const segment = sight.segments[at.segment]!
      const place = this.#place(sight, at)
      yield { key: this.#key(sight, at), value: isOne ? segment.text(place) : this.#ahead.text(segment, place) }
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

  *#range(sight: Sight, { start, end, limit = Number.POSITIVE_INFINITY, reverse }: Range<number>): Generator<At> {
    const from = partOf(sight.from, this.#kind)
    const last = partOf(sight.last, this.#kind)
    let at: At | undefined
    if (reverse === true) {
      at = this.#atOrBefore(sight, Math.min(start ?? last, last))
      for (let count = 0; at !== undefined && count < limit; count += 1) {
        const key = this.#key(sight, at)
        if (key < from || (end !== undefined && key <= end)) return
        yield at
        at = this.#step(sight, at, -1)
      }
      return
    }
    at = this.#atOrAfter(sight, Math.max(start ?? from, from))
    for (let count = 0; at !== undefined && count < limit; count += 1) {
      const key = this.#key(sight, at)
      if (key > last || (end !== undefined && key >= end)) return
      yield at
      at = this.#step(sight, at, 1)
    }
  }

  /** The last row whose key is at most this one. */
  #atOrBefore(sight: Sight, key: number): At | undefined {
    for (let segment = this.#lastBeginningBefore(sight, key); segment >= 0; segment -= 1) {
      const last = this.#lastUpTo(sight, segment)
      if (last < partOf(sight.from, this.#kind)) return undefined
      // The file has no rows of this kind.
      if (this.#after(sight, segment) === last) continue
      const row = this.#rows(sight, segment).atOrBefore(key)
      if (row >= 0)
        return this.#key(sight, { segment, row }) < partOf(sight.from, this.#kind) ? undefined : { segment, row }
    }
    return undefined
  }

  #atOrAfter(sight: Sight, key: number): At | undefined {
    const before = this.#atOrBefore(sight, key)
    if (before !== undefined) return this.#key(sight, before) === key ? before : this.#step(sight, before, 1)
    const from = partOf(sight.from, this.#kind)
    for (let segment = 0; segment < sight.segments.length; segment += 1) {
      if (this.#lastUpTo(sight, segment) < Math.max(key, from)) continue
      const rows = this.#rows(sight, segment)
      const row = rows.atOrBefore(Math.max(key, from) - 1) + 1
      if (row < rows.count) return { segment, row }
    }
    return undefined
  }

  #step(sight: Sight, at: At, by: 1 | -1): At | undefined {
    let { segment, row } = at
    row += by
    while (segment >= 0 && segment < sight.segments.length) {
      const { count } = this.#rows(sight, segment)
      if (row >= 0 && row < count) return { segment, row }
      segment += by
      const next = sight.segments[segment]
      if (next === undefined) return undefined
      row = by === 1 ? 0 : this.#rows(sight, segment).count - 1
    }
    return undefined
  }

  /** The last file that begins before this key; -1 if there is none. */
  #lastBeginningBefore(sight: Sight, key: number): number {
    let low = 0
    let high = sight.segments.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#after(sight, middle) < key) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  /** Key of the last row before this file. */
  #after(sight: Sight, segment: number): number {
    return partOf(sight.segments[segment]!.beginning.after, this.#kind)
  }

  /** Key of the last row in this file or before it. */
  #lastUpTo(sight: Sight, segment: number): number {
    return partOf(sight.segments[segment + 1]?.beginning.after ?? sight.last, this.#kind)
  }

  #rows(sight: Sight, segment: number) {
    const of = sight.segments[segment]!
    this.#log.used(of)
    return of.rows(this.#kind)
  }

  #key(sight: Sight, { segment, row }: At): number {
    return this.#rows(sight, segment).key(row)
  }

  #place(sight: Sight, { segment, row }: At): Place {
    return this.#rows(sight, segment).place(row)
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
