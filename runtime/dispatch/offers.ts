/**
 * Offers on their way: promised, made true by the request's actor, and carried to the runner by one of its polls, or given back. A
 * mistake at one of them leaves its request out for a while, and its runner to the others.
 */
import type { ExecutionRequest } from '../../machines/documents/execution-request.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import type { ActorRef, Answer, Refused, Runtime, SnapshotOf } from '../api.ts'
import type { DispatchCounts } from './api.ts'
import { askingOfRequest, type Demand, mayTake } from './eligibility.ts'
import { executionRequest } from './execution-request.ts'
import type { Known } from './intake.ts'
import { answerFor } from './polls.ts'
import type { Held, Respond, Runner } from './runner.ts'
import { readRequest } from './snapshots.ts'
import type { Stopped } from './stops.ts'

/** So many requests that cannot be offered, one behind the other, have met one mistake that is none of theirs. */
export const mistakesPerSettleMax = 100

/** Why an offer that its runner has not accepted is taken back: its kind starts nothing now, or it is no more for this runner. */
type TakenBack = Stopped | 'runner_changed'

interface OffersParts extends Known {
  /** Requests and runners are to be brought together anew. */
  settle(): void
  /** The service takes no writes. */
  paused(): void
}

export class Offers {
  /** Those that could not be sent since the last `settle` began, and why the last could not. */
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

  /** Throws what the last one met, where so many have met it that it is none of theirs. */
  throwIfTooMany(): void {
    if (this.mistakes > mistakesPerSettleMax) throw this.lastMistake
  }

  /** Whether the runner was told of the offer and has called since: only then an offer that it lets pass counts. */
  isCounted(runRequestId: string): boolean {
    const held = this.parts.holdings.get(runRequestId)
    if (held === undefined || held.state !== 'offered' || !held.isDelivered) return false
    return held.runner.calls > held.callsAtDelivery
  }

  /** Tells the runner once more what it has not accepted. False when that offer is not there to be told. */
  again(runner: Runner, offer: Held, respond: Respond): boolean {
    if (offer.state !== 'offered' || !offer.isDelivered || offer.isReturning) return false
    // What the runner says of it at this moment may be that it accepts.
    if (this.runtime.isBusy(refOf(offer.id))) return false
    const snapshot = readRequest(this.runtime, offer.id)
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
   * Promises the first request, the runner's slot and the repository, and asks the request's actor to make it true. False: that
   * failed, nothing is promised, and the runner may have something else.
   */
  send(runner: Runner, demand: Demand): boolean {
    const { queue, holdings, fleet } = this.parts
    const id = queue.take(demand)
    try {
      const held = holdings.reserve(id, runner, demand)
      fleet.refresh(runner)
      this.runtime.ask({ kind: 'run_request', id }, { type: 'offer', runner_id: runner.id } as never, (answer) =>
        this.answered(held, answer),
      )
      return true
    } catch (error) {
      this.notSent(id, runner, error)
      return false
    }
  }

  /** Takes it back where it stands and should not any more. */
  reconsider(held: Held): void {
    if (held.state !== 'offered') return
    const ref = refOf(held.id)
    this.parts.guard.guarded(ref, () => {
      const snapshot = readRequest(this.runtime, held.id)
      const why = snapshot?.value === 'offered' ? this.whyTakenBack(held, snapshot) : undefined
      if (why !== undefined) this.giveBack(held, why)
    })
  }

  private whyTakenBack(held: Held, { context }: SnapshotOf<RunRequestContext>): TakenBack | undefined {
    const { id, state, supply } = held.runner
    const isItsOwn = state === 'registered' && supply !== undefined && mayTake(supply, id, askingOfRequest(context))
    return this.parts.stops.why(held) ?? (isItsOwn ? undefined : 'runner_changed')
  }

  /** No poll of the runner is there to carry it, or it should not stand any more: it goes back at once, and nobody is to blame. */
  private giveBack(held: Held, why?: TakenBack): void {
    if (held.isReturning) return
    const { holdings } = this.parts
    held.isDelivered = false
    held.isReturning = true
    this.offersReturned++
    const message = { type: 'offer_aborted', runner_id: held.runner.id, attempt: held.attempt, why }
    this.runtime.ask(refOf(held.id), message as never, (answer) => {
      if (answer.ok || holdings.get(held.id) !== held) return
      // It could not go back; then the runner's next poll gets it, or it expires.
      held.isReturning = false
      held.isDelivered = true
    })
  }

  private document(snapshot: SnapshotOf<RunRequestContext>): ExecutionRequest {
    const { nature, settings } = this.runtime
    const endMs = this.runtime.deadlineMs(refOf(snapshot.context.id), 'offer')
    return executionRequest(snapshot, endMs ?? nature.wallMs() + settings.offerMs)
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
    // Before the answer, which may bring the runner's next call at once.
    held.isDelivered = true
    held.callsAtDelivery = runner.calls
    const why = this.whyTakenBack(held, snapshot)
    if (why !== undefined || !polls.answerNewest(runner, this.document(snapshot))) this.giveBack(held, why)
    else if (!guard.isClear) guard.passed([refOf(held.id)])
  }

  private refused(held: Held, { refusal, retryAfterSeconds }: Refused): void {
    const { queue, holdings, holdBacks, paused } = this.parts
    this.offersRefused++
    if (holdings.get(held.id) === held) holdings.drop(held)
    if (retryAfterSeconds !== undefined && refusal.code !== 'quarantined') paused()
    if (queue.holdBack(held.id)) holdBacks.hold(held.id)
  }
}

function refOf(id: string): ActorRef {
  return { kind: 'run_request', id }
}
