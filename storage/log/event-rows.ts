/**
 * How the log stores events: up to sixteen events of one batch in a row, one text per line, keyed by the first
 * sequence. An event's text contains no line break (JSON escapes it), so each line is one event. A row per event would
 * cost a checksum and an index entry each; sixteen to a row make that negligible, and a replay decodes a row at a
 * time.
 */
import { CorruptRow } from '../checked-text.ts'
import type { AppendedTable, ReadTransaction } from '../environments.ts'
import type { StoredEvent } from '../journal.ts'

/** Enough to make the cost of a row negligible; few, since reading one event decodes its whole row. */
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

/** A row that does not match its checksum. Only the next row tells how many events it held. */
export interface LostRow {
  readonly first: number
  readonly texts?: undefined
  /** First sequence of the next row; undefined if there is none. */
  readonly next: number | undefined
}

export class EventRows {
  readonly #table: AppendedTable

  constructor(table: AppendedTable) {
    this.#table = table
  }

  /** Appends events after the last one, within a transaction. `end` must be called. */
  writer(firstSequence: number): EventWriter {
    return new EventWriter(this.#table, firstSequence)
  }

  /** Undefined if there is no such event. Throws CorruptRow. */
  get(sequence: number, reading: Reading = {}): string | undefined {
    for (const { key, value } of this.#table.getRange({ ...reading, start: sequence, reverse: true, limit: 1 })) {
      return line(value, sequence - key)
    }
    return undefined
  }

  /** The rows in order, from the one that holds `sequence` or, if none does, from the next. Throws CorruptRow. */
  *from(sequence: number, reading: Reading = {}): Generator<EventRow> {
    for (const { key, value } of this.#table.getRange({ ...reading, start: this.#holding(sequence, reading) })) {
      const texts = value.split('\n')
      // The first row may end before `sequence`, at a gap or at the end of the log.
      if (key + texts.length > sequence) yield { first: key, texts }
    }
  }

  /** The rows from the one that holds `sequence`, or the nearest before it, including those that cannot be read. */
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

  /** The rows backwards, from the one that holds `sequence` or the nearest before it. Throws CorruptRow. */
  *backFrom(sequence: number): Generator<EventRow> {
    for (const { key, value } of this.#table.getRange({ start: sequence, reverse: true })) {
      yield { first: key, texts: value.split('\n') }
    }
  }

  /**
   * First sequences of the rows, from the one that holds `sequence`: for callers that read row by row and skip corrupt
   * ones.
   */
  *firsts(sequence: number, reading: Reading = {}): Generator<number> {
    yield* this.#table.getKeys({ ...reading, start: this.#holding(sequence, reading) })
  }

  /** The texts of one row. Throws CorruptRow. */
  row(first: number, reading: Reading = {}): readonly string[] | undefined {
    return this.#table.get(first, reading)?.split('\n')
  }

  /** Readable rows whose events are all before `sequence`, oldest first, with at most about `limit` events in all. */
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
   * The events before `sequence` in the row that holds it, if the row can be read. Retention has removed these events,
   * but their row stays for the rest.
   */
  partBefore(sequence: number): readonly StoredEvent[] {
    for (const { first, texts = [] } of this.each(sequence)) {
      return texts.slice(0, Math.max(0, sequence - first)).map((text, i) => ({ sequence: first + i, text }))
    }
    return []
  }

  /** First sequence of the row in which `sequence` would be. */
  #holding(sequence: number, reading: Reading): number {
    for (const key of this.#table.getKeys({ ...reading, start: sequence, reverse: true, limit: 1 })) return key
    return sequence
  }

  /** Removes the rows whose events are all before `sequence`. Call within a transaction. */
  removeBefore(sequence: number): void {
    const holding = this.#holding(sequence, {})
    this.#table.removeBefore(holding + this.#lines(holding) <= sequence ? sequence : holding)
  }

  /**
   * Number of events in the row. Infinite for an unreadable row, which may hold events that must stay: it is kept
   * until there is a row after it.
   */
  #lines(first: number): number {
    return unlessCorrupt(() => this.row(first)?.length ?? 0) ?? Number.POSITIVE_INFINITY
  }
}

/** Hot: collects texts as they come, and writes a row when it is full. */
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
 * Events from `start` on: at most `limit`, with about `bytesMax` of text, but at least one. A page ends before a row
 * that cannot be read. Throws CorruptRow if that is the first row.
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
