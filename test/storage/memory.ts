/**
 * The journal in memory, for tests and simulation: the same answers as the disk journal, lost with the process. It
 * keeps everything in plain maps and sorts when asked; nothing in it is meant to be fast.
 */

import type {
  Commit,
  EventPage,
  IndexRow,
  Journal,
  ListPage,
  ListQuery,
  ListRow,
  NewEvent,
  OutboxKey,
  OutboxRow,
  RemovedEntity,
  Reservation,
  ReservationSweep,
  Step,
  StoredEvent,
  SweptReservations,
  TimerRow,
  TrimCut,
  TrimStep,
} from '../../storage/journal.ts'
import { JournalFailure } from '../../storage/journal.ts'
import { identityOf } from '../../storage/log/event-identity.ts'
import { TRIM_EVENTS_MAX } from '../../storage/retention/forgetter.ts'
import { assertStep, keyPart } from '../../storage/view/keys.ts'
import { merged, orderOf, valuesOf } from '../../storage/view/places.ts'

type Done = (failure: JournalFailure | null, commit: Commit | null) => void
type DueTimer = TimerRow & { readonly kind: string; readonly id: string }
interface Entry {
  readonly kind: string
  readonly index: string
  readonly value: string
  readonly order: string
  readonly id: string
}

/** An unambiguous key, whatever the parts hold. */
const name = (...parts: readonly (string | number | null)[]): string => JSON.stringify(parts)

function compareEntries(a: Entry, b: Entry): number {
  return (
    Buffer.compare(Buffer.from(a.order), Buffer.from(b.order)) || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))
  )
}

export class MemoryJournal implements Journal {
  readonly epoch: string
  readonly synchronous = true
  readonly backlogBatches = 0
  lastSequence = 0
  oldestSequence = 1
  #lastBatch = 0
  #closed = false
  #failure: JournalFailure | undefined
  #failNext: string | undefined
  #refusal: string | undefined
  readonly #events = new Map<number, string>()
  readonly #ids = new Map<string, number>()
  readonly #traces = new Map<string, number>()
  readonly #histories = new Map<string, number[]>()
  readonly #records = new Map<string, string>()
  readonly #entries = new Map<string, Entry>()
  readonly #timers = new Map<string, DueTimer>()
  readonly #outbox = new Map<string, OutboxKey & OutboxRow>()
  readonly #reservations = new Map<string, Reservation>()

  constructor(epoch = 'memory000000') {
    this.epoch = epoch
  }

  incarnationAt(): undefined {}

  /** For tests: makes the next append fail, and with it the journal. */
  failNextAppend(reason: string): void {
    this.#failNext = reason
  }

  /** For tests: what `refuses` returns from now on. */
  refuse(reason: string | undefined): void {
    this.#refusal = reason
  }

  append(steps: readonly Step[], done: Done): void {
    for (const step of steps) assertStep(step)
    this.#commit(steps, done)
  }

  actor(kind: string, id: string): string | undefined {
    return this.#records.get(name(kind, id))
  }

  eventSequence(project: string, traceId: string | null, eventId: string): number | undefined {
    return this.#ids.get(name(project, traceId, eventId))
  }

  hasTrace(project: string, traceId: string): boolean {
    return (this.#traces.get(name(project, traceId)) ?? 0) > 0
  }

  reservation(scope: string, key: string): string | undefined {
    return this.#reservations.get(name(scope, key))?.value
  }

  events(afterSequence: number, limit: number, bytesMax: number): EventPage {
    const events: StoredEvent[] = []
    let chars = 0
    for (
      let sequence = Math.max(afterSequence + 1, this.oldestSequence);
      sequence <= this.lastSequence;
      sequence += 1
    ) {
      const text = this.#events.get(sequence)!
      chars += text.length
      if (events.length >= limit || (chars > bytesMax && events.length > 0)) break
      events.push({ sequence, text })
    }
    return { events, oldestSequence: this.oldestSequence, lastSequence: this.lastSequence }
  }

  eventsBackward(beforeSequence: number, limit: number, bytesMax: number): EventPage {
    const events: StoredEvent[] = []
    let chars = 0
    let sequence = Math.min(beforeSequence - 1, this.lastSequence)
    for (; sequence >= this.oldestSequence && events.length < limit; sequence -= 1) {
      const text = this.#events.get(sequence)!
      chars += text.length
      if (chars > bytesMax && events.length > 0) break
      events.push({ sequence, text })
    }
    return { events, oldestSequence: this.oldestSequence, lastSequence: this.lastSequence }
  }

  event(sequence: number): string | undefined {
    return this.#events.get(sequence)
  }

  history(of: 'trace' | 'item', id: string, afterSequence: number, limit: number): readonly number[] {
    const after = Math.max(afterSequence, this.oldestSequence - 1)
    return (this.#histories.get(name(of, id)) ?? []).filter((sequence) => sequence > after).slice(0, limit)
  }

  historyBackward(of: 'trace' | 'item', id: string, beforeSequence: number, limit: number): readonly number[] {
    const isHeld = (sequence: number): boolean => sequence < beforeSequence && sequence >= this.oldestSequence
    return (this.#histories.get(name(of, id)) ?? []).filter(isHeld).reverse().slice(0, limit)
  }

  async list(query: ListQuery): Promise<ListPage> {
    if (this.#failure !== undefined) throw this.#failure
    const places = valuesOf(query).map((value) => this.#under(query.kind, query.index, value))
    let entries = [...merged(places, orderOf({ reverse: false }))]
    if (query.reverse) entries.reverse()
    if (query.after !== undefined) {
      const after: Entry = { ...query, value: '', ...query.after }
      entries = entries.filter((entry) => (query.reverse ? -1 : 1) * compareEntries(entry, after) > 0)
    }
    const rows: ListRow[] = []
    let chars = 0
    for (const entry of entries.slice(0, query.limit)) {
      if (chars >= (query.charsMax ?? Number.POSITIVE_INFINITY)) break
      const row = this.#row(entry)
      rows.push(row)
      chars += row.record.length
    }
    return { rows, more: entries.length > rows.length, sequence: this.lastSequence }
  }

  count(kind: string, index: string, value: string): number {
    return this.#under(kind, index, value).length
  }

  timers(fromMs: number, toMs: number, limit: number): readonly DueTimer[] {
    const due = [...this.#timers.values()].filter(({ dueMs }) => dueMs >= fromMs && dueMs < toMs)
    return due.sort((a, b) => a.dueMs - b.dueMs).slice(0, limit)
  }

  outbox(): Iterable<OutboxKey & OutboxRow> {
    return [...this.#outbox.values()]
  }

  scan(kind: string, index: string, value: string): Iterable<ListRow> {
    return this.#under(kind, index, value).map((entry) => this.#row(entry))
  }

  scanIndex(kind: string, index: string): Iterable<IndexRow> {
    const entries = [...this.#entries.values()].filter((entry) => entry.kind === kind && entry.index === index)
    const rows = entries.map((entry) => ({ ...entry, value: keyPart(entry.value) }))
    return rows.sort((a, b) => Buffer.compare(Buffer.from(a.value), Buffer.from(b.value)) || compareEntries(a, b))
  }

  refuses(): string | undefined {
    return this.#failure !== undefined || this.#closed ? 'read_only' : this.#refusal
  }

  waitForRoom(_resume: () => void): boolean {
    return false
  }

  async settled(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
  }

  async trim(cut: TrimCut): Promise<TrimStep> {
    if (this.#failure !== undefined) throw this.#failure
    let removed = 0
    for (; this.oldestSequence <= this.lastSequence; this.oldestSequence += 1) {
      const sequence = this.oldestSequence
      const identity = identityOf(this.#events.get(sequence)!)
      if ('beforeSequence' in cut && sequence >= cut.beforeSequence) return { removed, more: false }
      if ('recordedBeforeMs' in cut && identity.recordedMs >= cut.recordedBeforeMs) return { removed, more: false }
      if (removed >= TRIM_EVENTS_MAX) return { removed, more: true }
      this.#events.delete(sequence)
      this.#ids.delete(name(identity.project, identity.traceId, identity.id))
      const trace = name(identity.project, identity.traceId)
      this.#traces.set(trace, (this.#traces.get(trace) ?? 0) - 1)
      removed += 1
    }
    return { removed, more: false }
  }

  async removeEntities(entities: readonly RemovedEntity[]): Promise<number> {
    if (this.#failure !== undefined) throw this.#failure
    let removed = 0
    for (const { kind, id, terms } of entities) {
      if (!this.#records.delete(name(kind, id))) continue
      removed += 1
      for (const term of terms) this.#entries.delete(name(kind, term.index, term.value, term.order, id))
    }
    return removed
  }

  async sweepReservations({ scope, after = '', limit, isOver }: ReservationSweep): Promise<SweptReservations> {
    if (this.#failure !== undefined || this.#closed) throw this.#failure ?? new JournalFailure('the journal is closed')
    const page = [...this.#reservations.values()]
      .filter((one) => one.scope === scope && one.key > after)
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .slice(0, limit)
    const over = page.filter(({ value }) => isOver(value))
    for (const { key } of over) this.#reservations.delete(name(scope, key))
    return { looked: page.length, removed: over.length, last: page.length < limit ? undefined : page.at(-1)!.key }
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  #commit(steps: readonly Step[], done: Done): void {
    if (this.#failNext !== undefined) this.#failure ??= new JournalFailure(this.#failNext)
    if (this.#failure !== undefined || this.#closed) {
      done(this.#failure ?? new JournalFailure('the journal accepts no writes'), null)
      return
    }
    this.#lastBatch += 1
    const firstSequence = this.lastSequence + 1
    for (const step of steps) {
      this.#step(step)
      for (const event of step.events) this.#event(event)
    }
    done(null, { batch: this.#lastBatch, firstSequence, lastSequence: this.lastSequence })
  }

  #step(step: Step): void {
    const { kind, id } = step
    this.#records.set(name(kind, id), step.record)
    for (const { index, value, order } of step.termsRemoved) this.#entries.delete(name(kind, index, value, order, id))
    for (const { index, value, order } of step.termsAdded) {
      this.#entries.set(name(kind, index, value, order, id), { kind, index, value, order, id })
    }
    for (const timer of step.timersCleared) this.#timers.delete(name(timer.dueMs, kind, id, timer.name))
    for (const timer of step.timersSet)
      this.#timers.set(name(timer.dueMs, kind, id, timer.name), { ...timer, kind, id })
    for (const row of step.outbox) this.#outbox.set(name(kind, id, row.n), { ...row, kind, id })
    const { consumed, reservation } = step
    if (consumed !== undefined) this.#outbox.delete(name(consumed.kind, consumed.id, consumed.n))
    if (reservation !== undefined) this.#reservations.set(name(reservation.scope, reservation.key), reservation)
  }

  #event({ id, project, traceId, itemId, text }: NewEvent): void {
    this.lastSequence += 1
    this.#events.set(this.lastSequence, text)
    this.#ids.set(name(project, traceId, id), this.lastSequence)
    if (traceId !== null) {
      const trace = name(project, traceId)
      this.#traces.set(trace, (this.#traces.get(trace) ?? 0) + 1)
      this.#remember('trace', traceId)
    }
    if (itemId !== undefined) this.#remember('item', itemId)
  }

  #remember(of: 'trace' | 'item', id: string): void {
    const history = this.#histories.get(name(of, id))
    if (history === undefined) this.#histories.set(name(of, id), [this.lastSequence])
    else history.push(this.lastSequence)
  }

  #under(kind: string, index: string, value: string): Entry[] {
    const entries = [...this.#entries.values()]
    return entries
      .filter((entry) => entry.kind === kind && entry.index === index && entry.value === value)
      .sort(compareEntries)
  }

  #row({ kind, id, order }: Entry): ListRow {
    return { id, order, record: this.#records.get(name(kind, id))! }
  }
}
