/**
 * Compares what the log's events assert about entities with what their records say, for `verify`. The events are read
 * once, in order. For each entity only the sequence of the newest event of each aspect is kept, and the few texts that
 * still count are read again when its record is seen. Events that retention has removed assert nothing any more, and
 * what they created may be gone with them.
 */

import { type ForgottenTimes, mayBeForgotten } from '../retention/forgotten-times.ts'
import { overtakenRanges } from '../retention/time-order.ts'
import { EntityTable } from './entity-table.ts'
import { ASPECTS_MAX, type Findings, type VerifyHooks } from './findings.ts'

const CREATION = ASPECTS_MAX
const VISITED = ASPECTS_MAX + 1
const SLOTS = ASPECTS_MAX + 2

interface AssertionsOf {
  readonly hooks: VerifyHooks
  readonly findings: Findings
  /** First sequence that the log holds. */
  readonly floor: number
  /** Undefined if retention has removed nothing, or did so before these times were kept. */
  readonly forgotten: ForgottenTimes | undefined
  /** Text of an earlier event; undefined if it cannot be read. */
  readonly text: (sequence: number) => string | undefined
}

export class Assertions {
  readonly #of: AssertionsOf
  readonly #entities = new EntityTable(SLOTS)
  readonly #floorRecordedAt: string | undefined
  #last = 0
  /** Computed on first use. */
  #overtaken: ReturnType<typeof overtakenRanges> | undefined

  constructor(of: AssertionsOf) {
    this.#of = of
    const first = of.text(of.floor)
    this.#floorRecordedAt = first === undefined ? undefined : recordedAt(first)
  }

  /** Takes the next event of the log. */
  event(sequence: number, text: string): void {
    this.#last = sequence
    const assertion = this.#of.hooks.asserts?.(text)
    if (assertion === undefined) return
    const row = this.#entities.row(assertion.kind, assertion.id)
    const place = sequence - this.#of.floor + 1
    if (assertion.creates) for (let slot = 0; slot < SLOTS; slot += 1) this.#entities.set(row, slot, 0)
    if (assertion.creates) this.#entities.set(row, CREATION, place)
    for (const aspect of assertion.aspects) this.#entities.set(row, aspect, place)
  }

  /** Takes a record, after the last event. Throws if it cannot be read. */
  record(kind: string, id: string, record: string): void {
    const where = `${kind} ${id}`
    const row = this.#entities.find(kind, id)
    if (row >= 0) this.#entities.set(row, VISITED, 1)
    const witness = this.#of.hooks.witness?.(kind, id, record)
    if (witness === undefined) {
      if (row >= 0) this.#entities.set(row, VISITED, 0)
      return
    }
    const { madeAt } = witness
    if (madeAt !== undefined && this.#place(row, CREATION) === undefined && this.#isRetained(madeAt)) {
      this.#of.findings.add('creation_missing', where, `created at ${madeAt}, but no event in the log says so`)
    }
    for (const [sequence, aspects] of this.#standing(row)) {
      const text = this.#of.text(sequence)
      if (text === undefined) continue
      for (const difference of witness.differences(text, aspects)) {
        this.#of.findings.add('assertion_wrong', where, `event ${sequence}, ${typeOf(text)}, ${difference}`)
      }
    }
  }

  /** Reports entities that events assert and that have no record. */
  rest(): void {
    for (let row = 0; row < this.#entities.size; row += 1) {
      if (this.#entities.get(row, VISITED) !== 0) continue
      const creation = this.#place(row, CREATION)
      const sequence = creation ?? this.#standing(row).keys().next().value
      const text = sequence === undefined ? undefined : this.#of.text(sequence)
      const assertion = text === undefined ? undefined : this.#of.hooks.asserts?.(text)
      if (text === undefined || assertion === undefined) continue
      // The entity was retired along with its creation, which is below the floor; its later events go in their turn.
      if (creation === undefined && this.#of.floor > 1) continue
      if (!this.#isRetained(recordedAt(text)) || this.#isOvertaken(sequence!)) continue
      const { kind, id } = assertion
      this.#of.findings.add(
        'record_missing',
        `${kind} ${id}`,
        `event ${sequence}, ${typeOf(text)}, says that it exists`,
      )
    }
  }

  /** The events of the row that still count, each with the aspects of which it is the newest. */
  #standing(row: number): Map<number, number[]> {
    const standing = new Map<number, number[]>()
    for (let aspect = 0; aspect < ASPECTS_MAX; aspect += 1) {
      const sequence = this.#place(row, aspect)
      if (sequence === undefined) continue
      const aspects = standing.get(sequence) ?? []
      standing.set(sequence, aspects)
      aspects.push(aspect)
    }
    return standing
  }

  #place(row: number, slot: number): number | undefined {
    const place = row < 0 ? 0 : this.#entities.get(row, slot)
    return place === 0 ? undefined : place + this.#of.floor - 1
  }

  /**
   * Whether an event before it was recorded later. If so, retention may have removed the entity while this event is
   * held back by that one.
   */
  #isOvertaken(sequence: number): boolean {
    const { floor, text } = this.#of
    this.#overtaken ??= overtakenRanges(floor, this.#last, (one) => {
      const found = text(one)
      return found === undefined ? undefined : recordedAt(found)
    })
    return this.#overtaken.some(([first, last]) => sequence >= first && sequence <= last)
  }

  /**
   * Whether retention must have kept an event of this time, because it has not reached that time. If how far it got is
   * not known, anything older than the log's first event may rightly be gone, since the log is in order of time except
   * where a clock was set back.
   */
  #isRetained(at: string): boolean {
    const { floor, forgotten } = this.#of
    if (floor === 1) return true
    if (forgotten !== undefined) return !mayBeForgotten(forgotten, Date.parse(at))
    return this.#floorRecordedAt !== undefined && at >= this.#floorRecordedAt
  }
}

function recordedAt(text: string): string {
  return (JSON.parse(text) as { recorded_at: string }).recorded_at
}

function typeOf(text: string): string {
  return (JSON.parse(text) as { event_type: string }).event_type
}
