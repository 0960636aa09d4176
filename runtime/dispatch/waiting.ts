/**
 * Why a queued run request is not with a runner yet: the first reason that holds, in the order in which a person
 * would have to remove them, with the name of what stands in the way. Worked out when somebody reads it.
 */
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import type { ActorRef, Runtime } from '../api.ts'
import type { Guard } from '../guard.ts'
import type { FindRows } from '../newest.ts'
import type { Stranding, Visible, Wanted } from './api.ts'
import { type Asking, askingOf, carriesLabels, type Demand, isAllowed, isGranted, type Supply } from './eligibility.ts'
import type { Fleet } from './fleet.ts'
import type { Holdings } from './holdings.ts'
import type { Matching } from './matching.ts'
import type { Queue } from './queue.ts'
import type { Runner } from './runner.ts'
import { readRequest } from './snapshots.ts'
import type { Stops } from './stops.ts'

interface Circumstances {
  readonly fleet: Fleet
  readonly holdings: Holdings
  readonly matching: Matching
  readonly stops: Stops
  /** Of projects that its reader may not see nothing is told, nor that they have runners. */
  readonly visible: Visible
}

const PASSED_OVER: WaitingBecause = {
  code: 'passed_over',
  detail: 'The dispatcher failed at it, and tries again later: the log of the service says why.',
}

export class Waiting implements Stranding {
  private readonly runtime: Runtime
  private readonly queue: Queue
  private readonly now: Omit<Circumstances, 'visible'>
  private readonly guard: Guard

  constructor(runtime: Runtime, queue: Queue, now: Omit<Circumstances, 'visible'>, guard: Guard) {
    this.runtime = runtime
    this.queue = queue
    this.now = now
    this.guard = guard
  }

  /** Undefined when the request is not queued. */
  because(runRequestId: string, visible: Visible): WaitingBecause | undefined {
    const ref: ActorRef = { kind: 'run_request', id: runRequestId }
    const snapshot = readRequest(this.runtime, runRequestId)
    if (snapshot?.value !== 'queued') return undefined
    if (this.guard.passesOver(ref)) return PASSED_OVER
    const demand = this.queue.demandOfRequest(runRequestId)
    if (demand === undefined) return undefined
    const because = () => waitingBecause(snapshot.context, demand, { ...this.now, visible })
    return this.guard.shown(ref, because) ?? PASSED_OVER
  }

  strandedBecause(wanted: Wanted, visible: Visible = '*'): WaitingBecause | undefined {
    const takers = takersOf(askingOf(wanted), { ...this.now, visible })
    return Array.isArray(takers) ? undefined : takers
  }

  /** Those of which `because` answers what `strandedBecause` does. */
  stranded(sees: (project: string) => boolean): FindRows {
    const { queue, now } = this
    const demands = new Set<Demand>()
    for (const demand of queue.allDemands()) {
      if (demand.queued === 0 || !sees(demand.project.key) || now.matching.isBlocked(demand)) continue
      if (now.matching.isStranded(demand)) demands.add(demand)
    }
    if (demands.size === 0) return () => ({ rows: [] })
    return (limit, after) => queue.newestOfferable(demands, limit, after)
  }
}

/** `context` is that of a request in state `queued`; `demand` is the queue's for it. */
function waitingBecause(context: RunRequestContext, demand: Demand, now: Circumstances): WaitingBecause {
  if (!context.internal.ready && context.not_before !== undefined) {
    return { code: 'not_before', detail: `Not to be offered before ${context.not_before}.` }
  }
  const stopped = now.stops.because(demand)
  if (stopped !== undefined) return stopped
  const holder = demand.repository === undefined ? undefined : now.holdings.holderOf(demand.repository)
  if (holder !== undefined && holder.id !== context.id) {
    const held = `Repository ${demand.repository} is held by ${holder.id} (${holder.state}, runner ${holder.runner.id}).`
    return { code: 'repository_busy', detail: held }
  }
  if (!context.internal.approved) {
    return { code: 'not_approved', detail: 'Work with throttle full waits for an approval of its brief or of itself.' }
  }
  return withoutRunner(demand, now)
}

/** Narrows those who may take it down, rule by rule, until nobody is left. */
function withoutRunner(demand: Demand, now: Circumstances): WaitingBecause {
  const takers = takersOf(demand, now)
  if (!Array.isArray(takers)) return takers
  const online = takers.filter((runner) => runner.isOnline)
  if (online.length === 0) return { code: 'no_runner_online', detail: `Offline: ${names(takers)}.` }
  const taking = online.filter((runner) => runner.state === 'registered')
  if (taking.length === 0) return { code: 'draining', detail: `Draining: ${names(online)}.` }
  const free = taking.filter((runner) => runner.hasRoom)
  if (free.length === 0) return { code: 'all_busy', detail: `All slots are taken: ${names(taking)}.` }
  return { code: 'next', detail: `Goes to the next poll of ${names(free)} when its turn comes.` }
}

/** The registered runners that may take such work, there or not, at least one; or why there is none. */
function takersOf(
  asking: Asking,
  { fleet, matching, visible }: Pick<Circumstances, 'fleet' | 'matching' | 'visible'>,
): Runner[] | WaitingBecause {
  const registered = candidates(asking, fleet).filter(({ supply }) => isSeen(supply!, asking, visible))
  if (registered.length === 0) return { code: 'no_runner_registered', detail: noneRegistered(asking) }
  const allowed = registered.filter((runner) => isAllowed(runner.supply!, asking))
  if (allowed.length === 0) return { code: 'no_runner_allowed', detail: noneAllowed(asking, registered) }
  const labelled = allowed.filter((runner) => carriesLabels(runner.supply!, asking))
  if (labelled.length === 0) {
    const labels = asking.labels.join(', ')
    return { code: 'no_runner_with_labels', detail: `No runner allowed for ${asking.project.key} carries: ${labels}.` }
  }
  const capable = labelled.filter((runner) => matching.isCapable(runner, asking))
  if (capable.length > 0) return capable
  const work = `${asking.entryEvent} at throttle ${asking.throttle}`
  return { code: 'no_capable_engine', detail: `The manifests of ${names(labelled)} do not serve ${work}.` }
}

function candidates(demand: Asking, fleet: Fleet): Runner[] {
  const found: Runner[] = []
  if (demand.pin === undefined) {
    for (const runner of fleet.all()) if (runner.supply !== undefined) found.push(runner)
  } else {
    const pinned = fleet.find(demand.pin)
    if (pinned?.supply !== undefined) found.push(pinned)
  }
  return found
}

/** Whether the runners exist for the reader: they may work for a project that it sees. That of the work is one. */
function isSeen(supply: Supply, asking: Asking, visible: Visible): boolean {
  if (visible === '*' || isGranted(supply, asking)) return true
  for (const project of supply.projects!) if (visible.has(project)) return true
  return false
}

function noneRegistered({ pin }: Asking): string {
  return pin === undefined ? 'No runner is registered.' : `Runner ${pin}, which it names, is not registered.`
}

function noneAllowed(demand: Asking, registered: readonly Runner[]): string {
  const granted = registered.filter((runner) => isGranted(runner.supply!, demand))
  if (granted.length === 0)
    return `No runner${demand.pin === undefined ? '' : ` named ${demand.pin}`} is allowed for ${demand.project.key}.`
  return `Work with full access at throttle full needs a trusted runner; not trusted: ${names(granted)}.`
}

/** At most three names, so that the sentence stays one. */
function names(runners: readonly Runner[]): string {
  const shown = runners.slice(0, 3).map((runner) => runner.id)
  const more = runners.length - shown.length
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`
}
