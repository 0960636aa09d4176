/** `intendant watch`: live events, shown or each given to a command. Resumes by its cursor after every break, until it is stopped. */
import { type Command, Option } from 'commander'
import type { QueryValue } from '../engine/client.ts'
import { watch } from '../engine/watch.ts'
import { collect, integer, shellCommand } from './arguments.ts'
import { printEvents } from './event-line.ts'
import { CliFailure } from './exit.ts'
import { execLimitOption, stopOn } from './hook.ts'
import { IdOption, RUN_REQUEST, WORK_ITEM } from './ids.ts'
import { cursorAfter } from './lists.ts'
import { cursorOf, since } from './since.ts'
import { streamBreaks } from './stream-breaks.ts'
import { consume, ON_FAILURE } from './watch-exec.ts'
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

const HELP = `
With --json each line is one event. After a break the stream resumes by itself without a gap; at the
end the next cursor is printed on standard error.

With --exec the command is run for each event, one after the other, with the event (JSON) on
standard input and its main facts in INTENDANT_EVENT_TYPE, INTENDANT_EVENT_ID, INTENDANT_PROJECT,
INTENDANT_TRACE_ID, INTENDANT_RUN_REQUEST_ID, INTENDANT_ITEM_ID, INTENDANT_OCCURRED_AT and
INTENDANT_WHAT. If it fails five times for an event, watch ends with exit code 1. With --cursor-file
the next start continues behind the last event for which the command has succeeded.

Examples:
  intendant watch --project shop
  intendant watch --since earliest --event-type run_request_failed --json
  intendant watch --event-type work_item_settled --cursor-file deploy.cursor --exec ./deploy-landed

More is in docs/NOTIFICATIONS.md.`

export function addWatch(program: Command, act: Act): void {
  addFilters(program.command('watch').description('Show events as they happen, or run a command for each.'))
    .option(
      '--since <cursor>',
      'Start after this cursor, at this time or this long ago (24h); or latest, or earliest.',
      since,
      'latest',
    )
    .option('--count <n>', 'End after this many events.', integer(1, 1e15))
    .option('--exec <command>', 'The shell command to run for each event, instead of showing it.', shellCommand)
    .option('--cursor-file <file>', 'With --exec: continue at the cursor in this file if it exists, and keep it there.')
    .addOption(
      new Option('--on-failure <what>', 'With --exec: what to do if it has failed five times for an event.')
        .choices(ON_FAILURE)
        .default('stop'),
    )
    .addOption(execLimitOption())
    .addHelpText('after', HELP)
    .action(act(watchEvents))
}

async function watchEvents(cli: Cli, _: readonly any[], options: any): Promise<void> {
  const { exec, cursorFile } = options
  const filters = filtersOf(options)
  const since = await cursorOf(cli.client, options.since, filters)
  if (exec !== undefined) return await consume(cli, { ...options, since, filters })
  if (cursorFile !== undefined)
    throw new CliFailure('--cursor-file needs --exec: only a command can say that it has taken an event.')
  await showEvents(cli, filters, { ...options, since })
}

async function showEvents(
  { client, world, json, print, note }: Cli,
  filters: Readonly<Record<string, QueryValue>>,
  { since, count = Number.POSITIVE_INFINITY }: any,
): Promise<void> {
  const { signal } = stopOn(world)
  const breaks = streamBreaks(note)
  let left: number = count
  let cursor: string | undefined
  for await (const frame of watch({ client, since, filters, signal, onBreak: breaks.broke })) {
    breaks.heard()
    const events = frame.type === 'events' ? frame.events : []
    for (const event of events.slice(0, left)) {
      if (json) print.jsonLine(event)
      else printEvents([event], print)
    }
    // If the service does not answer now, the shown part of the frame is shown again.
    const behind = async () => (await cursorAfter(client, cursor, left, filters).catch(() => undefined)) ?? cursor
    cursor = events.length <= left ? frame.cursor : await behind()
    left -= events.length
    if (left <= 0) break
    await print.room(signal)
  }
  if (cursor !== undefined) note(`continue with: --since ${cursor}`)
}
