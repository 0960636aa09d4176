/**
 * Entities at which a component failed because of a bug (an unreadable record is no failure). Each is passed over until
 * its retry is due, at growing intervals, so that it neither ends the service nor holds up the others.
 */
import type { ActorRef } from '../../machines/machine.ts'
import { actorKey } from '../actor.ts'
import type { Platform } from '../api.ts'
import { backedOffLoggedMax, backedOffLogWindowMs, setAsideRetryMsMax } from '../limits.ts'
import type { Logger } from '../log.ts'
import { pauseMs } from './backoff.ts'

interface Entry {
  readonly ref: ActorRef
  /** Consecutive failures. */
  failures: number
  /** Monotonic time of the next try; infinite while one is under way. */
  dueMs: number
}

export interface BackedOffParts {
  readonly platform: Pick<Platform, 'monotonicMs'>
  readonly log: Logger
  /** The component's name. */
  readonly name: string
  /** Schedules the next try, after this long at the latest. */
  readonly tryAfter: (afterMs: number) => void
}

export class BackedOff {
  private readonly parts: BackedOffParts
  private readonly entries = new Map<string, Entry>()
  /** End of the current log minute (monotonic); failures named in the log in it, and those only counted. */
  private minuteEndMs = Number.NEGATIVE_INFINITY
  private named = 0
  private unnamed = 0

  constructor(parts: BackedOffParts) {
    this.parts = parts
  }

  get count(): number {
    return this.entries.size
  }

  /** Whether its retry is not due yet. */
  has({ kind, id }: ActorRef): boolean {
    if (this.entries.size === 0) return false
    return (this.entries.get(actorKey(kind, id))?.dueMs ?? Number.POSITIVE_INFINITY) < Number.POSITIVE_INFINITY
  }

  /** Notes a failure; a second one before the retry is due does not count. */
  failed(ref: ActorRef, error: unknown): void {
    const { kind, id } = ref
    if (this.has(ref)) return
    const entry = this.entries.get(actorKey(kind, id)) ?? { ref: { kind, id }, failures: 0, dueMs: 0 }
    this.entries.set(actorKey(kind, id), entry)
    entry.failures++
    const waitMs = pauseMs(entry.failures, setAsideRetryMsMax)
    const nowMs = this.parts.platform.monotonicMs()
    entry.dueMs = nowMs + waitMs
    this.parts.tryAfter(waitMs)
    this.tell(entry, waitMs, nowMs, error)
  }

  /** Takes the entities whose retry is due: they count as not passed over until `passed` or `notTried`. */
  takeDue(): readonly ActorRef[] {
    if (this.entries.size === 0 && this.unnamed === 0) return NONE
    const nowMs = this.parts.platform.monotonicMs()
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

  /** The work is done: those of `tried` that have not failed again are cleared. */
  passed(tried: readonly ActorRef[]): void {
    for (const { kind, id } of tried) {
      const key = actorKey(kind, id)
      if (this.entries.get(key)?.dueMs === Number.POSITIVE_INFINITY) this.entries.delete(key)
    }
  }

  /** Nothing is known of these: their retry is still due. */
  notTried(tried: readonly ActorRef[]): void {
    for (const { kind, id } of tried) {
      const entry = this.entries.get(actorKey(kind, id))
      if (entry?.dueMs === Number.POSITIVE_INFINITY) entry.dueMs = 0
    }
  }

  private tell({ ref, failures }: Entry, retry_in_ms: number, nowMs: number, error: unknown): void {
    const { log, name, tryAfter } = this.parts
    this.tellUnnamed(nowMs)
    if (this.named === 0) this.minuteEndMs = nowMs + backedOffLogWindowMs
    if (this.named < backedOffLoggedMax) {
      this.named++
      log.error(
        { by: name, ...ref, failures, retry_in_ms, err: error },
        `the ${name} failed on this entity; skipping it until the retry`,
      )
    } else if (++this.unnamed === 1) tryAfter(this.minuteEndMs - nowMs)
  }

  /** Logs the number of unnamed failures once the minute is over. */
  private tellUnnamed(nowMs: number): void {
    if (nowMs < this.minuteEndMs) return
    const { unnamed } = this
    this.named = 0
    this.unnamed = 0
    const { log, name } = this.parts
    if (unnamed > 0) log.error({ by: name, unnamed }, `the ${name} had more failures than are logged individually`)
  }
}

const NONE: readonly ActorRef[] = []
