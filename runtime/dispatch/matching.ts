/**
 * Which request goes to which runner. Two questions, neither answered by a walk over requests: what should this runner
 * take, and which runner should take this. Both use the same order: projects in turn, then priority, age and id; among
 * runners, the one that polled last. Each first looks along that order, where most find a match at once, and after a
 * bounded number of looks walks over all demands that the runner may take, or all supplies that may take the demand.
 */
import type { Guard } from '../control/guard.ts'
import type { Criteria, Demand, Supply } from './eligibility.ts'
import { carriesLabels, isAllowed, isGranted, mayTake } from './eligibility.ts'
import type { Fleet } from './fleet.ts'
import type { Holdings } from './holdings.ts'
import type { Queue } from './queue.ts'
import type { Runner } from './runner.ts'
import type { Suspensions } from './suspensions.ts'
import { NO_TRIALS, type Trials } from './trials.ts'

/** Looks up capability manifests: whether this runner's engine serves the entry event at this throttle. */
export type Capable = (
  runnerId: string,
  asked: { readonly project: string; readonly entryEvent: string; readonly throttle: 'full' | 'dry_run' },
) => boolean

/** Most runners tried in order: each look compares all candidates for the next place, so many looks would be costly. */
const looksAlongRunnersMax = 32

export class Matching {
  private readonly queue: Queue
  private readonly fleet: Fleet
  private readonly holdings: Holdings
  private readonly suspensions: Suspensions
  private readonly guard: Guard
  private capable: Capable | undefined

  constructor(queue: Queue, fleet: Fleet, holdings: Holdings, suspensions: Suspensions, guard: Guard) {
    this.guard = guard
    this.queue = queue
    this.fleet = fleet
    this.holdings = holdings
    this.suspensions = suspensions
  }

  setCapable(capable: Capable | undefined): void {
    this.capable = capable
  }

  /** A runner whose capability cannot be determined takes nothing; the fault is the runner's, not the request's. */
  isCapable(runner: Runner, { project, entryEvent, throttle }: Criteria): boolean {
    if (this.capable === undefined) return true
    if (!this.guard.isClear && this.guard.isBackedOff(runner.about())) return false
    try {
      return this.capable(runner.id, { project: project.key, entryEvent, throttle })
    } catch (error) {
      this.guard.failed(runner.about(), error)
      return false
    }
  }

  /** Whether any online runner that takes work may take such work, busy or not; `trials`: runners that do not count. */
  hasTaker(criteria: Criteria, trials: Trials = NO_TRIALS): boolean {
    return this.isAny(criteria, (runner) => runner.takesWork && !trials.has(runner))
  }

  hasRunnerFor(key: string, isMeant: (runnerId: string) => boolean): boolean {
    for (const { id, supply } of this.fleet.all()) {
      if (supply !== undefined && isGranted(supply, { project: { key }, furtherProjects: [] }) && isMeant(id))
        return true
    }
    return false
  }

  /** Whether such a runner is about to poll. */
  isExpected(criteria: Criteria, nowMs: number): boolean {
    return this.isAny(criteria, (runner) => runner.isExpected(nowMs))
  }

  /** The same for the runners that have a free slot now. In a large, busy fleet these are few. */
  freeTakers(nowMs: number): (criteria: Criteria) => boolean {
    const free = [...this.fleet.all()].filter((runner) => runner.isExpected(nowMs) && !runner.isFull)
    return (criteria) => free.some((runner) => this.suits(runner, criteria))
  }

  /** Whether no registered runner, online or not, may take this demand, so that it waits for ever as things stand. */
  isStranded(demand: Demand): boolean {
    if (demand.pin === undefined && demand.supplies.length === 0) return true
    return !this.isAny(demand, () => true)
  }

  private isAny(criteria: Criteria, isMeant: (runner: Runner) => boolean): boolean {
    for (const runner of this.fleet.all()) if (isMeant(runner) && this.suits(runner, criteria)) return true
    return false
  }

  private suits(runner: Runner, criteria: Criteria): boolean {
    const { supply } = runner
    if (supply === undefined || (criteria.pin !== undefined && criteria.pin !== runner.id)) return false
    return isAllowed(supply, criteria) && carriesLabels(supply, criteria) && this.isCapable(runner, criteria)
  }

  /** The demand whose first request the runner should take now; undefined if there is none. */
  workFor(runner: Runner): Demand | undefined {
    return this.firstFor(runner.supply!, runner)
  }

  /**
   * The first demands, in their order, of those that free runners could take: one for each group of runners that may
   * take the same, and for each runner to which some are pinned. The number of demands that wait does not count.
   */
  wanted(): Set<Demand> {
    const wanted = new Set<Demand>()
    const add = (demand: Demand | undefined): void => {
      if (demand !== undefined && this.runnerFor(demand) !== undefined) wanted.add(demand)
    }
    for (const supply of this.fleet.allSupplies()) if (supply.available.size > 0) add(this.firstFor(supply))
    for (const runner of this.fleet.all()) {
      if (this.queue.demandCountPinnedTo(runner.id) === 0 || runner.polls.length === 0 || !runner.hasRoom) continue
      add(this.firstFor(runner.supply!, runner))
    }
    return wanted
  }

  /** `runner`: a member of the supply; undefined: any that is free. */
  private firstFor(supply: Supply, runner?: Runner): Demand | undefined {
    const pinned = runner === undefined ? 0 : this.queue.demandCountPinnedTo(runner.id)
    const looksMax = supply.demands.length + pinned
    let looks = 0
    for (const projects of this.queue.inTurn) {
      for (const project of projects) {
        let best: Demand | undefined
        for (const demand of project.waiting) {
          if (++looks > looksMax) return this.bestOf(supply, runner)
          if (mayTake(supply, runner?.id, demand) && this.isBetter(demand, best, supply, runner)) best = demand
        }
        if (best !== undefined) return best
      }
    }
    return undefined
  }

  /** The same by a walk over all demands that it may take. */
  private bestOf(supply: Supply, runner: Runner | undefined): Demand | undefined {
    let best: Demand | undefined
    for (const demand of supply.demands) {
      if (demand.ready.size > 0 && this.isBetter(demand, best, supply, runner)) best = demand
    }
    if (runner === undefined) return best
    for (const demand of this.queue.demandsPinnedTo(runner.id)) {
      if (demand.ready.size > 0 && isAllowed(supply, demand) && this.isBetter(demand, best, supply, runner))
        best = demand
    }
    return best
  }

  /** The runner that should take the demand's first request now; undefined if none can, or a bug is met at it. */
  runnerFor(demand: Demand): Runner | undefined {
    try {
      return this.takerOf(demand)
    } catch (error) {
      this.guard.failed({ kind: 'run_request', id: this.queue.firstOf(demand) }, error)
      return undefined
    }
  }

  private takerOf(demand: Demand): Runner | undefined {
    if (demand.ready.size === 0 || this.isBlocked(demand)) return undefined
    if (demand.pin !== undefined) return this.pinned(demand.pin, demand)
    const looksMax = Math.min(demand.supplies.length, looksAlongRunnersMax)
    const found = this.fleet.newestAnywhere(looksMax, (runner) => this.mayHave(runner, demand))
    return found === 'unknown' ? this.newestOfAll(demand) : found
  }

  private mayHave(runner: Runner, demand: Demand): boolean {
    return mayTake(runner.supply!, runner.id, demand) && this.isCapable(runner, demand)
  }

  /** The same by a walk over all supplies that may take the demand. */
  private newestOfAll(demand: Demand): Runner | undefined {
    let newest: Runner | undefined
    for (const supply of demand.supplies) {
      if (supply.available.size === 0) continue
      const runner = this.newestOf(supply, demand)
      if (runner !== undefined && runner.pollOrder > (newest?.pollOrder ?? 0)) newest = runner
    }
    return newest
  }

  private pinned(id: string, demand: Demand): Runner | undefined {
    const runner = this.fleet.find(id)
    if (runner === undefined || runner.polls.length === 0 || !runner.hasRoom) return undefined
    return isAllowed(runner.supply!, demand) && this.isCapable(runner, demand) ? runner : undefined
  }

  private newestOf(supply: Supply, demand: Demand): Runner | undefined {
    const newest = this.fleet.newestOf(supply)
    if (newest === undefined || this.isCapable(newest, demand)) return newest
    return this.fleet.newestWhere(supply, (runner) => this.isCapable(runner, demand))
  }

  private isBetter(demand: Demand, best: Demand | undefined, supply: Supply, runner: Runner | undefined): boolean {
    if (best !== undefined && !this.queue.goesBefore(demand, best)) return false
    if (this.isBlocked(demand)) return false
    return runner === undefined ? this.newestOf(supply, demand) !== undefined : this.isCapable(runner, demand)
  }

  /** Whether something other than a lack of runners keeps its requests from being offered. */
  isBlocked(demand: Demand): boolean {
    const { repository, projectId, labels } = demand
    if (this.suspensions.why(demand) !== undefined || this.holdings.labels.fullOf(labels) !== undefined) return true
    return repository !== undefined && this.holdings.isBusy(repository, projectId)
  }
}
