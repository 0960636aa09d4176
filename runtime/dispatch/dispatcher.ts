/**
 * Hands queued run requests to the runners that poll for them. State in memory, derived from committed steps;
 * the only sender of `offer`. Its invariant: once a call of it has returned, no parked poll waits beside a request
 * that it could take, and no runner's slot, no repository and no request has been promised twice.
 */
import type { ExecutionRequest } from '../../machines/documents/execution-request.ts'
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import type { Holding, RunnerContext } from '../../machines/runner.ts'
import type { Answer, CommittedStep, Refused, Runtime, SnapshotOf } from '../api.ts'
import type { DispatchCounts, Dispatcher, RunnerSeen, Visible, Wanted } from './api.ts'
import { askingOf, type Demand } from './eligibility.ts'
import { executionRequest } from './execution-request.ts'
import { Fleet } from './fleet.ts'
import { HoldBacks } from './hold-backs.ts'
import { Holdings } from './holdings.ts'
import { type Capable, Matching } from './matching.ts'
import { ANSWERED, answerFor, type PollHandle, Polls } from './polls.ts'
import { Queue } from './queue.ts'
import { loadQueue } from './queue-loading.ts'
import type { Held, PollAnswer, PollRefusal, Respond, Runner, RunnerState } from './runner.ts'
import { heldStates, isHeld, readRequest } from './snapshots.ts'
import { type Stopped, Stops } from './stops.ts'
import { Waiting } from './waiting.ts'
import { Later, TimerWheel } from './wheel.ts'

/** While the service refuses writes nothing is offered, and after this long it is tried again. */
const refusedPauseMs = 250

export type { Dispatcher, PollAnswer, PollHandle, PollRefusal }

/** Opens the dispatcher on what the journal holds. Call it before the runtime takes its first message. */
export function createDispatcher(runtime: Runtime): Dispatcher {
  return new RunRequestDispatcher(runtime)
}

class RunRequestDispatcher implements Dispatcher {
  private readonly runtime: Runtime
  private readonly wheel: TimerWheel
  private readonly queue: Queue
  private readonly fleet: Fleet
  private readonly holdings: Holdings
  private readonly polls: Polls
  private readonly matching: Matching
  readonly waiting: Waiting
  private readonly stops: Stops
  /** What has changed since the last `settle`. */
  private readonly changedDemands = new Set<Demand>()
  private readonly changedRunners = new Set<Runner>()
  private readonly toldRunners = new Set<Runner>()
  private readonly holdBacks: HoldBacks
  private pausedUntilMs = Number.NEGATIVE_INFINITY
  private isSettling = false
  private isClosed = false
  private wakeups = 0
  private offers = 0
  private offersRefused = 0
  private offersReturned = 0

  constructor(runtime: Runtime) {
    this.runtime = runtime
    this.wheel = new TimerWheel(runtime.nature)
    this.queue = new Queue(runtime.nature, () => this.fleet.allSupplies())
    this.fleet = new Fleet(runtime, this.wheel, () => this.queue.allDemands())
    this.holdings = new Holdings(this.fleet, {
      runner: (runner) => this.changedRunners.add(runner),
      news: (runner) => this.toldRunners.add(runner),
      repository: (repository) => this.change(this.queue.demandsOfRepository(repository)),
    })
    this.polls = new Polls(this.wheel, (runner) => this.fleet.refresh(runner))
    this.holdBacks = new HoldBacks(runtime.nature, this.wheel, (id) => this.offerable(id))
    this.stops = new Stops(runtime, () => this.stopsChanged())
    this.matching = new Matching(this.queue, this.fleet, this.holdings, this.stops)
    const { fleet, holdings, matching, stops } = this
    this.waiting = new Waiting(runtime, this.queue, { fleet, holdings, matching, stops })
    runtime.onCommit((steps) => this.onCommit(steps))
    runtime.beforeDeadline((ref, message) =>
      message.type === 'offer_expired' ? { ...message, counted: this.offerCounted(ref.id) } : message,
    )
    this.load()
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

  /** Whether the runner was told of the offer and has called since: only then an offer that it lets pass counts. */
  private offerCounted(runRequestId: string): boolean {
    const held = this.holdings.get(runRequestId)
    if (held === undefined || held.state !== 'offered' || !held.isDelivered) return false
    return held.runner.calls > held.callsAtDelivery
  }

  runnerSeen(runnerId: string): RunnerSeen {
    return { ...this.fleet.presenceOf(runnerId), in_flight: this.heldBy(runnerId).map(({ id }) => id) }
  }

  beginSession(runnerId: string): readonly Holding[] {
    const runner = this.fleet.find(runnerId)
    if (runner === undefined) return []
    this.polls.endAll(runner)
    // What the polls of the old process were told, the new one has not heard.
    runner.untold = true
    return this.heldBy(runnerId)
  }

  heldBy(runnerId: string): readonly Holding[] {
    return this.fleet.find(runnerId)?.holdings() ?? []
  }

  repositoryHolder(repository: string): string | undefined {
    return this.holdings.holderOf(repository)?.id
  }

  onlineCapacity(): number {
    return this.fleet.census().slots
  }

  hasTaker(wanted: Wanted): boolean {
    return this.matching.hasTaker(askingOf(wanted))
  }

  setPausedLanes(lanes: Iterable<string>): void {
    this.stops.pauseLanes(lanes)
    this.settle()
  }

  setCapable(capable: Capable | undefined): void {
    this.matching.setCapable(capable)
    this.change(this.queue.allDemands())
    this.settle()
  }

  counts(): DispatchCounts {
    const { wakeups, offers, offersRefused, offersReturned } = this
    const { online, registered } = this.fleet.census()
    const parts = { queued: this.queue.byProject(), runners: { online, registered } }
    return { parkedPolls: this.polls.size, wakeups, offers, offersRefused, offersReturned, ...parts }
  }

  close(): void {
    this.isClosed = true
    for (const runner of this.fleet.all()) this.polls.endAll(runner, 'closing')
    this.wheel.close()
  }

  /** The hot path: an empty poll that does not wait touches the runner, looks at its demands, and allocates nothing. */
  private pollOf(runner: Runner, waitMs: number, respond: Respond): PollHandle {
    this.fleet.touch(runner)
    this.fleet.notePoll(runner)
    if (runner.offer !== undefined && this.offerAgain(runner, runner.offer, respond)) return ANSWERED
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
    const dueMs = waitMs <= 0 ? undefined : this.runtime.nature.monotonicMs() + waitMs
    const poll = this.polls.park(runner, respond, dueMs)
    if (demand !== undefined && isForOffer) this.offer(runner, demand)
    else this.fleet.refresh(runner)
    return poll
  }

  /** Tells the runner once more what it has not accepted. False when that offer is not there to be told. */
  private offerAgain(runner: Runner, offer: Held, respond: Respond): boolean {
    if (offer.state !== 'offered' || !offer.isDelivered || offer.isReturning) return false
    const snapshot = readRequest(this.runtime, offer.id)
    if (snapshot === undefined || snapshot.value !== 'offered') return false
    respond(answerFor(runner, this.document(snapshot)))
    return true
  }

  private document(snapshot: SnapshotOf<RunRequestContext>): ExecutionRequest {
    const { nature, settings } = this.runtime
    const endMs = this.runtime.deadlineMs({ kind: 'run_request', id: snapshot.context.id }, 'offer')
    return executionRequest(snapshot, endMs ?? nature.wallMs() + settings.offerMs)
  }

  /** False while the service takes no writes; it is tried again by itself. */
  private canOffer(): boolean {
    const nowMs = this.runtime.nature.monotonicMs()
    if (nowMs < this.pausedUntilMs) return false
    if (this.runtime.journal.refuses() === undefined) return true
    this.pause(nowMs)
    return false
  }

  private pause(nowMs: number): void {
    if (this.pausedUntilMs > nowMs || this.isClosed) return
    this.pausedUntilMs = nowMs + refusedPauseMs
    const resume = () => {
      this.change(this.queue.allDemands())
      this.settle()
    }
    this.wheel.add(new Later(resume), this.pausedUntilMs)
  }

  private change(demands: Iterable<Demand>): void {
    for (const demand of demands) if (demand.ready.size > 0) this.changedDemands.add(demand)
  }

  private load(): void {
    for (const { snapshot } of this.runtime.scan('runner', 'all', '')) {
      const { value, context } = snapshot as SnapshotOf<RunnerContext>
      const runner = this.fleet.get(context.id)
      this.fleet.update(runner, context, value as RunnerState)
      if (context.internal.online) this.fleet.presumeOnline(runner)
    }
    for (const state of heldStates) {
      for (const { snapshot } of this.runtime.scan('run_request', 'state', state))
        this.holdings.note(snapshot.context as RunRequestContext, state)
    }
    loadQueue(this.runtime, this.queue)
    this.changedRunners.clear()
    this.toldRunners.clear()
  }

  private onCommit(steps: readonly CommittedStep[]): void {
    for (const { ref, after } of steps) {
      if (ref.kind === 'run_request') this.noteRequest(after)
      else if (ref.kind === 'runner') this.noteRunner(after)
    }
    this.settle()
  }

  private noteRequest({ value, context }: SnapshotOf<RunRequestContext>): void {
    const held = this.holdings.get(context.id)
    if (value === 'queued') {
      // A step beside the offer that is under way (an approval of the same turn) does not take it back.
      if (held !== undefined && held.state !== 'offering') this.holdings.drop(held)
      const demand = this.queue.put(context)
      if (demand !== undefined) this.changedDemands.add(demand)
      return
    }
    if (held === undefined || held.state === 'offering') {
      this.queue.remove(context.id)
      this.holdBacks.forget(context.id)
    }
    if (isHeld(value)) this.holdings.note(context, value)
    else if (held !== undefined) this.holdings.drop(held)
  }

  private noteRunner({ value, context }: SnapshotOf<RunnerContext>): void {
    const runner = this.fleet.get(context.id)
    this.fleet.update(runner, context, value as RunnerState)
    this.changedRunners.add(runner)
    if (value === 'removed') this.polls.endAll(runner, 'runner_removed')
    else if (runner.hasNews) this.toldRunners.add(runner)
  }

  /** Other lanes are paused, or other projects archived, than before. */
  private stopsChanged(): void {
    this.change(this.queue.allDemands())
    for (const held of this.holdings.all()) {
      const why = held.state === 'offered' ? this.stops.why(held) : undefined
      if (why !== undefined) this.returnOffer(held, why)
    }
  }

  /** Brings requests and runners together after a change. */
  private settle(): void {
    if (this.isSettling) return
    this.isSettling = true
    try {
      while (this.toldRunners.size + this.changedRunners.size + this.changedDemands.size > 0) this.settleOnce()
    } finally {
      this.isSettling = false
    }
  }

  private settleOnce(): void {
    for (const runner of this.toldRunners) {
      this.toldRunners.delete(runner)
      // The answer with an offer that is on its way will carry it.
      if (runner.hasNews && !runner.awaitsOffer && this.polls.answerNewest(runner)) this.wakeups++
    }
    const runners = [...this.changedRunners]
    this.changedRunners.clear()
    for (const runner of runners) this.fleet.refresh(runner)
    this.offerDemands()
    if (runners.length > 1) runners.sort((a, b) => b.pollOrder - a.pollOrder)
    for (const runner of runners) this.offerTo(runner)
  }

  /** The changed demands in their order, as long as there are runners for them. */
  private offerDemands(): void {
    const demands = this.changedDemands
    while (demands.size > 0) {
      let first: Demand | undefined
      let taker: Runner | undefined
      for (const demand of demands) {
        if (first !== undefined && demand.ready.size > 0 && !this.queue.goesBefore(demand, first)) continue
        const runner = this.matching.runnerFor(demand)
        // Runners only become fewer while this runs: who has none now will have none.
        if (runner === undefined) demands.delete(demand)
        else {
          first = demand
          taker = runner
        }
      }
      if (first === undefined) return
      if (!this.canOffer()) {
        demands.clear()
        return
      }
      this.wakeups++
      this.offer(taker!, first)
    }
  }

  private offerTo(runner: Runner): void {
    if (runner.polls.length > 0 && runner.hasRoom) {
      const demand = this.matching.workFor(runner)
      if (demand !== undefined && this.canOffer()) {
        this.wakeups++
        this.offer(runner, demand)
      }
    }
    if (!runner.awaitsOffer) this.polls.endOverdue(runner)
  }

  /** Promises the request, the runner's slot and the repository, and asks the request's actor to make it true. */
  private offer(runner: Runner, demand: Demand): void {
    const id = this.queue.take(demand)
    const held = this.holdings.reserve(id, runner, demand)
    this.fleet.refresh(runner)
    this.runtime.ask({ kind: 'run_request', id }, { type: 'offer', runner_id: runner.id } as never, (answer) =>
      this.offered(held, answer),
    )
  }

  private offered(held: Held, answer: Answer): void {
    if (!answer.ok) this.refused(held, answer)
    else if (this.holdings.get(held.id) === held && held.state === 'offered') this.deliver(held, answer.snapshot)
    this.changedRunners.add(held.runner)
    this.toldRunners.add(held.runner)
    this.settle()
  }

  private deliver(held: Held, snapshot: SnapshotOf<RunRequestContext>): void {
    const { runner } = held
    this.offers++
    // Before the answer, which may bring the runner's next call at once.
    held.isDelivered = true
    held.callsAtDelivery = runner.calls
    const why = this.stops.why(held)
    if (why !== undefined || !this.polls.answerNewest(runner, this.document(snapshot))) this.returnOffer(held, why)
  }

  /** Every poll of the runner is gone, or nothing of its kind starts now: it goes back at once, and nobody is to blame. */
  private returnOffer(held: Held, why?: Stopped): void {
    if (held.isReturning) return
    held.isDelivered = false
    held.isReturning = true
    this.offersReturned++
    const message = { type: 'offer_aborted', runner_id: held.runner.id, attempt: held.attempt, why }
    this.runtime.ask({ kind: 'run_request', id: held.id }, message as never, (answer) => {
      if (answer.ok || this.holdings.get(held.id) !== held) return
      // It could not go back; then the runner's next poll gets it, or it expires.
      held.isReturning = false
      held.isDelivered = true
    })
  }

  private refused(held: Held, { refusal, retryAfterSeconds }: Refused): void {
    this.offersRefused++
    if (this.holdings.get(held.id) === held) this.holdings.drop(held)
    if (retryAfterSeconds !== undefined && refusal.code !== 'quarantined') this.pause(this.runtime.nature.monotonicMs())
    if (this.queue.holdBack(held.id)) this.holdBacks.hold(held.id)
  }

  /** The request was held back for long enough. */
  private offerable(id: string): void {
    const snapshot = readRequest(this.runtime, id)
    if (snapshot === undefined) this.queue.remove(id)
    const demand = snapshot && this.queue.release(id, snapshot.context)
    if (demand !== undefined) this.changedDemands.add(demand)
    this.settle()
  }
}
