/**
 * Retries what its guard has passed over, for a component that has no ticks and acts on events as they come: an alarm
 * rings when a retry is due.
 */
import type { ActorRef } from '../../machines/machine.ts'
import type { Nature } from '../api.ts'
import { Alarm } from '../time/alarm.ts'
import { Guard } from './guard.ts'
import type { PassedOverParts } from './passed-over.ts'

interface SecondTriesParts extends Pick<PassedOverParts, 'log' | 'name'> {
  readonly nature: Nature
  /** Takes in the committed state of an entity again, or repeats what failed at it. */
  reread(ref: ActorRef): void
  /** Called once all due entities were reread. */
  rereadAll?(): void
  /** The retry is still under way: whether it succeeds is told later, through `passed`. */
  isUnderWay?(ref: ActorRef): boolean
}

export class SecondTries {
  readonly guard: Guard
  private readonly parts: SecondTriesParts
  private readonly alarm: Alarm
  private isClosed = false

  constructor(parts: SecondTriesParts) {
    const { nature, log, name } = parts
    this.parts = parts
    this.alarm = new Alarm(nature, () => this.ring())
    this.guard = new Guard({ nature, log, name, tryAfter: (afterMs) => this.tryAfter(afterMs) })
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
