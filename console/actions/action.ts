/**
 * What a person can do, as data: when it is offered, what it asks, and what it sends. The service decides whether it is
 * allowed; what it refuses is shown in its own words.
 */
import type { Right } from '../../machines/rights.ts'
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
  /** Choices that the document has. If there are none, the field is not asked. */
  readonly choicesOf?: (of: Document) => readonly Choice[]
  /** What it means to choose nothing; default: something is to be chosen. */
  readonly none?: string
  /** Of a number: the least that it may be; default 1. */
  readonly least?: number
  /** The value that the form begins with. */
  readonly initial?: (of: Document) => string
  readonly hint?: string
}

export interface Choice {
  readonly value: string
  readonly label: string
}

export interface Action {
  readonly label: string
  /** What it is done to, for those who only hear the label, where several on a page have the same one. */
  readonly about?: string
  /** What will happen, in a sentence. */
  readonly explains: string
  readonly isOffered: (of: Document) => boolean
  /** The rights that the token needs for it. */
  readonly needs: readonly Right[]
  /** One of them is enough. */
  readonly isOneEnough?: true
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
  /** It can be done to many at once: nothing in its form is about one of them. */
  readonly isForMany?: true
  /** It ends something or cannot be taken back. */
  readonly isGrave?: true
}

/** The rights that the token lacks for the action; none: it may do it. */
export function lackedFor({ needs, isOneEnough }: Action, rights: ReadonlySet<Right>): readonly Right[] {
  const lacked = needs.filter((right) => !rights.has(right))
  return isOneEnough === true && lacked.length < needs.length ? [] : lacked
}

/** Actions that the token may not do, with the rights for them: `Hold, Cancel: needs work.operate`. */
export function refusedIn(actions: readonly Action[], rights: ReadonlySet<Right>): string {
  const labels = new Map<string, string[]>()
  for (const action of actions) {
    const lacked = lackedFor(action, rights).join(action.isOneEnough === true ? ' or ' : ' and ')
    if (lacked !== '') labels.set(lacked, [...(labels.get(lacked) ?? []), action.label])
  }
  return [...labels].map(([lacked, of]) => `${of.join(', ')}: needs ${lacked}`).join('; ')
}

/** Of whatever is made in a project: the form begins with the one that the page is about. */
export const project: Field = {
  ...{ name: 'project', label: 'Project', type: 'choice', isRequired: true },
  initial: (of) => of.project ?? '',
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
