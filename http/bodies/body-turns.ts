/**
 * Bodies take turns. To read a megabyte takes the main thread four milliseconds, or a hundred where it is made of little things: many that
 * end at one moment would hold up everybody else for seconds. So some milliseconds of them are read in one turn of the event loop, and
 * what comes beyond stands as the bytes that came, in one line.
 */
import type { Nature } from '../../runtime/api.ts'

/** A smaller body waits only for others that are as small: the usual takes 0.02 ms, the worst 3. */
export const SMALL_BODY_BYTES = 32 * 1024
/** Of all bodies in one turn; one that is begun before is read to its end. */
const TURN_MS = 10
/** The same for small ones: two thousand of the usual. */
const SMALL_TURN_MS = 40

/** A body that has come, or a part of one. */
export interface Waiting {
  /** Reads it, after so many milliseconds; must not throw. It may stand again. */
  takeTurn(waitedMs: number): void
}

/** Hot: two looks at the clock for each body. */
export class BodyTurns {
  readonly #nature: Pick<Nature, 'monotonicMs' | 'nextTurn'>
  readonly #line: { readonly body: Waiting; readonly sinceMs: number }[] = []
  /** Of the present turn. */
  #spentMs = 0
  #isReading = false
  #isTurnDue = false

  constructor(nature: Pick<Nature, 'monotonicMs' | 'nextTurn'>) {
    this.#nature = nature
  }

  /** Whether a small body may be read at once. */
  get hasTimeForSmall(): boolean {
    return this.#spentMs < SMALL_TURN_MS
  }

  /** The body is read at once, or behind those that wait. */
  stand(body: Waiting): void {
    const hasTime = this.#line.length === 0 && this.#spentMs < TURN_MS && !this.#isReading
    if (hasTime) {
      this.read(() => body.takeTurn(0))
      return
    }
    this.#line.push({ body, sinceMs: this.#nature.monotonicMs() })
    this.#goOnLater()
  }

  /** Reads one now, and counts the time that it takes. */
  read(read: () => void): void {
    const fromMs = this.#nature.monotonicMs()
    this.#isReading = true
    try {
      read()
    } finally {
      this.#isReading = false
      this.#spentMs += this.#nature.monotonicMs() - fromMs
      this.#goOnLater()
    }
  }

  #turn(): void {
    this.#isTurnDue = false
    this.#spentMs = 0
    let taken = 0
    for (; taken < this.#line.length && this.#spentMs < TURN_MS; taken += 1) {
      const { body, sinceMs } = this.#line[taken]!
      this.read(() => body.takeTurn(this.#nature.monotonicMs() - sinceMs))
    }
    this.#line.splice(0, taken)
  }

  #goOnLater(): void {
    if (this.#isTurnDue) return
    this.#isTurnDue = true
    this.#nature.nextTurn(() => this.#turn())
  }
}
