/**
 * Clocks, timers, turns and randomness of one simulated process. Nothing fires once the process is gone. Timers are as
 * early and as late as those of Node.js, the wall clock is the computer's and may be set, and the monotonic one starts
 * over with each process.
 */
import type { Platform } from '../../storage/platform.ts'
import type { Random } from './random.ts'
import type { Happening, Timeline } from './timeline.ts'

/** A timer may fire this much early: libuv counts whole milliseconds. */
const EARLY_MS = 0.9
const LATE_MS = 4
const TURN_MS = 0.2

/** The computer's clock, which people and NTP set. */
export interface WallClock {
  /** Wall clock at the beginning of the timeline, milliseconds since the epoch. */
  offsetMs: number
}

export class SimulatedPlatform implements Platform {
  private readonly timeline: Timeline
  private readonly random: Random
  private readonly clock: WallClock
  private readonly bornMs: number
  private readonly isAlive: () => boolean
  private lastTurnMs = 0

  constructor(timeline: Timeline, random: Random, clock: WallClock, isAlive: () => boolean) {
    this.timeline = timeline
    this.random = random
    this.clock = clock
    this.bornMs = timeline.nowMs - random.between(20, 400)
    this.isAlive = isAlive
  }

  wallMs(): number {
    return Math.floor(this.timeline.nowMs + this.clock.offsetMs)
  }

  monotonicMs(): number {
    return this.timeline.nowMs - this.bornMs
  }

  randomHex(digits: number): string {
    return this.random.hex(digits)
  }

  setTimer(callback: () => void, afterMs: number): unknown {
    const dueMs = Math.max(1, Math.floor(afterMs)) - EARLY_MS
    return this.timeline.in(dueMs + this.random.skewed(0, EARLY_MS + LATE_MS), () => this.call(callback))
  }

  clearTimer(timer: unknown): void {
    if (timer !== undefined) (timer as Happening).cancelled = true
  }

  nextTurn(callback: () => void): void {
    this.lastTurnMs = Math.max(this.lastTurnMs, this.timeline.nowMs) + this.random.skewed(0, TURN_MS)
    this.timeline.at(this.lastTurnMs, () => this.call(callback))
  }

  private call(callback: () => void): void {
    if (this.isAlive()) callback()
  }
}
