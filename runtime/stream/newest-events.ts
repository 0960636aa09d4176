/**
 * Looks up an event by its id alone, among the newest of the log. An index on disk would cost each commit a row, so
 * this one is in memory and costs commits nothing: look-ups fill it, newest rows first, and it is kept. Invariant: a
 * turn of the event loop reads a page or two, however many wait, and each row is read once; an answer is the log's own
 * text at that moment.
 */
import { idOfText } from '../../machines/events/event-text.ts'
import type { Journal } from '../../storage/journal.ts'
import type { Filter } from './filter.ts'
import type { EventFound } from './find-events.ts'
import { IdHash, IdHashes } from './id-hashes.ts'
import { charsPerTurnMax, lookUpRowsMax, rowsPerTurnMax } from './limits.ts'
import type { ReadTurns } from './read-turns.ts'

type Log = Pick<Journal, 'eventsBackward' | 'event' | 'lastSequence' | 'oldestSequence'>

/** A look-up, and how far it has come. */
interface Asked {
  readonly id: string
  readonly visible: Filter
  /** Candidate rows that turned out to hold another id or to be invisible: not looked at again. */
  readonly passed: Set<number>
  /** More candidates remain than one turn looks at: each project and trace may have an event with the id. */
  isCut: boolean
}

/** Rows that a turn could not read. */
type Failure = { readonly error: unknown } | undefined

export class NewestEvents {
  readonly #log: Log
  readonly #turns: ReadTurns
  readonly #rowsMax: number
  /** Created by the first look-up. */
  #index: Index | undefined
  #turn: Promise<Failure> | undefined

  /** @param rowsMax how many of the newest events are searched */
  constructor(log: Log, turns: ReadTurns, rowsMax = lookUpRowsMax) {
    this.#log = log
    this.#turns = turns
    this.#rowsMax = rowsMax
  }

  /**
   * The event with this id (`evt_` and hex digits) that the filter lets through; if several traces or projects have
   * one, the newest that was read.
   * @param isWanted asked between turns; once it returns false the look-up ends with what it has; others go on
   * @throws CorruptRow if the event may be in a row that cannot be read, and whatever else the log throws
   */
  async find(id: string, visible: Filter, isWanted: () => boolean): Promise<EventFound> {
    this.#index ??= new Index(this.#log, new IdHash((digits) => this.#turns.platform.randomHex(digits)), this.#rowsMax)
    const index = this.#index
    const through = this.#log.lastSequence
    const asked: Asked = { id, visible, passed: new Set(), isCut: false }
    let text = index.find(asked)
    while (text === undefined && (asked.isCut || !index.holds(through)) && isWanted()) {
      const failure = await this.#nextTurn(index)
      text = index.find(asked)
      // Rows added since are read first, and may be readable.
      if (text === undefined && failure !== undefined && !asked.isCut && index.reaches(through)) throw failure.error
    }
    return text === undefined ? { isWhole: index.isWhole(through) } : { text, isWhole: true }
  }

  /** All waiting look-ups share a turn; without one nothing is read. */
  #nextTurn(index: Index): Promise<Failure> {
    this.#turn ??= this.#turns.next(() => {
      this.#turn = undefined
      return index.readOn()
    })
    return this.#turn
  }
}

/**
 * Has read the rows from `#low` to `#high`. While newer rows are being read, newest first, it has also read those from
 * `#from` to `#top`, and those in between are still to be read; otherwise `#high` is `#top`.
 */
class Index {
  readonly #log: Log
  readonly #hash: IdHash
  readonly #hashes: IdHashes
  readonly #rowsMax: number
  #low: number
  #high: number
  #from: number
  #top: number

  constructor(log: Log, hash: IdHash, rowsMax: number) {
    this.#log = log
    this.#hash = hash
    this.#hashes = new IdHashes(rowsMax)
    this.#rowsMax = rowsMax
    this.#top = log.lastSequence
    this.#hashes.moveTo(this.#top)
    this.#from = this.#top + 1
    this.#low = this.#from
    this.#high = this.#top
  }

  /** Text of the newest row read that matches the look-up. */
  find(asked: Asked): string | undefined {
    const { id, visible, passed } = asked
    const hash = this.#hash.of(id)
    asked.isCut = false
    let chars = 0
    const passedMax = passed.size + rowsPerTurnMax
    let sequence = this.#hashes.newestBefore(Number.POSITIVE_INFINITY, hash)
    for (; sequence > 0; sequence = this.#hashes.newestBefore(sequence, hash)) {
      if (passed.has(sequence)) continue
      if (passed.size >= passedMax || chars >= charsPerTurnMax) {
        asked.isCut = true
        return undefined
      }
      const text = this.#log.event(sequence)
      // Retention removes the oldest rows first, so all before it are gone as well.
      if (text === undefined) return undefined
      if (idOfText(text) === id && visible.matchesText(text)) return text
      chars += text.length
      passed.add(sequence)
    }
    return undefined
  }

  /** Whether every row up to this sequence was read, except rows older than all that were read. */
  reaches(sequence: number): boolean {
    return this.#high >= sequence
  }

  /** Whether every row up to this sequence that is to be searched was read. */
  holds(sequence: number): boolean {
    return this.reaches(sequence) && this.#low <= this.#floor
  }

  /** Whether every row up to this sequence that the log holds was read. */
  isWhole(sequence: number): boolean {
    return this.reaches(sequence) && this.#low <= this.#log.oldestSequence
  }

  /** Reads a page of the rows added since, if there are any, and a page of rows older than all that were read. */
  readOn(): Failure {
    try {
      this.#readNewer()
      if (this.#low > this.#floor) this.#low = this.#read(this.#low, this.#floor)
      return undefined
    } catch (error) {
      return { error }
    }
  }

  /** The oldest sequence to be searched. */
  get #floor(): number {
    return Math.max(this.#log.oldestSequence, this.#top - this.#rowsMax + 1)
  }

  #readNewer(): void {
    if (this.#high === this.#top && this.#log.lastSequence > this.#top) this.#rise()
    if (this.#high === this.#top) return
    try {
      this.#from = this.#read(this.#from, this.#high + 1)
    } catch (error) {
      // An unreadable row cannot be passed: drop the rows before it and keep those after it.
      this.#low = this.#from
      this.#high = this.#top
      throw error
    }
    if (this.#from === this.#high + 1) this.#high = this.#top
  }

  /** Moves up to the present end of the log. Starts over there if all rows read are too old. */
  #rise(): void {
    this.#top = this.#log.lastSequence
    this.#hashes.moveTo(this.#top)
    this.#from = this.#top + 1
    this.#low = Math.max(this.#low, this.#top - this.#rowsMax + 1)
    if (this.#low <= this.#high + 1) return
    this.#low = this.#from
    this.#high = this.#top
  }

  /**
   * Reads a page of the rows before `before`, newest first, down to `downTo`. Returns the last sequence read, or
   * `downTo`.
   */
  #read(before: number, downTo: number): number {
    const limit = Math.min(rowsPerTurnMax, before - downTo)
    const { events } = this.#log.eventsBackward(before, limit, charsPerTurnMax)
    for (const { sequence, text } of events) this.#hashes.put(sequence, this.#hash.of(idOfText(text)))
    return events.at(-1)?.sequence ?? downTo
  }
}
