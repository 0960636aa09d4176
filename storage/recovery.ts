/** What a start does with the batches that the log holds and the view does not. */

import type { EventLog } from './log/event-log.ts'
import type { Batch } from './log/redo.ts'
import type { Applier } from './view/applier.ts'
import { finishRemovals } from './view/removals.ts'
import type { View } from './view/view.ts'

/**
 * Carries them into the view, and flushes both. The log is written first: where another process that writes this home is past
 * its lock, that write is refused, or the other's next one is, before the view is set back to what this one knows. Rejects
 * with HomeRefused.
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
    // The environments are closed next, and not under what writes the view.
    applier.fail(error as Error)
    await applier.atRest()
    throw error
  }
  await applier.reached(log.lastBatch)
  await view.writeMarker(applier.applied)
  log.applied(applier.applied.batch)
  log.flush()
}
