/**
 * Takes in committed steps of run requests, runners and projects: at start, with each commit, and again after a
 * failure. Notes what they change for the next `settle`. Invariant: an entity that cannot be taken in hides no other.
 */
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { saysOutage } from '../../machines/run-request/failure.ts'
import { isWaitingForProvider, limitsRunner } from '../../machines/run-request/rules.ts'
import { HELD_RUN_STATES, isHeld } from '../../machines/run-request/states.ts'
import type { RunnerContext } from '../../machines/runner/context.ts'
import type { ActorRef, CommittedStep, Runtime, SnapshotOf } from '../api.ts'
import { committed } from '../control/committed.ts'
import type { Guard } from '../control/guard.ts'
import type { Demand } from './eligibility.ts'
import type { Fleet } from './fleet.ts'
import type { HoldBacks } from './hold-backs.ts'
import type { Holdings } from './holdings.ts'
import type { Polls } from './polls.ts'
import type { ProjectFacts } from './project-facts.ts'
import type { Queue } from './queue.ts'
import { loadQueue } from './queue-loading.ts'
import type { Held, Runner, RunnerState } from './runner.ts'
import type { Suspensions } from './suspensions.ts'

/** What has changed since the last `settle`. */
export interface Changes {
  readonly demands: Set<Demand>
  readonly runners: Set<Runner>
  /** Runners that may have news to receive. */
  readonly told: Set<Runner>
}

/** The parts that hold the dispatcher's state. */
export interface Known {
  readonly queue: Queue
  readonly fleet: Fleet
  readonly holdings: Holdings
  readonly polls: Polls
  readonly holdBacks: HoldBacks
  readonly projects: ProjectFacts
  readonly suspensions: Suspensions
  readonly changes: Changes
  readonly guard: Guard
}

export class Intake {
  private readonly runtime: Runtime
  private readonly parts: Known
  private readonly runnerChanged: (runner: Runner) => void

  /** `runnerChanged`: the set of requests that the runner may take may have changed. */
  constructor(runtime: Runtime, parts: Known, runnerChanged: (runner: Runner) => void) {
    this.runtime = runtime
    this.parts = parts
    this.runnerChanged = runnerChanged
  }

  load(): void {
    const { fleet, holdings, queue, changes, guard } = this.parts
    for (const { ref, snapshot } of this.runtime.scan('runner', 'all', ''))
      guard.guarded(ref, () => {
        const { value, context } = snapshot as SnapshotOf<RunnerContext>
        const runner = fleet.get(context.id)
        fleet.update(runner, context, value as RunnerState)
        if (context.internal.online) fleet.presumeOnline(runner)
      })
    for (const state of HELD_RUN_STATES) {
      for (const { ref, snapshot } of this.runtime.scan('run_request', 'state', state))
        guard.guarded(ref, () => holdings.note(snapshot.context as RunRequestContext, state))
    }
    loadQueue(this.runtime, queue, guard)
    changes.runners.clear()
    changes.told.clear()
  }

  /** Hot: a failure at a step is caught inline, without a closure. */
  take(steps: readonly CommittedStep[]): void {
    for (const { ref, after } of steps) {
      try {
        if (ref.kind === 'run_request') this.noteRequest(ref, after)
        else if (ref.kind === 'runner') this.noteRunner(after)
      } catch (error) {
        this.parts.guard.failed(ref, error)
      }
    }
  }

  /** Retries an entity that was passed over, now that its pause has ended. */
  reread(ref: ActorRef): void {
    const { queue, fleet, projects, changes } = this.parts
    const snapshot = committed(this.runtime, ref)
    if (ref.kind === 'project') projects.reread(ref.id, snapshot)
    else if (ref.kind === 'run_request') {
      if (snapshot !== undefined) this.noteRequest(ref, snapshot)
      this.release(ref.id)
      const demand = queue.demandOfRequest(ref.id)
      if (demand !== undefined) changes.demands.add(demand)
    } else if (snapshot !== undefined) {
      this.noteRunner(snapshot)
      const runner = fleet.get(ref.id)
      changes.told.add(runner)
      if (snapshot.context.internal.online) fleet.watch(runner)
    }
  }

  /** A request that was left out may be offered again. */
  release(id: string): void {
    const { queue, holdBacks, changes } = this.parts
    const snapshot = committed<RunRequestContext>(this.runtime, { kind: 'run_request', id })
    if (snapshot === undefined) {
      queue.remove(id)
      holdBacks.forget(id)
    }
    const demand = snapshot && queue.release(id, snapshot.context)
    if (demand !== undefined) changes.demands.add(demand)
  }

  private noteRequest(ref: ActorRef, { value, context }: SnapshotOf<RunRequestContext>): void {
    const { queue, holdings, holdBacks, changes, guard } = this.parts
    const held = holdings.get(context.id)
    if (held !== undefined) this.noteProvider(held, value, context)
    if (value === 'queued') {
      // A step that happens beside an offer under way (an approval in the same turn) does not take the offer back.
      if (held !== undefined && held.state !== 'offering') holdings.drop(held)
      const demand = queue.put(context)
      if (demand === undefined) return
      if (guard.isBackedOff(ref)) queue.leaveOut(context.id)
      else changes.demands.add(demand)
      return
    }
    if (held === undefined || held.state === 'offering') {
      queue.remove(context.id)
      holdBacks.forget(context.id)
    }
    if (isHeld(value)) holdings.note(context, value)
    else if (held !== undefined) holdings.drop(held)
    // Whether an offer can be delivered is not known yet.
    if (!guard.isClear && value !== 'offered') guard.passed([ref])
  }

  /** What the end of a run says of its runner's provider. Its own record says so in a later step. */
  private noteProvider({ runner, attempt }: Held, value: string, context: RunRequestContext): void {
    if (value === 'completed') this.parts.fleet.providerAnswered(runner, context.id)
    else if (value === 'failed' && saysOutage(context.failure?.code) && limitsRunner(context))
      runner.isAboutToBeLimited = true
    else if (value === 'queued' && context.internal.last_post?.attempt === attempt && isWaitingForProvider(context))
      runner.isAboutToBeLimited = true
  }

  private noteRunner({ value, context }: SnapshotOf<RunnerContext>): void {
    const { fleet, polls, changes } = this.parts
    const runner = fleet.get(context.id)
    fleet.update(runner, context, value as RunnerState)
    changes.runners.add(runner)
    if (value === 'removed') polls.endAll(runner, 'runner_removed')
    else if (runner.hasNews) changes.told.add(runner)
    this.runnerChanged(runner)
  }
}
