/** Places in lists, and how several ordered lists are merged into one. */
import type { ListQuery, ListRow } from '../journal.ts'

export type ListPlace = Pick<ListRow, 'order' | 'id'>

type Compare = (a: ListPlace, b: ListPlace) => number

/** The order of the rows of a list. */
export function orderOf({ reverse }: Pick<ListQuery, 'reverse'>): Compare {
  const direction = reverse ? -1 : 1
  return (a, b) => direction * (compareTexts(a.order, b.order) || compareTexts(a.id, b.id))
}

/** The index values that a query reads. */
export function valuesOf({ value }: Pick<ListQuery, 'value'>): readonly string[] {
  return typeof value === 'string' ? [value] : value
}

/**
 * All places of `sources`, each of which must be in the order of `compare`, in that order. A place in several sources
 * comes once. Reads one place of each source ahead.
 */
export function* merged<T extends ListPlace>(sources: readonly Iterable<T>[], compare: Compare): Generator<T> {
  if (sources.length === 1) {
    yield* sources[0]!
    return
  }
  const iterators = sources.map((source) => source[Symbol.iterator]())
  try {
    const heads = iterators.map((iterator) => iterator.next())
    for (;;) {
      let next: T | undefined
      for (const { done, value } of heads) if (!done && (next === undefined || compare(value, next) < 0)) next = value
      if (next === undefined) return
      yield next
      for (const [i, { done, value }] of heads.entries())
        if (!done && compare(value, next) === 0) heads[i] = iterators[i]!.next()
    }
  } finally {
    for (const iterator of iterators) iterator.return?.()
  }
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
