/**
 * A loop that keeps something going: it hears of commits, notes what has changed, and takes a tick, a turn of its own, in which
 * it reads committed state and asks actors; then it waits. Its invariants: while the service refuses writes there is no tick, and
 * of one actor it awaits one answer at a time; and a mistake made for one entity holds up that entity alone, any other one the
 * loop for a while, and none of them ends the process.
 */
import type { ActorKind, ActorRef, MessageBody } from '../../machines/machine.ts'
import type { Answer, Runtime } from '../api.ts'
import type { Logger } from '../log.ts'
import { Alarm } from '../time/alarm.ts'
import { Guard, type Health } from './guard.ts'

/** While the service refuses writes, and after a message that was not taken, it is tried again after this long. */
const refusedPauseMs = 250

interface LoopParts {
  /** For the log. */
  readonly name: string
  readonly log: Logger
  /** Of the actors that it asks. */
  readonly kind: ActorKind
  /** Its ticks take at most this part of the time: after a long one the next waits a little. */
  readonly tickShare: number
  /** Does what there is to do. */
  tick(): void
  /** Takes in anew what is committed of an entity at which it failed. */
  reread(ref: ActorRef): void
  /** It rings: time has passed, and a tick follows. */
  rang?(): void
}

export class ControlLoop {
  private readonly runtime: Runtime
  private readonly parts: LoopParts
  private readonly alarm: Alarm
  private readonly guard: Guard
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
    const { name, log } = parts
    const tryAfter = (afterMs: number) => this.wakeAfter(afterMs)
    this.guard = new Guard({ nature: runtime.nature, log, name, tryAfter })
  }

  get health(): Health {
    return this.guard.health
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
    if (!this.isClosed) this.alarm.set(afterMs)
  }

  /** Whether nothing is to be done about the actor now: its answer is awaited, or it is passed over. */
  leaves(id: string): boolean {
    return this.asked.has(id) || this.passesOver(id)
  }

  /** Whether it failed at this actor. */
  passesOver(id: string): boolean {
    return this.guard.passesOver({ kind: this.parts.kind, id })
  }

  /** As the guard has it. */
  guarded<T>(ref: ActorRef, act: () => T): T | undefined {
    return this.guard.guarded(ref, act)
  }

  /** As the guard has it. */
  shown<T>(ref: ActorRef, read: () => T): T | undefined {
    return this.guard.shown(ref, read)
  }

  /** Sends the actor a message. What was not taken is tried again a little later: whether that is still to be done is the caller's. */
  ask(id: string, message: MessageBody, answered: (isTaken: boolean) => void): void {
    const ref = { kind: this.parts.kind, id }
    this.asked.add(id)
    try {
      this.runtime.ask(ref, message, (answer) => {
        this.asked.delete(id)
        if (answer.ok) this.guard.passed([ref])
        else this.refused(ref, answer)
        this.guarded(ref, () => answered(answer.ok))
      })
    } catch (error) {
      this.asked.delete(id)
      throw error
    }
  }

  close(): void {
    this.isClosed = true
    this.alarm.clear()
  }

  private refused(ref: ActorRef, { refusal }: Extract<Answer, { ok: false }>): void {
    // Its step threw, and would throw again at once.
    if (refusal.code === 'internal_error') this.guard.failed(ref, new Error(refusal.detail))
    else {
      this.guard.notTried([ref])
      this.wakeAfter(refusedPauseMs)
    }
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
    const tried = this.guard.tryDue((ref) => this.parts.reread(ref))
    try {
      this.parts.tick()
    } catch (error) {
      this.failed(error, tried)
      return
    }
    this.guard.passed(tried.filter(({ id }) => !this.asked.has(id)))
    this.guard.went()
    const tookMs = nature.monotonicMs() - beganMs
    this.notBeforeMs = beganMs + tookMs / this.parts.tickShare
  }

  /** It was no entity's: thrown on it would end the process, and the next one as soon as it comes there. */
  private failed(error: unknown, tried: readonly ActorRef[]): void {
    const waitMs = this.guard.failedAsAWhole(error)
    this.guard.notTried(tried)
    this.notBeforeMs = this.runtime.nature.monotonicMs() + waitMs
    this.alarm.set(waitMs)
  }
}
