/** A step in the journal's form, and the parts it is built from. */
import type { ActorRef, MachineModule, Term } from '../machines/machine.ts'
import type { NewEvent, OutboxKey, OutboxRow, RecordText, Reservation, Step, TimerRow } from '../storage/journal.ts'
import type { CommittedEvent } from './api.ts'
import { type ActorRecord, encodeChange, encodeRecord } from './record.ts'

/** A committed event before its number is known: until then `sequence` is its position in the batch. */
export type Numbering = { -readonly [field in keyof CommittedEvent]: CommittedEvent[field] }

/** The effects of a step, collected while they are carried out. */
export interface StepParts {
  timers: Record<string, { dueMs: number; generation: number }>
  readonly timersSet: TimerRow[]
  readonly timersCleared: { name: string; dueMs: number }[]
  readonly outbox: OutboxRow[]
  readonly events: NewEvent[]
  readonly announced: Numbering[]
  readonly recorded: string[]
  outboxNumber: number
}

interface Rows {
  readonly termsAdded: readonly Term[]
  readonly termsRemoved: readonly Term[]
  readonly consumed: OutboxKey | undefined
  readonly reservation: Reservation | undefined
}

export function newParts(record: ActorRecord): StepParts {
  return {
    timers: record.timers,
    timersSet: [],
    timersCleared: [],
    outbox: [],
    events: [],
    announced: [],
    recorded: [],
    outboxNumber: record.outboxNumber,
  }
}

export function clearTimer(parts: StepParts, name: string): void {
  const known = parts.timers[name]
  if (known === undefined) return
  const { [name]: _, ...rest } = parts.timers
  parts.timers = rest
  parts.timersCleared.push({ name, dueMs: known.dueMs })
}

/** A record serialized only when read: usually a later step's record is read instead. */
class LateText implements RecordText {
  readonly #module: MachineModule
  readonly #record: ActorRecord
  #text: string | undefined

  constructor(module: MachineModule, record: ActorRecord) {
    this.#module = module
    this.#record = record
  }

  get record(): string {
    this.#text ??= encodeRecord(this.#module, this.#record)
    return this.#text
  }
}

/** A step in the journal's form. */
export class WrittenStep implements Step {
  readonly kind: string
  readonly id: string
  readonly version: number
  readonly change: string | undefined
  readonly termsAdded: readonly Term[]
  readonly termsRemoved: readonly Term[]
  readonly events: readonly NewEvent[]
  readonly timersSet: readonly TimerRow[]
  readonly timersCleared: readonly { readonly name: string; readonly dueMs: number }[]
  readonly outbox: readonly OutboxRow[]
  readonly consumed?: OutboxKey
  readonly reservation?: Reservation
  readonly recordText: RecordText

  constructor(
    ref: ActorRef,
    module: MachineModule,
    before: ActorRecord,
    after: ActorRecord,
    parts: StepParts,
    rows: Rows,
  ) {
    this.kind = ref.kind
    this.id = ref.id
    this.version = after.version
    this.change = encodeChange(before, after)
    this.termsAdded = rows.termsAdded
    this.termsRemoved = rows.termsRemoved
    this.events = parts.events
    this.timersSet = parts.timersSet
    this.timersCleared = parts.timersCleared
    this.outbox = parts.outbox
    if (rows.consumed !== undefined) this.consumed = rows.consumed
    if (rows.reservation !== undefined) this.reservation = rows.reservation
    this.recordText = new LateText(module, after)
  }

  get record(): string {
    return this.recordText.record
  }

  /** Characters that the log holds of the record: of the change, or of the whole record if there is none. */
  get recordChars(): number {
    return (this.change ?? this.record).length
  }

  /** `recordChars` and the characters of the events. */
  get chars(): number {
    let chars = this.recordChars
    for (const { text } of this.events) chars += text.length
    return chars
  }
}
