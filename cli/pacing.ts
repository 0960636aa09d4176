/**
 * `intendant pacing`: what may start. Lanes are paused and resumed here, labels limited, projects weighed, and a service
 * is drained before it is stopped.
 */
import type { Command } from 'commander'
import { watch } from '../engine/watch.ts'
import { LABEL_LIMIT_MAX, WEIGHT_MAX } from '../machines/documents/pacing.ts'
import { AWAITED_RUN_STATES } from '../machines/run-request/states.ts'
import { collect, integer, ORIGIN, waitingTime } from './arguments.ts'
import type { Document } from './document.ts'
import { CliFailure, EXIT } from './exit.ts'
import { awayIn, placesText } from './limits.ts'
import { list } from './lists.ts'
import { safe } from './print.ts'
import { LEAVING } from './run-request-wait.ts'
import { printItems } from './work-item-page.ts'
import type { Act, Cli } from './world.ts'

/** Events after which nothing may be running any more. */
const NEWS = ['work_item_settled', 'work_item_cancelled', ...LEAVING]
/** Most runs that drain lists. */
const NAMED_MAX = 20

export function addPacing(program: Command, act: Act): void {
  const group = program
    .command('pacing')
    .description('What may start: pause and resume lanes, limit labels, weigh projects, see what runs and what waits.')
    .action(act(show))
  group
    .command('show')
    .description('Show what runs, what waits and why, and what is paused, limited and weighed.')
    .action(act(show))
  const change = (name: string, description: string): Command =>
    group
      .command(name)
      .description(description)
      .option('--lane <lane>', 'interactive, campaign or maintenance; may be repeated. Default: all.', collect)
      .option(...ORIGIN)
  change('pause', 'Pause lanes: nothing in them starts; what runs continues.').action(
    act((cli, _, { lane }) => post(cli, 'pause', { lanes: lane })),
  )
  change('resume', 'Resume lanes.').action(act((cli, _, { lane }) => post(cli, 'resume', { lanes: lane })))
  group
    .command('limit')
    .description(
      'Let at most so many runs that require a label be under way at once, in all projects; 0: none starts. What runs continues.',
    )
    .argument('<label>', 'The label, as in --label of work and of runners.')
    .argument('<max>', 'How many.', integer(0, LABEL_LIMIT_MAX))
    .option(...ORIGIN)
    .action(act((cli, [label, max_running]) => post(cli, 'limit', { label, max_running })))
  group
    .command('unlimit')
    .description('End the limit of a label.')
    .argument('<label>', 'The label.')
    .option(...ORIGIN)
    .action(act((cli, [label]) => post(cli, 'unlimit', { label })))
  group
    .command('weigh')
    .description('Give a project so many turns while others get one each; 1: an equal share again.')
    .argument('<project>', 'Key of the project.')
    .argument('<weight>', `1 to ${WEIGHT_MAX}.`, integer(1, WEIGHT_MAX))
    .option(...ORIGIN)
    .action(act((cli, [project, weight]) => post(cli, 'weigh', { project, weight })))
  group
    .command('drain')
    .description('Pause all lanes and wait until nothing runs. The lanes stay paused.')
    .option('--timeout <duration>', 'Wait for at most this long.', waitingTime)
    .option(...ORIGIN)
    .action(act(drain))
}

async function show({ client, json, print }: Cli): Promise<void> {
  const { body } = await client.request('GET', '/api/pacing')
  if (json) return print.json(body)
  printLanes({ print }, body)
  printLimits({ print }, body)
  printWeights({ print }, body)
  print.line(`\n${placesText(body.running_count, body.max_running, awayIn(body))}, ${body.waiting_count} waiting.`)
  printItems(print, 'Running', body.running, ({ since }) => since)
  printItems(print, 'Waiting', body.waiting, ({ since }) => since)
}

function printLanes({ print }: Pick<Cli, 'print'>, { lanes, unreadable }: Document): void {
  const rows = lanes.map(({ lane, paused, since, by, origin }: Document) => [
    lane,
    paused ? print.tint('paused', 'warn') : print.tint('open', 'good'),
    since ?? '',
    whoIn({ by, origin }),
  ])
  print.table(['LANE', 'STATE', 'SINCE', 'BY'], rows, '')
  if (unreadable) print.line(print.tint('The pause state cannot be read: every lane counts as paused.', 'bad'))
}

/** Who decided it, and from where. */
function whoIn({ by, origin }: Document): string {
  return by === undefined ? '' : safe(`${by.name} (${origin})`)
}

/** Nothing if no label is limited. */
function printLimits({ print }: Pick<Cli, 'print'>, { label_limits: limits = [] }: Document): void {
  if (limits.length === 0) return
  const rows = limits.map(({ label, max_running, under_way, since, by, origin }: Document) => [
    safe(label),
    under_way < max_running ? `${max_running}` : print.tint(`${max_running}`, 'warn'),
    `${under_way}`,
    since,
    whoIn({ by, origin }),
  ])
  print.line()
  print.table(['LABEL', 'MAX', 'UNDER WAY', 'SINCE', 'BY'], rows, '')
}

/** Nothing if all projects have equal shares. */
function printWeights({ print }: Pick<Cli, 'print'>, { weights = [] }: Document): void {
  if (weights.length === 0) return
  const rows = weights.map(({ project, weight, since, by, origin }: Document) => [
    safe(project),
    `${weight}`,
    since,
    whoIn({ by, origin }),
  ])
  print.line()
  print.table(['PROJECT', 'WEIGHT', 'SINCE', 'BY'], rows, '')
}

async function post(cli: Cli, name: string, change: object): Promise<void> {
  const { body } = await cli.client.request('POST', `/api/pacing/${name}`, { body: change })
  if (cli.json) return cli.print.json(body)
  printLanes(cli, body)
  printLimits(cli, body)
  printWeights(cli, body)
}

/** Watches before it pauses, so that no settlement in between is missed, and reads the state again at each event. */
async function drain(cli: Cli, _: readonly any[], { timeout }: any): Promise<number> {
  const { client, json, print, world } = cli
  const over = new AbortController()
  const timer = timeout === undefined ? undefined : setTimeout(() => over.abort(), timeout)
  world.onStopSignal(() => over.abort())
  try {
    const filters = { event_type: NEWS.join(',') }
    let isPaused = false
    for await (const frame of watch({ client, since: 'latest', filters, signal: over.signal })) {
      if (!isPaused) {
        const { body } = await client.request('POST', '/api/pacing/pause', { body: {} })
        isPaused = true
        if (!json) printLanes(cli, body)
      }
      if (frame.type === 'events' && !json) for (const event of frame.events) settlement(cli, event)
      const left = await stillRunning(cli)
      if (left.length === 0) return drained(cli, left)
      if (frame.type === 'hello' && !json) print.line(`\nWaiting for ${named(left)}.`)
    }
  } finally {
    clearTimeout(timer)
    over.abort()
  }
  const left = await stillRunning(cli)
  if (left.length === 0) return drained(cli, left)
  if (json) print.json({ idle: false, running: left })
  throw new CliFailure(`Not idle yet: ${named(left)}. The lanes stay paused.`, EXIT.timeout)
}

function drained({ json, print }: Cli, running: readonly Document[]): number {
  if (json) print.json({ idle: true, running })
  else print.line('Nothing is running. The lanes stay paused; resume them with: intendant pacing resume')
  return EXIT.ok
}

function settlement({ print }: Cli, { payload }: Document): void {
  if (payload.item_id === undefined) return
  print.line(`${payload.item_id} ${print.state(payload.state)}: ${safe(payload.reason)}`)
}

/**
 * Runs that a runner holds, and running items. An item whose run is lost counts until a person has decided; one whose
 * run is waiting again does not. A lost run without an item is not waited for: it may never be heard of again.
 */
async function stillRunning({ client }: Cli): Promise<Document[]> {
  const [pacing, ...pages] = await Promise.all([
    client.request('GET', '/api/pacing'),
    ...AWAITED_RUN_STATES.map((state) => list(client, '/api/run-requests', NAMED_MAX, { state })),
  ])
  const items = pacing.body.running.filter(
    ({ state, waiting_because }: Document) => state === 'running' && waiting_because === undefined,
  )
  const ofItems = new Set(items.map(({ id }: Document) => id))
  const runs = pages.flatMap((page) => page.items).filter(({ work_item_id }) => !ofItems.has(work_item_id))
  return [...items, ...runs].map(({ id, project, state, reason }) => ({
    id,
    project,
    state,
    ...(reason === undefined ? {} : { reason }),
  }))
}

function named(running: readonly Document[]): string {
  const shown = running.slice(0, NAMED_MAX).map(({ id, project, state }) => `${id} (${project}, ${state})`)
  const more = running.length - shown.length
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`
}
