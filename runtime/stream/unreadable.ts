/**
 * Logs that the event log cannot be read where a stream needs it. Watchers reconnect at once and meet the same fault
 * again, so a persistent fault is logged once, however many come back.
 */
import type { Platform } from '../api.ts'
import type { Logger } from '../log.ts'
import { unreadableFaultsMax, unreadableQuietMs } from './limits.ts'

export class Unreadable {
  readonly #platform: Pick<Platform, 'monotonicMs'>
  readonly #log: Logger
  /** When each fault was last met, by its message, least recent first. */
  readonly #metMs = new Map<string, number>()

  constructor(platform: Pick<Platform, 'monotonicMs'>, log: Logger) {
    this.#platform = platform
    this.#log = log
  }

  /** @param after the sequence after which a stream cannot continue */
  tell(error: Error, after: number): void {
    const { message } = error
    const nowMs = this.#platform.monotonicMs()
    const metMs = this.#metMs.get(message)
    this.#metMs.delete(message)
    this.#metMs.set(message, nowMs)
    const [oldest] = this.#metMs.keys()
    if (this.#metMs.size > unreadableFaultsMax) this.#metMs.delete(oldest!)
    if (metMs !== undefined && nowMs - metMs < unreadableQuietMs) return
    this.#log.error({ err: error, after }, 'the log cannot be read: ending the streams that need this part')
  }
}
