/** `intendant sentinel`: work that is submitted again and again, by the clock. */
import { Argument, type Command } from 'commander'
import { RECURRING_KINDS } from '../machines/sentinel/kinds.ts'
import { failingOf, lastOf, unscheduledOf } from '../machines/sentinel/last.ts'
import { LIMIT, ORIGIN } from './arguments.ts'
import type { Document } from './document.ts'
import { CliFailure } from './exit.ts'
import { keyHeaders, keyOption } from './idempotency-key.ts'
import { IdArgument, SENTINEL } from './ids.ts'
import { list } from './lists.ts'
import { movesOf } from './moves.ts'
import { type Printer, safe } from './print.ts'
import { objectiveOf, workOf, workOptions } from './work-content.ts'
import type { Act, Cli } from './world.ts'

const HELP = `
Examples:
  intendant sentinel add nightly shop "Update the dependencies" --cron "30 2 * * 1-5" --time-zone Europe/Berlin
  intendant sentinel add review shop --file briefs/review.md --cron "0 9 * * MON" --lane maintenance
  intendant sentinel                                when each falls due next, and what came of the last time
  intendant sentinel fire nightly                   submit its item now
  intendant sentinel edit nightly --cron "0 4 * * *"
  intendant sentinel pause nightly

The five fields of --cron: minute, hour, day of the month, month, day of the week. What was missed because the
service was not running for more than ten minutes is not made up for.`

const CRON = ['--cron <pattern>', 'When: "MINUTE HOUR DAY MONTH WEEKDAY", as in "30 2 * * 1-5".'] as const
const ZONE = ['--time-zone <zone>', 'The IANA name of the time zone of these times, such as Europe/Berlin.'] as const

const operand = (): Argument => new IdArgument('<name>', 'Its name.', SENTINEL)
const text = (): Argument => new Argument('[text...]', 'What to do; or give it with --file.')

export function addSentinels(program: Command, act: Act): void {
  const group = program
    .command('sentinel')
    .alias('schedule')
    .description('Sentinels: cron triggers that submit a work item each time they fall due.')
    .addHelpText('after', HELP)
    .action(act(listAll))
  const add = group
    .command('add')
    .description('Add a sentinel. Its items are submitted in your name.')
    .argument('<name>', 'Its name: lower-case letters, digits, - and _.')
    .argument('<project>', 'Key or id of the project.')
    .addArgument(text())
    .requiredOption(...CRON)
    .option(...ZONE, 'UTC')
  workOptions(add, RECURRING_KINDS)
    .option(...keyOption('Repeating it with the same key adds no second sentinel.'))
    .option(...ORIGIN)
    .action(act(addOne))
  group
    .command('list')
    .alias('ls')
    .description('List sentinels, newest first.')
    .option('--project <key>', 'Only this project.')
    .option('--state <state>', 'Only those in this state: active, paused or removed. Default: active and paused.')
    .option(...LIMIT)
    .action(act(listAll))
  group
    .command('show')
    .description('Show a sentinel: when it falls due, what it submits, and what came of the last times.')
    .addArgument(operand())
    .action(act(show))
  const edit = group
    .command('edit')
    .description(
      'Change when it falls due, or what it submits: that is replaced as a whole if TEXT or --file is given.',
    )
    .addArgument(operand())
    .addArgument(text())
    .option(...CRON)
    .option(...ZONE)
  workOptions(edit, RECURRING_KINDS)
    .option(...ORIGIN)
    .action(act(editOne))
  addMoves(group, act)
}

function addMoves(group: Command, act: Act): void {
  const move = movesOf(group, operand)
  const moves = [
    ['pause', 'It no longer falls due. Items that it has submitted stay.'],
    ['resume', 'It falls due again, from the next time that its pattern matches.'],
    ['remove', 'Remove it. It stays readable, and its name may be used again.'],
  ] as const
  move('fire', 'Submit its item now, whatever the time.')
    .option(...keyOption('Repeating it with the same key submits no second item.'))
    .action(act((cli, [sentinel], options) => post(cli, sentinel, 'fire', keyHeaders(options))))
  for (const [name, description] of moves)
    move(name, description).action(act((cli, [sentinel]) => post(cli, sentinel, name)))
}

function path(name: string, more = ''): string {
  return `/api/sentinels/${encodeURIComponent(name)}${more}`
}

async function addOne({ client, json, print }: Cli, operands: readonly any[], options: any): Promise<void> {
  const [name, project, words] = operands
  const item = { objective: objectiveOf(words.join(' '), options.file), ...workOf(options) }
  const asked = { name, project, cron: options.cron, time_zone: options.timeZone, item }
  const { body } = await client.request('POST', '/api/sentinels', { body: asked, headers: keyHeaders(options) })
  if (json) print.json(body)
  else print.line(told(print, body))
}

async function editOne({ client, json, print }: Cli, operands: readonly any[], options: any): Promise<void> {
  const [name, words] = operands
  const isItemGiven = words.length > 0 || options.file !== undefined
  const rest = workOf(options)
  if (!isItemGiven && Object.values(rest).some((value) => value !== undefined))
    throw new CliFailure('Give TEXT or --file, too: what it submits is replaced as a whole.')
  const item = isItemGiven ? { objective: objectiveOf(words.join(' '), options.file), ...rest } : undefined
  const patch = { cron: options.cron, time_zone: options.timeZone, item }
  if (Object.values(patch).every((value) => value === undefined))
    throw new CliFailure('Nothing to change: give --cron, --time-zone, TEXT or --file.')
  const { body } = await client.request('PATCH', path(name), { body: patch })
  if (json) print.json(body)
  else print.line(told(print, body))
}

async function post(
  { client, json, print }: Cli,
  name: string,
  move: string,
  headers: Record<string, string> = {},
): Promise<void> {
  const { body } = await client.request('POST', path(name, `/${move}`), { body: {}, headers })
  if (json) return print.json(body)
  print.line(move === 'fire' ? safe(`${body.name}: ${lastOf(body)}.`) : told(print, body))
}

function told(print: Printer, { name, state, next_at }: Document): string {
  return `${name} is ${print.state(state)}${next_at === undefined ? '' : `; next: ${next_at}`}`
}

async function listAll({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { project, state = 'active,paused', limit = LIMIT[3] } = options
  const { items, more } = await list(client, '/api/sentinels', limit, { project, state })
  if (json) return print.json(items)
  const rows = items.map((one) => [
    one.name,
    print.state(one.state),
    one.project,
    one.next_at ?? '-',
    safe(`${one.cron} ${one.time_zone}`),
    safe(lastOf(one)),
    safe(one.item.objective),
  ])
  print.table(
    ['SENTINEL', 'STATE', 'PROJECT', 'NEXT', 'WHEN', 'LAST', 'WORK'],
    rows,
    'No sentinels. Add one with: intendant sentinel add NAME PROJECT TEXT --cron PATTERN',
  )
  print.rest(items.length, more)
}

async function show({ client, json, print }: Cli, [name]: readonly any[]): Promise<void> {
  const { body } = await client.request('GET', path(name))
  if (json) return print.json(body)
  const { item, last, skipping, failing } = body
  const isUnscheduled = body.state === 'active' && body.next_at === undefined
  print.fields([
    ['name', body.name],
    ['project', body.project],
    ['state', print.state(body.state)],
    ['when', safe(`${body.cron}, ${body.time_zone}`)],
    ['next', isUnscheduled ? safe(`none: ${unscheduledOf(body)}`) : body.next_at],
    ['last', last === undefined ? lastOf(body) : safe(`${last.due_at ?? last.at}: ${lastOf(body)}`)],
    ['skipping', skipping && `${skipping.times} times in a row since ${skipping.since}`],
    ['failing', failing && safe(failingOf(body))],
    ['submitted', String(body.fired)],
    ['work', safe(item.objective)],
    ['kind', item.kind],
    ['lane', item.lane],
    ['base', item.base_ref],
    ['labels', item.labels?.join(', ')],
    ['runner', item.runner_id],
    ['by', safe(body.by.name)],
    ['added', body.created_at],
  ])
}
