/**
 * The log: events by sequence without gaps, the redo of batches that the view does not hold yet, and the head. Every
 * write is one `transactionSync` with a braced callback (a returned promise would leave the transaction open): when it
 * returns the batch is on disk, and when it throws nothing of it is. Hot: one transaction per turn.
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
import type { Platform } from '../platform.ts'
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
  /** Each receives how long each append took until it was on disk, milliseconds. */
  readonly onFlush: ((ms: number) => void)[] = []
  readonly #tables: LogTables
  readonly #platform: Platform
  readonly #events: EventRows
  #incarnations: Incarnations
  #last: string
  #redoTrimmed = 0
  #isRedoKept = false
  /** Events before this sequence have lost their ids and histories; only their rows are left. */
  #clearedTo = 0
  #applied = 0

  /** Reads the head. A log without one is new, and gets a fresh epoch. */
  constructor(tables: LogTables, platform: Platform) {
    this.#tables = tables
    this.#platform = platform
    this.#events = new EventRows(tables.events)
    if (tables.head.get(HEAD_SCHEMA) === undefined) this.#create(mintEpoch(platform))
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

  /** The oldest batch whose redo is still there. */
  get firstRedo(): number | undefined {
    for (const first of this.#tables.redo.getKeys({ limit: 1 })) return first
    return undefined
  }

  /** Makes one batch durable. Returns the batch and its length in characters. Throws if nothing of it was written. */
  append(steps: readonly Step[]): { batch: Batch; chars: number } {
    const firstSequence = this.lastSequence + 1
    let lastSequence = this.lastSequence
    for (const step of steps) lastSequence += step.events.length
    const batch: Batch = { batch: this.lastBatch + 1, firstSequence, lastSequence, steps }
    const redoTexts = stepTexts(batch)
    const last = `${batch.batch} ${lastSequence}`
    const redoTo = this.#redoTo()
    let chars = 0
    const begunMs = performance.now()
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
    const tookMs = performance.now() - begunMs
    for (const observe of this.onFlush) observe(tookMs)
    this.#redoTrimmed = redoTo
    this.#last = last
    this.lastBatch = batch.batch
    this.lastSequence = lastSequence
    return { batch, chars }
  }

  /**
   * Keeps the redo while a backup runs, so that its copy of the log reaches back to its copy of the view. Returns the
   * function that releases the redo.
   */
  keepRedo(): () => void {
    this.#isRedoKept = true
    return () => {
      this.#isRedoKept = false
    }
  }

  /** The view holds every batch up to this one on disk, so their redo may be dropped. */
  applied(batch: number): void {
    this.#applied = batch
  }

  /** Starts a new incarnation for everything recorded from here on. Writes what `flush` writes. */
  begin(): void {
    this.#incarnations = withNewIncarnation(this.#incarnations, this, this.#platform)
    this.flush()
  }

  /**
   * One flushed write, after which everything that an earlier process left visible but perhaps unflushed is on disk.
   * The first one turns an older log into one of this version, which older programs refuse, before any record of this
   * version's machines is written.
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
   * The batches after `batch`, in order and without gaps. Apply each one before asking for the next, whose records are
   * derived from what `recordBefore` returns by then. Throws HomeRefused.
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
          `the view is at batch ${batch}, but the log has no redo of batch ${expected}: restore a backup`,
        )
      }
      yield this.#decoded(expected, text, recordBefore)
    }
  }

  /**
   * Makes `sequence` the first event of the log, whether or not the rows before it are removed yet. The same write
   * removes the rows that earlier retention steps have cleared. `times`: when the events before `sequence` were
   * recorded.
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

  /** Only rows are left of the events before `sequence`; the next `raiseFloor` removes them. */
  cleared(sequence: number): void {
    this.#clearedTo = sequence
  }

  /** True if this process has cleared everything below the floor, so that only rows are left there. */
  get isCleared(): boolean {
    return this.#clearedTo >= this.oldestSequence
  }

  /** Deletes the rows of cleared events. */
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
      const message = `redo of batch ${number} does not follow the batches before it (${error.message}): restore a backup`
      throw new HomeRefused('corrupt', message, { cause: error })
    }
  }

  #eventAt(sequence: number): NewEvent {
    const text = this.event(sequence)
    if (text === undefined) throw new HomeRefused('corrupt', `event ${sequence} is missing: restore a backup`)
    const { id, project, traceId } = identityOf(text)
    return { id, project, traceId, text }
  }

  /** The last batch whose redo the next write may drop. */
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

  /** Call within a transaction. From its commit on, older programs refuse the log. */
  #signHead(): void {
    this.#tables.head.put(HEAD_SCHEMA, String(SCHEMA_VERSION))
    this.#tables.head.put(HEAD_MACHINES, JSON.stringify(machineVersions()))
  }
}
