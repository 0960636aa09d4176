/**
 * How much waits: the bound on messages from outside is kept here, and what the metrics tell of it. Hot: a few
 * comparisons a message.
 */
import type { Actor } from './actor.ts'
import { mailboxDepthMax, messagesInFlightMax } from './limits.ts'

export class Load {
  /** Messages from outside that were taken and not yet answered. */
  messagesInFlight = 0
  #deepest = 0

  /** Whether one more message from outside may wait for this actor. */
  admits(actor: Actor): boolean {
    return actor.mailCount < mailboxDepthMax && this.messagesInFlight < messagesInFlightMax
  }

  /** A message from outside was put into the actor's mailbox. */
  taken(actor: Actor): void {
    this.messagesInFlight += 1
    if (actor.mailCount > this.#deepest) this.#deepest = actor.mailCount
  }

  answered(): void {
    this.messagesInFlight -= 1
  }

  /** The most messages that waited in one mailbox since this was last asked: a turn empties them all. */
  takeDeepest(): number {
    const deepest = this.#deepest
    this.#deepest = 0
    return deepest
  }
}
