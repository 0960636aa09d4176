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
  'Let its next task start from trunk, not from kept work that has not landed.',
] as const

const HELP = `
Examples:
  intendant campaign add --project shop --name pay --mission "Let customers pay by invoice" \\
      --gate "npm test" --review "A customer can choose to pay by invoice." --max-cycles 10
  intendant campaign add pay.json --project shop
  intendant campaign advance pay                    the first step; after it, it goes by itself
  intendant campaign                                where each stands, and what it does now
  intendant campaign decide pay --decision "Gross prices."
  intendant campaign cancel pay --reason "not wanted" --now`

const operand = (): IdArgument => new IdArgument('<name>', 'Its name.', CAMPAIGN)

export function addCampaigns(program: Command, act: Act): void {
  const group = program
    .command('campaign')
    .description('Campaigns: missions that are worked off one task at a time, until their evidence holds.')
    .addHelpText('after', HELP)
    .action(act(listAll))
  campaignOptions(group.command('add').description('Add a campaign. It is staged, until it is advanced.'))
    .option('--unauthorized', 'Nobody answers for it yet: its first advance escalates.')
    .option(...keyOption('Asking twice with one key makes one campaign.'))
    .option(...ORIGIN)
    .action(act(add))
  group
    .command('list')
    .alias('ls')
    .description('List campaigns, newest first.')
    .option('--project <key>', 'Only this project.')
    .option('--status <status>', 'Only those that stand there, such as escalated.')
    .option(...LIMIT)
    .action(act(listAll))
  group
    .command('show')
    .description('Show a campaign: where it stands, what it does, what it needs, and its history.')
    .addArgument(operand())
    .action(act(show))
  addMoves(group, act)
}

function addMoves(group: Command, act: Act): void {
  const move = movesOf(group, operand)

  move('advance', 'Ask for its next step.').action(act((cli, [name]) => post(cli, name, 'advance', {})))
  move('pause', 'Let nothing follow; a task that is under way goes on.')
    .option('--reason <text>', 'Why.')
    .action(act((cli, [name], { reason }) => post(cli, name, 'pause', { reason })))
  move('resume', 'Go on with one that is paused or escalated.')
    .option('--add-cycles <n>', 'Add so many to its budget.', integer(1, CYCLES_MAX))
    .option(...FROM_TRUNK)
    .action(
      act((cli, [name], { addCycles, fromTrunk }) =>
        post(cli, name, 'resume', { add_cycles: addCycles, from_trunk: fromTrunk }),
      ),
    )
  move('decide', 'Answer what an escalated one asks; it goes on, bound by it.')
    .requiredOption('--decision <text>', 'What is decided.')
    .option(...FROM_TRUNK)
    .action(
      act((cli, [name], { decision, fromTrunk }) => post(cli, name, 'decide', { decision, from_trunk: fromTrunk })),
    )
  move('complete', 'Say that its mission is complete.')
    .requiredOption('--reason <text>', 'What shows it.')
    .action(act((cli, [name], { reason }) => post(cli, name, 'complete', { reason })))
  move('cancel', 'Give it up. A task that runs finishes, unless it is stopped with --now.')
    .requiredOption('--reason <text>', 'Why.')
    .option('--now', 'Stop the task that runs.')
    .option(
      '--discard',
      'With --now: tell its runner to throw uncommitted work away; the bundled one leaves that to its command.',
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
