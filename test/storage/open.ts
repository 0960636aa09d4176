/** A journal in a home of its own, closed when the test ends, with plenty of disk unless the test says otherwise. */
import { asBinary } from 'lmdb'
import type { Test } from 'tap'
import type { DiskJournal, DiskJournalOptions } from '../../storage/disk-journal.ts'
import type { Key, Table } from '../../storage/environments.ts'
import { environmentPaths } from '../../storage/home/home-paths.ts'
import type { JournalFailure } from '../../storage/journal.ts'
import { openDiskJournal } from '../../storage/open-journal.ts'
import '../folders-last.ts'
import { openToCopy } from '../../storage/view/lmdb-view.ts'
import { appendEvents, event } from './steps.ts'

const PLENTY = async () => 1e12
/** Bounds that no backup meets. */
export const FREELY = { growthBytesMax: 1e9, reserveBytes: 0 }

export async function openIn(t: Test, home: string, rest: Partial<DiskJournalOptions> = {}): Promise<DiskJournal> {
  const onFailure = (failure: JournalFailure) => t.fail(`unexpected failure: ${failure.message}`)
  const journal = await openDiskJournal({ home, diskReserveBytes: 1, freeBytes: PLENTY, onFailure, ...rest })
  t.teardown(() => journal.close())
  return journal
}

/** A closed home with several log files, one event a row, numbered from 1. */
export async function ofManyFiles(t: Test, home: string, events: number): Promise<void> {
  const journal = await openIn(t, home, { logFileBytesMax: 8_000 })
  for (let n = 1; n <= events; n += 1) await appendEvents(journal, event(`${n}`))
  await journal.close()
}

/** The bytes of a row of the view, read around the storage code. `table` is LMDB's name for it. */
export function binaryOf(home: string, table: string, key: Key): Buffer {
  const view = openToCopy(environmentPaths(home).view)
  try {
    return view.openDB<string, Key>(table, {}).getBinary(key)!
  } finally {
    void view.close()
  }
}

/** Makes a row of the view fail its checksum; to be called inside a commit. */
export function damage(table: Table<Key>, key: Key): unknown {
  return table.put(key, asBinary(Buffer.from([1, 0, 0, 0, 0, 1])) as never)
}

/** Runs the test as on another platform. */
export function onPlatform(t: Test, platform: string): void {
  const real = Object.getOwnPropertyDescriptor(process, 'platform')!
  Object.defineProperty(process, 'platform', { ...real, value: platform })
  t.teardown(() => Object.defineProperty(process, 'platform', real))
}
