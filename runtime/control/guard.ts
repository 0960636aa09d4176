/**
 * What keeps a mistake of the program at one entity that entity's: it is passed over and tried again, later each time, and all
 * others go on. A journal that has failed is no such mistake, and passes through everything here.
 */
import type { ActorRef } from '../../machines/machine.ts'
import { JournalFailure } from '../../storage/journal.ts'
import { readFailureToldMs, tickRetryMsMax } from '../limits.ts'
import { pauseMs } from './backoff.ts'
import { PassedOver, type PassedOverParts } from './passed-over.ts'

/** What an operator is told of whoever has one. */
export interface Health {
  /** Entities at which it failed: they are passed over, and tried again. */
  readonly passedOverCount: number
  /** How often it failed as a whole since the start. */
  readonly ticksFailed: number
}

export class Guard {
  private readonly parts: PassedOverParts
  private readonly passedOver: PassedOver
  private ticksFailed = 0
  /** Of these the last ones, one behind the other. */
  private failures = 0
  /** Monotonic time at which a failure of a read was last told. */
  private readToldMs = Number.NEGATIVE_INFINITY

  constructor(parts: PassedOverParts) {
    this.parts = parts
    this.passedOver = new PassedOver(parts)
  }

  get health(): Health {
    return { passedOverCount: this.passedOver.count, ticksFailed: this.ticksFailed }
  }

  /** Whether it failed at no entity. */
  get isClear(): boolean {
    return this.passedOver.count === 0
  }

  /** Whether it failed at this entity, and its time has not come. */
  passesOver(ref: ActorRef): boolean {
    return this.passedOver.has(ref)
  }

  /** It failed at this entity. For loops that are hot: the `catch` around the body calls it. Throws JournalFailure. */
  failed(ref: ActorRef, error: unknown): void {
    if (error instanceof JournalFailure) throw error
    this.passedOver.failed(ref, error)
  }

  /** What `act` answers, which is about this entity alone; undefined: it threw, and the entity is passed over. Throws JournalFailure. */
  guarded<T>(ref: ActorRef, act: () => T): T | undefined {
    try {
      return act()
    } catch (error) {
      this.failed(ref, error)
      return undefined
    }
  }

  /**
   * What `read` answers, for somebody who only reads; undefined: it threw. No work is passed over for that, which would be tried
   * again with each read, and never later. Throws JournalFailure.
   */
  shown<T>(ref: ActorRef, read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      if (error instanceof JournalFailure) throw error
      this.tellOfRead(ref, error)
      return undefined
    }
  }

  /** Rereads those whose time has come. Answers them: they are passed over no longer, until `passed` or `notTried`. */
  tryDue(reread: (ref: ActorRef) => void): readonly ActorRef[] {
    const tried = this.passedOver.takeDue()
    for (const ref of tried) this.guarded(ref, () => reread(ref))
    return tried
  }

  /** All was done that there was to do: those of them that have not failed again are well. */
  passed(tried: readonly ActorRef[]): void {
    this.passedOver.passed(tried)
  }

  /** Nothing is known of them: their time has come still. */
  notTried(tried: readonly ActorRef[]): void {
    this.passedOver.notTried(tried)
  }

  /** It failed at what is no entity's. Answers for how long it is to pause, milliseconds. Throws JournalFailure. */
  failedAsAWhole(error: unknown): number {
    if (error instanceof JournalFailure) throw error
    const { name, log } = this.parts
    this.ticksFailed++
    this.failures++
    const waitMs = pauseMs(this.failures, tickRetryMsMax)
    log.error({ by: name, failures: this.failures, retry_in_ms: waitMs, err: error }, `the ${name} failed: it pauses`)
    return waitMs
  }

  /** As a whole it did not fail. */
  went(): void {
    this.failures = 0
  }

  /** However often it is read: a line a minute says why. */
  private tellOfRead({ kind, id }: ActorRef, error: unknown): void {
    const nowMs = this.parts.nature.monotonicMs()
    if (nowMs - this.readToldMs < readFailureToldMs) return
    this.readToldMs = nowMs
    const { name, log } = this.parts
    log.error({ by: name, kind, id, err: error }, `the ${name} failed to say how it stands`)
  }
}
