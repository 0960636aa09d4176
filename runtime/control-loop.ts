/**
 * A loop that keeps something going: it hears of commits, notes what has changed, and takes a tick, a turn of its own, in which
 * it reads committed state and asks actors; then it waits. Its invariant: while the service refuses writes there is no tick, and
 * of one actor it awaits one answer at a time.
 */
import type { ActorKind, MessageBody } from '../machines/machine.ts'
import { Alarm } from './alarm.ts'
import type { Runtime } from './api.ts'

/** While the service refuses writes, and after a message that was not taken, it is tried again after this long. */
const refusedPauseMs = 250

export interface LoopParts {
  /** Of the actors that it asks. */
  readonly kind: ActorKind
  /** Its ticks take at most this part of the time: after a long one the next waits a little. */
  readonly tickShare: number
  /** Does what there is to do. */
  tick(): void
  /** It rings: time has passed, and a tick follows. */
  rang?(): void
}

export class ControlLoop {
  private readonly runtime: Runtime
  private readonly parts: LoopParts
  private readonly alarm: Alarm
  /** Actors that a message of ours is on its way to. */
  private readonly asked = new Set<string>()
  private isWoken = false
  private isClosed = false
  /** Monotonic time before which there is no tick. */
  private notBeforeMs = Number.NEGATIVE_INFINITY

  constructor(runtime: Runtime, parts: LoopParts) {
    this.runtime = runtime
    this.parts = parts
    this.alarm = new Alarm(runtime.nature, () => {
      parts.rang?.()
      this.wake()
    })
  }

  /** Asks for a tick, in the next turn or, after a long one, a little later. */
  wake(): void {
    if (this.isWoken || this.isClosed) return
    const { nature } = this.runtime
    const waitMs = this.notBeforeMs - nature.monotonicMs()
    if (waitMs > 0) {
      this.alarm.set(waitMs)
      return
    }
    this.isWoken = true
    nature.nextTurn(() => this.turn())
  }

  /** Rings after this many milliseconds at the latest. */
  wakeAfter(afterMs: number): void {
    this.alarm.set(afterMs)
  }

  /** Whether an answer of the actor is awaited. */
  awaits(id: string): boolean {
    return this.asked.has(id)
  }

  /** Sends the actor a message. What was not taken is tried again a little later: whether that is still to be done is the caller's. */
  ask(id: string, message: MessageBody, answered: (isTaken: boolean) => void): void {
    this.asked.add(id)
    this.runtime.ask({ kind: this.parts.kind, id }, message, ({ ok }) => {
      this.asked.delete(id)
      answered(ok)
      if (!ok) this.alarm.set(refusedPauseMs)
    })
  }

  close(): void {
    this.isClosed = true
    this.alarm.clear()
  }

  private turn(): void {
    this.isWoken = false
    if (this.isClosed) return
    const { nature, journal } = this.runtime
    if (journal.refuses() !== undefined) {
      this.alarm.set(refusedPauseMs)
      return
    }
    const beganMs = nature.monotonicMs()
    this.parts.tick()
    const tookMs = nature.monotonicMs() - beganMs
    this.notBeforeMs = beganMs + tookMs / this.parts.tickShare
  }
}
