/** `intendant queue`: work items. What runs, what waits and why, what needs a person; and the actions of owners. */

import type { Command } from 'commander'
import type { Client } from '../engine/client.ts'
import { UNFINISHED_STATUSES } from '../machines/campaign/states.ts'
import { OPEN_STATES, TERMINAL_STATES, WAITING_STATES, WORK_ITEM_STATES } from '../machines/documents/work-item.ts'
import { isSettledRun, RUN_REQUEST_STATES } from '../machines/run-request/states.ts'
import { integer, LIMIT, WAIT_LIMIT } from './arguments.ts'
import { printCampaigns } from './campaign-page.ts'
import type { Document } from './document.ts'
import { printEvents } from './event-line.ts'
import { IDS, ITEMS, listFiltered, stateOption } from './filters.ts'
import { IdArgument, WORK_ITEM } from './ids.ts'
import { awayIn, isWaitingForLimited, limitedText, pausedText, placesText, stoppedLabels } from './limits.ts'
import { ALL, inStates, list } from './lists.ts'
import { COLOUR, safe } from './print.ts'
import { counted } from './units.ts'
import { addItemMoves } from './work-item-commands.ts'
import { itemPath as path } from './work-item-moves.ts'
import { adviceFor, printItems, showItem } from './work-item-page.ts'
import { questionOf } from './work-item-question.ts'
import { followItem } from './work-item-wait.ts'
import type { Act, Cli } from './world.ts'

/** Settled items in the overview. */
const TERMINAL_SHOWN = 20
const HISTORY_SHOWN = 100
/** Events of an item's run while the item stays `running`. */
const LOST_AND_FOUND = ['run_request_lost', 'run_request_requeued']
/** Those, and the one that names the branch of its work. */
const OF_ITS_RUN = [...LOST_AND_FOUND, 'task_run_started']

const RUNNING = ['running']
/** States of run requests that are not over. */
const UNSETTLED = RUN_REQUEST_STATES.filter((state) => !isSettledRun(state))

const HELP = `
Examples:
  intendant queue                                   what runs, what waits and why, what needs you
  intendant queue --project shop --source campaign:spring
  intendant queue show wi_0a1b2c3d4e5f60718293a4b5  one item and its history
  intendant queue wait wi_0a1b2c --wait-limit 2h    follow it until it settles
  intendant queue resume wi_0a1b2c3d4e5f60718293a4b5 --after wi_111111111111111122222222
  intendant queue retry wi_0a1b2c                   the same work again, as a new item
  intendant queue retry --project shop --newer-than 2h --dry-run
  intendant queue list --state failed --ids | grep -vxf mine.txt | intendant queue retry -
  intendant queue answer wi_0a1b2c --decision "Net" answer what a run has asked
  intendant queue cancel --project shop --state held --yes`

const operand = (): IdArgument => new IdArgument('<id>', 'The id, wi_..., or its beginning.', WORK_ITEM)

export function addQueue(program: Command, act: Act): void {
  const group = program
    .command('queue')
    .description('The ledger: what runs, what waits and why, what needs you.')
    .option('--project <key>', 'Only this project.')
    .option('--source <kind:ref>', 'Only what this source submitted, such as campaign:spring.')
    .option('--done <n>', 'Show at most this many finished items.', integer(0, ALL), TERMINAL_SHOWN)
    .addHelpText('after', HELP)
    .action(act(overview))
  group
    .command('show')
    .description('Show one item: its state, why, and its history.')
    .addArgument(operand())
    .action(act(show))
  group
    .command('wait')
    .description('Follow an item until it settles; exit with its outcome, as task does.')
    .addArgument(operand())
    .option(...WAIT_LIMIT)
    .action(act(wait))
  group
    .command('open')
    .description('Show what has settled but still needs something, and what to do about it.')
    .option('--project <key>', 'Only this project.')
    .action(act(open))
  const listing = ITEMS.add(
    group
      .command('list')
      .alias('ls')
      .description('List items, newest first: all of them, or those of one kind or state.'),
  )
  listing
    .addOption(stateOption(WORK_ITEM_STATES, 'Only in this state.'))
    .option(...LIMIT)
    .option(...IDS)
    .action(act((cli, _, options) => listFiltered(cli, ITEMS, options)))
  addItemMoves(group, act)
}

/** What needs a person, as the service lists it, so that the count matches `intendant attention`. */
async function calling({ client }: Cli, project?: string): Promise<Document[]> {
  return [...(await list(client, '/api/attention', ALL, { project })).items]
}

/** Whether a row belongs to the given source: an item of it, the run of such an item, or the source itself. */
function isOf(source: string | undefined, items: ReadonlySet<string>): (row: Document) => boolean {
  if (source === undefined) return () => true
  return ({ kind, work_item, run_request, campaign, initiative, sentinel }) => {
    if (kind === 'work_item') return `${work_item.source.kind}:${work_item.source.ref}` === source
    if (kind === 'run_request') return items.has(run_request.work_item_id)
    return `${kind}:${(campaign ?? initiative ?? sentinel)?.name}` === source
  }
}

/** Runs without an item: they hold slots and repositories, too. */
async function outside({ client }: Cli, project?: string): Promise<Document[]> {
  const runs = await inStates(client, '/api/run-requests', UNSETTLED, ALL, { project })
  return runs.filter(({ work_item_id }) => work_item_id === undefined)
}

/** Running items by start, waiting ones by submission, the rest by settlement; ties by id. */
function ordered(items: Document[], by: string, direction: 1 | -1): Document[] {
  const key = (item: Document): string => String(item[by] ?? '')
  return items.sort((a, b) => direction * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) || (a.id < b.id ? -1 : 1))
}

async function overview(cli: Cli, _: readonly any[], options: any): Promise<void> {
  const { client, json, print } = cli
  const { project, source, done } = options
  const query = { project, source }
  const terminalMax = json ? ALL : done
  const [running, waiting, open, terminal, campaigns, { body: pacing }, rows, runs] = await Promise.all([
    inStates(client, '/api/work-items', RUNNING, ALL, query),
    inStates(client, '/api/work-items', WAITING_STATES, ALL, query),
    inStates(client, '/api/work-items', OPEN_STATES, ALL, query),
    terminalMax === 0 ? [] : inStates(client, '/api/work-items', TERMINAL_STATES, terminalMax, query),
    unfinished(cli, project, source),
    client.request('GET', '/api/pacing'),
    calling(cli, project),
    source === undefined ? outside(cli, project) : [],
  ])
  const lists = {
    running: ordered(running, 'started_at', 1),
    waiting: ordered(waiting, 'submitted_at', 1),
    open: ordered(open, 'settled_at', -1),
    terminal: ordered(terminal, 'settled_at', -1).slice(0, terminalMax),
    campaigns,
  }
  const attention = rows.filter(isOf(source, new Set([...running, ...waiting, ...open].map(({ id }) => id))))
  if (json) return print.json({ ...lists, outside: runs, attention })
  const called = new Set(attention.map(({ work_item }) => work_item?.id))
  const needing = lists.open.filter(({ id }) => called.has(id))
  const isAway = pacing.max_running === 0 || [...running, ...waiting, ...runs].some(isWaitingForLimited)
  const limited = isAway ? (await list(client, '/api/runners', ALL)).items : []
  const parts = summary({ runs, attention, needing, limited }, pacing, cli)
  for (const line of inRoom(parts, print.columns)) print.line(line)
  printItems(print, 'Running', lists.running, (item) => item.started_at)
  printItems(print, 'Waiting', lists.waiting, (item) => item.submitted_at)
  printItems(print, 'Needs you', needing, (item) => item.settled_at)
  printCampaigns(print, 'Campaigns', campaigns)
  printItems(
    print,
    `Done${terminal.length >= done ? ` (the last ${done})` : ''}`,
    lists.terminal,
    (item) => item.settled_at,
  )
}

/** Campaigns that are not over; for a given source, only that one. */
async function unfinished({ client }: Cli, project?: string, source?: string): Promise<Document[]> {
  const named = source?.startsWith('campaign:') === true ? source.slice('campaign:'.length) : undefined
  if (source !== undefined && named === undefined) return []
  const { items } = await list(client, '/api/campaigns', ALL, { project, status: UNFINISHED_STATUSES })
  const place = ({ status }: Document): number => UNFINISHED_STATUSES.indexOf(status)
  return items.filter(({ name }) => named === undefined || name === named).sort((a, b) => place(a) - place(b))
}

function summary(
  lists: Record<'runs' | 'attention' | 'needing' | 'limited', readonly Document[]>,
  pacing: Document,
  { print }: Cli,
): string[] {
  const { waiting_count: waiting, unreadable } = pacing
  const paused = pausedText(pacing.paused, stoppedLabels(pacing))
  const weights = weightsIn(pacing)
  const parts = [placesText(pacing.running_count, pacing.max_running, awayIn(pacing)), `${waiting} waiting`]
  const limited = limitedText(lists.limited)
  if (limited !== undefined) parts.push(print.tint(`limited: ${limited}`, 'warn'))
  if (lists.runs.length > 0)
    parts.push(`also ${counted(lists.runs.length, 'run')} outside the ledger${ofRuns(lists.runs)}`)
  const needs = lists.attention.length
  const all = needs > lists.needing.length ? ': intendant attention' : ''
  parts.push(
    needs === 0 ? 'nothing needs you' : print.tint(`${needs} ${needs === 1 ? 'needs' : 'need'} you${all}`, 'warn'),
  )
  if (unreadable) parts.push(print.tint('the pause state cannot be read: every lane is paused', 'bad'))
  else if (paused !== '') parts.push(print.tint(`paused: ${paused}`, 'warn'))
  if (weights.length > 0) parts.push(`weights: ${weights.join(', ')}`)
  return parts
}

/** Projects that have a weight other than 1. */
function weightsIn({ weights = [] }: Document): readonly string[] {
  return weights.map(({ project, weight }: Document) => `${safe(project)} ${weight}`)
}

function ofRuns(runs: readonly Document[]): string {
  const under = runs.filter(({ state }) => state !== 'queued').length
  return under === 0 ? '' : ` (${under} under way)`
}

/** Joined on one line, or, if that is too long, each on its own. */
function inRoom(parts: readonly string[], columns = Number.POSITIVE_INFINITY): readonly string[] {
  const line = parts.join(', ')
  return line.replace(COLOUR, '').length <= columns ? [line] : parts
}

async function open(cli: Cli, _: readonly any[], { project }: any): Promise<void> {
  const rows = (await calling(cli, project)).filter(({ reason }) => OPEN_STATES.includes(reason))
  const items = ordered(
    rows.map(({ work_item }) => work_item),
    'settled_at',
    -1,
  )
  const { json, print } = cli
  if (json) return print.json(items)
  if (items.length === 0) return print.line('Nothing needs you.')
  for (const item of items) {
    printItems(print, safe(item.objective), [item], ({ settled_at }) => settled_at)
    for (const advice of adviceFor(item)) print.line(`  ${advice}`)
  }
}

/** The item's latest events, and what happened to its runs meanwhile, which is in its trace. */
async function historyOf(client: Client, { id, trace_id }: Document): Promise<Document[]> {
  const newest = async (of: Record<string, string>): Promise<readonly Document[]> =>
    (await list(client, '/api/events', HISTORY_SHOWN, { ...of, order: 'desc' })).items.toReversed()
  const [own, ofRun] = await Promise.all([newest({ item_id: id }), newest({ trace_id, event_type: OF_ITS_RUN.join() })])
  return [...own, ...ofRun]
    .sort((a, b) => (a.recorded_at < b.recorded_at ? -1 : Number(a.recorded_at > b.recorded_at)))
    .slice(-HISTORY_SHOWN)
}

async function show({ client, json, print }: Cli, [id]: readonly any[]): Promise<void> {
  const { body } = await client.request('GET', path(id))
  const [events, question] = await Promise.all([
    historyOf(client, body),
    body.state === 'needs_decision' ? questionOf(client, body) : undefined,
  ])
  if (json) return print.json({ ...body, question, events })
  showItem(body, print, question)
  if (events.length === 0) return
  print.heading('History')
  printEvents(events.map(decided), print)
}

async function wait(cli: Cli, [id]: readonly any[], { waitLimit }: any): Promise<number> {
  const { body } = await cli.client.request('GET', path(id))
  if (!cli.json) cli.print.line(`Item ${body.id}`)
  return await followItem(cli, body, undefined, waitLimit)
}

/** Shows who requeued the run, which the event holds beside its payload. */
function decided({ by, ...event }: Document): Document {
  const isRun = LOST_AND_FOUND.includes(event.event_type) && by !== undefined
  return isRun ? { ...event, payload: { ...event.payload, by } } : event
}
