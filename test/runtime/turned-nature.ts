/** A nature whose clocks are turned by hand: nothing happens until a test lets turns run or time pass. */
import type { Nature } from '../../runtime/api.ts'

interface PendingTimer {
  readonly atMs: number
  readonly callback: () => void
  live: boolean
}

export class TurnedNature implements Nature {
  private nowMs = 1_000
  private turns: (() => void)[] = []
  private timers: PendingTimer[] = []
  private hex = 0
  /** Wall clock minus monotonic clock. */
  private readonly wallOffsetMs: number

  constructor(wallStartMs = 1_700_000_000_000) {
    this.wallOffsetMs = wallStartMs - this.nowMs
  }

  wallMs(): number {
    return this.nowMs + this.wallOffsetMs
  }

  monotonicMs(): number {
    return this.nowMs
  }

  randomHex(digits: number): string {
    return (++this.hex).toString(16).padStart(digits, '0')
  }

  setTimer(callback: () => void, afterMs: number): unknown {
    const timer = { atMs: this.nowMs + afterMs, callback, live: true }
    this.timers.push(timer)
    return timer
  }

  clearTimer(timer: unknown): void {
    ;(timer as PendingTimer).live = false
  }

  nextTurn(callback: () => void): void {
    this.turns.push(callback)
  }

  /** Runs turns until none is pending. Returns how many ran. */
  run(): number {
    let ran = 0
    for (; this.turns.length > 0; ran++) this.turns.shift()!()
    return ran
  }

  /** Time passes, and the process has no part in it. */
  standStill(ms: number): void {
    this.nowMs += ms
  }

  /** Lets time pass, with each timer and its turns at its own moment. */
  advance(ms: number): void {
    const untilMs = this.nowMs + ms
    for (;;) {
      this.run()
      this.timers = this.timers.filter((timer) => timer.live)
      const next = this.timers.reduce<PendingTimer | undefined>(
        (first, timer) => (first === undefined || timer.atMs < first.atMs ? timer : first),
        undefined,
      )
      if (next === undefined || next.atMs > untilMs) break
      this.nowMs = Math.max(this.nowMs, next.atMs)
      next.live = false
      next.callback()
    }
    this.nowMs = untilMs
    this.run()
  }
}
