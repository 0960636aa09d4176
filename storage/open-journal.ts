/** Everything that a start does before there is a journal to serve. */
import { DiskJournal, type DiskJournalOptions } from './disk-journal.ts'
import type { Environments } from './environments.ts'
import { DiskReserve } from './home/disk-reserve.ts'
import { asHomeRefused, assertMarker } from './home/home-checks.ts'
import { folderMedium } from './home/home-environments.ts'
import { HomeRefused } from './home/home-refused.ts'
import type { InstanceLock } from './home/instance-lock.ts'
import { assertSchema } from './home/written-by.ts'
import { EventLog } from './log/event-log.ts'
import { systemPlatform } from './platform.ts'
import { withFailedReads } from './view/failed-reads.ts'
import { View } from './view/view.ts'

/**
 * Opens the home, or creates it. Takes the instance lock, then checks the schema, refuses a view that is ahead of its
 * log, and applies the redo between two flushed writes; only then can the journal serve. Below the disk reserve it
 * refuses writes until there is room. It is opened read-only if, besides, the view lacks batches or there is too
 * little space for retention to free any. Throws HomeRefused.
 */
export async function openDiskJournal(options: DiskJournalOptions): Promise<DiskJournal> {
  const { home, medium = folderMedium(home, options), platform = systemPlatform } = options
  const locked = async (): Promise<InstanceLock> => {
    if (medium.isNew) await options.beforeMaking?.()
    return await medium.lock()
  }
  const lock = await locked().catch((error: unknown) => Promise.reject(asHomeRefused(home, error)))
  const { diskReserveBytes, onNoFreeSpaceTold } = options
  const disk = new DiskReserve(options.freeBytes ?? medium.freeBytes, diskReserveBytes, platform, onNoFreeSpaceTold)
  let environments: Environments | undefined
  let journal: DiskJournal | undefined
  try {
    await disk.check()
    if (disk.low && medium.isNew) {
      throw new HomeRefused(
        'disk_reserve',
        `${home} is new, and its disk is nearly full: free some space, or choose another home`,
      )
    }
    await medium.assertWhole()
    environments = await medium.open((head) => assertSchema(head, home))
    // Leftovers that the medium has just removed may have been what filled the disk.
    await disk.check()
    const log = new EventLog(environments.log, platform)
    const view = new View(withFailedReads(environments.view, platform, (error) => journal?.readFailed(error)))
    const applied = assertMarker(view, log, home)
    const isReadOnly = disk.low && (applied.batch < log.lastBatch || !(await disk.hasRoomToForget()))
    journal = new DiskJournal(options, { environments, log, view, applied, disk, lock, platform }, isReadOnly)
    await journal.start()
    return journal
  } catch (error) {
    disk.stop()
    await environments?.close()
    await lock.release()
    throw asHomeRefused(home, error)
  }
}
