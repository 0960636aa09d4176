/** `intendant task`: submits work and follows it to its end. */
import type { Command } from 'commander'
import { canonical } from '../machines/canonical.ts'
import { SUBMITTED_KINDS } from '../machines/documents/work-item.ts'
import { jsonObject, moment, ORIGIN, WAIT_LIMIT } from './arguments.ts'
import type { Document } from './document.ts'
import { isReplay, keyHeaders, keyOption } from './idempotency-key.ts'
import { afterOption } from './ids.ts'
import { safe } from './print.ts'
import { objectiveOf, workOf, workOptions } from './work-content.ts'
import { followItem } from './work-item-wait.ts'
import type { Act, Cli } from './world.ts'

const HELP = `
Examples:
  intendant task shop "Let customers pay by invoice"
  intendant task shop --file briefs/invoices.md
  intendant task shop "Now in French" --after wi_0a1b2c3d4e5f60718293a4b5 --no-wait
  intendant task shop "Upgrade to Node 22" --not-before 2h --origin "asked for by Ada"
  intendant task shop "Nightly upkeep" --kind maintenance --no-wait`

export function addTask(program: Command, act: Act): void {
  const task = program
    .command('task')
    .description('Submit a task and follow it until it settles.')
    .argument('<project>', 'Key or id of the project.')
    .argument('[text...]', 'What to do; or give it with --file.')
  workOptions(task, SUBMITTED_KINDS)
    .addOption(afterOption())
    .option('--not-before <time>', 'Do not start before this time, or this duration from now.', moment)
    .option('--payload <json>', 'For a release or a remediation: the payload of its entry event.', jsonObject)
    .option('--allow-duplicate', 'Submit it even if an unsettled item asks for the same.')
    .option(...keyOption('Repeating it with the same key creates no second item.'))
    .option('--no-wait', 'Do not follow it.')
    .option(...WAIT_LIMIT)
    .option(...ORIGIN)
    .addHelpText('after', HELP)
    .action(act(submit))
}

async function submit(cli: Cli, [project, text]: readonly any[], options: any): Promise<number | undefined> {
  const { client, json, print, note } = cli
  const asked = bodyOf(project, objectiveOf(text.join(' '), options.file), options)
  const answer = await client.request('POST', '/api/work-items', { body: asked, headers: keyHeaders(options) })
  const { body } = answer
  const isThere = isReplay(answer)
  const missed = isThere ? notTaken(asked, body) : []
  if (missed.length > 0)
    note(
      `Item ${body.id} stays as it was submitted; ignored: ${missed.join(', ')}. For a new item, add --allow-duplicate or use another key.`,
    )
  if (!options.wait) {
    if (json) print.json(body)
    else
      print.line(
        `Item ${body.id} ${isThere ? 'already exists and is' : 'is'} ${print.state(body.state)}: ${safe(body.reason)}`,
      )
    return undefined
  }
  if (!json) print.line(`Item ${body.id}${isThere ? ' already exists' : ''}`)
  const since = isThere ? undefined : (answer.headers.get('watch-cursor') ?? undefined)
  return await followItem(cli, body, since, options.waitLimit)
}

/** Fields in which an existing item may differ from the request, with their options. */
const OPTIONS = {
  depends_on: '--after',
  not_before: '--not-before',
  base_ref: '--base-ref',
  context: '--context',
  labels: '--label',
  runner_id: '--runner',
  timeout_seconds: '--timeout',
  kind: '--kind',
  lane: '--lane',
  payload: '--payload',
} as const

/** The options that were given and that the existing item does not fulfil. */
function notTaken(asked: Document, item: Document): string[] {
  const names = Object.keys(OPTIONS) as (keyof typeof OPTIONS)[]
  const missed = names.filter((name) => asked[name] !== undefined && !isSame(asked[name], item[name]))
  return missed.map((name) => `${OPTIONS[name]} ${safe(shown(asked[name]))}`)
}

/** Compares lists regardless of order, and times as instants, since the service writes them in its own form. */
function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return canonical([...a].sort()) === canonical([...b].sort())
  if (typeof a === 'string' && typeof b === 'string' && !Number.isNaN(Date.parse(a)))
    return a === b || Date.parse(a) === Date.parse(b)
  return b !== undefined && canonical(a) === canonical(b)
}

function shown(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : typeof value === 'object' ? canonical(value) : String(value)
}

function bodyOf(project: string, objective: string, options: any): Document {
  const { after, notBefore, payload, allowDuplicate } = options
  return {
    project,
    objective,
    ...workOf(options),
    payload,
    depends_on: after,
    not_before: notBefore,
    allow_duplicate: allowDuplicate,
  }
}
