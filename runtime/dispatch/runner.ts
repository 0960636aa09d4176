/**
 * One runner as the dispatcher sees it: what it may take, what it holds, its parked polls, whether it is online,
 * and what it has not been told. In memory only, and rebuilt from committed steps and calls.
 */
import type { ExecutionRequest } from '../../machines/documents/execution-request.ts'
import type { LimitedRunner } from '../../machines/documents/runner.ts'
import type { HeldRunState } from '../../machines/run-request/states.ts'
import type { Holding } from '../../machines/runner/context.ts'
import type { ActorRef } from '../api.ts'
import type { Supply } from './eligibility.ts'
import { WheelEntry } from './wheel.ts'

/** Ids that an answer names, some 3 KB: clients and proxies refuse headers of more than 8 or 16 KB. */
const cancelsNamedMax = 100

export type RunnerState = 'registered' | 'draining' | 'removed'

/** The answer to a runner's poll: an offer or none, and the news. */
export interface PollAnswer {
  readonly offer?: ExecutionRequest
  /** The runner takes nothing new. */
  readonly draining: boolean
  /** Ids of the runner's run requests that are to be stopped. */
  readonly cancel: readonly string[]
}

/** Why a poll ended without a regular answer. */
export type PollRefusal = 'too_many_polls' | 'closing' | 'runner_removed'

/** Called once for each poll that was not given up; within the call of `poll` if the answer is known at once. */
export type Respond = (answer: PollAnswer | PollRefusal) => void

export interface ParkedPoll extends WheelEntry {
  readonly runner: Runner
  readonly respond: Respond
  /** The poll's time is over; it is kept only for the offer that is being committed. */
  isOverdue: boolean
}

/** A run request that a runner holds, or that is on its way to one. */
export interface Held {
  readonly id: string
  readonly runner: Runner
  readonly repository: string | undefined
  readonly lane: string
  readonly projectId: string
  /** The labels that it requires of its runner. */
  readonly labels: readonly string[]
  /** `offering`: sent to the request's actor and not yet committed. */
  state: 'offering' | HeldRunState
  attempt: number
  /** A poll has carried the offer to its runner. */
  isDelivered: boolean
  /** Being taken back: the offer found no poll, or should no longer stand (its lane was paused, its runner drains). */
  isReturning: boolean
  /** The runner's call count when the offer was delivered. */
  callsAtDelivery: number
}

/** As an entry of the wheel, a runner stands for its presence check. */
export class Runner extends WheelEntry {
  readonly id: string
  readonly slot: number
  private readonly checkPresence: (runner: Runner, nowMs: number) => void
  state: RunnerState = 'removed'
  /** Undefined if it is removed. */
  supply: Supply | undefined = undefined
  capacity = 0
  /** The newest comes last. */
  readonly polls: ParkedPoll[] = []
  /** Position of its last poll in the order of all polls. */
  pollOrder = 0
  /** The offer that it has not accepted yet, including one that is being committed. */
  offer: Held | undefined = undefined
  /** Its provider is unavailable. */
  limit: LimitedRunner | undefined = undefined
  /** The limit, also once its time is over, until a run has shown that the provider is back. */
  outage: LimitedRunner | undefined = undefined
  /** A run of it has reported that, and its own record does not say so yet. */
  isAboutToBeLimited = false
  /** Its provider was unavailable, and no run of it has completed since. */
  hadOutages = false
  /** What uses one of its slots. */
  readonly held = new Set<Held>()
  /** Calls since the service started. */
  calls = 0
  /** Its call count when a standstill of the process last gave it the full presence time again. */
  callsAtSparing: number | undefined = undefined
  /** Monotonic time of its last call. */
  lastSeenMs: number | undefined = undefined
  /** Monotonic time until which its next poll can be counted on, while none is parked. */
  expectedUntilMs = Number.NEGATIVE_INFINITY
  /** RFC 3339; empty: its record is not known. */
  registeredAt = ''
  /** When it called last according to its record, RFC 3339: used until it calls again. */
  seenAt: string | undefined = undefined
  isOnline = false
  /** Run requests that it holds and that are to be stopped. */
  readonly cancels = new Set<string>()
  /** Those of them that no answer to a poll has named yet. */
  readonly unnamedCancels = new Set<string>()
  /** It drains or has something to stop, and no answer to a poll has said so yet. */
  hasUnreportedNews = false

  constructor(id: string, slot: number, checkPresence: (runner: Runner, nowMs: number) => void) {
    super()
    this.id = id
    this.slot = slot
    this.checkPresence = checkPresence
  }

  /** It is online and takes new work. */
  get takesWork(): boolean {
    return this.isOnline && this.isGiven
  }

  /** It may be offered work, as far as operators and its provider are concerned. */
  get isGiven(): boolean {
    return this.state === 'registered' && this.limit === undefined && !this.isAboutToBeLimited
  }

  /** It has a parked poll, or called so recently that the next poll may be on its way. */
  isExpected(nowMs: number): boolean {
    return this.takesWork && (this.polls.length > 0 || nowMs < this.expectedUntilMs)
  }

  get isFull(): boolean {
    return this.held.size >= this.capacity
  }

  /** Whether it could take an offer, given a poll to carry it. */
  get hasRoom(): boolean {
    return this.isGiven && this.offer === undefined && !this.isFull
  }

  /** An offer is on its way to one of its polls: none of them may end before it is known which. */
  get awaitsOffer(): boolean {
    return this.offer !== undefined && !this.offer.isDelivered && !this.offer.isReturning
  }

  get hasNews(): boolean {
    return this.hasUnreportedNews && (this.state === 'draining' || this.cancels.size > 0)
  }

  /** The request is to be stopped. False if that was known. */
  addCancel(id: string): boolean {
    if (this.cancels.has(id)) return false
    this.cancels.add(id)
    this.unnamedCancels.add(id)
    return true
  }

  dropCancel(id: string): void {
    if (this.cancels.delete(id)) this.unnamedCancels.delete(id)
  }

  /** The requests to stop that an answer to a poll names: first those that none has named. */
  takeCancels(): readonly string[] {
    const { cancels, unnamedCancels } = this
    const inTurn = cancels.size > cancelsNamedMax ? new Set([...unnamedCancels, ...cancels]) : cancels
    const named = [...inTurn].slice(0, cancelsNamedMax)
    for (const id of named) unnamedCancels.delete(id)
    return named
  }

  /** What it holds for certain, without what is on its way to it. */
  holdings(): readonly Holding[] {
    const held = [...this.held].filter(({ state }) => state !== 'offering')
    return held.map(({ id, attempt }) => ({ id, attempt }))
  }

  override fire(nowMs: number): void {
    this.checkPresence(this, nowMs)
  }

  override about(): ActorRef {
    return { kind: 'runner', id: this.id }
  }
}
