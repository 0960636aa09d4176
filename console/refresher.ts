/**
 * Decides when to read something again that events say has changed. Invariant: after the last `ask`, it is read at
 * least once, until that has worked; never twice at the same time, and never more often than once per gap, however many
 * events come.
 */
import type { Document } from './document.ts'
import type { Live } from './live.ts'

/** What could not be read is tried again after this time. */
const RETRY_MS = 5_000
/** One action makes several events within a moment: they cause one read. */
const SETTLE_MS = 150

export class Refresher {
  readonly #read: () => Promise<boolean>
  readonly #gapMs: () => number
  #timer: ReturnType<typeof setTimeout> | undefined
  #isReading = false
  #isAsked = false
  #isClosed = false
  #lastMs = Number.NEGATIVE_INFINITY

  /**
   * `read` must not reject; false: it did not work, and may work later. `gapMs` is the shortest time between two reads,
   * at the moment.
   */
  constructor(read: () => Promise<boolean>, gapMs: () => number) {
    this.#read = read
    this.#gapMs = gapMs
  }

  /** Something has changed. */
  ask(): void {
    this.#isAsked = true
    if (this.#isReading || this.#timer !== undefined) return
    this.#wait(Math.max(SETTLE_MS, this.#lastMs + this.#gapMs() - performance.now()))
  }

  /** What waits to be read is read at once. */
  hurry(): void {
    if (this.#timer !== undefined) void this.#go()
  }

  /** Reads at once. */
  async now(): Promise<void> {
    this.#isAsked = true
    if (!this.#isReading) await this.#go()
  }

  /**
   * Reads at once, and again when the stream starts anew; what waits is read as soon as the stream is live again.
   * Returns the function that ends it, and this refresher.
   */
  follow(live: Live, events: (events: readonly Document[]) => void): () => void {
    const endListening = live.listen({ begin: () => this.ask(), events })
    const endWatching = live.onConnection((connection) => {
      if (connection === 'live') this.hurry()
    })
    void this.now()
    return () => {
      this.close()
      endListening()
      endWatching()
    }
  }

  close(): void {
    this.#isClosed = true
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => void this.#go(), ms)
  }

  async #go(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#isClosed) return
    this.#isReading = true
    this.#isAsked = false
    const isRead = await this.#read()
    this.#isReading = false
    this.#lastMs = performance.now()
    if (this.#isClosed) return
    if (!isRead) this.#wait(RETRY_MS)
    else if (this.#isAsked) this.ask()
  }
}
