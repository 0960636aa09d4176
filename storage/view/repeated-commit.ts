/**
 * A commit that LMDB fails although nothing is wrong. When it has stored its list of free pages it looks at the size of an entry
 * that it may not have found, which is whatever stood in that memory: where that is nought it gives up the transaction
 * (`mdb_freelist_save`; once in some hundred starts). Nothing was written then, and LMDB reads the list anew for the next
 * transaction. So the same is committed again; `write` must be the same each time that it is called.
 */

/** LMDB's words for this, and for nothing else. */
const GROUNDLESS = /^MDB_BAD_TXN\b.*reserved freelist had a data entry with zero-size/s
/** Failing again and again, it would not be for nothing. */
const REPEATS_MAX = 3

/** Told of each failure that is made good by another try. */
export type OnRepeat = (failure: Error) => void

/** Rejects with what `commit` rejects with, unless a repetition goes through. */
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
