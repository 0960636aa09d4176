/** Breaks of a stream: those that pass, and the loss of the place where it was to go on. */
import { describeRetry, ServiceRefused } from '../engine/errors.ts'
import type { Cli } from './world.ts'

export interface StreamBreaks {
  broke(error: Error): void
  heard(): void
}

/** Says once that the stream is broken, however often it is tried again, and once that it is back. */
export function streamBreaks(note: Cli['note']): StreamBreaks {
  let isBroken = false
  return {
    broke(error) {
      if (!isBroken) note(describeRetry(error))
      isBroken = true
    },
    heard() {
      if (isBroken) note('connected again')
      isBroken = false
    },
  }
}

/** Whether the log no longer has, or never had, what follows the cursor. */
export function isPlaceLost(error: unknown): error is ServiceRefused {
  return error instanceof ServiceRefused && error.problem.status === 410
}
