/**
 * Looking up an event of which only the id is known, among the newest of the log. An index of them on disk would cost
 * each commit a row, so there is one in memory, which costs commits nothing: it is filled when somebody looks up,
 * newest rows first, and kept. Invariant: a turn of the event loop reads a page or two, however many wait, and each row
 * is read once; what is answered is the log's own text at that moment.
 */
import { idOfText } from '../../machines/events/event-text.ts'
import type { Journal } from '../../storage/journal.ts'
import type { Filter } from './filter.ts'
import type { EventFound } from './find-events.ts'
import { IdHash, IdHashes } from './id-hashes.ts'
import { charsPerTurnMax, lookUpRowsMax, rowsPerTurnMax } from './limits.ts'
import type { ReadTurns } from './read-turns.ts'

type Log = Pick<Journal, 'eventsBackward' | 'event' | 'lastSequence' | 'oldestSequence'>

/** What a look-up asks for, and how far it has come. */
interface Asked {
  readonly id: string
  readonly visible: Filter
  /** Rows that may have been it, and are not: another id, or for others. Not looked at again. */
  readonly passed: Set<number>
  /** There are more such rows than are looked at in one turn: each project and trace may have an event of the id. */
  isCut: boolean
}

/** What a turn came upon: rows that cannot be read. */
type Failure = { readonly error: unknown } | undefined

export class NewestEvents {
  readonly #log: Log
  readonly #turns: ReadTurns
  readonly #rowsMax: number
  /** From the first look-up on. */
  #index: Index | undefined
  #turn: Promise<Failure> | undefined

  /** @param rowsMax how many of the newest events are looked at */
  constructor(log: Log, turns: ReadTurns, rowsMax = lookUpRowsMax) {
    this.#log = log
    this.#turns = turns
    this.#rowsMax = rowsMax
  }

  /**
   * The event with this id (`evt_` and hex digits) that the filter lets through; where several traces or projects have such a
   * one, the newest that was read.
   * @param isWanted asked between turns; once false the look-up ends with what it has. Others that wait go on
   * @throws CorruptRow when it may be in a row that cannot be read, and what else the log throws
   */
  async find(id: string, visible: Filter, isWanted: () => boolean): Promise<EventFound> {
    this.#index ??= new Index(this.#log, new IdHash((digits) => this.#turns.nature.randomHex(digits)), this.#rowsMax)
    const index = this.#index
    const through = this.#log.lastSequence
    const asked: Asked = { id, visible, passed: new Set(), isCut: false }
    let text = index.find(asked)
    while (text === undefined && (asked.isCut || !index.holds(through)) && isWanted()) {
      const failure = await this.#nextTurn(index)
      text = index.find(asked)
      // What has come since is read first, and may be readable.
      if (text === undefined && failure !== undefined && !asked.isCut && index.reaches(through)) throw failure.error
    }
    return text === undefined ? { isWhole: index.isWhole(through) } : { text, isWhole: true }
  }

  /** All that wait share a turn; nobody waits, and nothing is read. */
  #nextTurn(index: Index): Promise<Failure> {
    this.#turn ??= this.#turns.next(() => {
      this.#turn = undefined
      return index.readOn()
    })
    return this.#turn
  }
}

/**
 * What was read: the rows from `#low` to `#high`. While those that have come since are being read, newest first, also the
 * rows from `#from` to `#top`, and between the two is what is still to be read; else `#high` is `#top`.
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

  /** Text of the newest event that was read and is asked for. */
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
      // Retention takes the oldest first: those before it are gone as well.
      if (text === undefined) return undefined
      if (idOfText(text) === id && visible.matchesText(text)) return text
      chars += text.length
      passed.add(sequence)
    }
    return undefined
  }

  /** Whether no event up to this sequence is left to be read but older ones than all that were read. */
  reaches(sequence: number): boolean {
    return this.#high >= sequence
  }

  /** Whether every event up to this sequence that is to be looked at was read. */
  holds(sequence: number): boolean {
    return this.reaches(sequence) && this.#low <= this.#floor
  }

  /** Whether every event up to this sequence that the log has was read. */
  isWhole(sequence: number): boolean {
    return this.reaches(sequence) && this.#low <= this.#log.oldestSequence
  }

  /** Reads a page of what has come since, if anything has, and a page of what is older than all that was read. */
  readOn(): Failure {
    try {
      this.#readNewer()
      if (this.#low > this.#floor) this.#low = this.#read(this.#low, this.#floor)
      return undefined
    } catch (error) {
      return { error }
    }
  }

  /** The oldest sequence that is to be looked at. */
  get #floor(): number {
    return Math.max(this.#log.oldestSequence, this.#top - this.#rowsMax + 1)
  }

  #readNewer(): void {
    if (this.#high === this.#top && this.#log.lastSequence > this.#top) this.#rise()
    if (this.#high === this.#top) return
    try {
      this.#from = this.#read(this.#from, this.#high + 1)
    } catch (error) {
      // There is no way past a row that cannot be read: what was read before is left for what came after it.
      this.#low = this.#from
      this.#high = this.#top
      throw error
    }
    if (this.#from === this.#high + 1) this.#high = this.#top
  }

  /** To the end of the log, as it is now. When all that was read is too old, one begins anew there. */
  #rise(): void {
    this.#top = this.#log.lastSequence
    this.#hashes.moveTo(this.#top)
    this.#from = this.#top + 1
    this.#low = Math.max(this.#low, this.#top - this.#rowsMax + 1)
    if (this.#low <= this.#high + 1) return
    this.#low = this.#from
    this.#high = this.#top
  }

  /** Reads a page of the rows before `before`, newest first, to `downTo`. Returns the last of them, `downTo` when there are none. */
  #read(before: number, downTo: number): number {
    const limit = Math.min(rowsPerTurnMax, before - downTo)
    const { events } = this.#log.eventsBackward(before, limit, charsPerTurnMax)
    for (const { sequence, text } of events) this.#hashes.put(sequence, this.#hash.of(idOfText(text)))
    return events.at(-1)?.sequence ?? downTo
  }
}
