/**
 * What a person can do, as data: when it is offered, what it asks, and what it sends. The service decides whether it is
 * allowed; what it refuses is shown in its own words.
 */
import type { Document, Query } from '../document.ts'

/** What an action of several requests needs of the API (api.ts). */
export interface Requests {
  get(path: string, query: Query): Promise<Document>
  change(method: 'POST', path: string, body: Document, options?: { idempotencyKey: string }): Promise<Document>
}

export interface Field {
  readonly name: string
  readonly label: string
  readonly type: 'text' | 'long' | 'check' | 'number' | 'choice' | 'time'
  readonly isRequired?: true
  readonly choices?: readonly string[]
  /** The value that the form begins with. */
  readonly initial?: (of: Document) => string
  readonly hint?: string
}

export interface Action {
  readonly label: string
  /** What it is done to, for those who only hear the label, where several on a page have the same one. */
  readonly about?: string
  /** What will happen, in a sentence. */
  readonly explains: string
  readonly isOffered: (of: Document) => boolean
  readonly method?: 'PATCH'
  /** Relative to the service, as `api/work-items/wi_1/hold`. */
  readonly path: (of: Document) => string
  readonly fields?: readonly Field[]
  /** The body, made from the filled-in fields; default: the fields themselves. */
  readonly body?: (fields: Document, of: Document) => Document
  /** Instead of one request to `path`: several, of which the last answer is what was made. */
  readonly send?: (api: Requests, fields: Document, of: Document) => Promise<Document>
  /** It makes something new: it is sent with an idempotency key, and the page of what it made is opened. */
  readonly opens?: (made: Document) => readonly string[]
  /** It is about what the document says: refused if the document has changed since it was shown (`If-Match`). */
  readonly isOfVersion?: true
  /** It ends something or cannot be taken back. */
  readonly isGrave?: true
}

export const reason = { name: 'reason', label: 'Why', type: 'long' } as const
export const whyRequired = { ...reason, isRequired: true } as const
export const discard = {
  name: 'discard_work',
  label: 'Discard uncommitted work',
  type: 'check',
  hint: 'Otherwise the runner keeps it on a branch.',
} as const

export const inState =
  (...states: readonly string[]) =>
  (of: Document): boolean =>
    states.includes(of.state ?? of.status)
