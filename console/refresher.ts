/**
 * Decides when to read something again that events say has changed. Invariant: after the last `ask`, it is read at
 * least once; never twice at the same time, and never more often than once per `GAP_MS`, however many events come.
 */

/** At most one read per second of each thing shown. */
const GAP_MS = 1_000
/** One action makes several events within a moment: they cause one read. */
const SETTLE_MS = 150

export class Refresher {
  readonly #read: () => Promise<void>
  #timer: ReturnType<typeof setTimeout> | undefined
  #isReading = false
  #isAsked = false
  #isClosed = false
  #lastMs = Number.NEGATIVE_INFINITY

  /** `read` must not reject. */
  constructor(read: () => Promise<void>) {
    this.#read = read
  }

  /** Something has changed. */
  ask(): void {
    if (this.#isClosed) return
    this.#isAsked = true
    if (this.#isReading || this.#timer !== undefined) return
    const waitMs = Math.max(SETTLE_MS, this.#lastMs + GAP_MS - performance.now())
    this.#timer = setTimeout(() => void this.#go(), waitMs)
  }

  /** Reads at once. */
  async now(): Promise<void> {
    this.#isAsked = true
    if (!this.#isReading) await this.#go()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #go(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#isClosed) return
    this.#isReading = true
    this.#isAsked = false
    await this.#read()
    this.#isReading = false
    this.#lastMs = performance.now()
    if (this.#isAsked) this.ask()
  }
}
