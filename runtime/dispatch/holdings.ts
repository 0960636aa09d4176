/**
 * The run requests that runners hold, and those on their way to one. From the moment an offer is sent, its slot, its
 * repository and its place under the limits of its labels are taken, so none of them can be offered a second time while
 * the first offer is being committed.
 */

import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { exclusiveRepository, requiredLabels } from '../../machines/run-request/demand.ts'
import type { HeldRunState } from '../../machines/run-request/states.ts'
import { Holders } from '../writers.ts'
import type { Demand } from './eligibility.ts'
import type { Fleet } from './fleet.ts'
import type { LabelLimits } from './label-limits.ts'
import type { ProjectFacts } from './project-facts.ts'
import type { Held, Runner } from './runner.ts'

/** Callbacks for what a change in the holdings frees, and for news to a runner. */
interface Freed {
  runner(runner: Runner): void
  repository(repository: string): void
  news(runner: Runner): void
}

const NONE: readonly Held[] = []

export class Holdings {
  private readonly fleet: Fleet
  private readonly projects: ProjectFacts
  readonly labels: LabelLimits
  private readonly freed: Freed
  private readonly byId = new Map<string, Held>()
  private readonly holders = new Map<string, Holders<Held>>()

  constructor(fleet: Fleet, projects: ProjectFacts, labels: LabelLimits, freed: Freed) {
    this.fleet = fleet
    this.projects = projects
    this.labels = labels
    this.freed = freed
  }

  get(id: string): Held | undefined {
    return this.byId.get(id)
  }

  all(): Iterable<Held> {
    return this.byId.values()
  }

  /** Whether no further run of the project may change the repository. */
  isBusy(repository: string, projectId: string): boolean {
    return this.holders.get(repository)?.areEnough(projectId, this.projects.maxWriters) ?? false
  }

  /** What holds the repository, the longest there first. */
  holdersOf(repository: string): Iterable<Held> {
    return this.holders.get(repository) ?? NONE
  }

  /** Takes what the demand needs and the runner's slot for an offer that is being sent. */
  reserve(
    id: string,
    runner: Runner,
    { repository, lane, projectId, labels }: Pick<Demand, 'repository' | 'lane' | 'projectId' | 'labels'>,
  ): Held {
    return this.add({
      id,
      runner,
      repository,
      lane,
      projectId,
      labels,
      state: 'offering',
      attempt: 0,
      isDelivered: false,
      isReturning: false,
      callsAtDelivery: 0,
    })
  }

  /** A committed step says that a runner holds the request. */
  note(context: RunRequestContext, state: HeldRunState): void {
    const runner = this.fleet.get(context.offered_to ?? '')
    const repository = exclusiveRepository(context)
    let held = this.byId.get(context.id)
    if (held !== undefined && (held.runner !== runner || held.repository !== repository)) {
      this.drop(held)
      held = undefined
    }
    // An unknown one dates from before the start: its runner has been told of it as far as anyone knows.
    held ??= this.add({
      id: context.id,
      runner,
      repository,
      lane: context.asked.lane,
      projectId: context.project_id,
      labels: requiredLabels(context),
      state,
      attempt: context.attempt,
      isDelivered: true,
      isReturning: false,
      callsAtDelivery: 0,
    })
    held.attempt = context.attempt
    if (held.state !== state) this.change(held, state)
  }

  /** Nobody holds the request any more. */
  drop(held: Held): void {
    this.byId.delete(held.id)
    const { runner, repository } = held
    runner.held.delete(held)
    runner.dropCancel(held.id)
    if (runner.offer === held) runner.offer = undefined
    this.freed.runner(runner)
    this.labels.delete(held)
    if (repository === undefined) return
    const holders = this.holders.get(repository)
    holders?.delete(held)
    if (holders?.size === 0) this.holders.delete(repository)
    this.freed.repository(repository)
  }

  private add(held: Held): Held {
    this.byId.set(held.id, held)
    this.labels.add(held)
    if (held.repository !== undefined) this.holdersIn(held.repository).add(held)
    this.change(held, held.state)
    return held
  }

  private holdersIn(repository: string): Holders<Held> {
    const known = this.holders.get(repository) ?? new Holders<Held>()
    this.holders.set(repository, known)
    return known
  }

  private change(held: Held, state: Held['state']): void {
    const { runner } = held
    held.state = state
    // A lost run uses no slot: if it comes back, its runner has one more than its capacity for a while.
    if (state === 'lost') runner.held.delete(held)
    else runner.held.add(held)
    if (state === 'offering' || state === 'offered') runner.offer = held
    else if (runner.offer === held) runner.offer = undefined
    if (state !== 'cancelling') runner.dropCancel(held.id)
    else if (runner.addCancel(held.id)) {
      runner.hasUnreportedNews = true
      this.freed.news(runner)
    }
    this.freed.runner(runner)
  }
}
