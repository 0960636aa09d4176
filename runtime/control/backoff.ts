/** Growing pauses after failures caused by bugs, so that retries cost nothing while nobody has fixed them. */
import { setAsideRetryMs } from '../limits.ts'

/** Pause after this many consecutive failures. */
export function pauseMs(failures: number, maxMs: number): number {
  return Math.min(setAsideRetryMs * 2 ** (failures - 1), maxMs)
}
