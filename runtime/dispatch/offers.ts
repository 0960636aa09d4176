/**
 * Offers under way: each is reserved in memory, committed by the request's actor, and then carried to the runner by one
 * of its polls, or taken back. If a bug is met at an offer, its request is left out for a while and its runner is free
 * for others.
 */
import type { ExecutionRequest } from '../../machines/documents/execution-request.ts'
import type { RunRequestBody, RunRequestContext } from '../../machines/run-request/context.ts'
import type { ActorRef, Answer, Refused, Runtime, SnapshotOf } from '../api.ts'
import { committed } from '../control/committed.ts'
import type { DispatchCounts } from './api.ts'
import { criteriaOfRequest, type Demand, mayTake } from './eligibility.ts'
import { executionRequest } from './execution-request.ts'
import type { Known } from './intake.ts'
import { answerFor } from './polls.ts'
import type { Held, Respond, Runner } from './runner.ts'
import type { SuspensionReason } from './suspensions.ts'

/** If more requests than this fail to be offered in one `settle`, the fault is not that of any one of them. */
export const mistakesPerSettleMax = 100

/**
 * Why an unaccepted offer is taken back: its lane or project starts nothing now, or its runner may not have it now, or a
 * limit of its labels was lowered below what is under way.
 */
type TakenBack = SuspensionReason | 'runner_changed' | 'label_limit'

interface OffersParts extends Known {
  /** Match requests and runners again. */
  settle(): void
  /** The service takes no writes. */
  paused(): void
}

export class Offers {
  /** Offers that failed to be sent since the last `settle` began, and the last error. */
  private mistakes = 0
  private lastMistake: unknown
  private readonly runtime: Runtime
  private readonly parts: OffersParts
  private offers = 0
  private offersRefused = 0
  private offersReturned = 0

  constructor(runtime: Runtime, parts: OffersParts) {
    this.runtime = runtime
    this.parts = parts
  }

  get counts(): Pick<DispatchCounts, 'offers' | 'offersRefused' | 'offersReturned'> {
    const { offers, offersRefused, offersReturned } = this
    return { offers, offersRefused, offersReturned }
  }

  beginSettling(): void {
    this.mistakes = 0
  }

  /** Throws the last error if so many offers have failed that no single request is at fault. */
  throwIfTooMany(): void {
    if (this.mistakes > mistakesPerSettleMax) throw this.lastMistake
  }

  /** Whether the runner was told of the offer and has called since: only then does letting it expire count. */
  isCounted(runRequestId: string): boolean {
    const held = this.parts.holdings.get(runRequestId)
    if (held === undefined || held.state !== 'offered' || !held.isDelivered) return false
    return held.runner.calls > held.callsAtDelivery
  }

  /** Answers the poll with the unaccepted offer once more. False if that offer cannot be repeated now. */
  again(runner: Runner, offer: Held, respond: Respond): boolean {
    if (offer.state !== 'offered' || !offer.isDelivered || offer.isReturning) return false
    // The runner's post that accepts the offer may be waiting in the mailbox.
    if (this.runtime.isBusy(refOf(offer.id))) return false
    const snapshot = committed<RunRequestContext>(this.runtime, refOf(offer.id))
    if (snapshot === undefined || snapshot.value !== 'offered') return false
    const why = this.whyTakenBack(offer, snapshot)
    if (why !== undefined) {
      this.giveBack(offer, why)
      return false
    }
    respond(answerFor(runner, this.document(snapshot)))
    return true
  }

  /**
   * Reserves the demand's first request, the runner's slot and the repository, and asks the request's actor to commit
   * the offer. False if that failed: nothing is reserved, and the runner may be offered something else.
   */
  send(runner: Runner, demand: Demand): boolean {
    const { queue, holdings, fleet } = this.parts
    const id = queue.take(demand)
    try {
      const held = holdings.reserve(id, runner, demand)
      fleet.refresh(runner)
      const message: RunRequestBody = { type: 'offer', runner_id: runner.id }
      this.runtime.ask({ kind: 'run_request', id }, message, (answer) => this.answered(held, answer))
      return true
    } catch (error) {
      this.notSent(id, runner, error)
      return false
    }
  }

  /** Takes the offer back if it has not been accepted and should no longer stand. */
  reconsider(held: Held): void {
    if (held.state !== 'offered') return
    const ref = refOf(held.id)
    this.parts.guard.guarded(ref, () => {
      const snapshot = committed<RunRequestContext>(this.runtime, ref)
      const why = snapshot?.value === 'offered' ? this.whyTakenBack(held, snapshot) : undefined
      if (why !== undefined) this.giveBack(held, why)
    })
  }

  private whyTakenBack(held: Held, { context }: SnapshotOf<RunRequestContext>): TakenBack | undefined {
    const { id, isGiven, supply } = held.runner
    const isItsOwn = isGiven && supply !== undefined && mayTake(supply, id, criteriaOfRequest(context))
    const { suspensions, holdings } = this.parts
    const why = suspensions.why(held) ?? (isItsOwn ? undefined : 'runner_changed')
    return why ?? (holdings.labels.isOver(held) ? 'label_limit' : undefined)
  }

  /** Takes back an offer that no poll can carry or that should no longer stand; nobody is blamed for it. */
  private giveBack(held: Held, why?: TakenBack): void {
    if (held.isReturning) return
    const { holdings } = this.parts
    held.isDelivered = false
    held.isReturning = true
    this.offersReturned++
    const { runner, attempt } = held
    const message: RunRequestBody = { type: 'offer_aborted', runner_id: runner.id, attempt, why }
    this.runtime.ask(refOf(held.id), message, (answer) => {
      if (answer.ok || holdings.get(held.id) !== held) return
      // It could not be taken back: the runner's next poll gets it, or it expires.
      held.isReturning = false
      held.isDelivered = true
    })
  }

  private document(snapshot: SnapshotOf<RunRequestContext>): ExecutionRequest {
    const { platform, settings } = this.runtime
    const endMs = this.runtime.deadlineMs(refOf(snapshot.context.id), 'offer')
    return executionRequest(snapshot, endMs ?? platform.wallMs() + settings.offerMs)
  }

  private notSent(id: string, runner: Runner, error: unknown): void {
    const { queue, holdings, holdBacks, changes, guard } = this.parts
    guard.failed(refOf(id), error)
    holdBacks.mistaken.add(id)
    const held = holdings.get(id)
    if (held !== undefined) holdings.drop(held)
    queue.holdBack(id)
    changes.runners.add(runner)
    this.mistakes++
    this.lastMistake = error
  }

  private answered(held: Held, answer: Answer): void {
    const { holdings, holdBacks, changes, guard, settle } = this.parts
    try {
      if (!answer.ok) this.refused(held, answer)
      else if (holdings.get(held.id) === held && held.state === 'offered') this.deliver(held, answer.snapshot)
    } catch (error) {
      guard.failed(refOf(held.id), error)
      holdBacks.mistaken.add(held.id)
      guard.guarded(refOf(held.id), () => this.notDelivered(held))
    }
    changes.runners.add(held.runner)
    changes.told.add(held.runner)
    settle()
  }

  private notDelivered(held: Held): void {
    if (this.parts.holdings.get(held.id) === held && held.state === 'offered') this.giveBack(held)
  }

  private deliver(held: Held, snapshot: SnapshotOf<RunRequestContext>): void {
    const { polls, guard } = this.parts
    const { runner } = held
    this.offers++
    // Set before answering, since the answer may bring the runner's next call at once.
    held.isDelivered = true
    held.callsAtDelivery = runner.calls
    const why = this.whyTakenBack(held, snapshot)
    if (why !== undefined || !polls.answerNewest(runner, this.document(snapshot))) this.giveBack(held, why)
    else if (!guard.isClear) guard.passed([refOf(held.id)])
  }

  private refused(held: Held, { refusal, isPassing }: Refused): void {
    const { queue, holdings, holdBacks, paused } = this.parts
    this.offersRefused++
    if (holdings.get(held.id) === held) holdings.drop(held)
    if (isPassing && refusal.code !== 'quarantined') paused()
    if (queue.holdBack(held.id)) holdBacks.hold(held.id)
  }
}

function refOf(id: string): ActorRef {
  return { kind: 'run_request', id }
}
