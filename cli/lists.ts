/** Lists of the service, page after page, up to as many items as were asked for. */
import type { Client, QueryValue } from '../engine/client.ts'

/** Largest page that the service gives. */
const PAGE_MAX = 500

interface Listing {
  readonly items: readonly Record<string, any>[]
  /** There is more than was asked for. */
  readonly more: boolean
}

export async function list(
  client: Client,
  path: string,
  limit: number,
  query: Readonly<Record<string, QueryValue>> = {},
): Promise<Listing> {
  const items: Record<string, any>[] = []
  let cursor = query.cursor
  for (;;) {
    const page = await client.request('GET', path, {
      query: { ...query, limit: Math.min(limit - items.length, PAGE_MAX), cursor },
    })
    items.push(...page.body.items)
    cursor = page.body.next_cursor
    if (cursor === undefined || items.length >= limit)
      return { items: items.slice(0, limit), more: cursor !== undefined }
  }
}
