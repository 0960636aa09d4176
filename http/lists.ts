/**
 * The shape of every list: `limit`, opaque `cursor`, `{items, next_cursor?}`, `Link: rel="next"` and `Watch-Cursor`.
 * Newest first. Rows the caller may not see are left out. A filter without an index may make a page short, but never
 * wrong.
 */
import { digestOf } from '../machines/digest.ts'
import { closedObject, stringEnum, type TSchema, Type } from '../machines/schema.ts'
import type { ListRequest, ListRow, SnapshotOf } from '../runtime/api.ts'
import { maySee } from './access.ts'
import { markCursor } from './replies.ts'
import { visibleProject } from './resources/projects.ts'
import type { RouteAnswer, ServiceContext } from './route.ts'
import type { Exchange } from './wire/exchange.ts'

export const LIST_LIMIT_MAX = 500
export const LIST_LIMIT_DEFAULT = 50
const CURSOR_LENGTH_MAX = 512
const LIST_NAME_DIGITS = 12

/** Query parameter that filters a list by project. */
export const projectFilter = Type.Optional(
  Type.String({ minLength: 1, maxLength: 128, description: 'Only items of this project (key or id).' }),
)

/** The filter of a list by state, status or reason: takes what is in any of the named ones. */
export function stateFilter(states: readonly string[], description: string) {
  const all = `${description} Several are separated by commas.`
  return Type.Optional(Type.Array(stringEnum(states), { uniqueItems: true, description: all }))
}

/** Whether such a filter takes the state. */
export function isAmong(wanted: readonly string[] | undefined, state: unknown): boolean {
  return wanted === undefined || wanted.includes(state as string)
}

/**
 * The key of the project that the filter names, or `{ key: undefined }` without a filter. Returns undefined if the
 * project does not exist for the caller; 404 was answered.
 */
export function namedProject(
  service: ServiceContext,
  exchange: Exchange,
  named: string | undefined,
): { readonly key: string | undefined } | undefined {
  if (named === undefined) return { key: undefined }
  const project = visibleProject(service, exchange, named)
  return project === undefined ? undefined : { key: project.context.key }
}

interface ProjectList {
  readonly kind: ListRequest['kind']
  /** Key or id of the project that the filter names. */
  readonly project: string | undefined
  /**
   * The narrowest index first, with what the filter wants of it: the first of which something is wanted is read, else
   * all entities. `key` is the named project's.
   */
  readonly indexes: (
    key: string | undefined,
  ) => readonly (readonly [index: string, wanted: ListRequest['value'] | undefined])[]
  /** What the filter asks besides the project. */
  readonly matches: (snapshot: SnapshotOf<any>) => boolean
}

/**
 * The list of entities of projects that the caller may see, by a filter that may name one project. Returns undefined if
 * that does not exist for the caller; 404 was answered.
 */
export function projectList(
  service: ServiceContext,
  exchange: Exchange,
  { kind, project, indexes, matches }: ProjectList,
): Omit<ListRequest, 'limit' | 'after'> | undefined {
  const named = namedProject(service, exchange, project)
  if (named === undefined) return undefined
  const { key } = named
  const { principal } = exchange
  const [index, value] = indexes(key).find(([, wanted]) => wanted !== undefined) ?? ['all', '']
  return {
    kind,
    index,
    value: value!,
    matches: (snapshot) =>
      maySee(principal, snapshot.context.project) &&
      (key === undefined || snapshot.context.project === key) &&
      matches(snapshot),
  }
}

/** The query schema of a list with these filters. */
export function listQuery(filters: Record<string, TSchema> = {}): TSchema {
  return closedObject({
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIST_LIMIT_MAX,
        description: `Maximum number of rows; default ${LIST_LIMIT_DEFAULT}.`,
      }),
    ),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: CURSOR_LENGTH_MAX, description: '`next_cursor` of the previous page.' }),
    ),
    ...filters,
  })
}

/** The documented `Link` header of every paged list. */
export const LINK_HEADER = { Link: '`rel="next"`: the next page, if there is one.' }

/** The documented answer of a list of such documents. */
export function listAnswer(document: TSchema, description: string, order = 'Newest first.'): RouteAnswer {
  const { title } = document as { readonly title?: string }
  if (title === undefined) throw new Error(`a listed document must have a title: ${description}`)
  return {
    description,
    schema: Type.Object(
      {
        items: Type.Array(document, { description: order }),
        next_cursor: Type.Optional(Type.String({ description: 'Cursor for the next page; absent on the last page.' })),
      },
      { title: `${title}List` },
    ),
    headers: {
      'Watch-Cursor': 'The point in the log that the page reflects: watch from there to miss nothing.',
    },
    optionalHeaders: LINK_HEADER,
  }
}

/** Reads a page and answers it. `document` turns a snapshot into what is served. */
export function answerList(
  service: ServiceContext,
  exchange: Exchange,
  request: Omit<ListRequest, 'limit' | 'after'>,
  document: (snapshot: SnapshotOf<any>) => object,
): void {
  const { cursor } = exchange.query
  const list = listName(exchange)
  const after = cursor === undefined ? undefined : decodeListCursor(list, cursor)
  if (cursor !== undefined && after === undefined) {
    refuseCursor(exchange)
    return
  }
  const limit = (exchange.query.limit as number | undefined) ?? LIST_LIMIT_DEFAULT
  const page = service.runtime.list({
    ...request,
    ...lookingAhead(exchange),
    limit,
    ...(after === undefined ? {} : { after }),
  })
  exchange.await(page, ({ snapshots, next, sequence }) => {
    const body: { items: object[]; next_cursor?: string } = { items: snapshots.map(document) }
    if (next !== undefined) {
      body.next_cursor = encodeListCursor(list, next)
      exchange.setHeader('Link', nextLink(exchange, body.next_cursor))
    }
    markCursor(service, exchange, sequence)
    exchange.answer(200, body)
  })
}

/**
 * For a caller from whom some rows are hidden, the list looks ahead, so that a cursor does not reveal that hidden rows
 * follow.
 */
export function lookingAhead({ principal }: Exchange): Pick<ListRequest, 'looksAhead'> {
  return principal.projects === '*' ? {} : { looksAhead: true }
}

/**
 * Names a list in its cursors, by its path and filters: with other filters another index may be read, which orders its
 * rows otherwise, and a place in one is none in the other.
 */
export function listName({ path, query: { cursor: _, limit: _limit, ...filters } }: Exchange): string {
  return digestOf([path, filters]).slice(-LIST_NAME_DIGITS)
}

export function encodeListCursor(list: string, row: ListRow): string {
  return Buffer.from(JSON.stringify([list, row.order, row.id])).toString('base64url')
}

/** Returns undefined if the text is not a cursor of the list of this name. */
export function decodeListCursor(list: string, text: string): ListRow | undefined {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (!Array.isArray(parts) || parts.length !== 3) return undefined
    const [name, order, id] = parts
    return name === list && typeof order === 'string' && typeof id === 'string' ? { order, id } : undefined
  } catch {
    return undefined
  }
}

export function refuseCursor(exchange: Exchange): void {
  exchange.problem('invalid_cursor', 'The cursor was not issued by this list with these filters.')
}

/** A `Link` to the same request with another cursor (RFC 8288). */
export function nextLink(exchange: Exchange, cursor: string): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(exchange.query)) if (name !== 'cursor') query.set(name, String(value))
  query.set('cursor', cursor)
  return `<${exchange.path}?${query}>; rel="next"`
}
