/**
 * Who may take what. Requests that any runner sees alike form a demand, runners that see all requests alike form
 * a supply; eligibility is decided once for each pair, when the second of the two appears. So finding work for
 * a runner costs the number of demands it may take, never the number of requests that wait.
 */
import type { Throttle } from '../../machines/machine.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { furtherProjects, requiredLabels } from '../../machines/run-request/demand.ts'
import type { IndexHeap } from '../collections/index-heap.ts'
import type { Wanted } from './api.ts'
import type { TurnLinks } from './turns.ts'

/** A project's place in the round robin: the lowest turn goes first. */
export interface ProjectTurn extends TurnLinks {
  readonly key: string
  turn: number
  /** Its requests that could be offered now, as far as the requests themselves are concerned. */
  ready: number
  /** Its demands that have such requests. */
  readonly waiting: Set<Demand>
}

/** Run requests between which no runner can tell a difference. */
export interface Demand {
  readonly signature: string
  readonly slot: number
  readonly project: ProjectTurn
  readonly projectId: string
  readonly throttle: Throttle
  readonly access: 'full' | 'read_only'
  readonly lane: string
  readonly entryEvent: string
  readonly labels: readonly string[]
  /** Keys of the projects that it tells its runner of beside its own. */
  readonly furtherProjects: readonly string[]
  /** The only runner that may take it. */
  readonly pin: string | undefined
  /** The repository it needs for itself; undefined for work that changes nothing. */
  readonly repository: string | undefined
  /** Requests ready to be offered, the first in order on top. */
  readonly ready: IndexHeap
  /** Its requests in the queue, ready or not. */
  queued: number
  /** Of those that may take it; empty for a pinned demand, whose runner is found by its name. */
  supplies: Supply[]
}

/** Runners that may take the same requests. */
export interface Supply {
  readonly signature: string
  /** Keys of projects; undefined: all. */
  readonly projects: ReadonlySet<string> | undefined
  readonly labels: ReadonlySet<string>
  readonly isTrusted: boolean
  /** Slots of the runners that could take an offer now, the one that polled last on top. */
  readonly available: IndexHeap
  members: number
  /** What they may take, but for demands pinned to one of them. */
  demands: Demand[]
}

/** What of a demand decides who may take it. */
export type Asking = Pick<Demand, 'throttle' | 'access' | 'labels' | 'furtherProjects' | 'pin' | 'entryEvent'> & {
  readonly project: Pick<ProjectTurn, 'key'>
}

/** What a run request asks of a runner, whether or not it waits. */
export function askingOfRequest(context: RunRequestContext): Asking {
  const { project: key, throttle, asked } = context
  const { access, entry_event: entryEvent, runner_id: pin } = asked
  const labels = requiredLabels(context)
  return { project: { key }, throttle, access, labels, furtherProjects: furtherProjects(context), pin, entryEvent }
}

export function askingOf({ project, ...wanted }: Wanted): Asking {
  return { ...wanted, project: { key: project } }
}

/** Whether the runners were granted the projects, and the trust that work with full access at full throttle needs. */
export function isAllowed(supply: Supply, demand: Asking): boolean {
  return isGranted(supply, demand) && (supply.isTrusted || !needsTrust(demand))
}

type Spoken = Pick<Asking, 'project' | 'furtherProjects'>

/** Its own project, and each other that it speaks of: what a runner may not see is not told to it. */
export function isGranted({ projects }: Supply, { project, furtherProjects: further }: Spoken): boolean {
  return projects === undefined || (projects.has(project.key) && further.every((key) => projects.has(key)))
}

/** Only such work can change something for good. */
function needsTrust(demand: Pick<Asking, 'throttle' | 'access'>): boolean {
  return demand.throttle === 'full' && demand.access === 'full'
}

/** Whether the runners carry every label. A request that names its runner asks for no labels beyond that name. */
export function carriesLabels(supply: Supply, demand: Asking): boolean {
  if (demand.pin !== undefined) return true
  for (const label of demand.labels) if (!supply.labels.has(label)) return false
  return true
}

/** Whether these runners may take these requests, with the runner of that id among them. */
export function mayTake(supply: Supply, runnerId: string, demand: Asking): boolean {
  if (demand.pin !== undefined && demand.pin !== runnerId) return false
  return carriesLabels(supply, demand) && isAllowed(supply, demand)
}

/** Remembers the pair if these runners may take these requests. */
export function pair(supply: Supply, demand: Demand): void {
  if (demand.pin !== undefined || !carriesLabels(supply, demand) || !isAllowed(supply, demand)) return
  supply.demands.push(demand)
  demand.supplies.push(supply)
}

export function unpairDemand(demand: Demand): void {
  for (const supply of demand.supplies) drop(supply.demands, demand)
  demand.supplies = []
}

export function unpairSupply(supply: Supply): void {
  for (const demand of supply.demands) drop(demand.supplies, supply)
  supply.demands = []
}

function drop<T>(list: T[], item: T): void {
  const last = list.pop()!
  if (last !== item) list[list.indexOf(item)] = last
}
