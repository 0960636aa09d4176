/** `intendant emit`: state an event. A `*_requested` is a command, and makes a run request. */
import type { Command } from 'commander'
import { jsonObject, ORIGIN, WAIT_LIMIT } from './arguments.ts'
import { follow } from './run-request-wait.ts'
import type { Act, Cli } from './world.ts'

export function addEmit(program: Command, act: Act): void {
  program
    .command('emit')
    .description('State an event of a project. A *_requested is a command: it asks for a run.')
    .argument('<type>', 'The event type, such as greet_requested.')
    .requiredOption('--project <key>', 'Key of the project.')
    .option('--payload <json>', 'Its payload: a JSON object, or @FILE. Default: {}.', jsonObject)
    .option('--throttle <throttle>', 'full may change things, dry_run (the default) only simulates.')
    .option('--trace-id <id>', 'The trace that it belongs to.')
    .option('--wait', 'Follow the run that a command makes, and end with its outcome.')
    .option(...WAIT_LIMIT)
    .option(...ORIGIN)
    .addHelpText(
      'after',
      '\nExample:\n  intendant emit greet_requested --project shop --payload \'{"name":"Ada"}\' --wait',
    )
    .action(act(emit))
}

async function emit(cli: Cli, [type]: readonly any[], options: any): Promise<number | undefined> {
  const { project, payload = {}, throttle, traceId, wait, waitLimit } = options
  const event = {
    event_type: type,
    project,
    occurred_at: new Date().toISOString(),
    payload,
    throttle,
    trace_id: traceId,
  }
  const { body } = await cli.client.request('POST', '/api/events', { body: { events: [event] } })
  const [request] = body.run_requests
  const isFollowed = request !== undefined && (wait || waitLimit !== undefined)
  if (cli.json && !isFollowed) cli.print.json(body)
  else if (!cli.json) {
    cli.print.line(`Event ${body.events[0]}${body.duplicates > 0 ? ' was recorded before' : ''}`)
    if (request !== undefined) cli.print.line(`Run request ${request}`)
  }
  return isFollowed ? await follow(cli, request, undefined, waitLimit) : undefined
}
