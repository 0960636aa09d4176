/**
 * The loop that drives the scheduler or the steward: it hears of commits, notes what has changed, and takes a tick, in
 * a turn of its own, in which it reads committed state and asks actors; then it waits. Invariants: there is no tick
 * while the service refuses writes; at most one answer per actor is awaited; a bug met at one entity holds up that
 * entity alone, any other bug the loop for a while, and none ends the process.
 */
import type { ActorKind, ActorRef, MessageBody } from '../../machines/machine.ts'
import type { Messages } from '../../machines/messages.ts'
import type { Answer, Runtime } from '../api.ts'
import { asksUnderWayMax, refusedPauseMs } from '../limits.ts'
import type { Logger } from '../log.ts'
import { Alarm } from '../time/alarm.ts'
import { Guard, type Health } from './guard.ts'

interface LoopParts<K extends ActorKind> {
  /** Named in the log. */
  readonly name: string
  readonly log: Logger
  /** Kind of the actors that the loop asks. */
  readonly kind: K
  /** Largest share of the time that ticks may take: after a long tick the next one waits a little. */
  readonly tickShare: number
  /** Does the work that is due. */
  tick(): void
  /** Takes in the committed state of an entity again, after a failure at it. */
  reread(ref: ActorRef): void
  /** The alarm has rung, and a tick follows. */
  rang?(): void
}

export class ControlLoop<K extends ActorKind> {
  private readonly runtime: Runtime
  private readonly parts: LoopParts<K>
  private readonly alarm: Alarm
  private readonly guard: Guard
  /** Actors with a message from this loop under way. */
  private readonly asked = new Set<string>()
  private isWoken = false
  private isClosed = false
  /** Monotonic time before which there is no tick. */
  private notBeforeMs = Number.NEGATIVE_INFINITY

  constructor(runtime: Runtime, parts: LoopParts<K>) {
    this.runtime = runtime
    this.parts = parts
    this.alarm = new Alarm(runtime.platform, () => {
      parts.rang?.()
      this.wake()
    })
    const { name, log } = parts
    const tryAfter = (afterMs: number) => this.wakeAfter(afterMs)
    this.guard = new Guard({ platform: runtime.platform, log, name, tryAfter })
  }

  get health(): Health {
    return this.guard.health
  }

  /** Asks for a tick in the next turn or, after a long one, a little later. */
  wake(): void {
    if (this.isWoken || this.isClosed) return
    const { platform } = this.runtime
    const waitMs = this.notBeforeMs - platform.monotonicMs()
    if (waitMs > 0) {
      this.alarm.set(waitMs)
      return
    }
    this.isWoken = true
    platform.nextTurn(() => this.turn())
  }

  /** Asks for a tick after this many milliseconds at the latest. */
  wakeAfter(afterMs: number): void {
    if (!this.isClosed) this.alarm.set(afterMs)
  }

  /** Whether the actor is to be left alone now: its answer is awaited, or it is passed over. */
  leaves(id: string): boolean {
    return this.asked.has(id) || this.isBackedOff(id)
  }

  /** Whether as much is under way as may be: a tick follows an answer. */
  get isFull(): boolean {
    return this.asked.size >= asksUnderWayMax
  }

  /** Those of the entries that are not to be left alone, until as much is under way as may be. */
  *askable<T extends { readonly id: string }>(entries: Iterable<T>): Generator<T> {
    for (const entry of entries) {
      if (this.isFull) return
      if (!this.leaves(entry.id)) yield entry
    }
  }

  /** Whether the actor is passed over after a failure. */
  isBackedOff(id: string): boolean {
    return this.guard.isBackedOff({ kind: this.parts.kind, id })
  }

  /** See `Guard.guarded`. */
  guarded<T>(ref: ActorRef, act: () => T): T | undefined {
    return this.guard.guarded(ref, act)
  }

  /** See `Guard.shown`. */
  shown<T>(ref: ActorRef, read: () => T): T | undefined {
    return this.guard.shown(ref, read)
  }

  /** Sends the actor a message. A refusal makes a tick follow soon; the caller decides whether to ask again. */
  ask(id: string, message: Messages[K], answered: (isTaken: boolean) => void): void {
    const ref = { kind: this.parts.kind, id }
    this.asked.add(id)
    try {
      this.runtime.ask(ref, message as MessageBody, (answer) => {
        if (this.isFull) this.wake()
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
    // The step threw, and would throw again at once.
    if (refusal.code === 'internal_error') this.guard.failed(ref, new Error(refusal.detail))
    else {
      this.guard.notTried([ref])
      this.wakeAfter(refusedPauseMs)
    }
  }

  private turn(): void {
    this.isWoken = false
    if (this.isClosed) return
    const { platform, journal } = this.runtime
    if (journal.refuses() !== undefined) {
      this.alarm.set(refusedPauseMs)
      return
    }
    const beganMs = platform.monotonicMs()
    const tried = this.guard.tryDue((ref) => this.parts.reread(ref))
    try {
      this.parts.tick()
    } catch (error) {
      this.failed(error, tried)
      return
    }
    this.guard.passed(tried.filter(({ id }) => !this.asked.has(id)))
    this.guard.went()
    const tookMs = platform.monotonicMs() - beganMs
    this.notBeforeMs = beganMs + tookMs / this.parts.tickShare
  }

  /** The failure concerned no entity. Rethrown, it would end the process, and the next process at the same point. */
  private failed(error: unknown, tried: readonly ActorRef[]): void {
    const waitMs = this.guard.failedAsAWhole(error)
    this.guard.notTried(tried)
    this.notBeforeMs = this.runtime.platform.monotonicMs() + waitMs
    this.alarm.set(waitMs)
  }
}
