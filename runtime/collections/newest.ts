/** The first of many in an order that no index keeps, for lists that exist only in memory. */
import type { ListRow } from '../api.ts'
import { SortedList } from './sorted-list.ts'

/** A page of a list that is found in memory. */
export interface FoundRows {
  /** The newest first. */
  readonly rows: readonly ListRow[]
  /** Where to continue; absent on the last page. A bound on the work can make any other page short, or empty. */
  readonly next?: ListRow
}

/** Finds such a page: at most `limit` rows, those that come after `after`. */
export type FindRows = (limit: number, after: ListRow | undefined) => FoundRows

/** The first `limit` candidates, by `compare`, for which `isBehind` holds. One walk that keeps only what it returns. */
export function firstOf<T>(
  candidates: Iterable<T>,
  compare: (a: T, b: T) => number,
  limit: number,
  isBehind: (candidate: T) => boolean,
): { readonly first: readonly T[]; readonly more: boolean } {
  const found = new SortedList<T>(compare)
  let more = false
  for (const candidate of candidates) {
    if (!isBehind(candidate)) continue
    if (found.size === limit) {
      more = true
      const last = found.all()[limit - 1]!
      if (compare(last, candidate) < 0) continue
      found.remove(last)
    }
    found.add(candidate)
  }
  return { first: found.all(), more }
}

export function newestFirst(a: ListRow, b: ListRow): number {
  if (a.order !== b.order) return a.order < b.order ? 1 : -1
  return a.id < b.id ? 1 : a.id === b.id ? 0 : -1
}
