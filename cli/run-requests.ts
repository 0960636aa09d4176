/** `intendant run-request`: work given to a runner by a person, and what becomes of it. */
import { type Command, Option } from 'commander'
import { ACCESSES } from '../machines/documents/run-request.ts'
import { LANES } from '../machines/run-request/lanes.ts'
import { RUN_REQUEST_STATES } from '../machines/run-request/states.ts'
import {
  collect,
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
import { IDS, listFiltered, RUNS, stateOption } from './filters.ts'
import { isReplay, keyHeaders, keyOption } from './idempotency-key.ts'
import { BRIEF, IdArgument, IdOption, RUN_REQUEST } from './ids.ts'
import { safe } from './print.ts'
import { addRunMoves } from './run-request-commands.ts'
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
  RUNS.add(group.command('list').alias('ls').description('List run requests, newest first.'))
    .addOption(stateOption(RUN_REQUEST_STATES, 'Only in this state.'))
    .option(...LIMIT)
    .option(...IDS)
    .action(act((cli, _, options) => listFiltered(cli, RUNS, options)))
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
  addRunMoves(group, act)
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

function path(id: string): string {
  return `/api/run-requests/${encodeURIComponent(id)}`
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
