/**
 * What lists, and commands upon many, are narrowed to: by the service's own filters, and by how long something has been in its
 * state, which is looked at here.
 */
import { type Command, Option } from 'commander'
import type { QueryValue } from '../engine/client.ts'
import { WORK_ITEM_KINDS } from '../machines/documents/work-item.ts'
import { LANES } from '../machines/run-request/lanes.ts'
import { collectFrom, past } from './arguments.ts'
import type { Document } from './document.ts'
import { type Kind, RUN_REQUEST, RUNNER, WORK_ITEM } from './ids.ts'
import { limitOf } from './limits.ts'
import { listWhere } from './lists.ts'
import { type Printer, safe } from './print.ts'
import { listItems } from './work-item-page.ts'
import type { Cli } from './world.ts'

/** Of one kind of entity: how its list is narrowed, and shown. */
export interface Filters {
  readonly kind: Kind
  /** What one is called. */
  readonly noun: string
  /** Adds the options to a command. */
  readonly add: (command: Command) => Command
  /** Their names, as commander has them. */
  readonly names: readonly string[]
  /** What the service narrows by itself. */
  readonly query: (options: any) => Record<string, QueryValue>
  /** What is narrowed here. */
  readonly keeps: (options: any, document: Document) => boolean
  readonly show: (print: Printer, documents: readonly Document[]) => void
}

/** For every list: so that a command upon many can read it from standard input. */
export const IDS = ['--ids', 'Print only the ids, one on each line: for a command that reads them with -.'] as const

const AGES = ['olderThan', 'newerThan'] as const

function addAges(command: Command, when: string): Command {
  return command
    .option('--older-than <time>', `Only those ${when} before this time, or longer ago than this duration.`, past)
    .option('--newer-than <time>', `Only those ${when} since this time, or within this duration.`, past)
}

/** Whether it has been in its state for that long. Both limits are RFC 3339; undefined: no limit. */
function isOfAge({ olderThan, newerThan }: any, since: string | undefined): boolean {
  const at = Date.parse(since ?? '')
  if (olderThan !== undefined && !(at < Date.parse(olderThan))) return false
  return newerThan === undefined || at >= Date.parse(newerThan)
}

/** When it settled, or began to run, or was submitted. */
function itemSince({ settled_at, started_at, submitted_at, state }: Document): string {
  return settled_at ?? (state === 'running' ? started_at : undefined) ?? submitted_at
}

/** When it came into its state; for one that waits, when it was made. */
function runSince(run: Document): string | undefined {
  return run[`${run.state}_at`] ?? run.cancel?.requested_at ?? run.created_at
}

const laneOption = (): Option => new Option('--lane <lane>', 'Only this lane.').choices(LANES)

export const ITEMS: Filters = {
  kind: WORK_ITEM,
  noun: 'item',
  add: (command) =>
    addAges(
      command
        .option('--project <key>', 'Only in this project.')
        .option('--source <kind:ref>', 'Only from this source, such as campaign:spring.')
        .addOption(new Option('--kind <kind>', 'Only of this kind.').choices(WORK_ITEM_KINDS))
        .addOption(laneOption()),
      'that settled, began or (if they wait) were submitted',
    ),
  names: ['project', 'source', 'kind', 'lane', ...AGES],
  query: ({ project, source, kind, lane }) => ({ project, source, kind, lane }),
  keeps: (options, item) => isOfAge(options, itemSince(item)),
  show: (print, items) => listItems(print, items, itemSince),
}

export const RUNS: Filters = {
  kind: RUN_REQUEST,
  noun: 'run request',
  add: (command) =>
    addAges(
      command
        .option('--project <key>', 'Only this project.')
        .option('--runner <id>', 'Only those that this runner holds or held.')
        .option('--label <label>', 'Only those that require this label.')
        .addOption(laneOption()),
      'that came into their state (if they wait: were created)',
    ),
  names: ['project', 'runner', 'label', 'lane', ...AGES],
  query: ({ project, runner, label }) => ({ project, runner, label }),
  keeps: (options, run) => (options.lane === undefined || run.lane === options.lane) && isOfAge(options, runSince(run)),
  show: (print, runs) => listRuns(print, runs),
}

export const RUNNERS: Filters = {
  kind: RUNNER,
  noun: 'runner',
  add: (command) =>
    command
      .option('--project <key>', 'Only those that may take work of this project.')
      .option('--label <label>', 'Only those that offer this label.'),
  names: ['project', 'label'],
  query: () => ({}),
  keeps: ({ project, label }, { allowed_projects, labels }) =>
    (project === undefined || allowed_projects.includes(project) || allowed_projects.includes('*')) &&
    (label === undefined || labels.includes(label)),
  show: (print, runners) => listRunners(print, runners),
}

/** The command that lists them: `--limit` of those that the options admit, newest first. */
export async function listFiltered({ client, json, print, note }: Cli, filters: Filters, options: any): Promise<void> {
  const { limit, state, ids } = options
  const query = { ...filters.query(options), state }
  const { items, more } = await listWhere(client, filters.kind.path, limit, query, (one) => filters.keeps(options, one))
  if (ids) for (const { id } of items) print.line(id)
  else if (json) return print.json(items)
  else filters.show(print, items)
  if (!ids) print.rest(items.length, more)
  else if (more) note(`These are the first ${items.length}; --limit prints more.`)
}

export function stateOption(states: readonly string[], help: string): Option {
  return new Option('--state <state>', `${help} May be repeated.`).choices(states).argParser(collectFrom(states))
}

function listRuns(print: Printer, runs: readonly Document[]): void {
  const rows = runs.map((run) => [
    run.id,
    print.state(run.state),
    run.project,
    run.throttle,
    print.age(run.created_at),
    run.offered_to ?? '-',
    run.entry_event,
    safe(run.waiting_because?.detail ?? run.failure?.message ?? ''),
  ])
  print.table(['ID', 'STATE', 'PROJECT', 'THROTTLE', 'AGE', 'RUNNER', 'ENTRY EVENT', 'WHY'], rows, 'No run requests.')
}

function listRunners(print: Printer, runners: readonly Document[]): void {
  const areLimited = runners.some(({ limited }) => limited !== undefined)
  const rows = runners.map((runner) => [
    runner.id,
    print.state(presenceOf(runner)),
    `${runner.in_flight?.length ?? 0}/${runner.capacity}`,
    runner.trusted ? 'yes' : 'no',
    print.age(runner.last_seen_at) || 'never',
    runner.allowed_projects.join(',') || '(none)',
    runner.labels.join(','),
    ...(areLimited ? [limitOf(runner) ?? ''] : []),
  ])
  const headings = ['ID', 'STATE', 'BUSY', 'TRUSTED', 'SEEN', 'PROJECTS', 'LABELS', ...(areLimited ? ['LIMITED'] : [])]
  print.table(headings, rows, 'No runners yet. Register one with: intendant runner add ID --project KEY')
}

/** The most important word about a runner's state. */
function presenceOf({ state, presence, limited }: Document): string {
  if (state !== 'registered') return state
  return presence === 'online' && limited !== undefined ? 'limited' : (presence ?? state)
}
