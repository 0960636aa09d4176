/** What a start does until there is a journal to serve. */
import { DiskJournal, type DiskJournalOptions } from './disk-journal.ts'
import type { Environments } from './environments.ts'
import { DiskReserve } from './home/disk-reserve.ts'
import { assertMarker, damaged } from './home/home-checks.ts'
import { folderMedium } from './home/home-environments.ts'
import { HomeRefused } from './home/home-refused.ts'
import { assertSchema } from './home/written-by.ts'
import { EventLog } from './log/event-log.ts'
import { realNature } from './nature.ts'
import { withFailedReads } from './view/failed-reads.ts'
import { View } from './view/view.ts'

/**
 * Opens the home, or makes it. The instance lock comes first, then the schema; a view ahead of its log is refused;
 * what the redo holds is applied, between two flushed writes; only then is the journal there to serve. Under the disk
 * reserve it refuses writes until there is room; where the view lacks something, or there is too little for retention to
 * give some back, it is opened for reading alone. Throws HomeRefused.
 */
export async function openDiskJournal(options: DiskJournalOptions): Promise<DiskJournal> {
  const { home, medium = folderMedium(home, options), nature = realNature } = options
  const lock = await medium.lock().catch((error: unknown) => Promise.reject(damaged(home, error)))
  const { diskReserveBytes, onNoFreeSpaceTold } = options
  const disk = new DiskReserve(options.freeBytes ?? medium.freeBytes, diskReserveBytes, nature, onNoFreeSpaceTold)
  let environments: Environments | undefined
  let journal: DiskJournal | undefined
  try {
    await disk.check()
    if (disk.low && medium.isNew) {
      throw new HomeRefused(
        'disk_reserve',
        `${home} is new and its disk is nearly full: free some space, or choose another home`,
      )
    }
    await medium.assertWhole()
    environments = await medium.open((head) => assertSchema(head, home))
    // What the medium was cleared of may have been what filled it.
    await disk.check()
    const log = new EventLog(environments.log, nature)
    const view = new View(withFailedReads(environments.view, nature, (error) => journal?.readFailed(error)))
    const applied = assertMarker(view, log, home)
    const isReadOnly = disk.low && (applied.batch < log.lastBatch || !(await disk.hasRoomToForget()))
    journal = new DiskJournal(options, { environments, log, view, applied, disk, lock, nature }, isReadOnly)
    await journal.start()
    return journal
  } catch (error) {
    disk.stop()
    await environments?.close()
    await lock.release()
    throw damaged(home, error)
  }
}
