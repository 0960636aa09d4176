/** Places in lists, and how several ordered lists are merged into one. */
import { type Key, LAST_PART, type ReadTransaction, type ViewTables } from '../environments.ts'
import type { ListQuery, ListRow } from '../journal.ts'
import { keyPart } from './keys.ts'

type ListPlace = Pick<ListRow, 'order' | 'id'>

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

/** The places under one value, beginning where the query continues. */
export function* placesIn(
  entities: ViewTables['entities'],
  { kind, index, after, reverse }: ListQuery,
  value: string,
  transaction: ReadTransaction,
): Generator<ListPlace> {
  const prefix: Key = [kind, index, keyPart(value)]
  const first: Key = after ? [...prefix, after.order, after.id] : prefix
  const range = reverse
    ? { start: after ? first : [...prefix, LAST_PART], end: prefix, reverse: true }
    : { start: first, end: [...prefix, LAST_PART] }
  for (const key of entities.getKeys({ ...range, transaction })) yield { order: key[3] as string, id: key[4] as string }
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
