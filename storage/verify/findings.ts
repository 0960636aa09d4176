/** What `verify` says: its findings, and what it asks of those who know events and machines. */
import type { Term } from '../../machines/machine.ts'

interface Finding {
  readonly code: string
  /** The row that is wrong: `event 17`, `run_request runreq_...`. */
  readonly where: string
  readonly detail: string
}

/** What an event of the log asserts of an entity of this home. */
export interface Assertion {
  readonly kind: string
  readonly id: string
  /** The entity begins with this event. */
  readonly creates: boolean
  /** What it speaks of: indexes below ASPECTS_MAX. Of each, the newest event holds. */
  readonly aspects: readonly number[]
}

export const ASPECTS_MAX = 5

/** An entity's record, asked about what events say of it. */
export interface Witness {
  /** When the entity was made, as `recorded_at` of the event that says so has it; undefined: no event says so. */
  readonly madeAt: string | undefined
  /** Where the record is not as the event says, in words; empty: it is. */
  differences(text: string, aspects: readonly number[]): readonly string[]
}

/** What storage does not know by itself. */
export interface VerifyHooks {
  /** The id that the event's own content gives; undefined where another engine chose it. */
  eventId?(text: string): string | undefined
  /** The terms that a record is listed under. Throws when the record cannot be read. */
  terms?(kind: string, id: string, record: string): readonly Term[]
  /** The version of the kind's machine: lists that another one made are not held against `terms`. */
  machineVersion?(kind: string): number | undefined
  /** Undefined: it asserts nothing of an entity (the word of others, imported history). */
  asserts?(text: string): Assertion | undefined
  /** Undefined: the record stands for no entity. Throws when it cannot be read. */
  witness?(kind: string, id: string, record: string): Witness | undefined
}

export interface VerifyReport {
  readonly findings: readonly Finding[]
  /** Findings beyond the first 1,000 are only counted. */
  readonly findingsCount: number
  readonly events: number
  readonly entities: number
}

/** Of what could not be looked at any further. */
export const reportOf = (finding: Finding): VerifyReport => ({
  findings: [finding],
  findingsCount: 1,
  events: 0,
  entities: 0,
})

const FINDINGS_MAX = 1_000

export class Findings {
  readonly all: Finding[] = []
  count = 0

  add(code: string, where: string, detail: string): void {
    this.count += 1
    if (this.all.length < FINDINGS_MAX) this.all.push({ code, where, detail })
  }
}
