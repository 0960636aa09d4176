/** Reads the service's lists page by page, up to the number of items asked for. */
import type { Answer, Client, QueryValue } from '../engine/client.ts'
import type { Document } from './document.ts'

/** Largest page that the service gives. */
const PAGE_MAX = 500

/** More items than a list is expected to have: for reading all of them. */
export const ALL = 100_000

interface Listing {
  readonly items: readonly Document[]
  /** There are more items than asked for. */
  readonly more: boolean
  /** The cursor for the items after these, or for later ones. */
  readonly next: string | undefined
}

export async function list(
  client: Client,
  path: string,
  limit: number,
  query: Readonly<Record<string, QueryValue>> = {},
): Promise<Listing> {
  const items: Document[] = []
  let more = false
  let next: string | undefined
  for await (const { body, headers } of pages(client, path, query, limit)) {
    items.push(...body.items)
    more = body.next_cursor !== undefined
    next = body.next_cursor ?? headers.get('watch-cursor') ?? undefined
  }
  return { items: items.slice(0, limit), more, next }
}

/** The first items that are to be kept; `more` says whether the rest of the list was not looked at. */
export async function listWhere(
  client: Client,
  path: string,
  limit: number,
  query: Readonly<Record<string, QueryValue>>,
  keeps: (item: Document) => boolean,
): Promise<Pick<Listing, 'items' | 'more'>> {
  const items: Document[] = []
  for await (const { body } of pages(client, path, query)) {
    items.push(...body.items.filter(keeps))
    if (items.length > limit || (items.length === limit && body.next_cursor !== undefined))
      return { items: items.slice(0, limit), more: true }
  }
  return { items, more: false }
}

/** The items in any of the states. */
export async function inStates(
  client: Client,
  path: string,
  states: readonly string[],
  limit: number,
  query: Readonly<Record<string, QueryValue>>,
): Promise<Document[]> {
  return [...(await list(client, path, limit, { ...query, state: states })).items]
}

/**
 * The cursor after the first `count` matching events behind another cursor. Only a whole frame of Watch has a cursor,
 * but a page of the list can end anywhere.
 */
export async function cursorAfter(
  client: Client,
  cursor: string | undefined,
  count: number,
  filters: Readonly<Record<string, QueryValue>>,
): Promise<string | undefined> {
  return (await list(client, '/api/events', count, { ...filters, cursor })).next
}

/** The pages as answered; each is released before the next is requested. */
export async function* pages(
  client: Client,
  path: string,
  query: Readonly<Record<string, QueryValue>>,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Answer, void, void> {
  let left = limit
  let cursor = query.cursor
  do {
    const page = await client.request('GET', path, { query: { ...query, limit: Math.min(left, PAGE_MAX), cursor } })
    yield page
    left -= page.body.items.length
    cursor = page.body.next_cursor
  } while (cursor !== undefined && left > 0)
}
