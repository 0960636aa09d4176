/**
 * How senders are answered. One sender's mistake does not affect the next: an exception from a reply or a listener is
 * logged, and the rest of the batch is answered as usual.
 */
import type { ActorRef } from '../machines/machine.ts'
import type { Mail } from './actor.ts'
import type { Answer, Platform, Refused, Reply } from './api.ts'
import type { Settled } from './batch.ts'
import type { Load } from './load.ts'
import type { Logger } from './log.ts'

export class Answers {
  private readonly platform: Pick<Platform, 'nextTurn'>
  private readonly log: Logger
  private readonly load: Load
  private refused: { readonly reply: Reply; readonly answer: Refused }[] = []

  constructor(platform: Pick<Platform, 'nextTurn'>, log: Logger, load: Load) {
    this.platform = platform
    this.log = log
    this.load = load
  }

  /**
   * A refusal is answered a turn later, so that the reply never comes before `ask` has returned. It gets a turn of its
   * own, because it depends on no step and must not wait for one.
   */
  refuse(reply: Reply, answer: Refused): void {
    if (this.refused.push({ reply, answer }) === 1) this.platform.nextTurn(() => this.giveRefusals())
  }

  giveRefusals(): void {
    const { refused } = this
    this.refused = []
    for (const { reply, answer } of refused) this.give(reply, answer)
  }

  /** Answers each message of a batch. `baseSequence`: the log's last event before the batch. */
  tell(settled: readonly Settled[], baseSequence: number): void {
    for (const { mail, answer } of settled) {
      if (mail.source.from !== 'outside') {
        this.note(mail, answer)
        continue
      }
      this.load.answered()
      if (answer.ok) answer.sequence += baseSequence
      this.give(mail.source.reply, answer)
    }
  }

  /** Gives one answer to all senders of messages that were taken. */
  giveAll(replies: readonly Reply[], answer: Answer): void {
    for (const reply of replies) {
      this.load.answered()
      this.give(reply, answer)
    }
  }

  give(reply: Reply, answer: Answer): void {
    try {
      reply(answer)
    } catch (error) {
      this.log.error({ err: error }, 'a reply threw')
    }
  }

  /** Nobody waits for the outcome of an internal message, but a refusal is logged. */
  private note(mail: Mail, answer: Answer): void {
    if (answer.ok || mail.source.from === 'deadline') return
    this.log.warn({ message: mail.body.type, source: mail.source, refusal: answer.refusal }, 'message refused')
  }

  guarded(what: string, run: () => void): void {
    try {
      run()
    } catch (error) {
      this.log.error({ err: error }, `${what} threw`)
    }
  }
}

/** A refusal because the service cannot do it now but may later. */
export function unavailable(code: string, detail: string): Refused {
  return { ok: false, refusal: { code, detail }, isPassing: true }
}

const NO_WRITES: Readonly<Record<string, string>> = {
  disk_reserve: 'less than `disk_reserve` of the disk is free. It resumes once there is more.',
  read_only: 'too little of the disk was free when it started. Free some, and restart it.',
  view_backlog: 'its lists are too far behind the log. It resumes in a moment.',
}

/** Why the journal takes no writes now (`Journal.refuses`), in words. */
export function noWrites(reason: string): string {
  return `The service accepts no writes: ${NO_WRITES[reason] ?? reason}`
}

export const OVERLOADED = unavailable('overloaded', 'Too much work is waiting; the request was not accepted.')

export const STORAGE_FAILED = unavailable('storage_failed', 'The storage failed; the request was not accepted.')

/** For outside callers. Timers stay rows, deliveries stay in the outbox, and both wait. */
export function quarantined({ kind, id }: ActorRef): Refused {
  return unavailable(
    'quarantined',
    `The record of ${kind} ${id} cannot be read; it is quarantined until it is repaired.`,
  )
}
