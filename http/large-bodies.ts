/**
 * Large bodies take turns. To read a megabyte takes the main thread four milliseconds, or a hundred where it is made of little things: many
 * that end at one moment would hold up everybody else for seconds. So a few milliseconds of them are read in one turn of the event
 * loop, and what comes beyond stands as the bytes that came.
 */
import type { Nature } from '../runtime/api.ts'

/** A smaller body has no turn to wait for: the worst of them takes some 3 ms, the usual 0.1. */
export const LARGE_BODY_BYTES = 32 * 1024
/** One that is begun before is read to its end. */
const TURN_MS = 10

/** A body that has come. */
export interface Waiting {
  /** Reads it, after so many milliseconds; must not throw. */
  takeTurn(waitedMs: number): void
}

export class LargeBodies {
  readonly #nature: Pick<Nature, 'monotonicMs' | 'nextTurn'>
  readonly #line: { readonly body: Waiting; readonly sinceMs: number }[] = []
  /** Of the present turn. */
  #spentMs = 0
  #isTurnDue = false

  constructor(nature: Pick<Nature, 'monotonicMs' | 'nextTurn'>) {
    this.#nature = nature
  }

  /** The body is read at once, or behind those that wait. */
  stand(body: Waiting): void {
    const nowMs = this.#nature.monotonicMs()
    if (this.#line.length === 0 && this.#spentMs < TURN_MS) this.#read(body, nowMs, nowMs)
    else this.#line.push({ body, sinceMs: nowMs })
    this.#goOnLater()
  }

  #turn(): void {
    this.#isTurnDue = false
    this.#spentMs = 0
    let taken = 0
    for (; taken < this.#line.length && this.#spentMs < TURN_MS; taken += 1) {
      const { body, sinceMs } = this.#line[taken]!
      this.#read(body, sinceMs, this.#nature.monotonicMs())
    }
    this.#line.splice(0, taken)
    if (taken > 0) this.#goOnLater()
  }

  #read(body: Waiting, sinceMs: number, nowMs: number): void {
    body.takeTurn(nowMs - sinceMs)
    this.#spentMs += this.#nature.monotonicMs() - nowMs
  }

  #goOnLater(): void {
    if (this.#isTurnDue) return
    this.#isTurnDue = true
    this.#nature.nextTurn(() => this.#turn())
  }
}
