/** `intendant events`: recorded events. */
import type { Command } from 'commander'
import { LIMIT } from './arguments.ts'
import { printEvents } from './event-line.ts'
import { list } from './lists.ts'
import { cursorOf, since } from './since.ts'
import { addFilters, filtersOf } from './watch.ts'
import type { Act, Cli } from './world.ts'

export function addEvents(program: Command, act: Act): void {
  addFilters(program.command('events').description('List recorded events; with an id, show that one.'))
    .argument('[id]', 'An event, evt_...')
    .option(...LIMIT)
    .option(
      '--since <cursor>',
      'Oldest first, after this cursor, since this time or for this long (24h), or from earliest; the next cursor is printed on standard error. Default: the latest events.',
      since,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  intendant events --limit 20\n  intendant events --run-request-id runreq_... --since earliest\n  intendant events --project shop --since 24h --limit 1000      what changed since yesterday\n  intendant events evt_... --json',
    )
    .action(act(listEvents))
}

async function listEvents({ client, json, print, note }: Cli, [id]: readonly any[], options: any): Promise<void> {
  if (id !== undefined) {
    const query = { trace_id: options.traceId?.[0] }
    const { body } = await client.request('GET', `/api/events/${encodeURIComponent(id)}`, { query })
    return print.json(body)
  }
  const { limit } = options
  const filters = filtersOf(options)
  const since = options.since && (await cursorOf(client, options.since, filters))
  const from = since === undefined ? { order: 'desc' } : since === 'earliest' ? {} : { cursor: since }
  const { items, more, next } = await list(client, '/api/events', limit, { ...filters, ...from })
  // The latest come last, as in a log, wherever the list begins.
  const events = since === undefined ? items.toReversed() : items
  // To see events before the latest ones, ask with a larger limit.
  if (since !== undefined && next !== undefined) note(`continue with: --since ${next}`)
  if (json) return print.json(events)
  if (events.length === 0) print.line('No such events.')
  printEvents(events, print)
  print.rest(events.length, more, since === undefined ? 'latest' : 'first')
}
