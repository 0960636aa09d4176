/**
 * Repeats a commit that LMDB fails although nothing is wrong. After storing its list of free pages LMDB checks the
 * size of an entry that it may not have found, and so reads whatever was in that memory; if that is zero, it gives up
 * the transaction (`mdb_freelist_save`; once in some hundred starts). Nothing has been written then, and LMDB reads
 * the list again for the next transaction. So the same is committed again; `write` must do the same each time it is
 * called.
 */

/** LMDB's message for this failure and no other. */
const GROUNDLESS = /^MDB_BAD_TXN\b.*reserved freelist had a data entry with zero-size/s
/** A failure that repeats more often than this has a cause. */
const REPEATS_MAX = 3

/** Receives each failure that is followed by another try. */
export type OnRepeat = (failure: Error) => void

/** Rejects with the error of `commit`, unless a repetition succeeds. */
export async function repeated(commit: () => Promise<void>, onRepeat: OnRepeat): Promise<void> {
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await commit()
    } catch (error) {
      noteOrThrow(error, repeats, onRepeat)
    }
  }
}

function noteOrThrow(error: unknown, repeats: number, onRepeat: OnRepeat): void {
  if (repeats === REPEATS_MAX || !(error instanceof Error && GROUNDLESS.test(error.message))) throw error
  onRepeat(error)
}
