/**
 * Load past the limit: what is taken, and what is asked to come back. Refusing costs a few microseconds, before the
 * body is read, so that the service goes on at its full rate however much is offered.
 *
 * Three rules, in this order. What keeps a promise is taken before what asks for a new one: heartbeats always, what a
 * runner says of work that it holds until waits are far longer than those at which new work is refused. Who has much more in flight than
 * the others goes first when waits grow: a noisy project, token or runner slows itself. And the bound is a time, not a number:
 * the same on a fast disk and on a slow one.
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

/** `new`: asks for more to do. `promised`: of work that was taken already. Undefined: always taken (reads, heartbeats). */
export type Urgency = 'new' | 'promised' | undefined

export function urgencyOf({ method, access, isAlwaysTaken }: Route): Urgency {
  if (method === 'GET' || access.right === 'none' || isAlwaysTaken === true) return undefined
  return access.runner === 'holder' || access.runner === 'own' ? 'promised' : 'new'
}

/** Where the project stands among the path's parameters; -1 where the path names none. */
export function projectParamOf({ path }: Route): number {
  return /^(\/api)?\/projects\/:id(\/|$)/.test(path) ? 0 : -1
}

/** Flows without anything in flight that are kept, so that one who asks for one thing after the other is not made anew. */
const RESTING_FLOWS_MAX = 4_096

/** Longer than any project's key or id: what is longer names none, and is not worth a place in memory. */
const NAME_LENGTH_MAX = 128

/** Those who are held against each other: their requests in flight, and how many they are. */
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

/** What one project, token or runner has in flight. */
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

  /** Whether one of its requests that were taken should rather be said again than be begun after so long. */
  isTooLate(waitedMs: number): boolean {
    return waitedMs > this.waitMsMax(this.inFlight - 1)
  }

  /** How long a request may wait that comes beside so many others of the same flow. */
  waitMsMax(others: number): number {
    return others < flowInFlightMin ? promisedWorkWaitMsMax : this.peers.waitMsMax
  }

  /** It has not much more in flight than the others have on the average; alone it disturbs nobody. */
  get isFair(): boolean {
    const { inFlight, flows } = this.peers
    return this.inFlight * (flows - 1) <= (inFlight - this.inFlight) * fairShareMax
  }
}

/** Hot: one look-up and a few comparisons for each request that changes something. */
export class Admission {
  readonly #load: { waitMs(): number }
  readonly #peers = { new: new Peers(newWorkWaitMsMax), promised: new Peers(promisedWorkWaitMsMax) }

  constructor(load: { waitMs(): number }) {
    this.#load = load
  }

  /** Requests that were taken and are not answered yet. */
  get inFlight(): number {
    return this.#peers.new.inFlight + this.#peers.promised.inFlight
  }

  /** Projects, tokens and runners that are kept in memory. */
  get known(): number {
    return this.#peers.new.known + this.#peers.promised.known
  }

  /** Take the exchange, whose caller is known, until it is answered; or answer 429 or 503 and say false. */
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
  if (isLate) exchange.problem('overloaded', `It would wait for ${Math.round(waitMs)} ms; nothing of this was taken.`)
  else exchange.problem('too_many_in_flight', `${inFlight} requests of yours are in flight already, and others wait.`)
  return false
}
