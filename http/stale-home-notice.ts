/**
 * Logs that the home is an older copy of itself. The service cannot detect that on its own; the first sign is a client
 * that resumes with a cursor for events that the copy lacks.
 */
import type { Logger } from '../runtime/log.ts'

export class StaleHomeNotice {
  readonly #log: Logger
  #isTold = false

  constructor(log: Logger) {
    this.#log = log
  }

  /** Logs once per start: further such cursors would say the same. */
  tell(cursor: string): void {
    if (this.#isTold) return
    this.#isTold = true
    this.#log.error(
      { cursor },
      'a cursor names events that this home does not hold: an older copy was restored, and work that runners did since may be handed out again',
    )
  }
}
