/** `intendant campaign`: missions done one task at a time, and the actions of their owners. */
import type { Command } from 'commander'
import { CYCLES_MAX } from '../machines/bounds.ts'
import { OWN_TYPES } from '../machines/campaign/own-types.ts'
import { integer, LIMIT, ORIGIN } from './arguments.ts'
import { campaignOf, campaignOptions } from './campaign-content.ts'
import { listCampaigns, showCampaign } from './campaign-page.ts'
import { printEvents } from './event-line.ts'
import { keyHeaders, keyOption } from './idempotency-key.ts'
import { CAMPAIGN, IdArgument } from './ids.ts'
import { list } from './lists.ts'
import { movesOf } from './moves.ts'
import { safe } from './print.ts'
import type { Act, Cli } from './world.ts'

const HISTORY_SHOWN = 50

/** For resume and decide. */
const FROM_TRUNK = [
  '--from-trunk',
  'Start its next task from trunk, not from preserved work that has not landed.',
] as const

const HELP = `
Examples:
  intendant campaign add --project shop --name pay --mission "Let customers pay by invoice" \\
      --gate "npm test" --review "A customer can choose to pay by invoice." --max-cycles 10
  intendant campaign add pay.json --project shop
  intendant campaign advance pay                    the first step; the others follow by themselves
  intendant campaign                                the status of each, and what it is doing
  intendant campaign decide pay --decision "Gross prices."
  intendant campaign cancel pay --reason "not wanted" --now`

const operand = (): IdArgument => new IdArgument('<name>', 'Its name.', CAMPAIGN)

export function addCampaigns(program: Command, act: Act): void {
  const group = program
    .command('campaign')
    .description('Campaigns: missions carried out one task at a time, until their evidence holds.')
    .addHelpText('after', HELP)
    .action(act(listAll))
  campaignOptions(group.command('add').description('Add a campaign. It is staged until it is advanced.'))
    .option('--unauthorized', 'Nobody is accountable for it yet: its first advance escalates.')
    .option(...keyOption('Repeating it with the same key creates no second campaign.'))
    .option(...ORIGIN)
    .action(act(add))
  group
    .command('list')
    .alias('ls')
    .description('List campaigns, newest first.')
    .option('--project <key>', 'Only this project.')
    .option('--status <status>', 'Only those with this status, such as escalated.')
    .option(...LIMIT)
    .action(act(listAll))
  group
    .command('show')
    .description('Show a campaign: its status, what it is doing, what it needs, and its history.')
    .addArgument(operand())
    .action(act(show))
  addMoves(group, act)
}

function addMoves(group: Command, act: Act): void {
  const move = movesOf(group, operand)

  move('advance', 'Request its next step.').action(act((cli, [name]) => post(cli, name, 'advance', {})))
  move('pause', 'Dispatch no further task; one that is under way continues.')
    .option('--reason <text>', 'Why.')
    .action(act((cli, [name], { reason }) => post(cli, name, 'pause', { reason })))
  move('resume', 'Continue a paused or escalated campaign.')
    .option('--add-cycles <n>', 'Add this many tasks to its budget.', integer(1, CYCLES_MAX))
    .option(...FROM_TRUNK)
    .action(
      act((cli, [name], { addCycles, fromTrunk }) =>
        post(cli, name, 'resume', { add_cycles: addCycles, from_trunk: fromTrunk }),
      ),
    )
  move('decide', 'Answer the question of an escalated campaign; it continues, bound by the answer.')
    .requiredOption('--decision <text>', 'The decision.')
    .option(...FROM_TRUNK)
    .action(
      act((cli, [name], { decision, fromTrunk }) => post(cli, name, 'decide', { decision, from_trunk: fromTrunk })),
    )
  move('complete', 'Declare its mission complete.')
    .requiredOption('--reason <text>', 'What shows that it is.')
    .action(act((cli, [name], { reason }) => post(cli, name, 'complete', { reason })))
  move('cancel', 'Abandon it. A running task finishes, unless --now stops it.')
    .requiredOption('--reason <text>', 'Why.')
    .option('--now', 'Stop the running task.')
    .option(
      '--discard',
      'With --now: tell its runner to discard uncommitted work; the bundled runner leaves that to its command.',
    )
    .action(
      act((cli, [name], { reason, now, discard }) => post(cli, name, 'cancel', { reason, now, discard_work: discard })),
    )
}

function path(name: string, more = ''): string {
  return `/api/campaigns/${encodeURIComponent(name)}${more}`
}

async function add({ client, json, print }: Cli, [file]: readonly any[], options: any): Promise<void> {
  const { unauthorized } = options
  const body = { ...campaignOf(file, options), ...(unauthorized === true ? { authorized_by: null } : {}) }
  const { body: made } = await client.request('POST', '/api/campaigns', { body, headers: keyHeaders(options) })
  if (json) return print.json(made)
  print.line(`${made.name} is ${print.state(made.status)}: ${safe(made.reason)}`)
  if (made.needs !== undefined) print.line(`Begin with: intendant campaign advance ${made.name}`)
}

async function post({ client, json, print }: Cli, name: string, move: string, body: object): Promise<void> {
  const { body: campaign } = await client.request('POST', path(name, `/${move}`), { body })
  if (json) return print.json(campaign)
  print.line(`${campaign.name} is ${print.state(campaign.status)}: ${safe(campaign.reason)}`)
}

async function listAll({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { project, status, limit = LIMIT[3] } = options
  const { items, more } = await list(client, '/api/campaigns', limit, { project, status })
  if (json) return print.json(items)
  listCampaigns(print, items, 'No campaigns.')
  print.rest(items.length, more)
}

async function show({ client, json, print }: Cli, [name]: readonly any[]): Promise<void> {
  const { body } = await client.request('GET', path(name))
  const filter = { campaign: name, project: body.project, event_type: OWN_TYPES.join(',') }
  const { items } = await list(client, '/api/events', HISTORY_SHOWN, { ...filter, order: 'desc' })
  const events = items.toReversed()
  if (json) return print.json({ ...body, events })
  showCampaign(body, print)
  if (events.length === 0) return
  print.heading('History')
  printEvents(events, print)
}
