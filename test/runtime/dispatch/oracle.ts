/**
 * What the dispatcher must do, in the plainest way: filter all queued requests, sort them, take the first. Rules only,
 * none of the dispatcher's structures.
 */
import type { RunRequestContext } from '../../../machines/run-request/context.ts'
import type { FakeRuntime, RunnerGiven } from './fake.ts'

export const HOLDING = ['offered', 'accepted', 'started', 'cancelling', 'lost']
export const IN_SLOT = HOLDING.slice(0, 4)

/** How many may be held that require it, by label. */
export type LabelLimitsGiven = ReadonlyMap<string, number>
const NO_LIMITS: LabelLimitsGiven = new Map()

export interface Seen {
  readonly value: string
  readonly context: RunRequestContext
}

export function mutates({ throttle, asked }: RunRequestContext): boolean {
  return throttle === 'full' && asked.access === 'full'
}

/** Whether the request could be handed out at all now. */
export function isReady({ value, context }: Seen): boolean {
  return value === 'queued' && context.internal.approved && context.internal.ready
}

export function mayTake(
  runnerId: string,
  runner: RunnerGiven,
  request: RunRequestContext,
  all: readonly Seen[],
  pausedLanes: readonly string[],
  limitOf: (project: string) => number = () => 1,
  labelLimits: LabelLimitsGiven = NO_LIMITS,
): boolean {
  const { allowed_projects = ['*'], labels = [], trusted = true } = runner
  const { told_of = [] } = request.made
  const isAllowed =
    allowed_projects.includes('*') || [request.project, ...told_of].every((key) => allowed_projects.includes(key))
  const isNamed = request.asked.runner_id === runnerId
  const carries = request.asked.labels.every((label) => labels.includes(label))
  const { repository } = request.made
  const holders = mutates(request) && repository !== null ? holdersOf(repository, all) : []
  const isBusy =
    holders.length >= limitOf(request.project) || holders.some((one) => holders.length >= limitOf(one.context.project))
  return (
    isAllowed &&
    (request.asked.runner_id === undefined ? carries : isNamed) &&
    (trusted || !mutates(request)) &&
    !pausedLanes.includes(request.asked.lane) &&
    !isBusy &&
    request.asked.labels.every((label) => withLabel(label, all).length < (labelLimits.get(label) ?? all.length + 1))
  )
}

/** What is held and requires the label. */
export function withLabel(label: string, all: readonly Seen[]): readonly Seen[] {
  return all.filter(({ value, context }) => HOLDING.includes(value) && context.asked.labels.includes(label))
}

function holdersOf(repository: string | undefined, all: readonly Seen[]): readonly Seen[] {
  return all.filter(
    ({ value, context }) => HOLDING.includes(value) && mutates(context) && context.made.repository === repository,
  )
}

/**
 * Projects in the order of their turns. Without weights, one that was served, or has just come back, goes to the end. With
 * weights, one that was served goes back by a part of the way to the end, and one that comes back keeps its place,
 * though not before all others. A new one comes as if it had been served in the place of the first.
 */
export class Round {
  readonly weights = new Map<string, number>()
  private readonly places = new Map<string, number>()
  private order: string[] = []
  private end = 0
  private servedLast = 0

  /** `waiting`: the other projects that have something to offer. */
  joins(project: string, waiting: readonly string[]): void {
    if (this.weights.size === 0) this.puts(project, ++this.end)
    else {
      const others = waiting.map((other) => this.places.get(other)!)
      const first = others.length === 0 ? this.servedLast : Math.min(...others)
      const place = this.places.get(project)
      this.puts(project, place === undefined ? this.after(project, first) : Math.max(first, place))
    }
  }

  served(project: string): void {
    const place = this.places.get(project)!
    this.end++
    this.servedLast = place
    this.puts(project, this.after(project, place))
  }

  private after(project: string, place: number): number {
    const weight = this.weights.get(project) ?? 1
    return weight === 1 ? this.end : place + (this.end - place) / weight
  }

  /** Behind those at the same place. */
  private puts(project: string, place: number): void {
    this.places.set(project, place)
    this.order = [...this.order.filter((one) => one !== project), project]
    this.order.sort((a, b) => this.places.get(a)! - this.places.get(b)!)
  }

  /** The ids in the order in which they are to be offered. */
  sort(requests: readonly RunRequestContext[]): string[] {
    const place = ({ project }: RunRequestContext): number => this.order.indexOf(project)
    const byOrder = (a: RunRequestContext, b: RunRequestContext): number =>
      place(a) - place(b) ||
      b.asked.priority - a.asked.priority ||
      compare(a.created_at, b.created_at) ||
      compare(a.id, b.id)
    return [...requests].sort(byOrder).map(({ id }) => id)
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Every run request of the world. */
export function everything(fake: FakeRuntime): Seen[] {
  return fake.everyRequest().map(({ value, context }) => ({ value, context }))
}
