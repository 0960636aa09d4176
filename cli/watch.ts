/** `intendant watch`: live events. Resumes by its cursor after every break, until it is stopped. */
import { type Command, Option } from 'commander'
import type { Client, QueryValue } from '../engine/client.ts'
import { describeRetry } from '../engine/errors.ts'
import { watch } from '../engine/watch.ts'
import { collect, integer } from './arguments.ts'
import { printEvents } from './event-line.ts'
import { IdOption, RUN_REQUEST, WORK_ITEM } from './ids.ts'
import { list } from './lists.ts'
import type { Act, Cli } from './world.ts'

/** The filters of Watch and of the list of events, as options. */
const FILTERS = [
  ['--project <key>', 'Only this project. May be repeated, like all filters.'],
  ['--event-type <type>', 'Only this type of event.'],
  ['--run-request-id <id>', 'Only this run request.', RUN_REQUEST],
  ['--trace-id <id>', 'Only this trace.'],
  ['--item-id <id>', 'Only this work item.', WORK_ITEM],
  ['--session-id <id>', 'Only this agent session.'],
  ['--campaign <name>', 'Only this campaign.'],
  ['--initiative <name>', 'Only this initiative.'],
  ['--sentinel <name>', 'Only this sentinel.'],
] as const

export function addFilters(command: Command): Command {
  for (const [flags, help, ...kinds] of FILTERS)
    command.addOption(new IdOption(flags, help, ...kinds).argParser(collect))
  return command
}

/** The filters in the service's form: comma-separated lists. */
export function filtersOf(options: Readonly<Record<string, any>>): Record<string, QueryValue> {
  const given = FILTERS.map(([flags]) => new Option(flags)).filter((one) => options[one.attributeName()] !== undefined)
  return Object.fromEntries(
    given.map((one) => [one.name().replaceAll('-', '_'), options[one.attributeName()].join(',')]),
  )
}

export function addWatch(program: Command, act: Act): void {
  addFilters(program.command('watch').description('Show events as they happen.'))
    .option('--since <cursor>', 'Start after this cursor; or latest, or earliest.', 'latest')
    .option('--count <n>', 'End after this many events.', integer(1, 1e15))
    .addHelpText(
      'after',
      '\nWith --json each line is one event. After a break the stream resumes by itself without a gap; at the\nend the next cursor is printed on standard error.\n' +
        '\nExamples:\n  intendant watch --project shop\n  intendant watch --since earliest --event-type run_request_failed --json',
    )
    .action(act(watchEvents))
}

async function watchEvents({ client, world, json, print, note }: Cli, _: readonly any[], options: any): Promise<void> {
  const stop = new AbortController()
  world.onStopSignal(() => stop.abort())
  let left: number = options.count ?? Number.POSITIVE_INFINITY
  let broken = false
  let cursor: string | undefined
  const frames = watch({
    client,
    since: options.since,
    filters: filtersOf(options),
    signal: stop.signal,
    onBreak(error) {
      if (!broken) note(describeRetry(error))
      broken = true
    },
  })
  for await (const frame of frames) {
    if (broken) note('connected again')
    broken = false
    const events = frame.type === 'events' ? frame.events : []
    for (const event of events.slice(0, left)) {
      if (json) print.jsonLine(event)
      else printEvents([event], print)
    }
    cursor = events.length <= left ? frame.cursor : await behind(client, cursor, left, options)
    left -= events.length
    if (left <= 0) break
    await print.room(stop.signal)
  }
  if (cursor !== undefined) note(`continue with: --since ${cursor}`)
}

/**
 * The cursor after the first `count` events of a frame. Only the whole frame has a cursor, but a page of the list can
 * end anywhere.
 */
async function behind(
  client: Client,
  cursor: string | undefined,
  count: number,
  options: any,
): Promise<string | undefined> {
  const page = await list(client, '/api/events', count, { ...filtersOf(options), cursor }).catch(() => undefined)
  // The service does not answer now: the shown part of the frame is shown again.
  return page?.next ?? cursor
}
