/** `intendant emit`: states an event. A `*_requested` is a command, and creates a run request. */
import type { Command } from 'commander'
import type { Answer } from '../engine/client.ts'
import { jsonObject, ORIGIN, throttleOption, time, WAIT_LIMIT } from './arguments.ts'
import { EXIT, explain } from './exit.ts'
import { follow } from './run-request-wait.ts'
import type { Act, Cli } from './world.ts'

const HELP = `
An event is identified by its content. With the same --occurred-at, the same command can be
repeated: the event is recorded once and requests one run. Without that option each event is a new
one; if it may have been recorded but no answer came (exit code 4), the --occurred-at with which to
repeat it is printed. A run that is requested with --throttle full waits until it is approved.

Example:
  intendant emit greet_requested --project shop --payload '{"name":"Ada"}' --wait`

export function addEmit(program: Command, act: Act): void {
  program
    .command('emit')
    .description('Record an event of a project. A *_requested event is a command: it requests a run.')
    .argument('<type>', 'The event type, such as greet_requested.')
    .requiredOption('--project <key>', 'Key of the project.')
    .option('--payload <json>', 'Its payload: a JSON object, or @FILE. Default: {}.', jsonObject)
    .addOption(throttleOption())
    .option('--trace-id <id>', 'The trace that it belongs to.')
    .option('--occurred-at <time>', 'When it happened. Default: now.', time)
    .option('--wait', 'Follow the run that a command requests; exit with its outcome.')
    .option(...WAIT_LIMIT)
    .option(...ORIGIN)
    .addHelpText('after', HELP)
    .action(act(emit))
}

async function emit(cli: Cli, [type]: readonly any[], options: any): Promise<number | undefined> {
  const { project, payload = {}, throttle, traceId, occurredAt, wait, waitLimit } = options
  const event = {
    event_type: type,
    project,
    occurred_at: occurredAt ?? new Date().toISOString(),
    payload,
    throttle,
    trace_id: traceId,
  }
  const { body } = await stated(cli, event)
  const [request] = body.run_requests
  const isFollowed = request !== undefined && (wait || waitLimit !== undefined)
  if (cli.json && !isFollowed) cli.print.json(body)
  else if (!cli.json) {
    const isNew = body.duplicates === 0
    cli.print.line(`Event ${body.events[0]}${isNew ? '' : ' had been recorded before'}`)
    const waits = isNew && throttle === 'full' && !isFollowed
    if (request !== undefined) cli.print.line(`Run request ${request}${waits ? waitsFor(request) : ''}`)
  }
  return isFollowed ? await follow(cli, request, undefined, waitLimit) : undefined
}

/** No brief's approval covers a run that an event asks for. */
function waitsFor(request: string): string {
  return ` waits for an approval: intendant run-request approve ${request}`
}

/** Posts the event. If it is unknown whether it was recorded, prints how to state the very same event again. */
async function stated({ client, note }: Cli, event: { readonly occurred_at: string }): Promise<Answer> {
  try {
    return await client.request('POST', '/api/events', { body: { events: [event] } })
  } catch (error) {
    if (explain(error).exitCode === EXIT.unreachable)
      note(`It may have been recorded. To repeat it as the same event, add --occurred-at ${event.occurred_at} .`)
    throw error
  }
}
