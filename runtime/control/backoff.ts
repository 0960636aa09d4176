/** How long what failed by a mistake is left: longer each time, so that it costs nothing while nobody has mended it. */
import { setAsideRetryMs } from '../limits.ts'

/** How long to wait after so many failures one behind the other. */
export function pauseMs(failures: number, maxMs: number): number {
  return Math.min(setAsideRetryMs * 2 ** (failures - 1), maxMs)
}
