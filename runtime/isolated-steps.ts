/**
 * Messages that are each stepped in a commit of their own: those of a batch that the journal rejected, and those that
 * were set aside. So one that cannot be stored takes nothing else with it. Each stands first in its actor's mailbox.
 */
import type { Actor, Mail } from './actor.ts'
import type { Answers } from './answers.ts'
import type { Batch } from './batch.ts'
import type { Logger } from './log.ts'
import type { SetAside } from './set-aside.ts'

interface IsolatedStepsParts {
  readonly log: Logger
  readonly answers: Answers
  readonly setAside: SetAside
  /** Queues an actor that has mail. */
  readonly enqueue: (actor: Actor) => void
}

export class IsolatedSteps {
  private readonly parts: IsolatedStepsParts
  /** One entry per message. */
  private readonly actors: Actor[] = []

  constructor(parts: IsolatedStepsParts) {
    this.parts = parts
  }

  /** The actor whose next message is stepped alone; undefined if there is none, or its last step is uncommitted. */
  next(): Actor | undefined {
    for (let actor = this.actors[0]; actor !== undefined; actor = this.actors[0]) {
      if (actor.committing) return undefined
      this.actors.shift()
      // Messages from outside may have been turned away since.
      if (actor.mailCount > 0) return actor
    }
    return undefined
  }

  /** Puts messages before all that wait for the actor. */
  put(actor: Actor, mail: readonly Mail[]): void {
    actor.putFirst(mail)
    for (const _ of mail) this.actors.push(actor)
    this.parts.enqueue(actor)
  }

  /**
   * The journal rejected the batch (a name too long for a key) and is unchanged, so the actors are rolled back. The
   * messages are retried one by one; one rejected alone is answered, or set aside like a message whose step throws.
   */
  takeBack(batch: Batch, error: unknown): void {
    const { log, answers, setAside } = this.parts
    for (const { actor } of batch.batched) actor.forgetRecord()
    const [first, ...others] = [...batch.settled, ...batch.late]
    if (first === undefined) return
    if (others.length > 0) {
      log.error({ err: error, messages: others.length + 1 }, 'the journal does not accept a batch')
      for (const [actor, mail] of batch.mail()) this.put(actor, mail)
      return
    }
    const answer = setAside.failed(first.actor, first.mail, error)
    if (answer !== undefined) answers.giveAll(batch.senders(), answer)
  }
}
