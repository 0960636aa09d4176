/**
 * Why a queued run request is not with a runner yet: the first reason that holds, in the order in which a person
 * would have to remove them, with the name of what stands in the way.
 */
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { carriesLabels, type Demand, isAllowed, isGranted } from './eligibility.ts'
import type { Fleet } from './fleet.ts'
import type { Holdings } from './holdings.ts'
import type { Matching } from './matching.ts'
import type { Runner } from './runner.ts'
import type { Stops } from './stops.ts'

interface Circumstances {
  readonly fleet: Fleet
  readonly holdings: Pick<Holdings, 'holderOf'>
  readonly matching: Pick<Matching, 'isCapable'>
  readonly stops: Pick<Stops, 'because'>
}

/** `context` is that of a request in state `queued`; `demand` is the queue's for it. */
export function waitingBecause(context: RunRequestContext, demand: Demand, now: Circumstances): WaitingBecause {
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

/** Narrows the fleet down, rule by rule, until nobody is left. */
function withoutRunner(demand: Demand, { fleet, matching }: Circumstances): WaitingBecause {
  const registered = candidates(demand, fleet)
  if (registered.length === 0) return { code: 'no_runner_registered', detail: noneRegistered(demand) }
  const allowed = registered.filter((runner) => isAllowed(runner.supply!, demand))
  if (allowed.length === 0) return { code: 'no_runner_allowed', detail: noneAllowed(demand, registered) }
  const labelled = allowed.filter((runner) => carriesLabels(runner.supply!, demand))
  if (labelled.length === 0) {
    const labels = demand.labels.join(', ')
    return { code: 'no_runner_with_labels', detail: `No runner allowed for ${demand.project.key} carries: ${labels}.` }
  }
  const online = labelled.filter((runner) => runner.isOnline)
  if (online.length === 0) return { code: 'no_runner_online', detail: `Offline: ${names(labelled)}.` }
  const capable = online.filter((runner) => matching.isCapable(runner, demand))
  if (capable.length === 0) {
    const work = `${demand.entryEvent} at throttle ${demand.throttle}`
    return { code: 'no_capable_engine', detail: `The manifests of ${names(online)} do not serve ${work}.` }
  }
  const taking = capable.filter((runner) => runner.state === 'registered')
  if (taking.length === 0) return { code: 'draining', detail: `Draining: ${names(capable)}.` }
  const free = taking.filter((runner) => runner.hasRoom)
  if (free.length === 0) return { code: 'all_busy', detail: `All slots are taken: ${names(taking)}.` }
  return { code: 'next', detail: `Goes to the next poll of ${names(free)} when its turn comes.` }
}

function candidates(demand: Demand, fleet: Fleet): Runner[] {
  const found: Runner[] = []
  if (demand.pin === undefined) {
    for (const runner of fleet.all()) if (runner.supply !== undefined) found.push(runner)
  } else {
    const pinned = fleet.find(demand.pin)
    if (pinned?.supply !== undefined) found.push(pinned)
  }
  return found
}

function noneRegistered({ pin }: Demand): string {
  return pin === undefined ? 'No runner is registered.' : `Runner ${pin}, which it names, is not registered.`
}

function noneAllowed(demand: Demand, registered: readonly Runner[]): string {
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
