/**
 * Tells in the service's log that its home is an older copy of itself. A service cannot see that by itself: who had been told of
 * what the copy lacks, and comes back with that cursor, is the first to know.
 */
import type { Logger } from '../runtime/log.ts'

export class LostPast {
  readonly #log: Logger
  #isTold = false

  constructor(log: Logger) {
    this.#log = log
  }

  /** Once a start: whoever else comes back says the same. */
  tell(cursor: string): void {
    if (this.#isTold) return
    this.#isTold = true
    this.#log.error(
      { cursor },
      'a cursor names events that this home does not hold: an older copy of it was put back, and what runners did since may be handed out again',
    )
  }
}
