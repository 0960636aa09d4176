/**
 * A batch as the log keeps it until the view holds it: one JSON text, self-contained, made by joining texts that
 * exist already (an actor's record is put in as it is, never quoted again). Events are in it by identity; their
 * texts are rows of their own.
 */
import type { Term } from '../machines/machine.ts'
import type { NewEvent, OutboxRow, Step, TimerRow } from './journal.ts'

/** What one append makes durable: steps of actors, then events that belong to no actor's step. */
export interface Batch {
  readonly batch: number
  readonly firstSequence: number
  readonly lastSequence: number
  readonly steps: readonly Step[]
  readonly looseEvents: readonly NewEvent[]
}

const quote = JSON.stringify

function eventsText(events: readonly NewEvent[]): string {
  let text = ''
  for (const event of events) {
    const item = event.itemId === undefined ? '' : `,${quote(event.itemId)}`
    text += `${text === '' ? '' : ','}[${quote(event.id)},${quote(event.project)},${quote(event.traceId)}${item}]`
  }
  return text
}

function termsText(terms: readonly Term[]): string {
  let text = ''
  for (const term of terms) {
    text += `${text === '' ? '' : ','}[${quote(term.index)},${quote(term.value)},${quote(term.order)}]`
  }
  return text
}

function stepText(step: Step): string {
  let text = `{"k":${quote(step.kind)},"i":${quote(step.id)},"v":${step.version},"r":${step.record}`
  if (step.events.length > 0) text += `,"e":[${eventsText(step.events)}]`
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
  return `${text}}`
}

/** The batch's text. */
export function encodeBatch(batch: Batch): string {
  let steps = ''
  for (const step of batch.steps) steps += steps === '' ? stepText(step) : `,${stepText(step)}`
  const loose = batch.looseEvents.length > 0 ? `,"e":[${eventsText(batch.looseEvents)}]` : ''
  return `{"b":${batch.batch},"f":${batch.firstSequence},"l":${batch.lastSequence},"s":[${steps}]${loose}}`
}

type EventEntry = [id: string, project: string, traceId: string | null, itemId?: string]
type TermEntry = [index: string, value: string, order: string]

interface StepEntry {
  k: string
  i: string
  v: number
  r: unknown
  e?: EventEntry[]
  '+'?: TermEntry[]
  '-'?: TermEntry[]
  t?: [name: string, dueMs: number, generation: number, message: object][]
  c?: [name: string, dueMs: number][]
  o?: [n: number, toKind: string, toId: string, message: object][]
  x?: [kind: string, id: string, n: number]
  y?: [scope: string, key: string, value: string]
}

/** Replay needs no text: the log holds it. */
function eventOf([id, project, traceId, itemId]: EventEntry): NewEvent {
  return itemId === undefined ? { id, project, traceId, text: '' } : { id, project, traceId, itemId, text: '' }
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

function stepOf(entry: StepEntry): Step {
  return {
    kind: entry.k,
    id: entry.i,
    version: entry.v,
    record: JSON.stringify(entry.r),
    events: (entry.e ?? []).map(eventOf),
    termsAdded: (entry['+'] ?? []).map(termOf),
    termsRemoved: (entry['-'] ?? []).map(termOf),
    timersSet: (entry.t ?? []).map(timerOf),
    timersCleared: (entry.c ?? []).map(([name, dueMs]) => ({ name, dueMs })),
    outbox: (entry.o ?? []).map(outboxOf),
    ...(entry.x && { consumed: { kind: entry.x[0], id: entry.x[1], n: entry.x[2] } }),
    ...(entry.y && { reservation: { scope: entry.y[0], key: entry.y[1], value: entry.y[2] } }),
  }
}

/** The batch that `encodeBatch` wrote; the events' texts are empty. Throws SyntaxError. */
export function decodeBatch(text: string): Batch {
  const { b, f, l, s, e } = JSON.parse(text) as { b: number; f: number; l: number; s: StepEntry[]; e?: EventEntry[] }
  return { batch: b, firstSequence: f, lastSequence: l, steps: s.map(stepOf), looseEvents: (e ?? []).map(eventOf) }
}
