/**
 * Why a queued run request is not with a runner yet: the first reason that holds, in the order in which a person
 * would have to remove them, naming what stands in the way. Worked out when somebody reads it.
 */
import { clipped, reasonOf } from '../../machines/clipped.ts'
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import { goesBeyond } from '../../machines/formation-brief/approvals.ts'
import { instantMs } from '../../machines/instant.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { isWaitingForProvider } from '../../machines/run-request/rules.ts'
import type { ActorRef, Runtime } from '../api.ts'
import type { FindRows } from '../collections/newest.ts'
import { committed } from '../control/committed.ts'
import type { Guard } from '../control/guard.ts'
import { isRemovedRunner } from '../entities/removed-runners.ts'
import { namesOf } from '../writers.ts'
import type { Absence, RunnerRequirements, Stranding, Visible } from './api.ts'
import { type Criteria, criteriaOf, type Demand } from './eligibility.ts'
import { DEPTH, type Depth, depthOf, type Furthest, furthestOf, labelled, type Registry } from './furthest.ts'
import type { Holdings } from './holdings.ts'
import type { Queue } from './queue.ts'
import type { Runner } from './runner.ts'
import type { Suspensions } from './suspensions.ts'
import { outageMsMin, outageSince, type Trials, trialsOf, triedFor } from './trials.ts'

interface DispatchState extends Registry {
  readonly holdings: Holdings
  readonly suspensions: Suspensions
}

const PASSED_OVER: WaitingBecause = {
  code: 'passed_over',
  detail: 'The dispatcher failed on this request and will retry; see the service log.',
}

/** Silence that needs attention, milliseconds: a runner or host that is restarted or updated is back sooner. */
export const absenceMsMin = 300_000

export class WaitingReasons implements Stranding {
  private readonly runtime: Runtime
  private readonly queue: Queue
  private readonly now: Omit<DispatchState, 'visible'>
  private readonly guard: Guard
  /** Furthest runners by who asks, found in this turn: a page of a list, or a burst of creates, asks for the same one. */
  private readonly known = new Map<object, { readonly visible: Visible; readonly furthest: Furthest }>()
  /** Found in this turn, too. */
  private trials: Trials | undefined

  constructor(runtime: Runtime, queue: Queue, now: Omit<DispatchState, 'visible'>, guard: Guard) {
    this.runtime = runtime
    this.queue = queue
    this.now = now
    this.guard = guard
  }

  /** Undefined if the request is not queued. */
  because(runRequestId: string, visible: Visible): WaitingBecause | undefined {
    const ref: ActorRef = { kind: 'run_request', id: runRequestId }
    const snapshot = committed<RunRequestContext>(this.runtime, ref)
    if (snapshot?.value !== 'queued') return undefined
    if (this.guard.isBackedOff(ref)) return PASSED_OVER
    const held = this.now.holdings.get(runRequestId)
    // Its offer is being committed: the usual answer to whoever just created it while a poll is parked.
    if (held !== undefined) return { code: 'next', detail: `Being handed to ${held.runner.id}.` }
    const demand = this.queue.demandOfRequest(runRequestId)
    if (demand === undefined) return undefined
    const because = () => beforeRunners(snapshot.context, demand, this.now) ?? this.afterRunners(demand, visible)
    return this.guard.shown(ref, because) ?? PASSED_OVER
  }

  /** Something was committed: forget what was found. */
  changed(): void {
    this.known.clear()
    this.trials = undefined
  }

  private afterRunners(demand: Demand, visible: Visible): WaitingBecause {
    const furthest = this.furthestFor(demand, demand, visible)
    return this.removed(demand, furthest, visible) ?? withoutRunner(demand, furthest)
  }

  /** The runner that the request names was removed for good. */
  private removed({ pin }: Criteria, { depth }: Furthest, visible: Visible): WaitingBecause | undefined {
    if (pin === undefined || depth !== DEPTH.nowhere || !isRemovedRunner(this.runtime, pin, visible)) return undefined
    return { code: 'runner_removed', detail: `Runner ${pin}, which it names, was removed.` }
  }

  /** `asked`: what has these criteria. */
  private furthestFor(asked: Demand | RunnerRequirements, criteria: Criteria, visible: Visible): Furthest {
    const known = this.known.get(asked)
    if (known !== undefined && known.visible === visible) return known.furthest
    const furthest = furthestOf(criteria, { ...this.now, visible })
    this.forgetSoon()
    this.known.set(asked, { visible, furthest })
    return furthest
  }

  private trialsNow(): Trials {
    if (this.trials === undefined) this.forgetSoon()
    this.trials ??= trialsOf(this.runtime, { ...this.now, queue: this.queue })
    return this.trials
  }

  private forgetSoon(): void {
    if (this.known.size === 0 && this.trials === undefined) this.runtime.platform.nextTurn(() => this.changed())
  }

  strandedBecause(requirements: RunnerRequirements, visible: Visible = '*'): WaitingBecause | undefined {
    return this.shortOf(DEPTH.capable, requirements, visible)
  }

  withoutTaker(requirements: RunnerRequirements, visible: Visible = '*'): WaitingBecause | undefined {
    return this.shortOf(DEPTH.silent, requirements, visible)
  }

  /** The reason if no runner passes that many rules. */
  private shortOf(depth: Depth, requirements: RunnerRequirements, visible: Visible): WaitingBecause | undefined {
    const criteria = criteriaOf(requirements)
    const furthest = this.furthestFor(requirements, criteria, visible)
    if (furthest.depth >= depth) return undefined
    return this.removed(criteria, furthest, visible) ?? withoutRunner(criteria, furthest)
  }

  /**
   * A repository that is busy, or a label of which enough runs are under way, becomes free by itself: it does not hide
   * that no runner may take them then.
   */
  stranded(sees: (project: string) => boolean): FindRows {
    const { queue, now } = this
    const demands = new Set<Demand>()
    for (const demand of queue.allDemands()) {
      if (demand.queued === 0 || !sees(demand.project.key) || now.suspensions.why(demand) !== undefined) continue
      if (now.holdings.labels.areStopped(demand.labels)) continue
      if (now.matching.isStranded(demand)) demands.add(demand)
    }
    if (demands.size === 0) return () => ({ rows: [] })
    return (limit, after) => queue.newestOfferable(demands, limit, after)
  }

  absence(requirements: RunnerRequirements): Absence | undefined {
    return this.absenceFor(criteriaOf(requirements), this.trialsNow())
  }

  absences(sees: (project: string) => boolean): Map<string, Absence> {
    const found = new Map<string, Absence>()
    const retried = this.retriedDemands()
    const trials = this.trialsNow()
    for (const demand of this.queue.allDemands()) {
      const { key } = demand.project
      if (demand.ready.size === 0 && !retried.has(demand)) continue
      if (found.has(key) || !sees(key) || this.now.matching.isBlocked(demand)) continue
      const absence = this.absenceFor(demand, trials)
      if (absence !== undefined) found.set(key, absence)
    }
    for (const requirements of triedFor(trials)) {
      const { project } = requirements
      if (found.has(project) || !sees(project)) continue
      const absence = this.absenceFor(criteriaOf(requirements), trials)
      if (absence !== undefined) found.set(project, absence)
    }
    return found
  }

  /** Those of queued requests by whose runs runners were limited. */
  private retriedDemands(): ReadonlySet<Demand> {
    const demands = new Set<Demand>()
    for (const { limit } of this.now.fleet.all()) {
      const demand = limit && this.queue.demandOfRequest(limit.run_request_id)
      if (demand !== undefined) demands.add(demand)
    }
    return demands
  }

  private absenceFor(criteria: Criteria, trials: Trials): Absence | undefined {
    const { fleet, matching } = this.now
    if (matching.hasTaker(criteria, trials)) return undefined
    const now: Registry = { fleet, matching, visible: '*', trials }
    const furthest = furthestOf(criteria, now)
    const isLimited = furthest.depth === DEPTH.limited
    if (!isLimited && furthest.depth !== DEPTH.capable) return undefined
    const nowMs = this.runtime.platform.wallMs()
    let since = ''
    for (const runner of labelled(criteria, now)) {
      if (depthOf(runner, criteria, now) < furthest.depth) continue
      const at = isLimited ? outageSince(runner) : fleet.heardAt(runner)
      if (at === undefined || nowMs - instantMs(at) < (isLimited ? outageMsMin(runner) : absenceMsMin)) return undefined
      if (at > since) since = at
    }
    return { since, because: withoutRunner(criteria, furthest) }
  }
}

/**
 * What keeps the request from every runner; undefined if nothing does. `context`: of a request in state `queued`;
 * `demand`: its demand in the queue.
 */
function beforeRunners(
  context: RunRequestContext,
  demand: Demand,
  now: Omit<DispatchState, 'visible'>,
): WaitingBecause | undefined {
  if (isWaitingForProvider(context)) return { code: 'provider_unavailable', detail: providerWords(context) }
  if (!context.internal.ready && context.not_before !== undefined) {
    return { code: 'not_before', detail: `Not to be offered before ${context.not_before}.` }
  }
  const stopped = now.suspensions.because(demand)
  if (stopped !== undefined) return stopped
  const busy = busyRepository(context.id, demand, now) ?? now.holdings.labels.because(demand.labels)
  if (busy !== undefined) return busy
  if (!context.internal.approved) {
    return { code: 'not_approved', detail: `Work with throttle full waits for an approval ${whichApproval(context)}.` }
  }
  return undefined
}

function providerWords({ internal }: RunRequestContext): string {
  const { runner_id, code, message, until, count } = internal.outage!
  const often = count === 1 ? '' : ` (${count} times so far)`
  return `Tried again at ${until}: runner ${runner_id} reported ${code}${often}: ${reasonOf(message)}`
}

function busyRepository(
  id: string,
  { repository, projectId }: Demand,
  { holdings }: Pick<DispatchState, 'holdings'>,
): WaitingBecause | undefined {
  if (repository === undefined || !holdings.isBusy(repository, projectId)) return undefined
  const holders = [...holdings.holdersOf(repository)]
  // An offer of the request itself is on its way.
  if (holders.some((held) => held.id === id)) return undefined
  const named = holders.map((held) => `${held.id} (${held.state}, runner ${held.runner.id})`)
  return { code: 'repository_busy', detail: `Repository ${repository} is held by ${namesOf(named)}.` }
}

/** Whose approval lets the request go: its own always does. */
function whichApproval({ asked: { brief, retry, again }, made: { elsewhere } }: RunRequestContext): string {
  if (brief === undefined) return 'of its own'
  if (!goesBeyond({ retries: retry !== undefined, again, elsewhere })) {
    return 'of its own, or of its brief if that covers its entry event'
  }
  const what = [
    ...(retry === undefined ? [] : ['a retry policy']),
    ...(again === true ? ['repeating the work'] : []),
    ...(elsewhere === true ? ['another repository or branch'] : []),
  ]
  return `of its own: an approval of its brief does not cover ${what.join(' or ')}`
}

/** How much of a provider's message is repeated for each, characters. */
const LIMIT_CHARS_MAX = 140

function withoutRunner(criteria: Criteria, furthest: Furthest): WaitingBecause {
  const who = names(furthest)
  switch (furthest.depth) {
    case DEPTH.capable:
      return { code: 'no_runner_online', detail: `Offline: ${who}.` }
    case DEPTH.online:
      return { code: 'draining', detail: `Draining: ${who}.` }
    case DEPTH.limited:
      return { code: 'limited', detail: `Limited: ${names(furthest, withLimit)}.` }
    case DEPTH.silent:
      return { code: 'next', detail: `Goes to the next poll of ${who}, which is not polling now.` }
    case DEPTH.taking:
      return { code: 'all_busy', detail: `All slots are taken: ${who}.` }
    case DEPTH.free:
      return { code: 'next', detail: `Goes to the next poll of ${who} when its turn comes.` }
    default:
      return whyStranded(criteria, furthest)
  }
}

/** Why no registered runner, online or not, may take such work. */
function whyStranded(criteria: Criteria, furthest: Furthest): WaitingBecause {
  const { depth } = furthest
  if (depth === DEPTH.nowhere) return { code: 'no_runner_registered', detail: noneRegistered(criteria) }
  if (depth <= DEPTH.granted) return { code: 'no_runner_allowed', detail: noneAllowed(criteria, furthest) }
  if (depth === DEPTH.allowed) {
    const labels = criteria.labels.join(', ')
    return {
      code: 'no_runner_with_labels',
      detail: `No runner allowed for ${criteria.project.key} has the labels: ${labels}.`,
    }
  }
  const work = `${criteria.entryEvent} at throttle ${criteria.throttle}`
  return { code: 'no_capable_engine', detail: `The manifests of ${names(furthest)} do not support ${work}.` }
}

function noneRegistered({ pin }: Criteria): string {
  return pin === undefined ? 'No runner is registered.' : `Runner ${pin}, which it names, is not registered.`
}

function noneAllowed({ pin, project, furtherProjects }: Criteria, furthest: Furthest): string {
  // No names of the other projects: the reader may not be allowed to see them.
  const others = furtherProjects.length === 0 ? '' : ' and each other project of its initiative'
  if (furthest.depth === DEPTH.seen)
    return `No runner${pin === undefined ? '' : ` named ${pin}`} is allowed for ${project.key}${others}.`
  return `Work with full access at throttle full needs a trusted runner; not trusted: ${names(furthest)}.`
}

function withLimit({ id, limit, outage }: Runner): string {
  if (outage === undefined) return id
  const { until, code, message } = outage
  const when = limit === undefined ? ', being tried again' : ` until ${until}`
  return `${id}${when} (${code}: ${clipped(reasonOf(message), LIMIT_CHARS_MAX)})`
}

/** Names a few, so that the sentence stays short. */
function names({ count, runners }: Furthest, nameOf = ({ id }: Runner): string => id): string {
  const shown = runners.map((runner) => nameOf(runner)).join(', ')
  return count === runners.length ? shown : `${shown} and ${count - runners.length} more`
}
