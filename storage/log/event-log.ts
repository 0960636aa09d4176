/**
 * The log: events by sequence without a hole, the redo of batches that the view does not hold yet, and the head.
 * Every write is one `transactionSync` with a braced callback (a returned promise would leave the transaction
 * open): when it returns the batch is on disk, when it throws nothing of it is. Hot: one transaction a turn.
 */
import { CorruptRow } from '../checked-text.ts'
import {
  HEAD_EPOCH,
  HEAD_FLOOR,
  HEAD_FORGOTTEN,
  HEAD_INCARNATIONS,
  HEAD_LAST,
  HEAD_MACHINES,
  HEAD_SCHEMA,
  type LogTables,
} from '../environments.ts'
import { HomeRefused } from '../home/home-refused.ts'
import { machineVersions, SCHEMA_VERSION } from '../home/written-by.ts'
import type { EventPage, NewEvent, Step, StoredEvent } from '../journal.ts'
import type { Nature } from '../nature.ts'
import { bothForgotten, type ForgottenTimes, forgottenOf } from '../retention/forgotten-times.ts'
import { identityOf } from './event-identity.ts'
import { EventRows, namedAfter, pageOf } from './event-rows.ts'
import {
  type Incarnations,
  incarnationAt,
  incarnationsIn,
  type LogIdentity,
  mintEpoch,
  withNewIncarnation,
} from './log-identity.ts'
import { ChangeMisplaced } from './record-change.ts'
import { type Batch, BETWEEN_STEPS, decodeBatch, type RedoSources, stepTexts } from './redo.ts'

export class EventLog implements LogIdentity {
  readonly epoch: string
  lastBatch: number
  lastSequence: number
  /** First sequence that the log still holds. */
  oldestSequence: number
  /** Told how long each append took until it was on disk, milliseconds. */
  onFlush: ((ms: number) => void) | undefined = undefined
  readonly #tables: LogTables
  readonly #nature: Nature
  readonly #events: EventRows
  #incarnations: Incarnations
  #last: string
  #redoTrimmed = 0
  #isRedoKept = false
  /** Of the events before this one nothing but rows is left. */
  #clearedTo = 0
  #applied = 0

  /** Reads the head; a log without one is made, with a fresh epoch. */
  constructor(tables: LogTables, nature: Nature) {
    this.#tables = tables
    this.#nature = nature
    this.#events = new EventRows(tables.events)
    if (tables.head.get(HEAD_SCHEMA) === undefined) this.#create(mintEpoch(nature))
    this.epoch = tables.head.get(HEAD_EPOCH)!
    this.#last = tables.head.get(HEAD_LAST)!
    const [batch, sequence] = this.#last.split(' ').map(Number)
    this.lastBatch = batch!
    this.lastSequence = sequence!
    this.oldestSequence = Number(tables.head.get(HEAD_FLOOR))
    this.#incarnations = incarnationsIn(tables.head.get(HEAD_INCARNATIONS))
    this.#redoTrimmed = this.lastBatch
    const first = this.firstRedo
    if (first !== undefined) this.#redoTrimmed = first - 1
  }

  incarnationAt(sequence: number): string | undefined {
    return incarnationAt(this.#incarnations, sequence)
  }

  /** The first batch that there is redo of. */
  get firstRedo(): number | undefined {
    for (const first of this.#tables.redo.getKeys({ limit: 1 })) return first
    return undefined
  }

  /** Makes one batch durable. Returns it with its length in characters; throws when nothing of it was written. */
  append(steps: readonly Step[]): { batch: Batch; chars: number } {
    const firstSequence = this.lastSequence + 1
    let lastSequence = this.lastSequence
    for (const step of steps) lastSequence += step.events.length
    const batch: Batch = { batch: this.lastBatch + 1, firstSequence, lastSequence, steps }
    const redoTexts = stepTexts(batch)
    const last = `${batch.batch} ${lastSequence}`
    const redoTo = this.#redoTo()
    let chars = 0
    const begunMs = this.onFlush === undefined ? 0 : performance.now()
    this.#tables.env.transactionSync(() => {
      const { redo, head } = this.#tables
      const events = this.#events.writer(firstSequence)
      for (const step of steps) for (const { text } of step.events) events.add(text)
      events.end()
      chars = events.chars
      for (const text of redoTexts) chars += text.length
      redo.append(batch.batch, redoTexts, BETWEEN_STEPS)
      head.put(HEAD_LAST, last)
      this.#trimRedo(redoTo)
    })
    this.onFlush?.(performance.now() - begunMs)
    this.#redoTrimmed = redoTo
    this.#last = last
    this.lastBatch = batch.batch
    this.lastSequence = lastSequence
    return { batch, chars }
  }

  /** While a backup runs the redo stays, so that its copy of the log reaches back to its copy of the view. Returns what lets it go. */
  keepRedo(): () => void {
    this.#isRedoKept = true
    return () => {
      this.#isRedoKept = false
    }
  }

  /** The view holds every batch up to this one on disk: their redo may go. */
  applied(batch: number): void {
    this.#applied = batch
  }

  /** What is recorded from here on is of a new incarnation. The same write as `flush`. */
  begin(): void {
    this.#incarnations = withNewIncarnation(this.#incarnations, this, this.#nature)
    this.flush()
  }

  /**
   * One flushed write: what an earlier process left visible and perhaps unflushed is on disk after it. The first makes
   * an older log one of this version, which older programs refuse, and is there before any record of its machines.
   */
  flush(): void {
    const redoTo = this.#redoTo()
    this.#tables.env.transactionSync(() => {
      this.#tables.head.put(HEAD_INCARNATIONS, JSON.stringify(this.#incarnations))
      this.#tables.head.put(HEAD_LAST, this.#last)
      this.#signHead()
      this.#trimRedo(redoTo)
    })
    this.#redoTrimmed = redoTo
  }

  /**
   * The batches after `batch`, in order and without a hole; each is to be taken in before the next is asked for, since it
   * stands upon the records that `recordBefore` gives. Throws HomeRefused.
   */
  *redoAfter(batch: number, recordBefore: RedoSources['recordBefore']): Generator<Batch> {
    let expected = batch + 1
    for (; expected <= this.lastBatch; expected += 1) {
      let text: string | undefined
      try {
        text = this.#tables.redo.get(expected)
      } catch (error) {
        if (!(error instanceof CorruptRow)) throw error
        throw new HomeRefused('corrupt', `redo of batch ${expected} does not match its checksum: restore a backup`)
      }
      if (text === undefined) {
        throw new HomeRefused(
          'redo_missing',
          `the view is at batch ${batch}, and the log has no redo of batch ${expected}: restore a backup`,
        )
      }
      yield this.#decoded(expected, text, recordBefore)
    }
  }

  /**
   * From here on the events before `sequence` are no part of the log, whether their rows are gone yet or not. Rows of
   * earlier steps of retention go in the same write. `times`: when these events were recorded.
   */
  raiseFloor(sequence: number, times: ForgottenTimes): void {
    this.#tables.env.transactionSync(() => {
      const { head } = this.#tables
      head.put(HEAD_FLOOR, String(sequence))
      head.put(HEAD_FORGOTTEN, JSON.stringify(bothForgotten(forgottenOf(head) ?? {}, times)))
      this.#events.removeBefore(this.#clearedTo)
    })
    this.oldestSequence = sequence
  }

  /** Nothing but their rows is left of the events before `sequence`: they go with the next raising of the floor. */
  cleared(sequence: number): void {
    this.#clearedTo = sequence
  }

  /** Nothing but rows is left below the floor: this process has cleared it. */
  get isCleared(): boolean {
    return this.#clearedTo >= this.oldestSequence
  }

  /** Deletes the rows that are cleared. */
  removeCleared(): void {
    this.#tables.env.transactionSync(() => {
      this.#events.removeBefore(this.#clearedTo)
    })
  }

  page(afterSequence: number, limit: number, bytesMax: number): EventPage {
    const oldestSequence = Number(this.#tables.head.get(HEAD_FLOOR))
    const start = Math.max(afterSequence + 1, oldestSequence)
    const events = pageOf(this.#events, start, limit, bytesMax)
    return { events, oldestSequence, lastSequence: this.lastSequence }
  }

  pageBackward(beforeSequence: number, limit: number, bytesMax: number): EventPage {
    const oldestSequence = Number(this.#tables.head.get(HEAD_FLOOR))
    const page = { events: [] as StoredEvent[], oldestSequence, lastSequence: this.lastSequence }
    const start = Math.min(beforeSequence - 1, this.lastSequence)
    let chars = 0
    let expected = start
    try {
      for (const { first, texts } of this.#events.backFrom(start)) {
        for (let i = Math.min(texts.length - 1, start - first); i >= 0; i -= 1) {
          if (first + i < oldestSequence || page.events.length === limit) return page
          chars += texts[i]!.length
          if (chars > bytesMax && page.events.length > 0) return page
          page.events.push({ sequence: first + i, text: texts[i]! })
        }
        expected = first - 1
        if (page.events.length === limit || expected < oldestSequence) return page
      }
    } catch (error) {
      if (page.events.length === 0) throw namedAfter(error, expected)
    }
    return page
  }

  event(sequence: number): string | undefined {
    if (sequence < this.oldestSequence) return undefined
    try {
      return this.#events.get(sequence)
    } catch (error) {
      throw namedAfter(error, sequence)
    }
  }

  #decoded(number: number, text: string, recordBefore: RedoSources['recordBefore']): Batch {
    try {
      return decodeBatch(text, { eventAt: (sequence) => this.#eventAt(sequence), recordBefore })
    } catch (error) {
      if (!(error instanceof ChangeMisplaced)) throw error
      const message = `redo of batch ${number} does not follow what is before it (${error.message}): restore a backup`
      throw new HomeRefused('corrupt', message, { cause: error })
    }
  }

  #eventAt(sequence: number): NewEvent {
    const text = this.event(sequence)
    if (text === undefined) throw new HomeRefused('corrupt', `event ${sequence} is missing: restore a backup`)
    const { id, project, traceId } = identityOf(text)
    return { id, project, traceId, text }
  }

  /** The last batch whose redo may go with the next write. */
  #redoTo(): number {
    return this.#isRedoKept ? this.#redoTrimmed : Math.max(this.#redoTrimmed, this.#applied)
  }

  #trimRedo(to: number): void {
    if (to > this.#redoTrimmed) this.#tables.redo.removeBefore(to + 1)
  }

  #create(epoch: string): void {
    this.#tables.env.transactionSync(() => {
      const { head } = this.#tables
      this.#signHead()
      head.put(HEAD_EPOCH, epoch)
      head.put(HEAD_LAST, '0 0')
      head.put(HEAD_FLOOR, '1')
    })
  }

  /** Within a transaction: whoever is older refuses the log from then on. */
  #signHead(): void {
    this.#tables.head.put(HEAD_SCHEMA, String(SCHEMA_VERSION))
    this.#tables.head.put(HEAD_MACHINES, JSON.stringify(machineVersions()))
  }
}
