/**
 * `intendant run-request log`: what a run's command printed, complete and unchanged. Invariant: each piece once and in
 * order, even where recorded output is followed by live output.
 */
import type { Argument, Command } from 'commander'
import type { Document } from './document.ts'
import { followTo } from './follow.ts'
import { pages } from './lists.ts'
import { failureText } from './run-request-page.ts'
import { followed, outcomeOf } from './run-request-wait.ts'
import type { Act, Cli } from './world.ts'

const HELP = `
Prints the standard output and standard error of all attempts in the order in which the runner
posted them; on a terminal, without control characters. Lines that the runner posted as events are
not included: intendant events shows them. With --json each line is one event. With --follow it ends
when the run request is settled, with the exit codes of create --wait.

Examples:
  intendant run-request log runreq_0a1b2c
  intendant run-request log runreq_0a1b2c --follow | grep -i error`

export function addLog(group: Command, operand: () => Argument, act: Act): void {
  group
    .command('log')
    .description('Show everything that its command printed.')
    .addArgument(operand())
    .option('--follow', 'Continue until it is settled; exit with its outcome.')
    .addHelpText('after', HELP)
    .action(act(log))
}

async function log(cli: Cli, [id]: readonly any[], options: any): Promise<number | undefined> {
  const { client, note, world } = cli
  if (options.follow) world.owesOutcome()
  const run = {
    ...followed(cli, id),
    print: (events: readonly Document[]) => printOutput(cli, events),
    settle(body: Document) {
      cli.print.outputOver()
      note([`${id} ${body.state}`, failureText(body.failure)].filter((text) => text !== undefined).join(': '))
      return outcomeOf(body)
    },
  }
  // First, because a missing run request does not show in its events.
  await client.request('GET', run.path)
  const since = await printPast(cli, id)
  if (!options.follow) {
    cli.print.outputOver()
    return undefined
  }
  const { body } = await client.request('GET', run.path)
  // Its last event may have been printed already, so following would never end.
  if (!run.isSettled(body)) return await followTo(cli, run, since)
  await printPast(cli, id, since)
  return run.settle(body)
}

/** Prints the output recorded after the cursor, or all; returns the cursor of what follows. */
async function printPast(cli: Cli, id: string, cursor?: string): Promise<string | undefined> {
  let behind = cursor
  const query = { run_request_id: id, event_type: 'run_output', cursor }
  for await (const { body, headers } of pages(cli.client, '/api/events', query)) {
    printOutput(cli, body.items)
    await cli.print.room()
    behind = headers.get('watch-cursor') ?? behind
  }
  return behind
}

function printOutput({ json, print }: Cli, events: readonly Document[]): void {
  for (const event of events) {
    if (event.event_type !== 'run_output') continue
    if (json) print.jsonLine(event)
    else print.output(String(event.payload.text))
  }
}
