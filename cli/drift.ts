/** `intendant drift`: which records hold, which are threatened, and which nobody has checked. */

import { type Command, Option } from 'commander'
import { PROBLEMS } from '../machines/drift/problems.ts'
import { LIMIT, moment, ORIGIN } from './arguments.ts'
import type { Document } from './document.ts'
import { CliFailure } from './exit.ts'
import { recordOperand, recordPath } from './intents.ts'
import { list } from './lists.ts'
import { type Printer, safe, type Tint } from './print.ts'
import type { Act, Cli } from './world.ts'

const TINTS: Readonly<Record<string, Tint>> = {
  contradicted: 'bad',
  drifted: 'bad',
  threatened: 'warn',
  stale: 'warn',
  unobserved: 'dim',
  holding: 'good',
}

const HELP = `
Examples:
  intendant drift --project shop                    every accepted record, most pressing first
  intendant drift --project shop --status drifted
  intendant drift show shop.intent.sessions-survive
  intendant drift classify shop.intent.sessions-survive --as allowed_exception \\
      --reason "until the rewrite" --review 30d
  intendant drift repair shop.intent.sessions-survive`

export function addDrift(program: Command, act: Act): void {
  const group = program
    .command('drift')
    .description('Which records hold, which are threatened, and which nobody has checked.')
    .option('--project <key>', 'Key or id of the project.')
    .option('--status <status>', 'Only this: contradicted, drifted, threatened, stale, unobserved, holding.')
    .option('--severity <severity>', 'Only this: high, medium, low.')
    .option(...LIMIT)
    .addHelpText('after', HELP)
    .action(act(overview))
  const one = (name: string, description: string): Command =>
    group.command(name).description(description).addArgument(recordOperand())
  one('show', 'Show the drift of one record, with the evidence behind it.').action(act(show))
  one('history', 'Show the drift history of one record, newest first.').action(act(history))
  one('classify', 'Classify a drift.')
    .addOption(
      new Option('--as <what>', 'real, allowed_exception or obsolete_intent; none removes the classification.')
        .choices(['real', 'allowed_exception', 'obsolete_intent', 'none'])
        .makeOptionMandatory(),
    )
    .option('--reason <text>', 'Why. An exception needs one.')
    .option('--review <time>', 'When to review it: a time, or a duration from now. An exception needs one.', moment)
    .option(...ORIGIN)
    .action(act(classify))
  one('repair', 'Draft a formation brief to make the code agree with the record again.')
    .option(...ORIGIN)
    .action(act(repair))
}

async function overview({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { project, status, severity, limit } = options
  if (project === undefined) throw new CliFailure('Name a project: intendant drift --project KEY.')
  const query = { status, severity }
  const { items, more } = await list(client, `/api/projects/${encodeURIComponent(project)}/drift`, limit, query)
  if (json) return print.json(items)
  const rows = items.map((item) => [
    word(print, item.status),
    item.severity ?? '-',
    item.intent_record.key,
    print.age(item.since),
    item.action,
    safe(item.because[0]?.detail ?? ''),
  ])
  const isAll = status === undefined && severity === undefined
  const none = isAll ? 'No accepted records: nothing can drift.' : 'No matching drift.'
  print.table(['STATUS', 'SEVERITY', 'RECORD', 'FOR', 'DO', 'WHY'], rows, none)
  if (items.length > 1 && status === undefined) print.line(`\n${counted(items)}`)
  print.rest(items.length, more)
}

function counted(items: readonly Document[]): string {
  const counts = new Map<string, number>()
  for (const { status } of items) counts.set(status, (counts.get(status) ?? 0) + 1)
  return Array.from(counts, ([status, count]) => `${count} ${status}`).join(', ')
}

function word(print: Printer, status: string): string {
  return print.tint(status, TINTS[status])
}

/** The path of a record's drift; only the record itself knows its project. */
async function driftPath({ client }: Cli, record: string, more = ''): Promise<string> {
  const { body } = await client.request('GET', recordPath(record))
  return `/api/projects/${body.project}/drift/${body.id}${more}`
}

async function show(cli: Cli, [record]: readonly any[]): Promise<void> {
  const { client, json, print } = cli
  const { body } = await client.request('GET', await driftPath(cli, record))
  if (json) print.json(body)
  else showDrift(body, print)
}

function showDrift(body: Document, print: Printer): void {
  const { classification: said } = body
  print.fields([
    ['record', `${body.intent_record.key}: ${safe(body.intent_record.title)}`],
    ['status', `${word(print, body.status)} since ${body.since}`],
    ['severity', body.severity],
    ['do', body.action],
    ['classified', said === undefined ? undefined : classificationText(said)],
    ['repair brief', body.repair_brief_id],
    ['observed', observedText(body)],
    ['stale at', body.stale_at],
  ])
  print.line()
  for (const reason of body.because) printReason(reason, print)
  const advice = adviceFor(body)
  if (advice !== undefined) print.line(`\n${advice}`)
}

function observedText({ observations, last_observed_at }: Document): string {
  if (observations === 0) return 'never'
  return `${observations === 1 ? 'once' : `${observations} times`}, last ${last_observed_at}`
}

function classificationText({ classification, reason, review_at, by, at }: Document): string {
  const until = review_at === undefined ? '' : ` until ${review_at}`
  const why = reason === undefined ? '' : `: ${safe(reason)}`
  return `${classification}${until}${why} (${safe(by?.name ?? 'a person')}, ${at})`
}

function printReason({ detail, evidence_id, observation }: Document, print: Printer): void {
  print.line(
    `- ${safe(detail)}${evidence_id === undefined ? '' : ` (${evidence_id.slice(evidence_id.indexOf('.') + 1)})`}`,
  )
  if (observation === undefined) return
  const { result, observed_by, source_type, observed_at, engine_run_id, notes, supporting_artifacts = [] } = observation
  print.line(
    print.tint(
      `    ${result}, seen by ${safe(observed_by)} (${safe(source_type)}) at ${observed_at}, run ${engine_run_id}`,
      'dim',
    ),
  )
  if (notes !== undefined) print.line(`    reported: ${safe(notes)}`)
  for (const artifact of supporting_artifacts) print.line(`    ${safe(artifact)}`)
}

function adviceFor({
  status,
  action,
  classification,
  intent_record: { id, key },
  repair_brief_id,
}: Document): string | undefined {
  if (!PROBLEMS.has(status))
    return action === 'inspect' ? `Have a run check it and report its observation of ${id}: docs/INTENT.md` : undefined
  if (classification === undefined)
    return `Classify it: intendant drift classify ${key} --as real (or allowed_exception, obsolete_intent)`
  if (classification.classification === 'real' && repair_brief_id === undefined)
    return `Draft a repair: intendant drift repair ${key}`
  if (classification.classification === 'real')
    return `See the progress of its repair: intendant brief show ${repair_brief_id}`
  if (classification.classification === 'allowed_exception' && action === 'ask')
    return `The exception has ended, or there is a new drift. Classify it again: intendant drift classify ${key} --as real (or allowed_exception, obsolete_intent)`
  return classification.classification === 'obsolete_intent' ? `Update it: intendant intent edit ${key}` : undefined
}

async function history(cli: Cli, [record]: readonly any[]): Promise<void> {
  const { client, json, print } = cli
  const { body } = await client.request('GET', await driftPath(cli, record, '/history'))
  if (json) return print.json(body.items)
  const rows = body.items.map((change: Document) => [
    change.at,
    word(print, change.status),
    safe(change.by?.name ?? '-'),
    safe(changeText(change)),
  ])
  print.table(['AT', 'STATUS', 'BY', 'WHAT'], rows, 'Nothing has changed yet.')
}

function changeText({
  kind,
  previous_status,
  cause,
  observation_id,
  classification,
  reason,
  formation_brief_id,
}: Document) {
  const why = reason === undefined ? '' : `: ${reason}`
  switch (kind) {
    case 'status':
      return `${previous_status === undefined ? 'began' : `was ${previous_status}`} (${observation_id ?? cause})`
    case 'classified':
      return `classified ${classification}${why}`
    case 'classification_ended':
      return `no longer ${classification}${why}`
    default:
      return `repair drafted: ${formation_brief_id}`
  }
}

async function classify(cli: Cli, [record]: readonly any[], options: any): Promise<void> {
  const { client, json, print } = cli
  const body = { classification: options.as, reason: options.reason, review_at: options.review }
  const answer = await client.request('POST', await driftPath(cli, record, '/classify'), { body })
  if (json) return print.json(answer.body)
  const { intent_record, status, action } = answer.body
  const said = options.as === 'none' ? 'no longer classified' : options.as.replaceAll('_', ' ')
  print.line(`${intent_record.key} is ${word(print, status)}: ${said}. To do: ${action}.`)
  const advice = adviceFor(answer.body)
  if (advice !== undefined) print.line(advice)
}

async function repair(cli: Cli, [record]: readonly any[]): Promise<void> {
  const { client, json, print } = cli
  const { body } = await client.request('POST', await driftPath(cli, record, '/repair-brief'), {})
  if (json) return print.json(body)
  print.line(`Formation brief ${body.id} is ${print.state(body.state)}: ${safe(body.mission.objective)}`)
  print.line(`Read it with: intendant brief show ${body.id}`)
}
