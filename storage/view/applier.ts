/**
 * Carries batches from the log into the view, after they have been acknowledged. One fold collects new batches while
 * the one before it is being written; reads by key check both before the view. All writes of the view go through here,
 * one at a time. A fold that cannot be written is a failed commit, and ends the journal.
 */
import type { Marker } from '../environments.ts'
import { ViewBehind } from '../journal.ts'
import type { Batch } from '../log/redo.ts'
import type { Platform } from '../platform.ts'
import { Fold } from './fold.ts'
import { NotBegun } from './recorded-tables.ts'
import type { View } from './view.ts'

/**
 * How long a fold collects batches before it is written when nobody waits for it. Steps of one actor merge in it: a
 * run that is over within this time becomes one row, without index rows for the states it went through.
 */
const LINGER_MS = 300
/** Weight (about one per step) at which a fold is written at once. */
const FOLD_WEIGHT_MAX = 4_000
/** Estimated backlog of the applier beyond which appends wait. */
const BACKLOG_MS_MAX = 400
/** Below this weight the estimate is meaningless. */
const BACKLOG_WEIGHT_MIN = 8_192
/**
 * Backlog at which the journal refuses writes outright. Turns that wait for room leave far less than this, unless the
 * view is stuck.
 */
const BACKLOG_REFUSED_MS = 10_000
/** First guess of the cost of one unit of weight; measured from then on. */
const WEIGHT_MS_FIRST = 0.015
/** The cost of a smaller fold is nearly all flush, and says nothing about the cost of a step. */
const MEASURED_WEIGHT_MIN = 256
const MEASURED_SHARE = 0.2

interface Waiter {
  readonly batch: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  timer: unknown
}

interface Exclusive {
  readonly write: () => Promise<void>
  readonly reject: (error: Error) => void
}

export class Applier {
  /** Last batch and sequence that the view holds on disk. */
  applied: Marker
  readonly #view: View
  readonly #platform: Platform
  readonly #onApplied: (batch: number) => void
  readonly #onFailure: (error: unknown) => Error
  #pending = new Fold()
  #writing: Fold | undefined
  /** True while anything is writing the view. */
  #busy = false
  #running: Promise<unknown> = Promise.resolve()
  #failure: Error | undefined
  #timer: unknown
  #held = false
  #weightMs = WEIGHT_MS_FIRST
  #waiters: Waiter[] = []
  #forRoom: (() => void)[] = []
  #exclusive: Exclusive[] = []

  constructor(
    view: View,
    applied: Marker,
    platform: Platform,
    onApplied: (batch: number) => void,
    onFailure: (error: unknown) => Error,
  ) {
    this.#view = view
    this.#platform = platform
    this.applied = applied
    this.#onApplied = onApplied
    this.#onFailure = onFailure
  }

  /** Folds not yet in the view, newest first. */
  folds(): readonly Fold[] {
    if (this.#writing !== undefined) return [this.#pending, this.#writing]
    return [this.#pending]
  }

  /**
   * Folds that a read of the view in this turn does not see. A fold is on disk a moment before its write is known to
   * have ended; added to the view then, it would count twice.
   */
  foldsUnseen(): readonly Fold[] {
    const writing = this.#writing
    if (writing === undefined) return [this.#pending]
    return (this.#view.marker()?.batch ?? 0) >= writing.lastBatch ? [this.#pending] : [this.#pending, writing]
  }

  /** The newest answer that any fold gives. */
  overlay<V>(ask: (fold: Fold) => V | undefined): V | undefined {
    return ask(this.#pending) ?? (this.#writing === undefined ? undefined : ask(this.#writing))
  }

  /** Adds a batch that is never written, because the disk is full. From then on the view is not written any more. */
  hold(batch: Batch): void {
    this.#held = true
    this.#pending.add(batch)
  }

  add(batch: Batch): void {
    this.#pending.add(batch)
    if (this.#pending.weight >= FOLD_WEIGHT_MAX) this.#start()
    else this.#linger()
  }

  /** Resolves when the view holds everything up to `batch`; rejects with ViewBehind after `withinMs`, if given. */
  reached(batch: number, withinMs?: number): Promise<void> {
    if (this.applied.batch >= batch) return Promise.resolve()
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#held) return Promise.reject(new ViewBehind('the disk is full: the last batches are not in the view'))
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { batch, resolve, reject, timer: undefined }
      if (withinMs !== undefined) {
        waiter.timer = this.#platform.setTimer(() => {
          this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
          reject(new ViewBehind(`the view is at batch ${this.applied.batch}, not yet at ${batch}`))
        }, withinMs)
      }
      this.#waiters.push(waiter)
      this.#start()
    })
  }

  /**
   * Runs a write of the view between two folds. Rejects with NotBegun if nothing is half done and the caller may ask
   * again; otherwise with the journal's failure, which has been reported by then.
   */
  exclusive<V>(write: () => Promise<V>): Promise<V> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => {
      const attempt = async () => {
        try {
          resolve(await write())
        } catch (error) {
          if (error instanceof NotBegun) return reject(error)
          const failure = this.#onFailure(error)
          reject(failure)
          throw failure
        }
      }
      this.#exclusive.push({ write: attempt, reject })
      this.#start()
    })
  }

  backlogMs(): number {
    const weight = this.#pending.weight + (this.#writing?.weight ?? 0)
    return weight < BACKLOG_WEIGHT_MIN ? 0 : weight * this.#weightMs
  }

  get refuses(): boolean {
    return this.backlogMs() > BACKLOG_REFUSED_MS
  }

  waitForRoom(resume: () => void): boolean {
    if (this.#held || this.#failure !== undefined || this.backlogMs() <= BACKLOG_MS_MAX) return false
    this.#forRoom.push(resume)
    this.#start()
    return true
  }

  /** Resolves when nothing is writing the view, whether or not what was written succeeded. Call it after `fail`. */
  async atRest(): Promise<void> {
    await this.#running
  }

  fail(error: Error): void {
    this.#failure ??= error
    this.#platform.clearTimer(this.#timer)
    for (const waiter of this.#waiters.splice(0)) {
      this.#platform.clearTimer(waiter.timer)
      waiter.reject(error)
    }
    for (const { reject } of this.#exclusive.splice(0)) reject(error)
    for (const resume of this.#forRoom.splice(0)) resume()
  }

  /** The timer may also fire during a write; the end of the write then arms the next one. */
  #linger(): void {
    this.#timer ??= this.#platform.setTimer(() => {
      this.#timer = undefined
      this.#start()
    }, LINGER_MS)
  }

  #start(): void {
    if (this.#busy || this.#held || this.#failure !== undefined) return
    this.#busy = true
    this.#platform.clearTimer(this.#timer)
    this.#timer = undefined
    this.#running = this.#run().catch((error: unknown) => this.#onFailure(error))
  }

  async #run(): Promise<void> {
    let first = true
    while (this.#failure === undefined) {
      // Exclusive writes go before the pending fold, which may build on what they remove.
      const next = this.#exclusive.shift()
      if (next !== undefined) await next.write()
      else if (!this.#pending.empty && (first || this.#hurried)) await this.#apply()
      else break
      first = false
    }
    this.#busy = false
    if (!this.#pending.empty) this.#linger()
  }

  /** Somebody waits for what is pending, or there is a lot of it. */
  get #hurried(): boolean {
    return this.#waiters.length > 0 || this.#forRoom.length > 0 || this.#pending.weight >= FOLD_WEIGHT_MAX
  }

  async #apply(): Promise<void> {
    const fold = this.#pending
    this.#writing = fold
    this.#pending = new Fold()
    const startedMs = this.#platform.monotonicMs()
    const marker = await this.#view.write(fold, this.applied.epoch, () => this.#waiters.length > 0)
    this.#writing = undefined
    this.applied = marker
    if (fold.weight >= MEASURED_WEIGHT_MIN) {
      const weightMs = (this.#platform.monotonicMs() - startedMs) / fold.weight
      this.#weightMs += MEASURED_SHARE * (weightMs - this.#weightMs)
    }
    this.#onApplied(marker.batch)
    const waiting = this.#waiters
    this.#waiters = waiting.filter((waiter) => waiter.batch > marker.batch)
    for (const waiter of waiting) {
      if (waiter.batch > marker.batch) continue
      this.#platform.clearTimer(waiter.timer)
      waiter.resolve()
    }
    if (this.backlogMs() <= BACKLOG_MS_MAX) for (const resume of this.#forRoom.splice(0)) resume()
  }
}
