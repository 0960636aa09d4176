/**
 * Retries what its guard has passed over, for a component that has no ticks and acts on events as they come: an alarm
 * rings when a retry is due.
 */
import type { ActorRef } from '../../machines/machine.ts'
import type { Platform } from '../api.ts'
import { Alarm } from '../time/alarm.ts'
import type { BackedOffParts } from './backed-off.ts'
import { Guard } from './guard.ts'

interface RetriesParts extends Pick<BackedOffParts, 'log' | 'name'> {
  readonly platform: Platform
  /** Takes in the committed state of an entity again, or repeats what failed at it. */
  reread(ref: ActorRef): void
  /** Called once all due entities were reread. */
  rereadAll?(): void
  /** The retry is still under way: whether it succeeds is told later, through `passed`. */
  isUnderWay?(ref: ActorRef): boolean
}

export class Retries {
  readonly guard: Guard
  private readonly parts: RetriesParts
  private readonly alarm: Alarm
  private isClosed = false

  constructor(parts: RetriesParts) {
    const { platform, log, name } = parts
    this.parts = parts
    this.alarm = new Alarm(platform, () => this.ring())
    this.guard = new Guard({ platform, log, name, tryAfter: (afterMs) => this.tryAfter(afterMs) })
  }

  close(): void {
    this.isClosed = true
    this.alarm.clear()
  }

  private tryAfter(afterMs: number): void {
    if (!this.isClosed) this.alarm.set(afterMs)
  }

  private ring(): void {
    const { parts, guard } = this
    const tried = guard.tryDue((ref) => parts.reread(ref))
    parts.rereadAll?.()
    guard.passed(tried.filter((ref) => parts.isUnderWay?.(ref) !== true))
  }
}
