/** Reads that combine the view with the folds it does not hold yet, as if all were applied. */

import type { IndexRow, ListPage, ListQuery, ListRow, OutboxKey, OutboxRow } from '../journal.ts'
import type { Fold } from './fold.ts'
import { outboxName } from './fold.ts'
import { keyPart } from './keys.ts'
import { merged, orderOf, valuesOf } from './places.ts'
import type { DueTimer } from './view.ts'

/** `applied`: the view's sequences after `afterSequence`. Folds come newest first and hold only later sequences. */
export function historyAcross(
  applied: number[],
  folds: readonly Fold[],
  of: 'trace' | 'item',
  id: string,
  afterSequence: number,
  limit: number,
): readonly number[] {
  for (const fold of [...folds].reverse()) {
    const sequences = fold.history(of, id)
    if (sequences === undefined) continue
    for (const sequence of sequences) {
      if (applied.length >= limit) return applied
      if (sequence > afterSequence) applied.push(sequence)
    }
  }
  return applied
}

/** The same in descending order. `applied`: the view's sequences before `beforeSequence`. */
export function historyBackAcross(
  applied: readonly number[],
  folds: readonly Fold[],
  of: 'trace' | 'item',
  id: string,
  beforeSequence: number,
  limit: number,
): readonly number[] {
  const found: number[] = []
  for (const fold of folds) {
    const sequences = fold.history(of, id) ?? []
    for (let i = sequences.length - 1; i >= 0 && found.length < limit; i -= 1)
      if (sequences[i]! < beforeSequence) found.push(sequences[i]!)
  }
  return found.length === 0 ? applied : found.concat(applied.slice(0, limit - found.length))
}

/** `applied`: the view's count. */
export function countAcross(
  applied: number,
  folds: readonly Fold[],
  kind: string,
  index: string,
  value: string,
): number {
  let count = applied
  for (const { term, before, after } of changesIn(folds, kind, index))
    if (term.value === value) count += Number(after) - Number(before)
  return count
}

/** What the folds change in an index, oldest fold first, so that the last change of a row comes last. */
function* changesIn(folds: readonly Fold[], kind: string, index: string) {
  for (const fold of [...folds].reverse()) {
    for (const { id, terms } of fold.entities.get(kind)?.values() ?? [])
      for (const { term, before, after } of terms) if (term.index === index) yield { id, term, before, after }
  }
}

/**
 * A page of an index in read-only mode, where the view is no longer brought up to date: its rows, with the changes of
 * the folds. `sequence`: the last event of the log, which the page reflects.
 */
export function listAcross(
  view: (query: ListQuery) => ListPage,
  folds: readonly Fold[],
  query: ListQuery,
  sequence: number,
): ListPage {
  const pages = valuesOf(query).map((value) => pageAcross(view, folds, { ...query, value }))
  const rows = [
    ...merged(
      pages.map((page) => page.rows),
      orderOf(query),
    ),
  ]
  const more = rows.length > query.limit || pages.some((page) => page.more)
  return { rows: rows.slice(0, query.limit), more, sequence }
}

/** The same for a single value. */
function pageAcross(
  view: (query: ListQuery) => ListPage,
  folds: readonly Fold[],
  query: ListQuery & { readonly value: string },
): Pick<ListPage, 'rows' | 'more'> {
  // Without the bound on text: rows that the folds add may belong after its cut.
  const { charsMax: _, ...unbound } = query
  const { kind, index, value, limit, after } = unbound
  const compare = orderOf(unbound)
  const changes = new Map<string, ListRow & { readonly present: boolean }>()
  for (const { id, term, after: present } of changesIn(folds, kind, index)) {
    if (term.value === value) changes.set(`${term.order}\n${id}`, { id, order: term.order, record: '', present })
  }
  const page = view({ ...unbound, limit: limit + changes.size })
  const kept = page.rows.filter(({ order, id }) => !changes.has(`${order}\n${id}`))
  const added = [...changes.values()].filter((row) => row.present && (after === undefined || compare(row, after) > 0))
  const recordOf = ({ id, order, record }: ListRow): ListRow => {
    const newer = folds.map((fold) => fold.record(kind, id)).find((text) => text !== undefined)
    return { id, order, record: newer ?? record }
  }
  const rows = [...kept, ...added].sort(compare)
  return { rows: rows.slice(0, limit).map(recordOf), more: page.more || rows.length > limit }
}

/** The view's rows that the folds do not change, then the rows that they add. */
export function* indexAcross(
  view: Iterable<IndexRow>,
  folds: readonly Fold[],
  kind: string,
  index: string,
): Generator<IndexRow> {
  const name = ({ value, order, id }: IndexRow): string => `${value}\n${order}\n${id}`
  const changes = new Map<string, IndexRow & { readonly present: boolean }>()
  for (const { id, term, after: present } of changesIn(folds, kind, index)) {
    const row = { value: keyPart(term.value), order: term.order, id }
    changes.set(name(row), { ...row, present })
  }
  for (const row of view) if (changes.size === 0 || !changes.has(name(row))) yield row
  for (const { present, ...row } of changes.values()) if (present) yield row
}

/** Asks the view for as many extra rows as the folds may have cleared. */
export function timersAcross(
  view: (max: number) => DueTimer[],
  folds: readonly Fold[],
  fromMs: number,
  toMs: number,
  limit: number,
): readonly DueTimer[] {
  let changed = 0
  for (const fold of folds) changed += fold.timers.size
  if (changed === 0) return view(limit)
  const name = (timer: { kind: string; id: string; name: string; dueMs: number }) =>
    `${timer.dueMs}\n${timer.kind}\n${timer.id}\n${timer.name}`
  const due = new Map(view(limit + changed).map((timer) => [name(timer), timer]))
  for (const fold of [...folds].reverse()) {
    for (const { kind, id, row, dueMs, name: timer } of fold.timers.values()) {
      if (dueMs < fromMs || dueMs >= toMs) continue
      if (row === undefined) due.delete(name({ kind, id, name: timer, dueMs }))
      else due.set(name({ kind, id, name: timer, dueMs }), { ...row, kind, id })
    }
  }
  return [...due.values()].sort((a, b) => a.dueMs - b.dueMs).slice(0, limit)
}

export function* outboxAcross(
  view: Iterable<OutboxKey & OutboxRow>,
  folds: readonly Fold[],
): Generator<OutboxKey & OutboxRow> {
  for (const row of view) {
    const name = outboxName(row.kind, row.id, row.n)
    if (!folds.some((fold) => fold.outbox.has(name))) yield row
  }
  const seen = new Set<string>()
  for (const fold of folds) {
    for (const [name, { key, row }] of fold.outbox) {
      if (seen.has(name)) continue
      seen.add(name)
      if (row !== undefined) yield { ...key, ...row }
    }
  }
}
