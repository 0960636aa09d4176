/**
 * Batches that the log holds and the view does not yet, merged as they come, so that one object is both the overlay
 * that reads by key check first and the list of rows that the applier will write. The last write wins, and a row that
 * came and went within one fold is never written. Hot: plain maps, no copies of steps.
 */
import type { Term } from '../../machines/machine.ts'
import type { NewEvent, OutboxKey, OutboxRow, RecordText, Step, TimerRow } from '../journal.ts'
import type { Batch } from '../log/redo.ts'

interface IdentifiedEvent {
  readonly id: string
  readonly project: string
  readonly sequence: number
}

/**
 * Up to this many events are searched one by one: cheaper than a key for each event, most of which are never looked
 * up.
 */
const LOOKED_THROUGH_MAX = 32

/** The events of one trace, in the order of the log. Hot: an event is one entry of an array. */
class TraceEvents {
  readonly all: IdentifiedEvent[] = []
  /** Built on the first lookup in a long trace, and extended from there. */
  #byName: Map<string, number> | undefined
  #named = 0

  /** The event's sequence; undefined if it is not in this fold. */
  find(project: string, id: string): number | undefined {
    if (this.all.length > LOOKED_THROUGH_MAX) return this.#indexed().get(`${id}\n${project}`)
    for (let i = this.all.length - 1; i >= 0; i -= 1) {
      const event = this.all[i]!
      if (event.id === id && event.project === project) return event.sequence
    }
    return undefined
  }

  /** Sequences of the events, ascending. */
  get sequences(): readonly number[] {
    return this.all.map(({ sequence }) => sequence)
  }

  #indexed(): ReadonlyMap<string, number> {
    this.#byName ??= new Map()
    for (; this.#named < this.all.length; this.#named += 1) {
      const { id, project, sequence } = this.all[this.#named]!
      this.#byName.set(`${id}\n${project}`, sequence)
    }
    return this.#byName
  }
}

interface TermChange {
  readonly term: Term
  /** Whether the view has the row, and whether it should have it. */
  readonly before: boolean
  after: boolean
}

interface EntityChange {
  readonly kind: string
  readonly id: string
  /** Text of the actor's newest step, which is built only when the view takes it or somebody reads it. */
  text: RecordText
  /** Few: a linear search is cheaper than a key for each. */
  readonly terms: TermChange[]
}

interface TimerChange {
  readonly kind: string
  readonly id: string
  readonly name: string
  readonly dueMs: number
  /** Undefined if cleared. */
  readonly row: TimerRow | undefined
}

interface OutboxChange {
  readonly key: OutboxKey
  /** Undefined if consumed. */
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

/** (kind, id, n) as one string. It is unique, since a kind contains no line break. */
export const outboxName = (kind: string, id: string, n: number): string => `${n}\n${kind}\n${id}`

/** This many events cost the view about as much as a step. */
const EVENTS_A_STEP = 4
/** So do this many characters of a record, or of a step's change of it. */
const CHARS_A_STEP = 4_096

export class Fold {
  /** First and last batch and last event sequence in the fold; 0 while it is empty. */
  firstBatch = 0
  lastBatch = 0
  lastSequence = 0
  /** Estimated work to apply the fold. A step counts as one, or more if it has many events or a long record. */
  weight = 0

  /** kind -> id -> change. */
  readonly entities = new Map<string, Map<string, EntityChange>>()
  /** Trace id, or null for events without one -> events. */
  readonly traces = new Map<string | null, TraceEvents>()
  /** Item id -> sequences, ascending. */
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
      this.weight += Math.max(1, step.events.length / EVENTS_A_STEP, (step.change ?? step.record).length / CHARS_A_STEP)
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
    return this.traces.get(traceId)?.find(project, id)
  }

  hasTrace(project: string, traceId: string): boolean {
    return this.traces.get(traceId)?.all.some((event) => event.project === project) === true
  }

  /** Sequences of the events of a trace or an item, ascending. */
  history(of: 'trace' | 'item', id: string): readonly number[] | undefined {
    return of === 'item' ? this.items.get(id) : this.traces.get(id)?.sequences
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
    let trace = this.traces.get(traceId)
    if (trace === undefined) {
      trace = new TraceEvents()
      this.traces.set(traceId, trace)
    }
    trace.all.push({ id, project, sequence })
    if (itemId === undefined) return
    const ofItem = this.items.get(itemId)
    if (ofItem === undefined) this.items.set(itemId, [sequence])
    else ofItem.push(sequence)
  }
}

/** The first change of a row tells whether the view has it, and the last whether it should. */
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
