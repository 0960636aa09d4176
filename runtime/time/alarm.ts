/** One event-loop timer, set to the earliest of many times. It rings once and must then be set again. */
import type { Platform } from '../api.ts'
import { timerDelayMsMax } from '../limits.ts'

export class Alarm {
  private readonly platform: Platform
  private readonly ring: (lateMs: number) => void
  private timer: unknown
  /** Monotonic time at which the alarm rings. */
  private atMs = Number.POSITIVE_INFINITY

  /** @param ring receives how late the alarm rings, milliseconds. */
  constructor(platform: Platform, ring: (lateMs: number) => void) {
    this.platform = platform
    this.ring = ring
  }

  /** Ring after this many milliseconds at the latest; an earlier setting stands. */
  set(afterMs: number): void {
    const delayMs = Math.ceil(Math.min(Math.max(0, afterMs), timerDelayMsMax))
    const atMs = this.platform.monotonicMs() + delayMs
    if (atMs >= this.atMs) return
    this.clear()
    this.atMs = atMs
    this.timer = this.platform.setTimer(() => {
      this.clear()
      this.ring(this.platform.monotonicMs() - atMs)
    }, delayMs)
  }

  clear(): void {
    if (this.timer !== undefined) this.platform.clearTimer(this.timer)
    this.timer = undefined
    this.atMs = Number.POSITIVE_INFINITY
  }
}
