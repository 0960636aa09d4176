/** The first of many in an order that no index keeps: what is true now and stands nowhere else. */
import type { ListRow } from '../api.ts'
import { SortedList } from './sorted-list.ts'

/** A page of a list that is found in memory. */
export interface FoundRows {
  /** The newest first. */
  readonly rows: readonly ListRow[]
  /** Where to go on; none: these are the last. What is looked at is bounded, so that a page may be short, or empty, and not the last. */
  readonly next?: ListRow
}

/** Finds such a page: at most `limit` rows, those that come behind `after`. */
export type FindRows = (limit: number, after: ListRow | undefined) => FoundRows

/** At most `limit` of those behind `after`, in the order of `compare`. One walk, which keeps no more than it answers. */
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
