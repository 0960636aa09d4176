/** `intendant runner`: the fleet, and the bundled runner itself. */

import type { Command } from 'commander'
import type { Answer } from '../engine/client.ts'
import { RUN_RIGHTS } from '../machines/rights.ts'
import {
  collect,
  collectFrom,
  integer,
  LIMIT,
  ORIGIN,
  shellCommand,
  WAIT_LIMIT,
  waitingTimeOption,
} from './arguments.ts'
import { type BatchCommand, batchCommand } from './batch-command.ts'
import type { Document } from './document.ts'
import { CliFailure, EXIT } from './exit.ts'
import { IDS, listFiltered, RUNNERS } from './filters.ts'
import { type Followed, followTo } from './follow.ts'
import { limitOf } from './limits.ts'
import { said } from './print.ts'
import { LEAVING } from './run-request-wait.ts'
import { runRunner } from './runner-process.ts'
import { askAndSave } from './runner-token.ts'
import type { Act, Cli } from './world.ts'

const RUN_HELP = `
With --id and --exec, this is the runner: it polls the service, and runs the command for each run
request with the Execution Request (JSON) on standard input. Each line of standard output that is a
JSON object with an "event_type" is posted as that event, a line with
"schema_version":"intendant.run_result.v1" is the Run Result, and all other lines are kept as
run_output. Exit code 0 completes the run, any other fails it.

The token is ENGINE_TOKEN, or --token-file, or the file runner-ID.token in the home folder. The
command does not get it. If the runner's runs have rights (runner edit --run-right), the command has
a token of its own, in ENGINE_TOKEN, until its run ends: intendant works in it with these rights.

Examples:
  intendant runner add build-1 --project shop --capacity 4 --trusted --save-token
  intendant runner --id build-1 --exec './run-agent.sh'
  intendant runner edit build-1 --run-right view,intent.write
  intendant runner edit build-1 --project shop --project bank --capacity 8
  intendant runner --id build-1 --exec 'cat; echo done' --once

The protocol, for a runner of your own, is in docs/RUNNERS.md.`

/** Properties of a runner, given at its registration or later. */
const CAPACITY = ['--capacity <n>', 'Runs that it may hold at once.', integer(1, 1000)] as const
const TRUSTED = ['--trusted', 'May take full-throttle work with full access.'] as const
const RUN_RIGHT = [
  '--run-right <right>',
  `A right of the tokens that its runs get: ${RUN_RIGHTS.join(', ')}. May be repeated. Default: none, and no token.`,
  collectFrom(RUN_RIGHTS),
] as const
const NAME = ['--name <name>', 'Its display name.'] as const

export function addRunners(program: Command, act: Act): void {
  const runner = program
    .command('runner')
    .description(
      'Runners: add, list, show, edit, drain, undrain, unlimit, remove, token; with --id and --exec: be one.',
    )
    .usage('--id ID --exec COMMAND [options]  |  runner COMMAND ...')
    .option('--id <id>', 'The id of this runner.')
    .option('--exec <command>', 'The shell command that does the work of one run.', shellCommand)
    .option('--dir <dir>', 'Run the command in this folder.')
    .option(
      '--capacity <n>',
      'Hold at most this many runs. Default: what the service allows this runner.',
      integer(1, 1000),
    )
    .option('--once', 'End after one run, with its outcome as exit code.')
    .addOption(waitingTimeOption('--drain <duration>', 'When asked to stop: how long current runs may take.', 60_000))
    .addOption(waitingTimeOption('--stop-grace <duration>', 'Time between SIGTERM and SIGKILL for a command.', 10_000))
    .addHelpText('after', RUN_HELP)
    .action(act(runRunner))

  runner
    .command('add')
    .description('Register a runner. Its token is shown once.')
    .argument('<id>', 'Letters, digits, . _ and -.')
    .option(
      '--project <key>',
      'A project whose work it may take; * for all. May be repeated. Default: none; a token confined to projects must name one.',
      collect,
    )
    .option('--label <label>', 'A label that it offers. May be repeated.', collect)
    .option(...CAPACITY)
    .option(...TRUSTED)
    .option(...RUN_RIGHT)
    .option(...NAME)
    .option('--save-token', 'Write the token to runner-ID.token in the home folder instead of printing it.')
    .option(...ORIGIN)
    .action(act(add))

  RUNNERS.add(runner.command('list').alias('ls').description('List the runners and whether they are online.'))
    .option(...LIMIT)
    .option(...IDS)
    .action(act((cli, _, options) => listFiltered(cli, RUNNERS, options)))

  runner
    .command('edit')
    .description('Change what a runner may take. What is not named stays as it is.')
    .argument('<id>')
    .option('--project <key>', 'A project whose work it may take; * for all. Those given replace all others.', collect)
    .option('--label <label>', 'A label that it offers. Those given replace all others.', collect)
    .option(...CAPACITY)
    .option(...TRUSTED)
    .option('--no-trusted', 'May no longer take it.')
    .option(...RUN_RIGHT)
    .option('--no-run-right', 'Its runs get no token.')
    .option(...NAME)
    .option(...ORIGIN)
    .action(act(edit))

  runner.command('show').description('Show one runner and what it holds.').argument('<id>').action(act(show))
  batchCommand(runner, act, drain)
  batchCommand(runner, act, undrain)
  batchCommand(runner, act, unlimit)
  runner
    .command('remove')
    .description('Remove a runner for good.')
    .argument('<id>')
    .option(...ORIGIN)
    .action(act(remove))
  runner
    .command('token')
    .description('Give it a new token. The old one remains valid for ten minutes.')
    .argument('<id>')
    .option('--save-token', 'Write it to runner-ID.token in the home folder instead of printing it.')
    .option(...ORIGIN)
    .action(act(rotate))
}

function path(id: string, more = ''): string {
  return `/api/runners/${encodeURIComponent(id)}${more}`
}

/** The runner's grants in the service's form; those not given are undefined. */
function grants({ project, label, capacity, trusted, runRight, name }: any): Record<string, unknown> {
  const run_rights = runRight === false ? [] : runRight
  return { name, allowed_projects: project, labels: label, capacity, trusted, run_rights }
}

async function add(cli: Cli, [id]: readonly any[], options: any): Promise<void> {
  const { client, json, print } = cli
  const { project, saveToken } = options
  const ask = () => client.request('POST', '/api/runners', { body: { id, ...grants(options) } })
  const { body, file } = await asked(cli, id, saveToken, `runner ${id} has a token`, ask)
  const { token, ...document } = body
  if (json) return print.json(file === undefined ? body : { ...document, token_file: file })
  print.line(`Runner ${id} registered${project === undefined ? ', for no project yet (--project)' : ''}.`)
  showToken(cli, token, file)
}

async function edit(cli: Cli, [id]: readonly any[], options: any): Promise<void> {
  const changes = grants(options)
  if (Object.values(changes).every((value) => value === undefined))
    throw new CliFailure('nothing to change was named: see runner edit --help.')
  const { body } = await cli.client.request('PATCH', path(id), { body: changes })
  if (cli.json) cli.print.json(body)
  else showRunner(cli, body)
}

async function rotate(cli: Cli, [id]: readonly any[], { saveToken }: any): Promise<void> {
  const ask = () => cli.client.request('POST', path(id, '/token'))
  const { body, file } = await asked(cli, id, saveToken, `runner ${id} has a new token`, ask)
  const { token, ...document } = body
  if (cli.json) return cli.print.json(file === undefined ? body : { ...document, token_file: file })
  cli.print.line(`Runner ${id} has a new token; the old one is accepted until ${body.previous_expires_at}.`)
  showToken(cli, token, file)
}

/** The service's answer to a request for a token, and the file it was stored in, if asked for. */
async function asked(cli: Cli, id: string, saveToken: boolean | undefined, done: string, ask: () => Promise<Answer>) {
  return saveToken ? await askAndSave({ home: cli.home, id, done }, ask) : { ...(await ask()), file: undefined }
}

function showToken({ print }: Cli, token: unknown, file: string | undefined): void {
  if (file !== undefined) print.line(`Its token is in ${file}.`)
  else if (typeof token === 'string') {
    print.line('Its token, shown only once:')
    print.line(token)
  }
}

async function show(cli: Cli, [id]: readonly any[]): Promise<void> {
  const { body } = await cli.client.request('GET', path(id))
  if (cli.json) cli.print.json(body)
  else showRunner(cli, body)
}

function showRunner({ print }: Cli, body: Document): void {
  print.fields([
    ['id', body.id],
    ['name', said(body.name)],
    ['state', print.state(body.state)],
    ['presence', body.presence === undefined ? undefined : print.state(body.presence)],
    ['limited', limitOf(body)],
    ['last seen', body.last_seen_at],
    ['projects', body.allowed_projects.join(', ') || '(none)'],
    ['labels', body.labels.join(', ')],
    ['capacity', String(body.capacity)],
    ['trusted', body.trusted ? 'yes' : 'no'],
    ['run rights', (body.run_rights ?? []).join(', ')],
    ['version', body.session?.version],
    ['session', body.session === undefined ? undefined : `${body.session.instance} since ${body.session.started_at}`],
    ['in flight', (body.in_flight ?? []).join(', ')],
  ])
}

const drain: BatchCommand = {
  name: 'drain',
  description: 'Let runners finish what they hold and give them nothing new.',
  of: RUNNERS,
  done: 'draining',
  options: (command) =>
    command.option('--wait', 'Of one runner: return only when it holds nothing.').option(...WAIT_LIMIT),
  takes: () => true,
  async perform({ client }, { id }) {
    const { body: document } = await client.request('PATCH', path(id), { body: { draining: true } })
    return { document, line: `Runner ${id} is draining; it holds ${heldBy(document).length} run(s).` }
  },
  async after(cli, { document, line }, { wait, waitLimit }) {
    const isFollowed = wait || waitLimit !== undefined
    if (!cli.json) cli.print.line(line)
    else if (!isFollowed) cli.print.json(document)
    return isFollowed ? await followTo(cli, drained(cli, document.id), undefined, waitLimit) : undefined
  },
}

const undrain: BatchCommand = {
  name: 'undrain',
  description: 'Give runners work again.',
  of: RUNNERS,
  done: 'taking work again',
  takes: () => true,
  async perform({ client }, { id }) {
    const { body: document } = await client.request('PATCH', path(id), { body: { draining: false } })
    return { document, line: `Runner ${id} takes work again.` }
  },
}

const unlimit: BatchCommand = {
  name: 'unlimit',
  description: 'Give runners work again at once, although their provider is unavailable.',
  of: RUNNERS,
  done: 'taking work again',
  takes: ({ limited }) => limited !== undefined,
  async perform({ client }, { id }) {
    const { body: document } = await client.request('PATCH', path(id), { body: { limited: false } })
    return { document, line: `Runner ${id} takes work again.` }
  },
}

/** The runner, to be followed until it holds nothing. */
function drained({ json, print }: Cli, id: string): Followed {
  return {
    path: path(id),
    filters: { event_type: LEAVING.join(',') },
    show: `intendant runner show ${id}`,
    notYet: 'It still holds work and is still draining.',
    print: () => {},
    concerns: () => true,
    isLast: () => true,
    isSettled: (body) => heldBy(body).length === 0,
    whyNot: (body) => `it holds ${heldBy(body).join(', ')}`,
    settle(body) {
      if (json) print.json(body)
      else print.line(`Runner ${id} holds nothing.`)
      return EXIT.ok
    },
  }
}

function heldBy({ in_flight = [] }: Document): readonly string[] {
  return in_flight
}

async function remove({ client, json, print }: Cli, [id]: readonly any[]): Promise<void> {
  const { body } = await client.request('DELETE', path(id))
  if (json) print.json(body ?? { id })
  else print.line(`Runner ${id} removed.`)
}
