/**
 * Hands queued run requests to the runners that poll for them. Its state is in memory, derived from committed steps;
 * it is the only sender of `offer`. Invariants: when a call of it returns, no parked poll is left waiting next to a
 * request that it could take, and no request, runner's slot, repository or place under a label's limit has been promised
 * twice. A bug met at one request or runner holds up no other.
 */
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { Holding } from '../../machines/runner/context.ts'
import type { CommittedStep, Runtime } from '../api.ts'
import type { Guard, Health } from '../control/guard.ts'
import { Retries } from '../control/retries.ts'
import { refusedPauseMs } from '../limits.ts'
import type { Logger } from '../log.ts'
import type { DispatchCounts, Dispatcher, RepositoryHolder, RunnerRequirements, RunnerSeen, Visible } from './api.ts'
import { criteriaOf, type Demand } from './eligibility.ts'
import { Fleet } from './fleet.ts'
import { HoldBacks } from './hold-backs.ts'
import { Holdings } from './holdings.ts'
import { type Changes, Intake } from './intake.ts'
import { LabelLimits } from './label-limits.ts'
import { type Capable, Matching } from './matching.ts'
import { Offers } from './offers.ts'
import { ANSWERED, answerFor, type PollHandle, Polls } from './polls.ts'
import { ProjectFacts } from './project-facts.ts'
import { Queue, type QueuedOfProject } from './queue.ts'
import type { PollAnswer, PollRefusal, Respond, Runner } from './runner.ts'
import { Suspensions } from './suspensions.ts'
import { WaitingReasons } from './waiting-reasons.ts'
import { Later, TimerWheel, type WheelEntry } from './wheel.ts'

export type { Dispatcher, PollAnswer, PollHandle, PollRefusal }

const NOTHING: ReadonlySet<Demand> = new Set()

/** Opens the dispatcher on what the journal holds. Call it before the runtime takes its first message. */
export function createDispatcher(runtime: Runtime, log: Logger): Dispatcher {
  return new RunRequestDispatcher(runtime, log)
}

class RunRequestDispatcher implements Dispatcher {
  private readonly runtime: Runtime
  private readonly wheel: TimerWheel
  private readonly queue: Queue
  private readonly fleet: Fleet
  private readonly holdings: Holdings
  private readonly polls: Polls
  private readonly matching: Matching
  readonly waiting: WaitingReasons
  readonly labels = new LabelLimits()
  private readonly projects: ProjectFacts
  readonly maxWriters: (projectId: string) => number
  readonly isAwaited = (label: string): boolean => this.queue.isAwaited(label)
  readonly setWeights = (weights: ReadonlyMap<string, number>): void => this.queue.setWeights(weights)
  private readonly suspensions: Suspensions
  private readonly intake: Intake
  private readonly changes: Changes = { demands: new Set(), runners: new Set(), told: new Set() }
  private readonly holdBacks: HoldBacks
  private readonly offers: Offers
  private readonly tries: Retries
  private readonly guard: Guard
  private pausedUntilMs = Number.NEGATIVE_INFINITY
  private isSettling = false
  /** A failure that concerned no single entity: settling is suspended until `settleAll`. */
  private isResting = false
  private isClosed = false
  private wakeups = 0

  constructor(runtime: Runtime, log: Logger) {
    this.runtime = runtime
    this.tries = new Retries({
      platform: runtime.platform,
      log,
      name: 'dispatcher',
      reread: (ref) => this.intake.reread(ref),
      rereadAll: () => this.settle(),
      isUnderWay: ({ kind, id }) => kind === 'run_request' && this.holdBacks.mistaken.has(id),
    })
    const { guard } = this.tries
    this.guard = guard
    this.wheel = new TimerWheel(runtime.platform, (entry, error) => this.ringFailed(entry, error))
    this.queue = new Queue(runtime.platform, () => this.fleet.allSupplies())
    this.fleet = new Fleet(runtime, this.wheel, () => this.queue.allDemands())
    this.projects = new ProjectFacts(runtime, guard, () => this.rulesChanged())
    this.maxWriters = this.projects.maxWriters
    this.holdings = new Holdings(this.fleet, this.projects, this.labels, {
      runner: (runner) => this.changes.runners.add(runner),
      news: (runner) => this.changes.told.add(runner),
      repository: (repository) => this.change(this.queue.demandsOfRepository(repository)),
    })
    this.polls = new Polls(this.wheel, (runner, isCutOff) => this.fleet.pollEnded(runner, isCutOff))
    this.suspensions = new Suspensions(this.projects, () => this.rulesChanged())
    this.matching = new Matching(this.queue, this.fleet, this.holdings, this.suspensions, guard)
    this.holdBacks = new HoldBacks(runtime.platform, this.wheel, (id) => {
      this.intake.release(id)
      this.settle()
    })
    const { queue, fleet, holdings, projects, matching, suspensions, polls, holdBacks, changes } = this
    this.waiting = new WaitingReasons(runtime, queue, { fleet, holdings, matching, suspensions }, guard)
    const known = { queue, fleet, holdings, projects, polls, holdBacks, suspensions, changes, guard }
    this.intake = new Intake(runtime, known, ({ offer }) => offer === undefined || this.offers.reconsider(offer))
    const paused = () => this.pause(runtime.platform.monotonicMs())
    this.offers = new Offers(runtime, { ...known, settle: () => this.settle(), paused })
    runtime.onCommit((steps) => this.onCommit(steps))
    runtime.beforeDue((ref, message) =>
      message.type === 'offer_expired'
        ? { ...message, counted: guard.guarded(ref, () => this.offers.isCounted(ref.id)) === true }
        : message,
    )
    this.intake.load()
  }

  get health(): Health {
    return this.guard.health
  }

  poll(runnerId: string, waitMs: number, respond: Respond): PollHandle {
    const runner = this.fleet.find(runnerId)
    if (this.isClosed) respond('closing')
    else if (runner?.supply === undefined) respond('runner_removed')
    else return this.pollOf(runner, waitMs, respond)
    return ANSWERED
  }

  touch(runnerId: string): void {
    const runner = this.fleet.find(runnerId)
    if (runner !== undefined) this.fleet.touch(runner)
  }

  waitingBecause(runRequestId: string, visible: Visible = '*'): WaitingBecause | undefined {
    return this.waiting.because(runRequestId, visible)
  }

  runnerSeen(runnerId: string): RunnerSeen {
    return { ...this.fleet.presenceOf(runnerId), in_flight: this.heldBy(runnerId).map(({ id }) => id) }
  }

  beginSession(runnerId: string): readonly Holding[] {
    const runner = this.fleet.find(runnerId)
    if (runner === undefined) return []
    this.polls.endAll(runner)
    // News given to the polls of the old process has not reached the new one.
    runner.hasUnreportedNews = true
    return this.heldBy(runnerId)
  }

  endSession(runnerId: string): readonly Holding[] {
    const held = this.beginSession(runnerId)
    const runner = this.fleet.find(runnerId)
    if (runner !== undefined) this.fleet.forget(runner)
    return held
  }

  heldBy(runnerId: string): readonly Holding[] {
    return this.fleet.find(runnerId)?.holdings() ?? []
  }

  repositoryHolders(repository: string): Iterable<RepositoryHolder> {
    return this.holdings.holdersOf(repository)
  }

  onlineCapacity(includesReadOnly: boolean): number {
    return this.fleet.slots(includesReadOnly)
  }

  hasTaker(requirements: RunnerRequirements): boolean {
    return this.matching.hasTaker(criteriaOf(requirements))
  }

  isExpected(requirements: RunnerRequirements): boolean {
    return this.matching.isExpected(criteriaOf(requirements), this.runtime.platform.monotonicMs())
  }

  freeTakers(): (requirements: RunnerRequirements) => boolean {
    const hasTaker = this.matching.freeTakers(this.runtime.platform.monotonicMs())
    return (requirements) => hasTaker(criteriaOf(requirements))
  }

  hasRunnerFor(project: string, isMeant: (runnerId: string) => boolean): boolean {
    return this.matching.hasRunnerFor(project, isMeant)
  }

  usesSlot(runRequestId: string): boolean | undefined {
    const held = this.holdings.get(runRequestId)
    return held === undefined ? undefined : held.runner.takesWork && held.runner.held.has(held)
  }

  leaveOut(runRequestId: string): void {
    if (this.queue.demandOfRequest(runRequestId) === undefined) return
    this.queue.leaveOut(runRequestId)
    this.holdBacks.hold(runRequestId)
  }

  setPausedLanes(lanes: Iterable<string>): void {
    this.suspensions.pauseLanes(lanes)
    this.settle()
  }

  setLabelLimits(limits: ReadonlyMap<string, number>): void {
    this.labels.set(limits, this.holdings.all())
    this.rulesChanged()
    this.settle()
  }

  setCapable(capable: Capable | undefined): void {
    this.matching.setCapable(capable)
    this.change(this.queue.allDemands())
    this.settle()
  }

  counts(): DispatchCounts {
    const { wakeups, offers } = this
    return { parkedPolls: this.polls.size, wakeups, ...offers.counts, runners: this.fleet.census() }
  }

  backlog(): readonly QueuedOfProject[] {
    return this.queue.byProject()
  }

  close(): void {
    this.isClosed = true
    this.tries.close()
    for (const runner of this.fleet.all())
      this.guard.guarded(runner.about(), () => this.polls.endAll(runner, 'closing'))
    this.wheel.close()
  }

  /** Hot: an empty poll that does not wait touches the runner, looks at its demands, and allocates nothing. */
  private pollOf(runner: Runner, waitMs: number, respond: Respond): PollHandle {
    this.fleet.touch(runner)
    this.fleet.notePoll(runner)
    if (runner.offer !== undefined && this.offers.again(runner, runner.offer, respond)) return ANSWERED
    const demand = runner.hasRoom ? this.matching.workFor(runner) : undefined
    const isForOffer = (demand !== undefined && this.canOffer()) || runner.awaitsOffer
    if (!isForOffer && (waitMs <= 0 || runner.hasNews)) {
      respond(answerFor(runner))
      return ANSWERED
    }
    if (runner.polls.length > runner.capacity) {
      respond('too_many_polls')
      return ANSWERED
    }
    const dueMs = waitMs <= 0 ? undefined : this.runtime.platform.monotonicMs() + waitMs
    const poll = this.polls.park(runner, respond, dueMs)
    if (demand === undefined || !isForOffer) this.fleet.refresh(runner)
    else if (!this.offers.send(runner, demand)) this.settle()
    return poll
  }

  /** False while the service takes no writes; `resume` tries again later. */
  private canOffer(): boolean {
    const nowMs = this.runtime.platform.monotonicMs()
    if (nowMs < this.pausedUntilMs) return false
    if (this.runtime.journal.refuses() === undefined) return true
    this.pause(nowMs)
    return false
  }

  private pause(nowMs: number): void {
    if (this.pausedUntilMs > nowMs || this.isClosed) return
    this.pausedUntilMs = nowMs + refusedPauseMs
    this.wheel.add(new Later(() => this.resume()), this.pausedUntilMs)
  }

  private resume(): void {
    this.change(this.queue.allDemands())
    this.settle()
  }

  private change(demands: Iterable<Demand>): void {
    for (const demand of demands) if (demand.ready.size > 0) this.changes.demands.add(demand)
  }

  private onCommit(steps: readonly CommittedStep[]): void {
    this.waiting.changed()
    this.intake.take(steps)
    this.settle()
  }

  /** The set of paused lanes has changed, or the limits of labels, or what projects permit. */
  private rulesChanged(): void {
    this.change(this.queue.allDemands())
    for (const held of this.holdings.all()) this.offers.reconsider(held)
  }

  /** Matches requests and runners after a change. */
  private settle(): void {
    if (this.isSettling || this.isResting) return
    const { demands, runners, told } = this.changes
    this.isSettling = true
    this.offers.beginSettling()
    try {
      while (told.size + runners.size + demands.size + this.labels.freed.size > 0) {
        this.settleOnce()
        this.offers.throwIfTooMany()
      }
      this.guard.went()
    } catch (error) {
      this.settlingFailed(error)
    } finally {
      this.isSettling = false
    }
  }

  /** Hot: a failure at a runner is caught inline, without a closure. */
  private settleOnce(): void {
    const { guard, changes } = this
    for (const runner of changes.told) {
      changes.told.delete(runner)
      try {
        // If an offer is on its way, the answer that carries it will carry the news too.
        if (runner.hasNews && !runner.awaitsOffer && this.polls.answerNewest(runner)) this.wakeups++
      } catch (error) {
        guard.failed(runner.about(), error)
      }
    }
    const runners = [...changes.runners]
    changes.runners.clear()
    for (const runner of runners) this.fleet.refresh(runner)
    for (const label of this.labels.freed) this.changeFreed(label)
    this.offerDemands()
    if (runners.length > 1) runners.sort((a, b) => b.pollOrder - a.pollOrder)
    for (const runner of runners) {
      try {
        this.offerTo(runner)
      } catch (error) {
        guard.failed(runner.about(), error)
      }
    }
  }

  /** Offers the changed demands in their order, as long as there are runners for them. */
  private offerDemands(): void {
    const { demands } = this.changes
    while (demands.size > 0) {
      let first: Demand | undefined
      let taker: Runner | undefined
      for (const demand of demands) {
        if (first !== undefined && demand.ready.size > 0 && !this.queue.goesBefore(demand, first)) continue
        const runner = this.matching.runnerFor(demand)
        // The number of free runners only falls while this runs: a demand without one now will get none.
        if (runner === undefined) demands.delete(demand)
        else {
          first = demand
          taker = runner
        }
      }
      if (first === undefined) return
      if (!this.canOffer()) {
        demands.clear()
        this.labels.freed.clear()
        return
      }
      this.wakeups++
      this.offers.send(taker!, first)
      this.offers.throwIfTooMany()
    }
  }

  /** Thousands may wait for a place that was freed: only what free runners would take first is looked at. */
  private changeFreed(label: string): void {
    const wanted = this.labels.fullOf([label]) === undefined ? this.matching.wanted() : NOTHING
    if (wanted.size === 0) this.labels.freed.delete(label)
    this.change(wanted)
  }

  private offerTo(runner: Runner): void {
    if (runner.polls.length > 0 && runner.hasRoom) {
      const demand = this.matching.workFor(runner)
      if (demand !== undefined && this.canOffer()) {
        this.wakeups++
        this.offers.send(runner, demand)
      }
    }
    if (!runner.awaitsOffer) this.polls.endOverdue(runner)
  }

  /** An entry of the wheel threw when it fired. */
  private ringFailed(entry: WheelEntry, error: unknown): void {
    const about = entry.about()
    if (about === undefined) this.settlingFailed(error)
    else this.guard.failed(about, error)
  }

  /** The failure concerned no single entity: after a pause everything is looked at again. */
  private settlingFailed(error: unknown): void {
    const restMs = this.guard.failedAsAWhole(error)
    this.isResting = true
    this.wheel.add(new Later(() => this.settleAll()), this.runtime.platform.monotonicMs() + restMs)
  }

  private settleAll(): void {
    const { runners, told } = this.changes
    this.isResting = false
    for (const runner of this.fleet.all()) {
      runners.add(runner)
      told.add(runner)
    }
    this.resume()
  }
}
