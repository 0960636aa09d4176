/**
 * Tells in the service's log that its event log cannot be read where a stream needs it. Whoever watches comes back at once, and meets the
 * same again: what goes on is told once, however many come back.
 */
import type { Nature } from '../api.ts'
import type { Logger } from '../log.ts'
import { unreadableFaultsMax, unreadableQuietMs } from './limits.ts'

export class Unreadable {
  readonly #nature: Pick<Nature, 'monotonicMs'>
  readonly #log: Logger
  /** When each fault was met last, by its words; the one that was longest ago first. */
  readonly #metMs = new Map<string, number>()

  constructor(nature: Pick<Nature, 'monotonicMs'>, log: Logger) {
    this.#nature = nature
    this.#log = log
  }

  /** @param after the sequence behind which a stream goes no further */
  tell(error: Error, after: number): void {
    const { message } = error
    const nowMs = this.#nature.monotonicMs()
    const metMs = this.#metMs.get(message)
    this.#metMs.delete(message)
    this.#metMs.set(message, nowMs)
    const [oldest] = this.#metMs.keys()
    if (this.#metMs.size > unreadableFaultsMax) this.#metMs.delete(oldest!)
    if (metMs !== undefined && nowMs - metMs < unreadableQuietMs) return
    this.#log.error({ err: error, after }, 'the log cannot be read: streams that need what is there end')
  }
}
