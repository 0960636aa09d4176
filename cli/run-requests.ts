/** `intendant run-request`: work given to a runner by a person, and what becomes of it. */
import { type Command, Option } from 'commander'
import { ACCESSES, FAILURE_CLASSES, LANES } from '../machines/documents/run-request.ts'
import {
  collect,
  DISCARD_WORK,
  duration,
  integer,
  jsonObject,
  LIMIT,
  moment,
  ORIGIN,
  throttleOption,
  WAIT_LIMIT,
} from './arguments.ts'
import { CliFailure } from './exit.ts'
import { isReplay, keyHeaders, keyOption } from './idempotency-key.ts'
import { BRIEF, IdArgument, IdOption, RUN_REQUEST } from './ids.ts'
import { list } from './lists.ts'
import { movesOf } from './moves.ts'
import { safe } from './print.ts'
import { addLog } from './run-request-log.ts'
import { showRunRequest } from './run-request-page.ts'
import { follow } from './run-request-wait.ts'
import type { Act, Cli } from './world.ts'

const CREATE_HELP = `
Examples:
  intendant run-request create --project shop --entry-event greet_requested \\
      --payload '{"name":"Ada"}' --wait
  intendant run-request create --project shop --entry-event execution_requested --throttle full \\
      --payload @task.json --label linux --timeout 2h --idempotency-key nightly-2030-01-31`

const operand = (): IdArgument => new IdArgument('<id>', 'The id, runreq_..., or its beginning.', RUN_REQUEST)

export function addRunRequests(program: Command, act: Act): void {
  const group = program
    .command('run-request')
    .alias('rr')
    .description('Run requests: create, list, show, log, approve, cancel, requeue, fail, release.')
  addCreate(group, act)
  group
    .command('list')
    .alias('ls')
    .description('List run requests, newest first.')
    .option('--project <key>', 'Only this project.')
    .option(
      '--state <state>',
      'Only this state: queued, offered, accepted, started, cancelling, completed, failed, cancelled, lost. May be repeated.',
      collect,
    )
    .option('--runner <id>', 'Only those that this runner holds or held.')
    .option('--label <label>', 'Only those that require this label.')
    .option(...LIMIT)
    .action(act(listRunRequests))
  group
    .command('show')
    .description('Show one run request: its state and, while it waits, why.')
    .addArgument(operand())
    .action(
      act(async ({ client, json, print }, [id]) => {
        const { body } = await client.request('GET', path(id))
        if (json) print.json(body)
        else showRunRequest(body, print)
      }),
    )
  addLog(group, operand, act)
  addMoves(group, act)
}

function addCreate(group: Command, act: Act): void {
  group
    .command('create')
    .description('Request a run.')
    .requiredOption('--project <key>', 'Key or id of the project.')
    .requiredOption('--entry-event <type>', 'The event that starts the work, such as execution_requested.')
    .option('--payload <json>', 'Its payload: a JSON object, or @FILE. Default: {}.', jsonObject)
    .addOption(throttleOption())
    .addOption(new Option('--access <access>', 'What the run may do. Default: full.').choices(ACCESSES))
    .addOption(new Option('--lane <lane>', 'The lane that it waits in. Default: interactive.').choices(LANES))
    .option('--label <label>', 'A label that the runner must have. May be repeated.', collect)
    .option('--runner <id>', 'Only this runner may take it.')
    .option('--priority <n>', 'From -100 to 100; higher goes first.', integer(-100, 100))
    .option('--repo-path <path>', 'The repository, as the runner understands it.')
    .option('--revision <revision>', 'The revision to work on.')
    .option('--branch <branch>', 'The branch to work on.')
    .addOption(new IdOption('--brief <id>', 'The formation brief to follow; it needs --brief-digest.', BRIEF))
    .option('--brief-digest <digest>', 'The digest of the agreed version of the brief, sha256:...')
    .option('--timeout <duration>', 'Longest time that the run may take.', duration)
    .option('--not-before <time>', 'Do not start before this time, or this duration from now.', moment)
    .option('--expires <time>', 'Cancel it if it still waits then: a time, or a duration from now.', moment)
    .option(...keyOption('Repeating it with the same key creates no second run.'))
    .option(
      '--again',
      'Run again even though an identical request has completed; while that one is under way, only a different --idempotency-key creates another.',
    )
    .option('--wait', 'Follow it; exit with its outcome.')
    .option(...WAIT_LIMIT)
    .option(...ORIGIN)
    .addHelpText('after', CREATE_HELP)
    .action(act(create))
}

function addMoves(group: Command, act: Act): void {
  const move = movesOf(group, operand)

  move('approve', 'Approve a full-throttle run.').action(act((cli, [id]) => post(cli, id, 'approve', {})))
  move('cancel', 'Stop it, whatever its state.')
    .option('--reason <text>', 'Why; the runner is told.')
    .option(...DISCARD_WORK)
    .action(act((cli, [id], { reason, discardWork }) => post(cli, id, 'cancel', { reason, discard_work: discardWork })))
  move('requeue', 'Hand a lost run out again. Make sure that its old runner is gone.').action(
    act((cli, [id]) => post(cli, id, 'requeue', {})),
  )
  move('fail', 'Settle a lost run as failed.')
    .requiredOption('--message <text>', 'What is known about it.')
    .addOption(new Option('--class <class>', 'The kind of failure.').choices(FAILURE_CLASSES))
    .action(act((cli, [id], options) => post(cli, id, 'fail', { class: options.class, message: options.message })))
  move('release', 'Take it back from its runner before the work has begun.')
    .option('--attempt <n>', 'Only this attempt. Default: the current one.', integer(1, 1_000_000_000))
    .action(act((cli, [id], { attempt }) => post(cli, id, 'release', { attempt })))
}

function path(id: string, more = ''): string {
  return `/api/run-requests/${encodeURIComponent(id)}${more}`
}

async function post({ client, json, print }: Cli, id: string, move: string, body: object): Promise<void> {
  const answer = await client.request('POST', path(id, `/${move}`), { body })
  if (json) return print.json(answer.body)
  const document = answer.body.run_request ?? answer.body
  print.line(`${document.id} is ${print.state(document.state)}.`)
}

async function create(cli: Cli, _: readonly any[], options: any): Promise<number | undefined> {
  const { client, json, print } = cli
  const answer = await client.request('POST', `/api/projects/${encodeURIComponent(options.project)}/run-requests`, {
    body: createBody(options),
    headers: keyHeaders(options),
  })
  const { body } = answer
  const isThere = isReplay(answer)
  if (!options.wait && options.waitLimit === undefined) {
    if (json) print.json(body)
    else {
      print.line(`Run request ${body.id} ${isThere ? 'already exists and is' : 'is'} ${print.state(body.state)}.`)
      if (body.waiting_because !== undefined) print.line(safe(body.waiting_because.detail))
    }
    return undefined
  }
  if (!json) print.line(`Run request ${body.id}${isThere ? ' already exists' : ''}`)
  const since = isThere ? undefined : (answer.headers.get('watch-cursor') ?? undefined)
  return await follow(cli, body.id, since, options.waitLimit)
}

function createBody(options: any): object {
  const { repoPath, revision, branch, brief, briefDigest, timeout } = options
  if ((brief === undefined) !== (briefDigest === undefined)) {
    throw new CliFailure('--brief and --brief-digest go together: the digest names the agreed version.')
  }
  const repo = { path: repoPath, revision, branch }
  return {
    entry_event: options.entryEvent,
    payload: options.payload,
    throttle: options.throttle,
    access: options.access,
    lane: options.lane,
    labels: options.label,
    runner_id: options.runner,
    priority: options.priority,
    repo: Object.values(repo).some((part) => part !== undefined) ? repo : undefined,
    brief: brief === undefined ? undefined : { id: brief, digest: briefDigest },
    timeout_seconds: timeout === undefined ? undefined : Math.ceil(timeout / 1000),
    not_before: options.notBefore,
    expires_at: options.expires,
    again: options.again,
  }
}

async function listRunRequests({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { limit, project, state, runner, label } = options
  const { items, more } = await list(client, '/api/run-requests', limit, { project, state, runner, label })
  if (json) return print.json(items)
  const rows = items.map((item) => [
    item.id,
    print.state(item.state),
    item.project,
    item.throttle,
    print.age(item.created_at),
    item.offered_to ?? '-',
    item.entry_event,
    safe(item.waiting_because?.detail ?? item.failure?.message ?? ''),
  ])
  print.table(['ID', 'STATE', 'PROJECT', 'THROTTLE', 'AGE', 'RUNNER', 'ENTRY EVENT', 'WHY'], rows, 'No run requests.')
  print.rest(items.length, more)
}
