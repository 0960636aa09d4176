/** A journal in a home of its own, closed when the test ends; plenty of disk unless the test says otherwise. */
import type { Test } from 'tap'
import type { JournalFailure } from '../../storage/journal.ts'
import { type LmdbJournal, type LmdbJournalOptions, openLmdbJournal } from '../../storage/lmdb-journal.ts'

const PLENTY = async () => 1e12

export async function openIn(t: Test, home: string, rest: Partial<LmdbJournalOptions> = {}): Promise<LmdbJournal> {
  const onFailure = (failure: JournalFailure) => t.fail(`unexpected failure: ${failure.message}`)
  const journal = await openLmdbJournal({ home, diskReserveBytes: 1, freeBytes: PLENTY, onFailure, ...rest })
  t.teardown(() => journal.close())
  return journal
}
