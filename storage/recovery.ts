/** What a start does with batches that the log holds and the view does not. */

import type { EventLog } from './log/event-log.ts'
import type { Batch } from './log/redo.ts'
import type { Applier } from './view/applier.ts'
import { finishRemovals } from './view/removals.ts'
import type { View } from './view/view.ts'

/**
 * Applies the batches to the view and flushes both. The log is written first: if another process has got past the lock
 * and writes this home too, that write fails, or the other's next one does, before the view is set back to what this
 * process knows. Rejects with HomeRefused.
 */
export async function applyRedo(batches: Iterable<Batch>, log: EventLog, view: View, applier: Applier): Promise<void> {
  log.begin()
  try {
    for (const batch of batches) {
      await finishRemovals(view, applier, batch)
      applier.add(batch)
      if (applier.waitForRoom(() => {})) await applier.reached(batch.batch)
    }
  } catch (error) {
    // The caller closes the environments next, which must not happen during a write of the view.
    applier.fail(error as Error)
    await applier.atRest()
    throw error
  }
  await applier.reached(log.lastBatch)
  await view.writeMarker(applier.applied)
  log.applied(applier.applied.batch)
  log.flush()
}
