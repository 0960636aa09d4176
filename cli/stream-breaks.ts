/** Says once that the stream is broken, however often it is tried again, and once that it is back. */
import { describeRetry } from '../engine/errors.ts'
import type { Cli } from './world.ts'

export interface StreamBreaks {
  broke(error: Error): void
  heard(): void
}

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
