/**
 * How many messages wait, and for how long. Keeps the bound on messages from outside, and answers admission and the
 * metrics. Hot: a few comparisons per message; the clock is read about twice a turn.
 */
import type { Actor } from './actor.ts'
import type { Platform } from './api.ts'
import { mailboxDepthMax, messagesInFlightMax } from './limits.ts'

/** Before anything was measured: a tenth of a millisecond per message. */
const FIRST_MS_EACH = 0.1
/** Fewest answers between two clock readings that make a measurement: a flush shared by few says nothing about one. */
const MEASURED_ANSWERS_MIN = 32
/** Weight of the newest measurement. */
const NEWEST_SHARE = 0.2

export class Load {
  /** Messages from outside that were taken and not yet answered. */
  messagesInFlight = 0
  readonly #platform: Pick<Platform, 'monotonicMs'>
  #deepest = 0
  #taken = 0
  #answered = 0
  /**
   * One message is followed through the queue. Messages are answered roughly in order of arrival, so the followed one
   * counts as answered once as many answers were given as messages had been taken when it came.
   */
  #followed = 0
  #followedSinceMs = 0
  #answeredMs = 0
  #isAnswered = true
  #answeredBefore = 0
  #msEach = FIRST_MS_EACH

  constructor(platform: Pick<Platform, 'monotonicMs'>) {
    this.#platform = platform
  }

  /** Whether one more message from outside may wait for this actor. */
  admits(actor: Actor): boolean {
    return actor.mailCount < mailboxDepthMax && this.messagesInFlight < messagesInFlightMax
  }

  /** A message from outside was put into the actor's mailbox. */
  taken(actor: Actor): void {
    this.messagesInFlight += 1
    this.#taken += 1
    if (this.#isAnswered) this.#follow()
    if (actor.mailCount > this.#deepest) this.#deepest = actor.mailCount
  }

  answered(): void {
    this.messagesInFlight -= 1
    this.#answered += 1
    if (this.#isAnswered || this.#answered < this.#followed) return
    this.#isAnswered = true
    this.#answeredMs = this.#platform.monotonicMs()
  }

  /**
   * How long a message arriving now would wait, milliseconds: the larger of how long the followed message has waited
   * and how long all waiting messages would take at the present rate.
   */
  waitMs(): number {
    if (this.messagesInFlight === 0) return 0
    const followedMs = this.#isAnswered ? 0 : this.#platform.monotonicMs() - this.#followedSinceMs
    return Math.max(followedMs, this.messagesInFlight * this.#msEach)
  }

  /** The most messages that waited in one mailbox since the last call: a turn empties most mailboxes. */
  takeDeepest(): number {
    const deepest = this.#deepest
    this.#deepest = 0
    return deepest
  }

  #follow(): void {
    // A turn's answers are given one by one: only now has all that came with the followed message been answered.
    const answers = this.#answered - this.#answeredBefore
    if (answers >= MEASURED_ANSWERS_MIN) {
      const msEach = (this.#answeredMs - this.#followedSinceMs) / answers
      this.#msEach += (msEach - this.#msEach) * NEWEST_SHARE
    }
    this.#followed = this.#taken
    this.#followedSinceMs = this.#platform.monotonicMs()
    this.#answeredBefore = this.#answered
    this.#isAnswered = false
  }
}
