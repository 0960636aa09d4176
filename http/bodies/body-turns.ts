/**
 * Bodies take turns. Parsing a megabyte takes the main thread four milliseconds, or a hundred if it consists of many
 * tiny values, so many bodies that end at one moment would hold up everybody else for seconds. Each turn of the event
 * loop therefore parses only some milliseconds' worth of bodies; the rest wait in one queue as raw bytes.
 */
import type { Platform } from '../../runtime/api.ts'

/** A body up to this size waits only behind others as small: parsing it usually takes 0.02 ms, at worst 3. */
export const SMALL_BODY_BYTES = 32 * 1024
/** Time for all bodies in one turn; a body begun within it is read to its end. */
const TURN_MS = 10
/** The same for small bodies: enough for two thousand usual ones. */
const SMALL_TURN_MS = 40

/** A complete body that is to be parsed, or part of an upload. */
export interface Waiting {
  /** Reads it, after `waitedMs` in the queue. Must not throw. It may queue again. */
  takeTurn(waitedMs: number): void
}

/** Hot: two clock reads for each body. */
export class BodyTurns {
  readonly #platform: Pick<Platform, 'monotonicMs' | 'nextTurn'>
  readonly #line: { readonly body: Waiting; readonly sinceMs: number }[] = []
  /** Time spent in the current turn. */
  #spentMs = 0
  #isReading = false
  #isTurnDue = false

  constructor(platform: Pick<Platform, 'monotonicMs' | 'nextTurn'>) {
    this.#platform = platform
  }

  /** Whether the current turn has time left for a small body. */
  get hasTimeForSmall(): boolean {
    return this.#spentMs < SMALL_TURN_MS
  }

  /** Reads the body at once, or queues it behind those that wait. */
  stand(body: Waiting): void {
    const hasTime = this.#line.length === 0 && this.#spentMs < TURN_MS && !this.#isReading
    if (hasTime) {
      this.read(() => body.takeTurn(0))
      return
    }
    this.#line.push({ body, sinceMs: this.#platform.monotonicMs() })
    this.#goOnLater()
  }

  /** Reads a body now, and counts the time that it takes. */
  read(read: () => void): void {
    const fromMs = this.#platform.monotonicMs()
    this.#isReading = true
    try {
      read()
    } finally {
      this.#isReading = false
      this.#spentMs += this.#platform.monotonicMs() - fromMs
      this.#goOnLater()
    }
  }

  #turn(): void {
    this.#isTurnDue = false
    this.#spentMs = 0
    let taken = 0
    for (; taken < this.#line.length && this.#spentMs < TURN_MS; taken += 1) {
      const { body, sinceMs } = this.#line[taken]!
      this.read(() => body.takeTurn(this.#platform.monotonicMs() - sinceMs))
    }
    this.#line.splice(0, taken)
  }

  #goOnLater(): void {
    if (this.#isTurnDue) return
    this.#isTurnDue = true
    this.#platform.nextTurn(() => this.#turn())
  }
}
