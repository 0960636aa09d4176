/**
 * How the log keeps its events: some of one batch in a row, one text a line, under the number of the first. Nothing in an
 * event's text is a line break (JSON escapes it), so the lines are the events. A row for each costs a checksum and a place in
 * an index; in rows of sixteen that is next to nothing, and a replay decodes a row at a time.
 */
import { CorruptRow } from '../checked-text.ts'
import type { AppendedTable, ReadTransaction } from '../environments.ts'
import type { StoredEvent } from '../journal.ts'

/** Enough that a row's own cost is no matter; few, since a read of one event decodes its whole row. */
const EVENTS_PER_ROW_MAX = 16
const ROW_CHARS_MAX = 16_384

interface Reading {
  readonly transaction?: ReadTransaction
}

/** The events of one row. */
export interface EventRow {
  readonly first: number
  readonly texts: readonly string[]
}

/** A row that does not match its checksum: how many events it held is told by the next one alone. */
export interface LostRow {
  readonly first: number
  readonly texts?: undefined
  /** First of the next row; undefined: there is none. */
  readonly next: number | undefined
}

export class EventRows {
  readonly #table: AppendedTable

  constructor(table: AppendedTable) {
    this.#table = table
  }

  /** Writes events behind the last one, within a transaction. `end` must be called. */
  writer(firstSequence: number): EventWriter {
    return new EventWriter(this.#table, firstSequence)
  }

  /** Undefined: there is no such event. Throws CorruptRow. */
  get(sequence: number, reading: Reading = {}): string | undefined {
    for (const { key, value } of this.#table.getRange({ ...reading, start: sequence, reverse: true, limit: 1 })) {
      return line(value, sequence - key)
    }
    return undefined
  }

  /** The rows in order, from the one that holds `sequence` or, if none does, the next. Throws CorruptRow. */
  *from(sequence: number, reading: Reading = {}): Generator<EventRow> {
    for (const { key, value } of this.#table.getRange({ ...reading, start: this.#holding(sequence, reading) })) {
      const texts = value.split('\n')
      // The first may end before the sequence: where there is a hole, or nothing behind it.
      if (key + texts.length > sequence) yield { first: key, texts }
    }
  }

  /** The rows from the one that holds `sequence` or is the nearest before it, those that cannot be read among them. */
  *each(sequence: number): Generator<EventRow | LostRow> {
    for (let start: number | undefined = this.#holding(sequence, {}); start !== undefined; ) {
      try {
        for (const { key, value } of this.#table.getRange({ start })) {
          start = key + 1
          yield { first: key, texts: value.split('\n') }
        }
        return
      } catch (error) {
        if (!(error instanceof CorruptRow)) throw error
      }
      const [first, next]: (number | undefined)[] = [...this.#table.getKeys({ start, limit: 2 })]
      if (first === undefined) return
      const texts = unlessCorrupt(() => this.row(first))
      yield texts === undefined ? { first, next } : { first, texts }
      start = next
    }
  }

  /** The rows from the one that holds `sequence`, or is the nearest before it, backwards. Throws CorruptRow. */
  *backFrom(sequence: number): Generator<EventRow> {
    for (const { key, value } of this.#table.getRange({ start: sequence, reverse: true })) {
      yield { first: key, texts: value.split('\n') }
    }
  }

  /** The firsts of the rows, from the one that holds `sequence`: for who reads them one by one, and on behind a corrupt one. */
  *firsts(sequence: number, reading: Reading = {}): Generator<number> {
    yield* this.#table.getKeys({ ...reading, start: this.#holding(sequence, reading) })
  }

  /** The texts of one row. Throws CorruptRow. */
  row(first: number, reading: Reading = {}): readonly string[] | undefined {
    return this.#table.get(first, reading)?.split('\n')
  }

  /** Rows that can be read and of which every event is before `sequence`, oldest first, at most about `limit` events in all. */
  wholeBefore(sequence: number, limit: number): readonly EventRow[] {
    const rows: EventRow[] = []
    let events = 0
    for (const row of this.each(0)) {
      if (row.first >= sequence || events >= limit) break
      if (row.texts === undefined) continue
      if (row.first + row.texts.length > sequence) break
      events += row.texts.length
      rows.push(row)
    }
    return rows
  }

  /**
   * The events before `sequence` in the row that holds it, if it can be read: retention has removed them, and their row stays for
   * the rest.
   */
  partBefore(sequence: number): readonly StoredEvent[] {
    for (const { first, texts = [] } of this.each(sequence)) {
      return texts.slice(0, Math.max(0, sequence - first)).map((text, i) => ({ sequence: first + i, text }))
    }
    return []
  }

  /** The first of the row in which the sequence would be. */
  #holding(sequence: number, reading: Reading): number {
    for (const key of this.#table.getKeys({ ...reading, start: sequence, reverse: true, limit: 1 })) return key
    return sequence
  }

  /** Removes the rows of which every event is before `sequence`, within a transaction. */
  removeBefore(sequence: number): void {
    const holding = this.#holding(sequence, {})
    this.#table.removeBefore(holding + this.#lines(holding) <= sequence ? sequence : holding)
  }

  /** Events of the row. One that cannot be read is kept as long as there is none behind it: it may hold any that is to stay. */
  #lines(first: number): number {
    return unlessCorrupt(() => this.row(first)?.length ?? 0) ?? Number.POSITIVE_INFINITY
  }
}

/** Hot: texts are collected as they come, and written when the row is full. */
class EventWriter {
  readonly #table: AppendedTable
  #first: number
  #texts: string[] = []
  #rowChars = 0
  /** Characters of all texts. */
  chars = 0

  constructor(table: AppendedTable, firstSequence: number) {
    this.#table = table
    this.#first = firstSequence
  }

  add(text: string): void {
    const isFull = this.#texts.length === EVENTS_PER_ROW_MAX || this.#rowChars + text.length > ROW_CHARS_MAX
    if (isFull && this.#texts.length > 0) this.end()
    this.#texts.push(text)
    this.#rowChars += text.length + 1
    this.chars += text.length
  }

  end(): void {
    if (this.#texts.length === 0) return
    this.#table.append(this.#first, this.#texts, '\n')
    this.#first += this.#texts.length
    this.#texts = []
    this.#rowChars = 0
  }
}

function line(text: string, index: number): string | undefined {
  let from = 0
  for (let i = 0; i < index; i += 1) {
    from = text.indexOf('\n', from) + 1
    if (from === 0) return undefined
  }
  const to = text.indexOf('\n', from)
  return to === -1 ? text.slice(from) : text.slice(from, to)
}

/**
 * Events from a sequence on: at most `limit`, and of about `bytesMax` of text, but at least one. A page ends before a row that cannot be
 * read. Throws CorruptRow where that is the first.
 */
export function pageOf(rows: EventRows, start: number, limit: number, bytesMax: number): StoredEvent[] {
  const events: StoredEvent[] = []
  let chars = 0
  let expected = start
  try {
    for (const { first, texts } of rows.from(start)) {
      for (let i = Math.max(0, start - first); i < texts.length; i += 1) {
        chars += texts[i]!.length
        if (events.length === limit || (chars > bytesMax && events.length > 0)) return events
        events.push({ sequence: first + i, text: texts[i]! })
      }
      expected = first + texts.length
      if (events.length === limit) return events
    }
  } catch (error) {
    if (events.length === 0) throw namedAfter(error, expected)
  }
  return events
}

function unlessCorrupt<V>(read: () => V): V | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof CorruptRow) return undefined
    throw error
  }
}

/** The same error, naming the event that was to be read. */
export function namedAfter(error: unknown, sequence: number): unknown {
  return error instanceof CorruptRow ? new CorruptRow(`event ${sequence} does not match its checksum`) : error
}
