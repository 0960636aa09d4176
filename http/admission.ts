/**
 * Admission control under load: which requests are taken, and which are told to come back. A refusal costs a few
 * microseconds, before the body is read, so the service keeps its full rate however much is offered.
 *
 * Three rules, in this order. Existing commitments come before new work: heartbeats are always taken, and a runner's
 * posts about work that it holds are taken until waits are far longer than those at which new work is refused. When
 * waits grow, whoever has far more in flight than the others is refused first, so a noisy project, token or runner
 * slows only itself. And the bound is a time, not a count, so it is right on a fast disk and on a slow one.
 */
import {
  fairShareMax,
  fairWaitMs,
  flowInFlightMin,
  newWorkWaitMsMax,
  promisedWorkWaitMsMax,
} from '../runtime/limits.ts'
import type { Route } from './route.ts'
import type { Exchange } from './wire/exchange.ts'

/** `new`: asks for more work. `promised`: concerns work already taken. Undefined: always taken (reads, heartbeats). */
export type Urgency = 'new' | 'promised' | undefined

export function urgencyOf({ method, access, isAlwaysTaken }: Route): Urgency {
  if (method === 'GET' || access.right === 'none' || isAlwaysTaken === true) return undefined
  return access.runner === 'holder' || access.runner === 'own' ? 'promised' : 'new'
}

/** Index of the project among the path parameters; -1 if the path names none. */
export function projectParamOf({ path }: Route): number {
  return /^(\/api)?\/projects\/:id(\/|$)/.test(path) ? 0 : -1
}

/** Idle flows to keep, so that a caller with one request at a time does not create its flow anew each time. */
const RESTING_FLOWS_MAX = 4_096

/** Longer than any project's key or id: a longer name matches no project and gets no flow of its own. */
const NAME_LENGTH_MAX = 128

/** The flows that compete with each other, with their requests in flight and the number of active flows. */
class Peers {
  readonly waitMsMax: number
  inFlight = 0
  flows = 0
  readonly #byKey = new Map<string, Flow>()

  constructor(waitMsMax: number) {
    this.waitMsMax = waitMsMax
  }

  get known(): number {
    return this.#byKey.size
  }

  flowOf(key: string): Flow {
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    if (this.#byKey.size - this.flows > RESTING_FLOWS_MAX) this.#sweep()
    const flow = new Flow(this)
    this.#byKey.set(key, flow)
    return flow
  }

  #sweep(): void {
    for (const [key, { inFlight }] of this.#byKey) if (inFlight === 0) this.#byKey.delete(key)
  }
}

/** The requests in flight of one project, token or runner. */
export class Flow {
  readonly peers: Peers
  inFlight = 0

  constructor(peers: Peers) {
    this.peers = peers
  }

  enter(): void {
    if (this.inFlight === 0) this.peers.flows += 1
    this.inFlight += 1
    this.peers.inFlight += 1
  }

  leave(): void {
    this.inFlight -= 1
    this.peers.inFlight -= 1
    if (this.inFlight === 0) this.peers.flows -= 1
  }

  /** Whether an accepted request has waited so long that it should be refused and retried instead of begun. */
  isTooLate(waitedMs: number): boolean {
    return waitedMs > this.waitMsMax(this.inFlight - 1)
  }

  /** How long a request may wait when its flow has this many others in flight. */
  waitMsMax(others: number): number {
    return others < flowInFlightMin ? promisedWorkWaitMsMax : this.peers.waitMsMax
  }

  /**
   * Whether the flow has not many more requests in flight than the average of the others; a lone flow is always fair.
   */
  get isFair(): boolean {
    const { inFlight, flows } = this.peers
    return this.inFlight * (flows - 1) <= (inFlight - this.inFlight) * fairShareMax
  }
}

/** Hot: one lookup and a few comparisons for each request that changes something. */
export class Admission {
  readonly #load: { waitMs(): number }
  readonly #peers = { new: new Peers(newWorkWaitMsMax), promised: new Peers(promisedWorkWaitMsMax) }

  constructor(load: { waitMs(): number }) {
    this.#load = load
  }

  /** Requests taken and not answered yet. */
  get inFlight(): number {
    return this.#peers.new.inFlight + this.#peers.promised.inFlight
  }

  /** Flows kept in memory (projects, tokens and runners). */
  get known(): number {
    return this.#peers.new.known + this.#peers.promised.known
  }

  /** Admits the exchange, whose caller is known, until it is answered. Returns false if 429 or 503 was answered. */
  enter(exchange: Exchange, urgency: 'new' | 'promised', projectParam: number): boolean {
    const project = projectParam < 0 ? undefined : exchange.params[projectParam]!
    const isName = project !== undefined && project.length <= NAME_LENGTH_MAX
    const flow = this.#peers[urgency].flowOf(isName ? project : exchange.principal.id)
    const waitMs = this.#load.waitMs()
    if (waitMs > fairWaitMs && !admits(flow, waitMs, exchange)) return false
    flow.enter()
    exchange.flow = flow
    return true
  }
}

function admits(flow: Flow, waitMs: number, exchange: Exchange): boolean {
  const { inFlight } = flow
  const isLate = waitMs > flow.waitMsMax(inFlight)
  if (!isLate && (inFlight < flowInFlightMin || flow.isFair)) return true
  if (isLate)
    exchange.problem('overloaded', `The request would wait for ${Math.round(waitMs)} ms; it was not accepted.`)
  else
    exchange.problem(
      'too_many_in_flight',
      `${inFlight} of your requests are in flight already, and other callers are waiting.`,
    )
  return false
}
