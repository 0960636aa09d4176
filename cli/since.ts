/** Where a reading of events begins: at a cursor as given, or at a time, for which the service is asked for the cursor. */
import { InvalidArgumentError } from 'commander'
import type { Client, QueryValue } from '../engine/client.ts'
import { isTime } from './arguments.ts'
import { cursorAfter, pages } from './lists.ts'
import { FromNow } from './service-clock.ts'
import { readDuration } from './units.ts'

/** A cursor or a word as it is, a time (RFC 3339), or a duration, which becomes the time that long ago. */
export function since(text: string): string | FromNow {
  const ms = readDuration(text)
  if (ms !== undefined) return new FromNow(-ms)
  // No cursor begins like a date.
  if (/^\d{4}-/.test(text) && !isTime(text))
    throw new InvalidArgumentError('A time such as 2030-01-31T08:00:00Z, or a duration such as 24h, is expected.')
  return text
}

/**
 * The cursor to begin at. For a time: the one before the first of the matching events recorded since then, found by
 * reading back from the newest; `earliest` if none is older. Anything else is returned as it is.
 */
export async function cursorOf(
  client: Client,
  since: string,
  filters: Readonly<Record<string, QueryValue>>,
): Promise<string> {
  if (!isTime(since)) return since
  for await (const { body } of pages(client, '/api/events', { ...filters, order: 'desc' })) {
    const newer = body.items.findIndex((event: any) => Date.parse(event.recorded_at) < Date.parse(since))
    if (newer >= 0)
      return (await cursorAfter(client, body.next_cursor, body.items.length - newer, filters)) ?? 'earliest'
  }
  return 'earliest'
}
