/**
 * The runners as the dispatcher sees them: what they may take, whether they can take it now, and whether they
 * are online. Presence and calls live in memory only; a call writes nothing.
 */
import type { CameOnline, ProviderAnswered, RunnerContext, WentOffline } from '../../machines/runner/context.ts'
import type { Runtime } from '../api.ts'
import { IndexHeap, type Positions } from '../collections/index-heap.ts'
import { presenceRetryMs, stoodStillMs } from '../limits.ts'
import type { DispatchCounts, RunnerSeen } from './api.ts'
import { type Demand, pair, type Supply, unpairSupply } from './eligibility.ts'
import { Runner, type RunnerState } from './runner.ts'
import type { TimerWheel } from './wheel.ts'

/** A live runner whose poll broke off is back sooner than this, milliseconds: it retries within a second or two. */
const comesBackMs = 5_000
/** A live runner calls at least this many times per `presenceMs`. */
const callsPerPresence = 3

export class Fleet {
  private readonly runtime: Runtime
  private readonly wheel: TimerWheel
  private readonly demands: () => Iterable<Demand>
  private readonly runners = new Map<string, Runner>()
  /** A slot number is used once: that of a removed runner stays empty. */
  private readonly bySlot: (Runner | undefined)[] = []
  private readonly supplies = new Map<string, Supply>()
  private readonly members = new Map<Supply, Set<Runner>>()
  private readonly positions: Positions = { of: new Int32Array(16).fill(-1) }
  private readonly polledLater = (a: number, b: number) => this.bySlot[a]!.pollOrder > this.bySlot[b]!.pollOrder
  private readonly anywherePositions: Positions = { of: new Int32Array(16).fill(-1) }
  /** Slots of all runners that could take an offer now, whatever their supply, the one that polled last on top. */
  private readonly anywhere = new IndexHeap(this.anywherePositions, this.polledLater)
  private polls = 0

  /** `demands`: all demands, to pair a new supply with. */
  constructor(runtime: Runtime, wheel: TimerWheel, demands: () => Iterable<Demand>) {
    this.runtime = runtime
    this.wheel = wheel
    this.demands = demands
  }

  find(id: string): Runner | undefined {
    return this.runners.get(id)
  }

  /** The runner of that id, created if unknown: a request may be held by a runner that was removed. */
  get(id: string): Runner {
    const known = this.runners.get(id)
    if (known !== undefined) return known
    const slot = this.bySlot.length
    if (slot === this.positions.of.length) {
      for (const positions of [this.positions, this.anywherePositions]) {
        const wider = new Int32Array(slot * 2).fill(-1)
        wider.set(positions.of)
        positions.of = wider
      }
    }
    const runner = new Runner(id, slot, this.checkPresence)
    this.bySlot.push(runner)
    this.runners.set(id, runner)
    return runner
  }

  all(): Iterable<Runner> {
    return this.runners.values()
  }

  allSupplies(): Iterable<Supply> {
    return this.supplies.values()
  }

  /** The registered runners, online or not, in groups that may take the same requests. */
  bySupply(): Iterable<readonly [Supply, ReadonlySet<Runner>]> {
    return this.members
  }

  /**
   * Slots of the online runners that may take work that changes something; with `includesReadOnly`, also read-only
   * work.
   */
  slots(includesReadOnly: boolean): number {
    let slots = 0
    for (const { supply, takesWork, capacity } of this.runners.values()) {
      if (supply === undefined || !takesWork || supply.projects?.size === 0) continue
      if (includesReadOnly || supply.isTrusted) slots += capacity
    }
    return slots
  }

  /** How many runners are registered, and how many of them are online or limited by their provider. */
  census(): DispatchCounts['runners'] {
    let online = 0
    let registered = 0
    let limited = 0
    for (const runner of this.runners.values()) {
      if (runner.supply === undefined) continue
      registered++
      if (runner.isOnline) online++
      if (runner.limit !== undefined) limited++
    }
    return { online, registered, limited }
  }

  /** Applies a committed step of the runner. */
  update(runner: Runner, context: RunnerContext, state: RunnerState): void {
    this.withdraw(runner)
    if (state === 'draining' && runner.state !== 'draining') runner.hasUnreportedNews = true
    runner.state = state
    runner.capacity = context.capacity
    runner.limit = context.limited
    runner.isAboutToBeLimited = false
    runner.hadOutages = context.internal.outages !== undefined
    runner.outage = context.limited ?? context.internal.outage
    runner.registeredAt = context.created_at
    runner.seenAt = laterOf(context.internal.seen_at, context.session?.started_at)
    this.changeSupply(runner, state === 'removed' ? undefined : context)
    this.refresh(runner)
  }

  /** Updates the runner's place among those that can take an offer. A removed runner goes once it holds nothing. */
  refresh(runner: Runner): void {
    if (runner.polls.length === 0 || !runner.hasRoom) this.withdraw(runner)
    else if (this.positions.of[runner.slot]! < 0) {
      runner.supply!.available.push(runner.slot)
      this.anywhere.push(runner.slot)
    }
    if (runner.state === 'removed' && runner.polls.length === 0 && runner.held.size === 0) this.letGo(runner)
  }

  /** The runner has polled: it is now the most recent of all. */
  notePoll(runner: Runner): void {
    runner.pollOrder = ++this.polls
    if (this.positions.of[runner.slot]! < 0) return
    runner.supply!.available.moved(runner.slot)
    this.anywhere.moved(runner.slot)
  }

  /** The supply's runner that can take an offer and polled last. */
  newestOf(supply: Supply): Runner | undefined {
    return this.bySlot[supply.available.first]
  }

  /** The admitted runner that can take an offer and polled last; `unknown` if `looksMax` looks do not tell. */
  newestAnywhere(looksMax: number, admits: (runner: Runner) => boolean): Runner | undefined | 'unknown' {
    const slot = this.anywhere.firstWhere(looksMax, (candidate) => admits(this.bySlot[candidate]!))
    return slot === undefined ? 'unknown' : this.bySlot[slot]
  }

  /** Like `newestOf`, among the runners that the predicate admits: a walk over all of the supply's. */
  newestWhere(supply: Supply, admits: (runner: Runner) => boolean): Runner | undefined {
    let newest: Runner | undefined
    for (let place = 0; place < supply.available.size; place++) {
      const runner = this.bySlot[supply.available.at(place)]!
      if (runner.pollOrder > (newest?.pollOrder ?? 0) && admits(runner)) newest = runner
    }
    return newest
  }

  /** The runner has called. Noted in memory only, except for the step that says it came back. */
  touch(runner: Runner): void {
    runner.calls++
    runner.lastSeenMs = this.runtime.platform.monotonicMs()
    this.expect(runner, runner.lastSeenMs)
    if (!runner.isOnline) this.comeOnline(runner)
  }

  /** A parked poll of the runner has ended: normally, or because its connection broke. */
  pollEnded(runner: Runner, isCutOff: boolean): void {
    const nowMs = this.runtime.platform.monotonicMs()
    if (isCutOff) runner.expectedUntilMs = nowMs + comesBackMs
    else this.expect(runner, nowMs)
    this.refresh(runner)
  }

  /** Whether its next poll can be counted on. */
  isExpected(runner: Runner): boolean {
    return runner.isExpected(this.runtime.platform.monotonicMs())
  }

  private expect(runner: Runner, nowMs: number): void {
    runner.expectedUntilMs = nowMs + this.runtime.settings.presenceMs / callsPerPresence
  }

  /** When it called last, RFC 3339: measured since the start, else from its record. Undefined: never. */
  seenAt({ lastSeenMs, seenAt }: Runner): string | undefined {
    if (lastSeenMs === undefined) return seenAt
    const { platform } = this.runtime
    return new Date(platform.wallMs() - (platform.monotonicMs() - lastSeenMs)).toISOString()
  }

  /** The same, or when it was registered if it has never called. */
  heardAt(runner: Runner): string {
    return this.seenAt(runner) ?? runner.registeredAt
  }

  /** It was online when the service stopped: it gets the full presence time to call again. */
  presumeOnline(runner: Runner): void {
    const nowMs = this.runtime.platform.monotonicMs()
    runner.isOnline = true
    this.expect(runner, nowMs)
    this.wheel.add(runner, nowMs + this.runtime.settings.presenceMs)
  }

  /** The same for a runner whose presence is no longer watched, because a bug interrupted it. */
  watch(runner: Runner): void {
    if (!this.wheel.has(runner)) this.presumeOnline(runner)
  }

  /** Whether it is online, and when it called last; for a removed runner, what its record says. */
  presenceOf(id: string): Pick<RunnerSeen, 'presence' | 'last_seen_at'> {
    const runner = this.runners.get(id)
    const last_seen_at =
      runner === undefined ? this.runtime.read({ kind: 'runner', id })?.context.internal.seen_at : this.seenAt(runner)
    const isOnline = runner?.isOnline === true
    if (last_seen_at === undefined) return { presence: isOnline ? 'online' : 'never_seen' }
    return { presence: isOnline ? 'online' : 'offline', last_seen_at }
  }

  /** A run has completed on the runner: the provider of its agents answers again. */
  providerAnswered(runner: Runner, run_request_id: string): void {
    if (!runner.hadOutages) return
    runner.hadOutages = false
    const message: ProviderAnswered = { type: 'provider_answered', run_request_id }
    this.runtime.ask({ kind: 'runner', id: runner.id }, message, (answer) => {
      // The next run that completes says it again.
      if (!answer.ok && answer.isPassing) runner.hadOutages = true
    })
  }

  private readonly checkPresence = (runner: Runner, nowMs: number): void => {
    const { presenceMs } = this.runtime.settings
    // A parked poll is a call still in progress.
    if (runner.polls.length > 0) runner.lastSeenMs = nowMs
    if (!runner.isOnline) {
      if (runner.polls.length > 0) this.comeOnline(runner)
      return
    }
    const silentMs = nowMs - (runner.lastSeenMs ?? Number.NEGATIVE_INFINITY)
    // A runner that could not be heard (the process stood still) is not silent: excused once, until it calls.
    const isSpared = nowMs - runner.dueMs > stoodStillMs && runner.callsAtSparing !== runner.calls
    if (isSpared) runner.callsAtSparing = runner.calls
    const leftMs = isSpared ? presenceMs : presenceMs - silentMs
    if (leftMs > 0) {
      this.wheel.add(runner, nowMs + leftMs)
      return
    }
    runner.isOnline = false
    const seen_at = this.seenAt(runner)
    this.announce(runner, { type: 'went_offline', ...(seen_at === undefined ? {} : { seen_at }) })
  }

  private comeOnline(runner: Runner): void {
    runner.isOnline = true
    this.wheel.add(runner, runner.lastSeenMs! + this.runtime.settings.presenceMs)
    this.announce(runner, { type: 'came_online' })
  }

  /**
   * If the step cannot be taken now, the runner keeps its old state, and the next call or check announces the change
   * again. A runner with a parked poll makes no further call, so it is checked again soon.
   */
  private announce(runner: Runner, message: CameOnline | WentOffline): void {
    this.runtime.ask({ kind: 'runner', id: runner.id }, message, (answer) => {
      if (answer.ok || !answer.isPassing) return
      if (message.type === 'came_online') {
        this.forget(runner)
        if (runner.polls.length > 0) this.wheel.add(runner, this.runtime.platform.monotonicMs() + presenceRetryMs)
      } else if (!runner.isOnline) this.presumeOnline(runner)
    })
  }

  /** It is offline until it calls. */
  forget(runner: Runner): void {
    runner.isOnline = false
    this.wheel.remove(runner)
  }

  /** Code that still has a reference finds it removed and in no list. */
  private letGo(runner: Runner): void {
    if (this.runners.get(runner.id) !== runner) return
    this.runners.delete(runner.id)
    this.bySlot[runner.slot] = undefined
    this.forget(runner)
  }

  private withdraw(runner: Runner): void {
    if (this.positions.of[runner.slot]! < 0) return
    runner.supply!.available.remove(runner.slot)
    this.anywhere.remove(runner.slot)
  }

  private changeSupply(runner: Runner, context: RunnerContext | undefined): void {
    const supply = context === undefined ? undefined : this.supplyFor(context)
    const before = runner.supply
    if (before === supply) return
    if (supply !== undefined) this.members.get(supply)!.add(runner)
    runner.supply = supply
    if (before === undefined) return
    const left = this.members.get(before)!
    left.delete(runner)
    if (left.size > 0) return
    unpairSupply(before)
    this.supplies.delete(before.signature)
    this.members.delete(before)
  }

  private supplyFor(context: RunnerContext): Supply {
    const labels = [...new Set(context.labels)].sort()
    const projects = context.allowed_projects.includes('*') ? ['*'] : [...new Set(context.allowed_projects)].sort()
    const signature = JSON.stringify([projects, labels, context.trusted])
    const known = this.supplies.get(signature)
    if (known !== undefined) return known
    const supply: Supply = {
      signature,
      projects: projects[0] === '*' ? undefined : new Set(projects),
      labels: new Set(labels),
      isTrusted: context.trusted,
      available: new IndexHeap(this.positions, this.polledLater),
      demands: [],
    }
    this.supplies.set(signature, supply)
    this.members.set(supply, new Set())
    for (const demand of this.demands()) pair(supply, demand)
    return supply
  }
}

function laterOf(a: string | undefined, b: string | undefined): string | undefined {
  return a === undefined || (b !== undefined && b > a) ? b : a
}
