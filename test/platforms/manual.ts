/** A platform whose clocks are turned by hand: nothing happens until a test lets turns run or time pass. */
import type { Platform } from '../../runtime/api.ts'

interface Timer {
  readonly dueMs: number
  readonly callback: () => void
}

export class ManualPlatform implements Platform {
  /** The monotonic clock. */
  nowMs = 1_000
  private turns: (() => void)[] = []
  private readonly timers = new Set<Timer>()
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
    const timer = { dueMs: this.nowMs + afterMs, callback }
    this.timers.add(timer)
    return timer
  }

  clearTimer(timer: unknown): void {
    this.timers.delete(timer as Timer)
  }

  nextTurn(callback: () => void): void {
    this.turns.push(callback)
  }

  get timersSet(): number {
    return this.timers.size
  }

  /** Only the next turn. Returns how many waited for it. */
  runOnce(): number {
    const turns = this.turns
    this.turns = []
    for (const turn of turns) turn()
    return turns.length
  }

  /** Runs what waits for the next turn, and what that asks for, until nothing does. Returns how many ran. */
  run(): number {
    let ran = 0
    while (this.turns.length > 0) ran += this.runOnce()
    return ran
  }

  /** Time passes, and the process has no part in it. */
  standStill(ms: number): void {
    this.nowMs += ms
  }

  /** Lets time pass, with each timer and its turns at its own moment. */
  advance(ms: number): void {
    this.run()
    this.ring(ms)
  }

  /** As `advance`, but turns that wait already come behind the first timer, as they may. */
  ring(ms: number): void {
    const untilMs = this.nowMs + ms
    for (;;) {
      let next: Timer | undefined
      for (const timer of this.timers)
        if (timer.dueMs <= untilMs && (next === undefined || timer.dueMs < next.dueMs)) next = timer
      if (next === undefined) break
      this.timers.delete(next)
      this.nowMs = Math.max(this.nowMs, next.dueMs)
      next.callback()
      this.run()
    }
    this.nowMs = untilMs
  }
}
