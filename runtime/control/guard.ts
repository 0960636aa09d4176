/**
 * Confines a bug that is met at one entity to that entity: it is passed over and retried, at growing intervals, while
 * all others go on. A failed journal is no such bug: JournalFailure passes through everything here.
 */
import type { ActorRef } from '../../machines/machine.ts'
import { JournalFailure } from '../../storage/journal.ts'
import { readFailureToldMs, tickRetryMsMax } from '../limits.ts'
import { BackedOff, type BackedOffParts } from './backed-off.ts'
import { pauseMs } from './backoff.ts'

/** What an operator is told of a guarded component. */
export interface Health {
  /** Entities at which it failed: they are passed over and retried. */
  readonly passedOverCount: number
  /** How often it failed as a whole since the start. */
  readonly ticksFailed: number
}

export class Guard {
  private readonly parts: BackedOffParts
  private readonly backedOff: BackedOff
  private ticksFailed = 0
  /** Consecutive failures as a whole. */
  private failures = 0
  /** Monotonic time at which a failed read was last logged. */
  private readToldMs = Number.NEGATIVE_INFINITY

  constructor(parts: BackedOffParts) {
    this.parts = parts
    this.backedOff = new BackedOff(parts)
  }

  get health(): Health {
    return { passedOverCount: this.backedOff.count, ticksFailed: this.ticksFailed }
  }

  /** Whether no entity is passed over or being retried. */
  get isClear(): boolean {
    return this.backedOff.count === 0
  }

  /** Whether this entity is passed over: a failure at it, and its retry is not due yet. */
  isBackedOff(ref: ActorRef): boolean {
    return this.backedOff.has(ref)
  }

  /** Notes a failure at this entity. For hot loops, whose own `catch` calls it. Throws JournalFailure. */
  failed(ref: ActorRef, error: unknown): void {
    if (error instanceof JournalFailure) throw error
    this.backedOff.failed(ref, error)
  }

  /**
   * Runs `act`, which concerns this entity only. If it throws: undefined, and the entity is passed over. Throws
   * JournalFailure.
   */
  guarded<T>(ref: ActorRef, act: () => T): T | undefined {
    try {
      return act()
    } catch (error) {
      this.failed(ref, error)
      return undefined
    }
  }

  /**
   * Runs `read` for a caller that only reads; undefined if it threw. The entity is not passed over for that: reads
   * would postpone its work again and again. Throws JournalFailure.
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

  /** Rereads and returns the entities due for a retry: not passed over until `passed`, `notTried` or a new failure. */
  tryDue(reread: (ref: ActorRef) => void): readonly ActorRef[] {
    const tried = this.backedOff.takeDue()
    for (const ref of tried) this.guarded(ref, () => reread(ref))
    return tried
  }

  /** The work is done: those of `tried` that have not failed again are cleared. */
  passed(tried: readonly ActorRef[]): void {
    this.backedOff.passed(tried)
  }

  /** Nothing is known of these: their retry is still due. */
  notTried(tried: readonly ActorRef[]): void {
    this.backedOff.notTried(tried)
  }

  /** A failure that concerns no single entity. Returns how long to pause, milliseconds. Throws JournalFailure. */
  failedAsAWhole(error: unknown): number {
    if (error instanceof JournalFailure) throw error
    const { name, log } = this.parts
    this.ticksFailed++
    this.failures++
    const waitMs = pauseMs(this.failures, tickRetryMsMax)
    log.error(
      { by: name, failures: this.failures, retry_in_ms: waitMs, err: error },
      `the ${name} failed; pausing before the retry`,
    )
    return waitMs
  }

  /** A tick went through without failing as a whole. */
  went(): void {
    this.failures = 0
  }

  /** One line a minute says why, however often it is read. */
  private tellOfRead({ kind, id }: ActorRef, error: unknown): void {
    const nowMs = this.parts.platform.monotonicMs()
    if (nowMs - this.readToldMs < readFailureToldMs) return
    this.readToldMs = nowMs
    const { name, log } = this.parts
    log.error({ by: name, kind, id, err: error }, `the ${name} failed to report a status`)
  }
}
