/** Backups of the running service: where they go, and what bounds them. */
import { join } from 'node:path'
import type { Runtime } from '../runtime/api.ts'
import { backup } from '../storage/backup.ts'
import { DiskJournal } from '../storage/disk-journal.ts'
import { backupsPath } from '../storage/home-paths.ts'

/** While a backup is copied nothing of the log's old pages is freed: past so much growth it is given up. */
const GROWTH_BYTES_MAX = 1024 ** 3

export type BackUp = (name: string) => Promise<object>

/** Undefined for a journal that cannot be copied while it runs. The promise rejects with what storage says: HomeRefused `not_empty` where there is one of that name. */
export function backupsOf({ journal, settings }: Runtime): BackUp | undefined {
  if (!(journal instanceof DiskJournal)) return undefined
  return async (name) => {
    const path = join(backupsPath(settings.home), name)
    const { bytes, sequence } = await backup(journal, path, {
      growthBytesMax: GROWTH_BYTES_MAX,
      reserveBytes: settings.diskReserveBytes,
    })
    return { path, bytes, sequence }
  }
}
