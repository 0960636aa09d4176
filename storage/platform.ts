/** Clocks, timers, turns and randomness: everything that messages do not determine. The simulation supplies its own. */
import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'

export interface Platform {
  /** Wall clock, milliseconds since the epoch (may have a fraction). */
  wallMs(): number
  /** Monotonic clock, milliseconds. */
  monotonicMs(): number
  /** Fresh random lower-case hex digits. */
  randomHex(digits: number): string
  setTimer(callback: () => void, afterMs: number): unknown
  clearTimer(timer: unknown): void
  /** Runs the callback after the present turn of the event loop. */
  nextTurn(callback: () => void): void
}

/** Resolves after the present turn of the event loop, so that long work lets other work run in between. */
export function turn(platform: Pick<Platform, 'nextTurn'>): Promise<void> {
  return new Promise((resolve) => platform.nextTurn(resolve))
}

/** Random digits are drawn in blocks: a system call for each would cost more than a step. */
const poolDigits = 8_192
let pool = ''
let poolAt = 0

function pooledHex(digits: number): string {
  if (digits > poolDigits)
    return randomBytes((digits + 1) >> 1)
      .toString('hex')
      .slice(0, digits)
  if (poolAt + digits > pool.length) {
    pool = randomBytes(poolDigits / 2).toString('hex')
    poolAt = 0
  }
  poolAt += digits
  return pool.slice(poolAt - digits, poolAt)
}

/** The real world: system clocks, randomness and timers. */
export const systemPlatform: Platform = {
  // Not timeOrigin + now(), which never notices that the clock was set or the machine slept.
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  randomHex: pooledHex,
  setTimer: (callback, afterMs) => setTimeout(callback, afterMs),
  clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout),
  nextTurn: (callback) => {
    setImmediate(callback)
  },
}
