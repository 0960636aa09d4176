/**
 * Batches that the log holds and the view does not yet: folded together as they come, so that one object is both
 * the overlay that reads by key look in first and the list of rows that the applier will write. Last write wins,
 * and a row that came and went within one fold is never written. Hot: plain maps, no copies of steps.
 */
import type { Term } from '../machines/machine.ts'
import type { NewEvent, OutboxKey, OutboxRow, RecordText, Step, TimerRow } from './journal.ts'
import type { Batch } from './redo.ts'

interface EventIdEntry {
  readonly id: string
  readonly project: string
  readonly traceId: string | null
  readonly sequence: number
  /** Another event with the same id in another project or trace. */
  readonly next: EventIdEntry | undefined
}

interface TermChange {
  readonly term: Term
  /** Whether the view has the row, and whether it shall have it. */
  readonly before: boolean
  after: boolean
}

interface EntityChange {
  readonly kind: string
  readonly id: string
  /** Of the actor's newest step: written out only when the view takes it, or somebody asks. */
  text: RecordText
  /** Few: searched one after the other, which is cheaper than a key for each. */
  readonly terms: TermChange[]
}

interface TimerChange {
  readonly kind: string
  readonly id: string
  readonly name: string
  readonly dueMs: number
  /** Undefined: cleared. */
  readonly row: TimerRow | undefined
}

interface OutboxChange {
  readonly key: OutboxKey
  /** Undefined: consumed. */
  readonly row: OutboxRow | undefined
}

function two<V>(outer: Map<string, Map<string, V>>, key: string): Map<string, V> {
  let inner = outer.get(key)
  if (inner === undefined) {
    inner = new Map()
    outer.set(key, inner)
  }
  return inner
}

/** (kind, id, n) as one string: the kind has no line break, so no two are alike. */
export const outboxName = (kind: string, id: string, n: number): string => `${n}\n${kind}\n${id}`

/** Events that cost the view about as much as a step does. */
const EVENTS_A_STEP = 4

export class Fold {
  /** First and last batch and last event sequence in the fold; 0 while it is empty. */
  firstBatch = 0
  lastBatch = 0
  lastSequence = 0
  /** The measure of the work to apply: a step is one, and of a step that states many events four are one. */
  weight = 0

  /** kind -> id -> change. */
  readonly entities = new Map<string, Map<string, EntityChange>>()
  readonly eventIds = new Map<string, EventIdEntry>()
  /** Trace id or item id -> sequences, ascending. */
  readonly traces = new Map<string, number[]>()
  readonly items = new Map<string, number[]>()
  readonly timers = new Map<string, TimerChange>()
  readonly outbox = new Map<string, OutboxChange>()
  /** scope -> key -> value. */
  readonly reservations = new Map<string, Map<string, string>>()

  get empty(): boolean {
    return this.lastBatch === 0
  }

  add(batch: Batch): void {
    let sequence = batch.firstSequence
    for (const step of batch.steps) {
      this.#step(step)
      this.weight += Math.max(1, step.events.length / EVENTS_A_STEP)
      for (const event of step.events) this.#event(event, sequence++)
    }
    if (this.firstBatch === 0) this.firstBatch = batch.batch
    this.lastBatch = batch.batch
    this.lastSequence = batch.lastSequence
  }

  /** The actor's record, if a step of it is in this fold. */
  record(kind: string, id: string): string | undefined {
    return this.entities.get(kind)?.get(id)?.text.record
  }

  /** Sequence of an event in this fold. */
  eventSequence(project: string, traceId: string | null, id: string): number | undefined {
    let entry = this.eventIds.get(id)
    while (entry !== undefined) {
      if (entry.project === project && entry.traceId === traceId) return entry.sequence
      entry = entry.next
    }
    return undefined
  }

  hasTrace(project: string, traceId: string): boolean {
    if (!this.traces.has(traceId)) return false
    for (let entry of this.eventIds.values()) {
      for (;;) {
        if (entry.traceId === traceId && entry.project === project) return true
        if (entry.next === undefined) break
        entry = entry.next
      }
    }
    return false
  }

  #step(step: Step): void {
    const ofKind = two(this.entities, step.kind)
    let entity = ofKind.get(step.id)
    if (entity === undefined) {
      entity = { kind: step.kind, id: step.id, text: step.recordText ?? step, terms: [] }
      ofKind.set(step.id, entity)
    } else {
      entity.text = step.recordText ?? step
    }
    for (const term of step.termsRemoved) setTerm(entity.terms, term, false)
    for (const term of step.termsAdded) setTerm(entity.terms, term, true)
    for (const timer of step.timersCleared) this.#timer(step, timer.name, timer.dueMs, undefined)
    for (const timer of step.timersSet) this.#timer(step, timer.name, timer.dueMs, timer)
    for (const row of step.outbox) {
      const key = { kind: step.kind, id: step.id, n: row.n }
      this.outbox.set(outboxName(key.kind, key.id, key.n), { key, row })
    }
    if (step.consumed !== undefined) this.#consume(step.consumed)
    const reserved = step.reservation
    if (reserved !== undefined) two(this.reservations, reserved.scope).set(reserved.key, reserved.value)
  }

  #timer(step: Step, name: string, dueMs: number, row: TimerRow | undefined): void {
    this.timers.set(`${dueMs}\n${step.kind}\n${step.id}\n${name}`, { kind: step.kind, id: step.id, name, dueMs, row })
  }

  /** A message sent and consumed within one fold leaves no trace: the view never held it. */
  #consume(key: OutboxKey): void {
    const name = outboxName(key.kind, key.id, key.n)
    if (this.outbox.get(name)?.row !== undefined) this.outbox.delete(name)
    else this.outbox.set(name, { key, row: undefined })
  }

  #event(event: NewEvent, sequence: number): void {
    const { id, project, traceId, itemId } = event
    this.eventIds.set(id, { id, project, traceId, sequence, next: this.eventIds.get(id) })
    if (traceId !== null) append(this.traces, traceId, sequence)
    if (itemId !== undefined) append(this.items, itemId, sequence)
  }
}

/** The first word about a row tells whether the view has it; the last one whether it shall. */
function setTerm(changes: TermChange[], term: Term, present: boolean): void {
  for (const change of changes) {
    const { index, value, order } = change.term
    if (value === term.value && index === term.index && order === term.order) {
      change.after = present
      return
    }
  }
  changes.push({ term, before: !present, after: present })
}

function append(histories: Map<string, number[]>, id: string, sequence: number): void {
  const sequences = histories.get(id)
  if (sequences === undefined) histories.set(id, [sequence])
  else sequences.push(sequence)
}
