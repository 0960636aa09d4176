/** `intendant task`: work that one wants done, submitted and followed to its end. */
import type { Command } from 'commander'
import { collect, duration, jsonObject, moment, ORIGIN, WAIT_LIMIT } from './arguments.ts'
import { isReplay, keyHeaders, keyOption } from './idempotency-key.ts'
import { afterOption } from './ids.ts'
import { safe } from './print.ts'
import { followItem } from './work-item-wait.ts'
import type { Act, Cli } from './world.ts'

const HELP = `
Examples:
  intendant task shop "Let customers pay by invoice"
  intendant task shop "Now in French" --after wi_0a1b2c3d4e5f60718293a4b5 --no-wait
  intendant task shop "Upgrade to Node 22" --not-before 2h --origin "asked for by Ada"
  intendant task shop "Nightly upkeep" --kind maintenance --no-wait`

export function addTask(program: Command, act: Act): void {
  program
    .command('task')
    .description('Submit a task and follow it until it settles.')
    .argument('<project>', 'Key or id of the project.')
    .argument('<text...>', 'What is to be done.')
    .addOption(afterOption())
    .option('--not-before <time>', 'Do not start before this time, or this duration from now.', moment)
    .option('--base-ref <ref>', 'Start from this ref instead of trunk.')
    .option('--context <json>', 'What the engine is told beside: a JSON object, or @FILE.', jsonObject)
    .option('--label <label>', 'A runner must carry it. May be repeated.', collect)
    .option('--runner <id>', 'Only this runner.')
    .option('--timeout <duration>', 'Longest run.', duration)
    .option('--kind <kind>', 'task (the default), maintenance, major_upgrade, release or remediation.')
    .option('--lane <lane>', 'interactive, campaign or maintenance.')
    .option('--payload <json>', 'Of a release or a remediation: what its entry event carries.', jsonObject)
    .option('--allow-duplicate', 'Although an unsettled item asks for the same.')
    .option(...keyOption('Asking twice with one key makes one item.'))
    .option('--no-wait', 'Do not follow it.')
    .option(...WAIT_LIMIT)
    .option(...ORIGIN)
    .addHelpText('after', HELP)
    .action(act(submit))
}

async function submit(cli: Cli, [project, text]: readonly any[], options: any): Promise<number | undefined> {
  const { client, json, print } = cli
  const answer = await client.request('POST', '/api/work-items', {
    body: bodyOf(project, text.join(' '), options),
    headers: keyHeaders(options),
  })
  const { body } = answer
  const isThere = isReplay(answer)
  if (!options.wait) {
    if (json) print.json(body)
    else
      print.line(
        `Item ${body.id} is ${isThere ? 'there already, and ' : ''}${print.state(body.state)}: ${safe(body.reason)}`,
      )
    return undefined
  }
  if (!json) print.line(`Item ${body.id}${isThere ? ' is there already' : ''}`)
  const since = isThere ? undefined : (answer.headers.get('watch-cursor') ?? undefined)
  return await followItem(cli, body, since, options.waitLimit)
}

function bodyOf(project: string, objective: string, options: any): object {
  const { after, notBefore, baseRef, context, label, runner, timeout, kind, lane, payload, allowDuplicate } = options
  return {
    project,
    objective,
    kind,
    lane,
    payload,
    context,
    depends_on: after,
    not_before: notBefore,
    base_ref: baseRef,
    labels: label,
    runner_id: runner,
    timeout_seconds: timeout === undefined ? undefined : Math.ceil(timeout / 1000),
    allow_duplicate: allowDuplicate,
  }
}
