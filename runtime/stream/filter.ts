/**
 * What a watcher wants to see: a conjunction of fields, each with its allowed values, and the projects that its
 * token may see. Equal filters have equal keys, so that their watchers share one evaluation. The exact check
 * always runs on parsed fields; text is looked at only to rule events out, never to let one in.
 */
import { quoted } from '../../machines/canonical.ts'
import { SYSTEM_PROJECT } from '../../machines/envelope.ts'
import type { CommittedEvent } from '../api.ts'
import { envelopeOfText, fieldsOfText, PAYLOAD_FIELDS, type WatchedFields } from './fields.ts'

/** The fields that one may filter by. The last four are read from the payload. */
export const FILTER_FIELDS = [
  'trace_id',
  'run_request_id',
  'item_id',
  'session_id',
  'initiative',
  'campaign',
  'event_type',
  'project',
] as const

export type FilterField = (typeof FILTER_FIELDS)[number]

/** Allowed values by field; a field that is absent allows everything. */
export type FilterTerms = Partial<Readonly<Record<FilterField, readonly string[]>>>

interface Clause {
  readonly field: FilterField
  readonly values: ReadonlySet<string>
  /** One of these stands in the text of every event that satisfies the clause. */
  readonly needles: readonly string[]
}

/** A field's values as they are written in an event's canonical text. */
const needle = (field: FilterField, value: string): string => `"${field}":${quoted(value)}`

/** Those of the service's own events that everybody with the right to view may see: they say why work does not start. */
const isForAll = ({ project, event_type }: WatchedFields): boolean =>
  project === SYSTEM_PROJECT && event_type.startsWith('pacing_')

export class Filter {
  /** Canonical: equal for filters that let the same events through by the same words. Empty: everything. */
  readonly key: string
  /** The most selective field that is constrained, and its values; undefined when none is. */
  readonly pivot: { readonly field: FilterField; readonly values: ReadonlySet<string> } | undefined
  readonly #clauses: readonly Clause[]
  readonly #visible: ReadonlySet<string> | undefined
  readonly #readsPayload: boolean

  /**
   * @param terms allowed values by field
   * @param visible keys of the projects that the token may see; undefined: all
   */
  constructor(terms: FilterTerms, visible?: ReadonlySet<string>) {
    const clauses: Clause[] = []
    const words: string[] = []
    for (const field of FILTER_FIELDS) {
      const given = terms[field]
      if (given === undefined) continue
      const values = [...new Set(given)].sort()
      clauses.push({ field, values: new Set(values), needles: values.map((value) => needle(field, value)) })
      words.push(`${field}=${JSON.stringify(values)}`)
    }
    if (visible !== undefined) words.push(`visible=${JSON.stringify([...visible].sort())}`)
    this.#clauses = clauses
    this.#visible = visible
    this.#readsPayload = PAYLOAD_FIELDS.some((field) => terms[field] !== undefined)
    this.key = words.join('&')
    this.pivot = clauses[0]
  }

  /** The values that a field may have; undefined: any. */
  values(field: FilterField): ReadonlySet<string> | undefined {
    return this.#clauses.find((clause) => clause.field === field)?.values
  }

  get matchesAll(): boolean {
    return this.key === ''
  }

  /** Keys of the projects that the token may see; undefined: all. */
  get projects(): ReadonlySet<string> | undefined {
    return this.#visible
  }

  /** Whether what belongs to the project is there at all for the one who asks. */
  sees(project: string): boolean {
    return this.#visible === undefined || this.#visible.has(project)
  }

  /** Whether the event is let through. The exact check. */
  matches(event: WatchedFields): boolean {
    for (const clause of this.#clauses) {
      const value = event[clause.field]
      if (value === undefined || value === null || !clause.values.has(value)) return false
    }
    return this.sees(event.project) || isForAll(event)
  }

  /** The same for an event of which only the text is known: most are ruled out without being parsed. */
  matchesText(text: string): boolean {
    if (this.matchesAll) return true
    for (const clause of this.#clauses) {
      if (!clause.needles.some((words) => text.includes(words))) return false
    }
    return this.matches(this.#readsPayload ? fieldsOfText(text) : envelopeOfText(text))
  }

  /** For either: a committed event brings its fields along, a stored one only its text. */
  lets(event: CommittedEvent | { readonly text: string }): boolean {
    return 'event_type' in event ? this.matches(event) : this.matchesText(event.text)
  }
}
