/** The real clocks, which a test can put forward: what would be due by then is due at once. */
import type { Nature } from '../../runtime/api.ts'
import { realNature } from '../../storage/nature.ts'

interface Timer {
  readonly atMs: number
  readonly callback: () => void
  handle: unknown
}

export class HurriedNature implements Nature {
  #aheadMs = 0
  readonly #timers = new Set<Timer>()

  wallMs(): number {
    return realNature.wallMs() + this.#aheadMs
  }

  monotonicMs(): number {
    return realNature.monotonicMs() + this.#aheadMs
  }

  randomHex(digits: number): string {
    return realNature.randomHex(digits)
  }

  setTimer(callback: () => void, afterMs: number): unknown {
    const timer: Timer = { atMs: this.monotonicMs() + afterMs, callback, handle: undefined }
    this.#timers.add(timer)
    this.#arm(timer)
    return timer
  }

  clearTimer(timer: unknown): void {
    if (timer === undefined) return
    realNature.clearTimer((timer as Timer).handle)
    this.#timers.delete(timer as Timer)
  }

  nextTurn(callback: () => void): void {
    realNature.nextTurn(callback)
  }

  hurry(ms: number): void {
    this.#aheadMs += ms
    for (const timer of this.#timers) {
      realNature.clearTimer(timer.handle)
      this.#arm(timer)
    }
  }

  #arm(timer: Timer): void {
    timer.handle = realNature.setTimer(
      () => {
        this.#timers.delete(timer)
        timer.callback()
      },
      Math.max(0, timer.atMs - this.monotonicMs()),
    )
  }
}
