/**
 * Which runner may take which request. Requests that are alike to every runner form a demand, runners that may take the
 * same requests form a supply. Eligibility is decided once per pair, when the second of the two appears, so finding
 * work for a runner costs the number of demands it may take, never the number of requests that wait.
 */
import type { Throttle } from '../../machines/machine.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { furtherProjects, requiredLabels } from '../../machines/run-request/demand.ts'
import type { IndexHeap } from '../collections/index-heap.ts'
import type { RunnerRequirements } from './api.ts'
import type { Turn } from './turns.ts'

/** A project and its turn among the others. */
export interface ProjectTurn extends Turn {
  readonly key: string
  /** Number of its demands, waiting or not. */
  demands: number
  /** Number of its requests that could be offered now, as far as the requests themselves are concerned. */
  ready: number
  /** Its demands that have such requests. */
  readonly waiting: Set<Demand>
}

/** Run requests that are interchangeable to every runner. */
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
  /** Keys of the other projects that the request tells its runner about. */
  readonly furtherProjects: readonly string[]
  /** The only runner that may take it. */
  readonly pin: string | undefined
  /** The repository it needs exclusively; undefined for work that changes nothing. */
  readonly repository: string | undefined
  /** Requests ready to be offered, first in order on top. */
  readonly ready: IndexHeap
  /** Number of its requests in the queue, ready or not. */
  queued: number
  /** The supplies that may take it; empty for a pinned demand, whose runner is found by its id. */
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
  /** The demands they may take, except those pinned to one runner. */
  demands: Demand[]
}

/** The part of a demand that decides which runners may take it. */
export type Criteria = Pick<Demand, 'throttle' | 'access' | 'labels' | 'furtherProjects' | 'pin' | 'entryEvent'> & {
  readonly project: Pick<ProjectTurn, 'key'>
}

/** What a run request asks of a runner, whether or not it is queued. */
export function requirementsOf(context: RunRequestContext): RunnerRequirements {
  const { project, throttle, asked } = context
  const { access, entry_event: entryEvent, runner_id: pin } = asked
  const labels = requiredLabels(context)
  return { project, throttle, access, labels, furtherProjects: furtherProjects(context), pin, entryEvent }
}

export function criteriaOfRequest(context: RunRequestContext): Criteria {
  return criteriaOf(requirementsOf(context))
}

export function criteriaOf({ project, ...requirements }: RunnerRequirements): Criteria {
  return { ...requirements, project: { key: project } }
}

/** Whether the runners were granted the projects, and the trust that work with full access at full throttle needs. */
export function isAllowed(supply: Supply, demand: Criteria): boolean {
  return isGranted(supply, demand) && (supply.isTrusted || !needsTrust(demand))
}

type Spoken = Pick<Criteria, 'project' | 'furtherProjects'>

/** Grants must cover its own project and every other one it mentions: a runner is told nothing that it may not see. */
export function isGranted({ projects }: Supply, { project, furtherProjects: further }: Spoken): boolean {
  return projects === undefined || (projects.has(project.key) && further.every((key) => projects.has(key)))
}

/** Only such work can make permanent changes. */
function needsTrust(demand: Pick<Criteria, 'throttle' | 'access'>): boolean {
  return demand.throttle === 'full' && demand.access === 'full'
}

/** Whether the runners carry every label. A request that names its runner needs no labels beyond that. */
export function carriesLabels(supply: Supply, demand: Criteria): boolean {
  if (demand.pin !== undefined) return true
  for (const label of demand.labels) if (!supply.labels.has(label)) return false
  return true
}

/** Whether the runner of that id, a member of the supply, may take these requests; undefined: any of its members. */
export function mayTake(supply: Supply, runnerId: string | undefined, demand: Criteria): boolean {
  if (demand.pin !== undefined && demand.pin !== runnerId) return false
  return carriesLabels(supply, demand) && isAllowed(supply, demand)
}

/** Links the two if these runners may take these requests. */
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
