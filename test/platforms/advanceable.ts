/** The real clocks, which a test can put forward: what would be due by then is due at once. */
import type { Platform } from '../../runtime/api.ts'
import { systemPlatform } from '../../storage/platform.ts'

interface Timer {
  readonly atMs: number
  readonly callback: () => void
  handle: unknown
}

/** Of what is set again and again only the first in one hurry. */
const RUNG_MAX = 10_000

export class AdvanceablePlatform implements Platform {
  #aheadMs = 0
  readonly #timers = new Set<Timer>()

  wallMs(): number {
    return systemPlatform.wallMs() + this.#aheadMs
  }

  monotonicMs(): number {
    return systemPlatform.monotonicMs() + this.#aheadMs
  }

  randomHex(digits: number): string {
    return systemPlatform.randomHex(digits)
  }

  setTimer(callback: () => void, afterMs: number): unknown {
    const timer: Timer = { atMs: this.monotonicMs() + afterMs, callback, handle: undefined }
    this.#timers.add(timer)
    this.#arm(timer)
    return timer
  }

  clearTimer(timer: unknown): void {
    if (timer === undefined) return
    systemPlatform.clearTimer((timer as Timer).handle)
    this.#timers.delete(timer as Timer)
  }

  nextTurn(callback: () => void): void {
    systemPlatform.nextTurn(callback)
  }

  /** Lets time pass: each timer rings at its own moment, those that they set, too. */
  advance(ms: number): void {
    const untilMs = this.monotonicMs() + ms
    for (let rung = 0; rung < RUNG_MAX; rung++) {
      let next: Timer | undefined
      for (const timer of this.#timers)
        if (timer.atMs <= untilMs && (next === undefined || timer.atMs < next.atMs)) next = timer
      if (next === undefined) break
      this.#aheadMs += Math.max(0, next.atMs - this.monotonicMs())
      this.clearTimer(next)
      next.callback()
    }
    this.#aheadMs += Math.max(0, untilMs - this.monotonicMs())
    for (const timer of this.#timers) {
      systemPlatform.clearTimer(timer.handle)
      this.#arm(timer)
    }
  }

  #arm(timer: Timer): void {
    timer.handle = systemPlatform.setTimer(
      () => {
        this.#timers.delete(timer)
        timer.callback()
      },
      Math.max(0, timer.atMs - this.monotonicMs()),
    )
  }
}
