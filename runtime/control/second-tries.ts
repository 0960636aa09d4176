/**
 * When one who has no ticks of his own, and does things as he hears of them, comes back to what his guard has passed over: an
 * alarm rings for it.
 */
import type { ActorRef } from '../../machines/machine.ts'
import type { Nature } from '../api.ts'
import { Alarm } from '../time/alarm.ts'
import { Guard } from './guard.ts'
import type { PassedOverParts } from './passed-over.ts'

interface SecondTriesParts extends Pick<PassedOverParts, 'log' | 'name'> {
  readonly nature: Nature
  /** Takes in anew what is committed of an entity, or does again what failed at it. */
  reread(ref: ActorRef): void
  /** All whose time had come were reread. */
  rereadAll?(): void
  /** What there is to do about it is still under way: whether it is well is said later, by `passed`. */
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
