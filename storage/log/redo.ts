/**
 * A batch as the log keeps it until the view holds it: one JSON text, joined from texts that already exist (an actor's
 * record, or a step's change of it, is inserted as it is and never quoted again). It holds only the range of its
 * events, which are rows of their own in the same transaction.
 */
import { literal } from '../../machines/canonical.ts'
import { flat } from '../../machines/flat.ts'
import type { Term } from '../../machines/machine.ts'
import type { NewEvent, OutboxRow, Step, TimerRow } from '../journal.ts'
import { ChangeMisplaced, changedRecord } from './record-change.ts'

/** What one append makes durable. */
export interface Batch {
  readonly batch: number
  readonly firstSequence: number
  readonly lastSequence: number
  readonly steps: readonly Step[]
}

const quote = JSON.stringify

/**
 * The number of events, and the work item of each that has one (an event's text does not always show it):
 * `,"e":2,"w":[[1,"wi_1"]]`.
 */
function eventsText(events: readonly NewEvent[]): string {
  let items = ''
  for (let i = 0; i < events.length; i += 1) {
    const itemId = events[i]!.itemId
    if (itemId !== undefined) items += `${items === '' ? '' : ','}[${i},${literal(itemId)}]`
  }
  return items === '' ? `,"e":${events.length}` : `,"e":${events.length},"w":[${items}]`
}

function termsText(terms: readonly Term[]): string {
  let text = ''
  for (const term of terms) {
    text += `${text === '' ? '' : ','}["${term.index}",${literal(term.value)},${literal(term.order)}]`
  }
  return text
}

function stepText(step: Step): string {
  const { change } = step
  const record = change === undefined ? `"r":${step.record}` : `"d":${change}`
  let text = `{"k":"${step.kind}","i":${literal(step.id)},"v":${step.version},${record}`
  if (step.events.length > 0) text += eventsText(step.events)
  if (step.termsAdded.length > 0) text += `,"+":[${termsText(step.termsAdded)}]`
  if (step.termsRemoved.length > 0) text += `,"-":[${termsText(step.termsRemoved)}]`
  if (step.timersSet.length > 0) {
    text += `,"t":${quote(step.timersSet.map((timer) => [timer.name, timer.dueMs, timer.generation, timer.message]))}`
  }
  if (step.timersCleared.length > 0)
    text += `,"c":${quote(step.timersCleared.map((timer) => [timer.name, timer.dueMs]))}`
  if (step.outbox.length > 0)
    text += `,"o":${quote(step.outbox.map((row) => [row.n, row.toKind, row.toId, row.message]))}`
  if (step.consumed !== undefined) text += `,"x":${quote([step.consumed.kind, step.consumed.id, step.consumed.n])}`
  if (step.reservation !== undefined) {
    text += `,"y":${quote([step.reservation.scope, step.reservation.key, step.reservation.value])}`
  }
  return flat(`${text}}`)
}

/** Separates the texts of a batch's steps. */
export const BETWEEN_STEPS = ','

/** The batch's text, one piece per step: joined by `BETWEEN_STEPS` they are what `decodeBatch` reads. */
export function stepTexts({ batch, firstSequence, lastSequence, steps }: Batch): readonly string[] {
  const texts = steps.map(stepText)
  texts[0] = `{"b":${batch},"f":${firstSequence},"l":${lastSequence},"s":[${texts[0] ?? ''}`
  texts[texts.length - 1] += ']}'
  return texts
}

/** What a batch does not contain itself. */
export interface RedoSources {
  /** An event of the batch, from the log. */
  eventAt(sequence: number): NewEvent
  /** The actor's record as it was before the batch. */
  recordBefore(kind: string, id: string): string | undefined
}

type EventAt = RedoSources['eventAt']

type TermEntry = [index: string, value: string, order: string]

interface StepEntry {
  k: string
  i: string
  v: number
  e?: number
  w?: [position: number, itemId: string][]
  r?: unknown
  d?: unknown
  '+'?: TermEntry[]
  '-'?: TermEntry[]
  t?: [name: string, dueMs: number, generation: number, message: object][]
  c?: [name: string, dueMs: number][]
  o?: [n: number, toKind: string, toId: string, message: object][]
  x?: [kind: string, id: string, n: number]
  y?: [scope: string, key: string, value: string]
}

function eventsOf({ e = 0, w = [] }: StepEntry, firstSequence: number, eventAt: EventAt): NewEvent[] {
  const events = Array.from({ length: e }, (_, i) => eventAt(firstSequence + i))
  for (const [position, itemId] of w) events[position] = { ...events[position]!, itemId }
  return events
}

const termOf = ([index, value, order]: TermEntry): Term => ({ index, value, order })
const timerOf = ([name, dueMs, generation, message]: NonNullable<StepEntry['t']>[number]): TimerRow => ({
  name,
  dueMs,
  generation,
  message,
})
const outboxOf = ([n, toKind, toId, message]: NonNullable<StepEntry['o']>[number]): OutboxRow => ({
  n,
  toKind,
  toId,
  message,
})

function stepOf(entry: StepEntry, record: string, firstSequence: number, eventAt: EventAt): Step {
  return {
    kind: entry.k,
    id: entry.i,
    version: entry.v,
    record,
    events: eventsOf(entry, firstSequence, eventAt),
    termsAdded: (entry['+'] ?? []).map(termOf),
    termsRemoved: (entry['-'] ?? []).map(termOf),
    timersSet: (entry.t ?? []).map(timerOf),
    timersCleared: (entry.c ?? []).map(([name, dueMs]) => ({ name, dueMs })),
    outbox: (entry.o ?? []).map(outboxOf),
    ...(entry.x && { consumed: { kind: entry.x[0], id: entry.x[1], n: entry.x[2] } }),
    ...(entry.y && { reservation: { scope: entry.y[0], key: entry.y[1], value: entry.y[2] } }),
  }
}

/** Decodes the joined `stepTexts` of a batch. Throws SyntaxError, ChangeMisplaced, and whatever the sources throw. */
export function decodeBatch(text: string, sources: RedoSources): Batch {
  const { b, f, l, s } = JSON.parse(text) as { b: number; f: number; l: number; s: StepEntry[] }
  const { eventAt } = sources
  const records = new Map<string, string>()
  let sequence = f
  const steps = s.map((entry) => {
    const name = `${entry.k}\n${entry.i}`
    const record = recordOf(entry, records.get(name) ?? sources.recordBefore(entry.k, entry.i))
    records.set(name, record)
    const step = stepOf(entry, record, sequence, eventAt)
    sequence += step.events.length
    return step
  })
  return { batch: b, firstSequence: f, lastSequence: l, steps }
}

function recordOf({ k, i, r, d }: StepEntry, before: string | undefined): string {
  if (d === undefined) return JSON.stringify(r)
  if (before === undefined) throw new ChangeMisplaced(`it changes the record of ${k} ${i}, which does not exist`)
  return changedRecord(before, JSON.stringify(d))
}
