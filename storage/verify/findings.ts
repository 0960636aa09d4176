/** What `verify` reports, and the hooks by which it asks about events and machines. */
import type { Term } from '../../machines/machine.ts'
import type { FindingCode } from './finding-codes.ts'

interface Finding {
  readonly code: FindingCode
  /** The faulty row: `event 17`, `run_request runreq_...`. */
  readonly where: string
  readonly detail: string
}

/** What an event of the log asserts about an entity of this home. */
export interface Assertion {
  readonly kind: string
  readonly id: string
  /** The event creates the entity. */
  readonly creates: boolean
  /** The aspects it states: indexes below ASPECTS_MAX. For each aspect the newest event counts. */
  readonly aspects: readonly number[]
}

export const ASPECTS_MAX = 6

/** An entity's record, to be compared with its events. */
export interface Witness {
  /** `recorded_at` of the event that created the entity; undefined if no event states its creation. */
  readonly madeAt: string | undefined
  /** How the record differs from what the event says, in words; empty if it does not. */
  differences(text: string, aspects: readonly number[]): readonly string[]
}

/** What storage cannot know by itself. */
export interface VerifyHooks {
  /** The id computed from the event's content; undefined if another engine chose it. */
  eventId?(text: string): string | undefined
  /** The terms under which a record is listed. Throws if the record cannot be read. */
  terms?(kind: string, id: string, record: string): readonly Term[]
  /** Names of the timers that must be set for the entity. Throws if the record cannot be read. */
  timers?(kind: string, id: string, record: string): readonly string[]
  /** Version of the kind's machine. Lists made by another version are not compared with `terms`. */
  machineVersion?(kind: string): number | undefined
  /** Undefined if the event asserts nothing about an entity (statements of others, imported history). */
  asserts?(text: string): Assertion | undefined
  /** Undefined if the record is not of an entity. Throws if it cannot be read. */
  witness?(kind: string, id: string, record: string): Witness | undefined
}

export interface VerifyReport {
  readonly findings: readonly Finding[]
  /** Findings beyond the first 1,000 are only counted. */
  readonly findingsCount: number
  readonly events: number
  readonly entities: number
}

/** The report for a home that could not be checked any further. */
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

  add(code: FindingCode, where: string, detail: string): void {
    this.count += 1
    if (this.all.length < FINDINGS_MAX) this.all.push({ code, where, detail })
  }
}
