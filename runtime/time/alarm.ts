/** One timer of the event loop, set to the earliest of many times: it rings, and is set anew. */
import type { Nature } from '../api.ts'
import { timerDelayMsMax } from '../limits.ts'

export class Alarm {
  private readonly nature: Nature
  private readonly ring: (lateMs: number) => void
  private timer: unknown
  /** Monotonic time at which it rings. */
  private atMs = Number.POSITIVE_INFINITY

  /** @param ring told by how much it rings later than it was set to, milliseconds. */
  constructor(nature: Nature, ring: (lateMs: number) => void) {
    this.nature = nature
    this.ring = ring
  }

  /** Ring after this many milliseconds at the latest; an earlier setting stands. */
  set(afterMs: number): void {
    const delayMs = Math.ceil(Math.min(Math.max(0, afterMs), timerDelayMsMax))
    const atMs = this.nature.monotonicMs() + delayMs
    if (atMs >= this.atMs) return
    this.clear()
    this.atMs = atMs
    this.timer = this.nature.setTimer(() => {
      this.clear()
      this.ring(this.nature.monotonicMs() - atMs)
    }, delayMs)
  }

  clear(): void {
    if (this.timer !== undefined) this.nature.clearTimer(this.timer)
    this.timer = undefined
    this.atMs = Number.POSITIVE_INFINITY
  }
}
