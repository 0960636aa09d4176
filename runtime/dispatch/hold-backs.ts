/**
 * Queued requests whose actor refused an offer. Each is left out for a while, longer at each refusal, so that one that
 * cannot be offered (its record is unreadable) does not block the others.
 */
import type { Platform } from '../api.ts'
import { Later, type TimerWheel } from './wheel.ts'

const holdBackMs = 1_000
const holdBackMsMax = 60_000

export class HoldBacks {
  private readonly platform: Platform
  private readonly wheel: TimerWheel
  private readonly end: (id: string) => void
  /** Requests left out because of a bug met at them: the guard decides for how long. */
  readonly mistaken = new Set<string>()
  /** Consecutive refusals, by request. */
  private readonly refusals = new Map<string, number>()

  /** `end` is called when the request may be offered again. */
  constructor(platform: Platform, wheel: TimerWheel, end: (id: string) => void) {
    this.platform = platform
    this.wheel = wheel
    this.end = end
  }

  hold(id: string): void {
    const before = this.refusals.get(id) ?? 0
    this.refusals.set(id, before + 1)
    const waitMs = Math.min(holdBackMs * 2 ** before, holdBackMsMax)
    const later = new Later(() => this.end(id), { kind: 'run_request', id })
    this.wheel.add(later, this.platform.monotonicMs() + waitMs)
  }

  /** The request has left the queue. */
  forget(id: string): void {
    if (this.refusals.size > 0) this.refusals.delete(id)
    if (this.mistaken.size > 0) this.mistaken.delete(id)
  }
}
