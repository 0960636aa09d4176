/** Runs the garbage collector on demand. Its threads free memory a while later, on a busy machine much later. */
import { setImmediate as untilNext } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
export const collect = runInNewContext('gc') as () => void

const PATIENCE_MS = 10_000

/** Collects until the condition holds; false if it never did. */
export async function holdsOnceCollected(holds: () => boolean): Promise<boolean> {
  const from = performance.now()
  for (;;) {
    await untilNext()
    collect()
    if (holds()) return true
    if (performance.now() - from > PATIENCE_MS) return false
  }
}
