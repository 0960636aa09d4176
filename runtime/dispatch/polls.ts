/**
 * Parked long polls. Each is answered exactly once: with an offer, with news, empty when its time is over, or
 * because it had to end; or it is given up because its client is gone.
 */
import type { ExecutionRequest } from '../../machines/documents/execution-request.ts'
import type { ActorRef } from '../api.ts'
import type { ParkedPoll, PollAnswer, PollRefusal, Respond, Runner } from './runner.ts'
import { type TimerWheel, WheelEntry } from './wheel.ts'

export interface PollHandle {
  /** The client is gone: `respond` will not be called. No effect after `respond` was called. */
  abort(): void
}

/** The handle of a poll that was answered at once. */
export const ANSWERED: PollHandle = Object.freeze({ abort: () => {} })

const NOTHING: PollAnswer = Object.freeze({ draining: false, cancel: Object.freeze([]) })

class Poll extends WheelEntry implements PollHandle {
  private readonly polls: Polls
  readonly runner: Runner
  readonly respond: Respond
  /** The poll's time is over; it is kept only for the offer that is being committed. */
  isOverdue: boolean

  constructor(polls: Polls, runner: Runner, respond: Respond, isOverdue: boolean) {
    super()
    this.polls = polls
    this.runner = runner
    this.respond = respond
    this.isOverdue = isOverdue
  }

  abort(): void {
    this.polls.giveUp(this)
  }

  override fire(): void {
    this.polls.expire(this)
  }

  override about(): ActorRef {
    return this.runner.about()
  }
}

export class Polls {
  private readonly wheel: TimerWheel
  /** Called when a runner has one parked poll fewer, with whether its client was gone. */
  private readonly left: (runner: Runner, isCutOff: boolean) => void
  private count = 0

  constructor(wheel: TimerWheel, left: (runner: Runner, isCutOff: boolean) => void) {
    this.wheel = wheel
    this.left = left
  }

  get size(): number {
    return this.count
  }

  /** Keeps the poll until `dueMs` (monotonic), or as overdue until its runner's offer is committed. */
  park(runner: Runner, respond: Respond, dueMs: number | undefined): Poll {
    const poll = new Poll(this, runner, respond, dueMs === undefined)
    runner.polls.push(poll)
    this.count++
    if (dueMs !== undefined) this.wheel.add(poll, dueMs)
    return poll
  }

  /** Answers the runner's newest parked poll. False if there is none. */
  answerNewest(runner: Runner, offer?: ExecutionRequest): boolean {
    const poll = runner.polls.at(-1)
    if (poll === undefined) return false
    this.end(poll, answerFor(runner, offer))
    return true
  }

  /** Gives polls whose time ran out while an offer was being made their empty answer. */
  endOverdue(runner: Runner): void {
    for (const poll of runner.polls.filter((one) => one.isOverdue)) this.end(poll, answerFor(runner))
  }

  /** Answers all of the runner's polls: empty, or with why they end. */
  endAll(runner: Runner, refusal?: PollRefusal): void {
    for (const poll of runner.polls.slice()) this.end(poll, refusal ?? answerFor(runner))
  }

  giveUp(poll: Poll): void {
    if (this.takeOut(poll)) this.left(poll.runner, true)
  }

  expire(poll: Poll): void {
    // If the offer is refused, the poll ends with that reply.
    if (poll.runner.awaitsOffer) poll.isOverdue = true
    else this.end(poll, answerFor(poll.runner))
  }

  private end(poll: ParkedPoll, answer: PollAnswer | PollRefusal): void {
    if (!this.takeOut(poll)) return
    this.left(poll.runner, false)
    poll.respond(answer)
  }

  private takeOut(poll: ParkedPoll): boolean {
    const { polls } = poll.runner
    const at = polls.lastIndexOf(poll)
    if (at < 0) return false
    polls.splice(at, 1)
    this.wheel.remove(poll)
    this.count--
    return true
  }
}

/** The answer with the runner's news, which counts as told from here on. */
export function answerFor(runner: Runner, offer?: ExecutionRequest): PollAnswer {
  const isDraining = runner.state === 'draining'
  runner.hasUnreportedNews = false
  if (!isDraining && runner.cancels.size === 0) {
    return offer === undefined ? NOTHING : { offer, draining: false, cancel: NOTHING.cancel }
  }
  const news = { draining: isDraining, cancel: runner.takeCancels() }
  runner.hasUnreportedNews = runner.unnamedCancels.size > 0
  return offer === undefined ? news : { offer, ...news }
}
