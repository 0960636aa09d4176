/**
 * Entities at which whoever looks after them has failed: a mistake of the program, since what cannot be read is no failure. Each is
 * passed over until its time comes, later each time, so that one of them neither ends the service nor holds up the others.
 */
import type { ActorRef } from '../../machines/machine.ts'
import { actorKey } from '../actor.ts'
import type { Nature } from '../api.ts'
import { passedOverToldMax, passedOverToldMs, setAsideRetryMsMax } from '../limits.ts'
import type { Logger } from '../log.ts'
import { pauseMs } from './backoff.ts'

interface Entry {
  readonly ref: ActorRef
  /** How often it has failed since it last did not. */
  failures: number
  /** Monotonic time of the next try; infinite while one is under way. */
  dueMs: number
}

export interface PassedOverParts {
  readonly nature: Pick<Nature, 'monotonicMs'>
  readonly log: Logger
  /** Who looks after them. */
  readonly name: string
  /** A try is to come after this long at the latest. */
  readonly tryAfter: (afterMs: number) => void
}

export class PassedOver {
  private readonly parts: PassedOverParts
  private readonly entries = new Map<string, Entry>()
  /** Failures named in the log in the minute that ends then (monotonic time), and those in it that are only counted. */
  private minuteEndMs = Number.NEGATIVE_INFINITY
  private named = 0
  private unnamed = 0

  constructor(parts: PassedOverParts) {
    this.parts = parts
  }

  get count(): number {
    return this.entries.size
  }

  /** Whether its time has not come. */
  has({ kind, id }: ActorRef): boolean {
    if (this.entries.size === 0) return false
    return (this.entries.get(actorKey(kind, id))?.dueMs ?? Number.POSITIVE_INFINITY) < Number.POSITIVE_INFINITY
  }

  /** A second failure before its time is no other one. */
  failed(ref: ActorRef, error: unknown): void {
    const { kind, id } = ref
    if (this.has(ref)) return
    const entry = this.entries.get(actorKey(kind, id)) ?? { ref: { kind, id }, failures: 0, dueMs: 0 }
    this.entries.set(actorKey(kind, id), entry)
    entry.failures++
    const waitMs = pauseMs(entry.failures, setAsideRetryMsMax)
    const nowMs = this.parts.nature.monotonicMs()
    entry.dueMs = nowMs + waitMs
    this.parts.tryAfter(waitMs)
    this.tell(entry, waitMs, nowMs, error)
  }

  /** Those whose time has come: they are passed over no longer, until `passed` or `notTried`. */
  takeDue(): readonly ActorRef[] {
    if (this.entries.size === 0 && this.unnamed === 0) return NONE
    const nowMs = this.parts.nature.monotonicMs()
    this.tellUnnamed(nowMs)
    let nextMs = this.unnamed > 0 ? this.minuteEndMs : Number.POSITIVE_INFINITY
    const due: ActorRef[] = []
    for (const entry of this.entries.values()) {
      if (entry.dueMs <= nowMs) {
        entry.dueMs = Number.POSITIVE_INFINITY
        due.push(entry.ref)
      } else nextMs = Math.min(nextMs, entry.dueMs)
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.parts.tryAfter(nextMs - nowMs)
    return due
  }

  /** All was done that there was to do: those of them that have not failed again are well. */
  passed(tried: readonly ActorRef[]): void {
    for (const { kind, id } of tried) {
      const key = actorKey(kind, id)
      if (this.entries.get(key)?.dueMs === Number.POSITIVE_INFINITY) this.entries.delete(key)
    }
  }

  /** Nothing is known of them: their time has come still. */
  notTried(tried: readonly ActorRef[]): void {
    for (const { kind, id } of tried) {
      const entry = this.entries.get(actorKey(kind, id))
      if (entry?.dueMs === Number.POSITIVE_INFINITY) entry.dueMs = 0
    }
  }

  private tell({ ref, failures }: Entry, retry_in_ms: number, nowMs: number, error: unknown): void {
    const { log, name, tryAfter } = this.parts
    this.tellUnnamed(nowMs)
    if (this.named === 0) this.minuteEndMs = nowMs + passedOverToldMs
    if (this.named < passedOverToldMax) {
      this.named++
      log.error({ by: name, ...ref, failures, retry_in_ms, err: error }, `the ${name} failed at it: it is passed over`)
    } else if (++this.unnamed === 1) tryAfter(this.minuteEndMs - nowMs)
  }

  /** When the minute is over. */
  private tellUnnamed(nowMs: number): void {
    if (nowMs < this.minuteEndMs) return
    const { unnamed } = this
    this.named = 0
    this.unnamed = 0
    const { log, name } = this.parts
    if (unnamed > 0) log.error({ by: name, unnamed }, `the ${name} failed more often than is named`)
  }
}

const NONE: readonly ActorRef[] = []
