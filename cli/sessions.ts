/** `intendant session`: agent sessions, running and ended. */
import type { Command } from 'commander'
import { LIMIT } from './arguments.ts'
import type { Document } from './document.ts'
import { IdArgument, IdOption, SESSION, WORK_ITEM } from './ids.ts'
import { list } from './lists.ts'
import { type Printer, safe, said } from './print.ts'
import { roundedSize } from './units.ts'
import { amounts, tokenFields } from './usage-fields.ts'
import type { Act, Cli } from './world.ts'

const HELP = `
Examples:
  intendant session list --running                what agents are doing, and when each last wrote
  intendant session list --item wi_0a1b2c3d4e5f60718293a4b5
  intendant session show 6f1c2a34-5b7d-4e8f-9a0b-1c2d3e4f5a6b`

export function addSessions(program: Command, act: Act): void {
  const group = program
    .command('session')
    .description('Agent sessions, running and ended.')
    .addHelpText('after', HELP)
    .action(act(listSessions))
  group
    .command('list')
    .alias('ls')
    .description('List agent sessions, newest first.')
    .option('--project <key>', 'Only those of this project.')
    .option('--running', 'Only those that have not ended.')
    .addOption(new IdOption('--item <id>', 'Only those working for this item, wi_...', WORK_ITEM))
    .option('--campaign <name>', 'Only those working for this campaign.')
    .option('--runner <id>', 'Only those of this runner.')
    .option(...LIMIT)
    .action(act(listSessions))
  group
    .command('show')
    .description('Show one: where it runs, when it last wrote, how it ended, what it used.')
    .addArgument(new IdArgument('<session>', 'Its id, or the beginning of it.', SESSION))
    .action(act(show))
}

async function listSessions({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { project, running, item, campaign, runner, limit = LIMIT[3] } = options
  const query = { project, state: running ? 'started' : undefined, work_item: item, campaign, runner }
  const { items, more } = await list(client, '/api/agent-sessions', limit, query)
  if (json) return print.json(items)
  const rows = items.map((session) => [
    safe(session.session_id),
    print.state(session.status ?? session.state),
    session.project,
    session.runner_id ?? '',
    print.age(session.started_at ?? session.recorded_at),
    lastWord(session, print),
    session.work_item_id ?? session.run_request_id ?? '',
  ])
  print.table(['SESSION', 'STATE', 'PROJECT', 'RUNNER', 'AGE', 'LAST OUTPUT', 'FOR'], rows, 'No agent sessions.')
  print.rest(items.length, more)
}

function lastWord({ state, last_output_at, bytes_written }: Document, print: Printer): string {
  if (state === 'ended' || bytes_written === undefined) return ''
  return `${last_output_at === undefined ? '' : `${print.age(last_output_at)} ago, `}${roundedSize(bytes_written)}`
}

async function show({ client, json, print }: Cli, [id]: readonly any[]): Promise<void> {
  const { body } = await client.request('GET', `/api/agent-sessions/${encodeURIComponent(id)}`)
  if (json) return print.json(body)
  print.fields([
    ['session', safe(body.session_id)],
    ['state', print.state(body.status ?? body.state)],
    ['project', body.project],
    ['work item', body.work_item_id],
    ['campaign', said(body.campaign)],
    ['run request', body.run_request_id],
    ['runner', body.runner_id],
    ['agent', said(body.agent_type)],
    ['for', said(body.capability)],
    ['access', said(body.access)],
    ['works in', said(body.working_dir)],
    ['transcript', said(body.source_log_path)],
    ['written', body.bytes_written === undefined ? undefined : roundedSize(body.bytes_written)],
    ['last output', body.last_output_at],
    ['last report', body.heard_at],
    ['exit code', body.exit_code?.toString()],
    ['error', said(body.error)],
    ...tokenFields(body.tokens ?? {}),
    ['cost', body.cost === undefined ? undefined : `${amounts(body.cost)}${basis(body.cost_basis)}`],
    ['trace', said(body.trace_id)],
    ['started', body.started_at],
    ['ended', body.ended_at],
  ])
}

function basis(text: string | undefined): string {
  return text === undefined ? '' : ` (${safe(text)})`
}
