/**
 * The view: the present state of the actors, in rows that answer a read by key or a short range. Folds are written by
 * `write` alone, each in one atomic, flushed batch off the main thread, with absolute values and the marker in the
 * same batch: applying a fold twice has the same result as applying it once.
 */
import assert from 'node:assert/strict'
import type { Term } from '../../machines/machine.ts'
import { type Key, LAST_PART, MARKER, type Marker, type ViewTables } from '../environments.ts'
import { asHomeRefused } from '../home/home-checks.ts'
import type {
  IndexRow,
  ListPage,
  ListQuery,
  ListRow,
  OutboxKey,
  OutboxRow,
  RemovedEntity,
  Reservation,
  TimerRow,
} from '../journal.ts'
import type { EventIdentity } from '../log/event-identity.ts'
import type { Fold } from './fold.ts'
import { CHUNK_SEQUENCES_MAX, packChunk, sequencesAfter, sequencesBefore, unpackChunk } from './history-chunk.ts'
import { isActorId, keyPart } from './keys.ts'
import { merged, orderOf, placesIn, valuesOf } from './places.ts'

export type DueTimer = TimerRow & { readonly kind: string; readonly id: string }

const SCAN_PAGE_ROWS = 1_000
/**
 * Actors and traces whose rows are recorded in one turn of the event loop, about 2 ms: their records' texts are built
 * for it.
 */
const PUT_A_TURN = 128
/** Characters of their records after which the turn ends: rows sent to the thread are in memory three times. */
const CHARS_A_TURN = 1024 * 1024

export const termKey = (kind: string, term: Term, id: string): Key => [
  kind,
  term.index,
  keyPart(term.value),
  term.order,
  id,
]
const countKey = (kind: string, index: string, value: string): Key => [kind, index, keyPart(value)]
export const eventIdKey = (project: string, traceId: string | null, id: string): Key => [
  keyPart(project),
  keyPart(traceId ?? ''),
  keyPart(id),
]

/** An event that retention is removing. */
export interface LeavingEvent {
  readonly sequence: number
  readonly identity: EventIdentity
  /**
   * The event was below the floor before this step, so its id may have been recorded again, and may lead to that
   * event.
   */
  readonly mayBeBack: boolean
}

export class View {
  readonly #tables: ViewTables
  /** Whether a scope may have reservations, for scopes that were asked for or written. */
  readonly #reservedScopes = new Map<string, boolean>()

  constructor(tables: ViewTables) {
    this.#tables = tables
  }

  marker(): Marker | undefined {
    const text = this.#tables.marker.get(MARKER)
    return text === undefined ? undefined : (JSON.parse(text) as Marker)
  }

  /**
   * Resolves to the new marker when the rows of the fold are on disk; rejects if the commit failed. A fold that the
   * view already holds is not written again; one that does not begin where the view ends is the caller's mistake.
   * @param isHurried while it returns true, even a large fold is recorded without letting other work run in between.
   */
  async write(fold: Fold, epoch: string, isHurried: () => boolean): Promise<Marker> {
    const held = this.marker() ?? { epoch, batch: 0, sequence: 0 }
    if (held.batch >= fold.lastBatch) return held
    assert.equal(fold.firstBatch, held.batch + 1, 'the fold does not start where the view ends')
    const marker: Marker = { epoch, batch: fold.lastBatch, sequence: fold.lastSequence }
    await this.#tables.env.commit(() => this.#put(fold, marker, isHurried))
    return marker
  }

  /** Writes only the marker, which flushes what an earlier process may have left visible and unflushed. */
  writeMarker(marker: Marker): Promise<void> {
    return this.#tables.env.commit(() => {
      this.#tables.marker.put(MARKER, JSON.stringify(marker))
    })
  }

  /** Removes entities: snapshots, list rows, counts. Resolves to how many existed. */
  async removeEntities(entities: readonly RemovedEntity[]): Promise<number> {
    const { snapshots, entities: rows } = this.#tables
    const present = entities.filter(({ kind, id }) => snapshots.doesExist([kind, id]))
    await this.#tables.env.commit(() => {
      const counts = new Map<string, [Key, number]>()
      for (const { kind, id, terms } of present) {
        snapshots.remove([kind, id])
        for (const term of terms) {
          if (!rows.doesExist(termKey(kind, term, id))) continue
          rows.remove(termKey(kind, term, id))
          addToCount(counts, kind, term, -1)
        }
      }
      this.#putCounts(counts)
    })
    return present.length
  }

  /**
   * Looks up the terms under which the index lists the entities, for callers that do not know them. Scans every row of
   * their kinds.
   */
  withTerms(entities: readonly { readonly kind: string; readonly id: string }[]): readonly RemovedEntity[] {
    const found: { kind: string; id: string; terms: Term[] }[] = []
    for (const { kind, id } of entities) found.push({ kind, id, terms: [] })
    for (const kind of new Set(found.map((entity) => entity.kind))) {
      const byId = new Map(found.filter((entity) => entity.kind === kind).map((entity) => [entity.id, entity]))
      for (const key of this.#tables.entities.getKeys({ start: [kind], end: [kind, LAST_PART] })) {
        const [, index, value, order, id] = key as [string, string, string, string, string]
        byId.get(id)?.terms.push({ index, value, order })
      }
    }
    return found
  }

  /** Removes the ids and histories of events that retention removes. */
  removeEvents(events: readonly LeavingEvent[], beforeSequence: number): Promise<void> {
    const { eventIds, histories: rows } = this.#tables
    const histories = { trace: new Set<string>(), item: new Set<string>() }
    return this.#tables.env.commit(() => {
      for (const { sequence, identity, mayBeBack } of events) {
        const { project, traceId, id, itemIds } = identity
        if (traceId !== null) histories.trace.add(traceId)
        for (const itemId of itemIds) histories.item.add(itemId)
        const key = eventIdKey(project, traceId, id)
        if (!mayBeBack || eventIds.get(key) === String(sequence)) eventIds.remove(key)
      }
      for (const of of ['trace', 'item'] as const) {
        for (const id of histories[of]) {
          const prefix: Key = [of, keyPart(id)]
          for (const { key, value } of rows.getRange({ start: prefix, end: [...prefix, beforeSequence] })) {
            if (unpackChunk(key[2] as number, value).at(-1)! < beforeSequence) rows.remove(key)
          }
        }
      }
    })
  }

  record(kind: string, id: string): string | undefined {
    return isActorId(id) ? this.#tables.snapshots.get([kind, id]) : undefined
  }

  eventSequence(project: string, traceId: string | null, id: string): number | undefined {
    const text = this.#tables.eventIds.get(eventIdKey(project, traceId, id))
    return text === undefined ? undefined : Number(text)
  }

  hasTrace(project: string, traceId: string): boolean {
    const prefix: Key = [keyPart(project), keyPart(traceId)]
    for (const _ of this.#tables.eventIds.getKeys({ start: prefix, end: [...prefix, LAST_PART], limit: 1 })) return true
    return false
  }

  /** Hot: every create calls this, and nearly all scopes have no reservations. */
  reservation(scope: string, key: string): string | undefined {
    let isUsed = this.#reservedScopes.get(scope)
    if (isUsed === undefined) {
      isUsed = this.#hasReservations(scope)
      this.#reservedScopes.set(scope, isUsed)
    }
    if (!isUsed) return undefined
    return this.#tables.reservations.get([keyPart(scope), keyPart(key)])
  }

  #hasReservations(scope: string): boolean {
    return this.reservedKeys(scope, undefined, 1).length > 0
  }

  /**
   * Keys of a scope after `after`, ascending, at most `limit`. They are in stored form, which finds the same rows as
   * the original keys.
   */
  reservedKeys(scope: string, after: string | undefined, limit: number): readonly string[] {
    const prefix: Key = [keyPart(scope)]
    const start: Key = after === undefined ? prefix : [...prefix, after]
    const keys: string[] = []
    for (const [, key] of this.#tables.reservations.getKeys({ start, end: [...prefix, LAST_PART] })) {
      if (key === after) continue
      keys.push(key as string)
      if (keys.length === limit) break
    }
    return keys
  }

  /** Removes the reservations whose value is still the given one. Resolves to how many there were. */
  async removeReservations(given: readonly Reservation[]): Promise<number> {
    const { reservations } = this.#tables
    const rows = given.map(({ scope, key, value }) => ({ row: [keyPart(scope), keyPart(key)], value }))
    const same = rows.filter(({ row, value }) => reservations.get(row) === value)
    if (same.length === 0) return 0
    await this.#tables.env.commit(() => {
      for (const { row } of same) reservations.remove(row)
    })
    return same.length
  }

  count(kind: string, index: string, value: string): number {
    return Number(this.#tables.counts.get(countKey(kind, index, value)) ?? 0)
  }

  /** Sequences after `afterSequence`, ascending, at most `limit`. */
  history(of: 'trace' | 'item', id: string, afterSequence: number, limit: number): number[] {
    return sequencesAfter(this.#tables.histories, [of, keyPart(id)], afterSequence, limit)
  }

  /** Sequences before `beforeSequence`, descending. */
  historyBackward(of: 'trace' | 'item', id: string, beforeSequence: number, limit: number): number[] {
    return sequencesBefore(this.#tables.histories, [of, keyPart(id)], beforeSequence, limit)
  }

  /** A page of an index. Rows and marker come from one read transaction. */
  list(query: ListQuery): ListPage {
    const { entities, snapshots, marker } = this.#tables
    const transaction = entities.useReadTransaction()
    try {
      const rows: ListRow[] = []
      const { limit, charsMax = Number.POSITIVE_INFINITY } = query
      let chars = 0
      let more = false
      const sources = valuesOf(query).map((value) => placesIn(entities, query, value, transaction))
      for (const { order, id } of merged(sources, orderOf(query))) {
        if (query.after !== undefined && order === query.after.order && id === query.after.id) continue
        if (rows.length >= limit || chars >= charsMax) {
          more = true
          break
        }
        const record = snapshots.get([query.kind, id], { transaction })
        if (record === undefined) continue
        rows.push({ id, order, record })
        chars += record.length
      }
      const held = marker.get(MARKER, { transaction })
      return { rows, more, sequence: held === undefined ? 0 : (JSON.parse(held) as Marker).sequence }
    } finally {
      transaction.done()
    }
  }

  /** Every row of an index, value by value. */
  *scanIndex(kind: string, index: string): Generator<IndexRow> {
    const prefix: Key = [kind, index]
    for (const key of this.#tables.entities.getKeys({ start: prefix, end: [...prefix, LAST_PART] })) {
      const [, , value, order, id] = key as [string, string, string, string, string]
      yield { value, order, id }
    }
  }

  timers(fromMs: number, toMs: number, limit: number): DueTimer[] {
    const due: DueTimer[] = []
    try {
      for (const { key, value } of this.#tables.timers.getRange({ start: [fromMs], end: [toMs], limit })) {
        const [dueMs, kind, id, name] = key as [number, string, string, string]
        const [generation, message] = JSON.parse(value) as [number, object]
        due.push({ kind, id, name, dueMs, generation, message })
      }
    } catch (error) {
      throw asHomeRefused('a timer in the view', error)
    }
    return due
  }

  *outbox(): Generator<OutboxKey & OutboxRow> {
    try {
      for (const { key, value } of this.#tables.outbox.getRange({ snapshot: false })) {
        const [kind, id, n] = key as [string, string, number]
        const [toKind, toId, message] = JSON.parse(value) as [string, string, object]
        yield { kind, id, n, toKind, toId, message }
      }
    } catch (error) {
      throw asHomeRefused('a message in the view', error)
    }
  }

  *#put(fold: Fold, marker: Marker, isHurried: () => boolean): Generator<boolean> {
    let count = 0
    let chars = 0
    for (const put of [this.#putActors(fold), this.#putEvents(fold)]) {
      for (const length of put) {
        count += 1
        chars += length
        if (count < PUT_A_TURN && chars < CHARS_A_TURN) continue
        yield !isHurried()
        count = 0
        chars = 0
      }
    }
    this.#tables.marker.put(MARKER, JSON.stringify(marker))
  }

  /** Yields the length of each actor's record, after its rows. */
  *#putActors(fold: Fold): Generator<number> {
    const { snapshots, entities, timers, outbox, reservations } = this.#tables
    const counts = new Map<string, [Key, number]>()
    for (const ofKind of fold.entities.values()) {
      for (const { kind, id, text, terms } of ofKind.values()) {
        const { record } = text
        snapshots.put([kind, id], record)
        for (const { term, before, after } of terms) {
          if (before === after) continue
          if (after) entities.put(termKey(kind, term, id), '')
          else entities.remove(termKey(kind, term, id))
          addToCount(counts, kind, term, after ? 1 : -1)
        }
        yield record.length
      }
    }
    this.#putCounts(counts)
    for (const { dueMs, kind, id, name, row } of fold.timers.values()) {
      if (row === undefined) timers.remove([dueMs, kind, id, name])
      else timers.put([dueMs, kind, id, name], JSON.stringify([row.generation, row.message]))
    }
    for (const { key, row } of fold.outbox.values()) {
      if (row === undefined) outbox.remove([key.kind, key.id, key.n])
      else outbox.put([key.kind, key.id, key.n], JSON.stringify([row.toKind, row.toId, row.message]))
    }
    for (const [scope, values] of fold.reservations) {
      this.#reservedScopes.set(scope, true)
      for (const [key, value] of values) reservations.put([keyPart(scope), keyPart(key)], value)
    }
  }

  /** Yields after each trace. */
  *#putEvents(fold: Fold): Generator<number> {
    const { eventIds } = this.#tables
    for (const [traceId, trace] of fold.traces) {
      for (const { id, project, sequence } of trace.all)
        eventIds.put(eventIdKey(project, traceId, id), String(sequence))
      if (traceId !== null) this.#putHistory('trace', traceId, trace.sequences)
      yield 0
    }
    for (const [id, sequences] of fold.items) this.#putHistory('item', id, sequences)
  }

  #putHistory(of: 'trace' | 'item', id: string, sequences: readonly number[]): void {
    for (let from = 0; from < sequences.length; from += CHUNK_SEQUENCES_MAX) {
      const to = Math.min(from + CHUNK_SEQUENCES_MAX, sequences.length)
      this.#tables.histories.put([of, keyPart(id), sequences[from]!], packChunk(sequences, from, to))
    }
  }

  /** Writes absolute values: the view's present count plus the change. No other write is in flight. */
  #putCounts(changes: ReadonlyMap<string, readonly [Key, number]>): void {
    const { counts } = this.#tables
    for (const [key, change] of changes.values()) {
      if (change === 0) continue
      const count = Number(counts.get(key) ?? 0) + change
      if (count === 0) counts.remove(key)
      else counts.put(key, String(count))
    }
  }
}

/** Every row of an index, a page of rows at a time. */
export function* scanPages(
  list: (query: ListQuery) => ListPage,
  kind: string,
  index: string,
  value: string,
): Generator<ListRow> {
  let after: { order: string; id: string } | undefined
  for (;;) {
    const page = list({ kind, index, value, limit: SCAN_PAGE_ROWS, reverse: false, ...(after && { after }) })
    yield* page.rows
    if (!page.more) return
    after = page.rows.at(-1)!
  }
}

function addToCount(counts: Map<string, [Key, number]>, kind: string, term: Term, change: number): void {
  const name = `${kind}\n${term.index}\n${term.value}`
  const entry = counts.get(name)
  if (entry === undefined) counts.set(name, [countKey(kind, term.index, term.value), change])
  else entry[1] += change
}
