/**
 * Everything that falls due: durable timers on the wall clock and deadlines on the monotonic one, with one timer
 * of the event loop for both. What falls due while the journal refuses writes waits until it takes them again. Who has spoken by
 * then is heard first: what lies in the sockets is read before anything falls due, and where nothing was read for a while,
 * because the process stood still, deadlines begin anew, once.
 */
import type { ActorRef, MessageBody } from '../../machines/machine.ts'
import type { Journal } from '../../storage/journal.ts'
import { type Actor, actorKey, type Mail } from '../actor.ts'
import type { Nature } from '../api.ts'
import type { BatchedStep, Settled } from '../batch.ts'
import { clockRecheckMs, stoodStillMs, timersPerTurnMax, turnsHeardBeforeDue } from '../limits.ts'
import type { Logger } from '../log.ts'
import type { Reader } from '../reader.ts'
import type { Settings } from '../settings.ts'
import type { Stepper } from '../stepper.ts'
import { Alarm } from './alarm.ts'
import { Deadlines } from './deadlines.ts'
import { Timers } from './timers.ts'

/** How long what could not be done because the journal refuses writes waits before it is tried again. */
export const refusedRetryMs = 100

export type Amend = (ref: ActorRef, message: MessageBody) => MessageBody

interface DueParts {
  readonly nature: Nature
  readonly journal: Journal
  readonly settings: Settings
  readonly log: Logger
  /** Puts what fell due into its actor's mailbox. */
  readonly deliver: (ref: ActorRef, mail: Mail) => void
}

export class Due {
  /** Deadlines that passed since the start, by name: those that the machine took for passed. */
  readonly passed = new Map<string, number>()
  private readonly parts: DueParts
  private readonly deadlines = new Deadlines()
  private readonly timers: Timers
  private readonly alarm: Alarm
  private readonly amendments: Amend[] = []
  private readonly unheard = { refusedMs: Number.NEGATIVE_INFINITY, stoodStillMs: Number.NEGATIVE_INFINITY }
  /** It has rung, and what is due is looked at a few turns later. */
  private isLooking = false
  private isStopped = false

  constructor(parts: DueParts) {
    this.parts = parts
    this.timers = new Timers(parts.journal)
    this.alarm = new Alarm(parts.nature, (lateMs) => this.ring(lateMs))
  }

  /** Start the deadlines of a kind's actors in full length, as the service starts. */
  begin({ module }: Stepper, reader: Reader): void {
    const nowMs = this.parts.nature.monotonicMs()
    for (const state of module.deadlineStates)
      for (const { ref, snapshot } of reader.scan(module.kind, 'state', state)) {
        const deadlines = module.deadlines(snapshot, this.parts.settings)
        this.deadlines.set(actorKey(ref.kind, ref.id), ref, deadlines, nowMs)
      }
  }

  /** A step was committed: its deadlines hold from now, its timers wait. */
  committed(actor: Actor, step: BatchedStep, nowMs: number): void {
    const { module } = actor.stepper
    if (module.deadlineStates.length > 0) {
      this.deadlines.set(actor.key, actor.ref, module.deadlines(step.after.snapshot, this.parts.settings), nowMs)
      // What the service tells itself is no sign of life.
      if (step.posted !== undefined) this.deadlines.heard(actor.key, step.posted, nowMs)
    }
    this.timers.committed(actor.ref, step.before.timers, step.after.timers)
    for (const row of step.timersSet) this.timers.add(actor.ref, row)
  }

  renew(key: string): void {
    this.deadlines.renew(key, this.parts.nature.monotonicMs())
  }

  /** Wall-clock end of a deadline that runs now, milliseconds since the epoch. */
  deadlineMs(key: string, name: string): number | undefined {
    const { nature } = this.parts
    const dueMs = this.deadlines.dueMs(key, name)
    return dueMs === undefined ? undefined : nature.wallMs() + dueMs - nature.monotonicMs()
  }

  beforeDeadline(amend: Amend): void {
    this.amendments.push(amend)
  }

  /** What messages came to. */
  settled(settled: readonly Settled[]): void {
    for (const { mail, answer } of settled) {
      const { source } = mail
      if (source.from !== 'deadline' || !answer.ok || answer.repeat !== undefined) continue
      this.passed.set(source.name, (this.passed.get(source.name) ?? 0) + 1)
    }
  }

  /** The journal refuses writes: deadlines armed before now begin again. */
  noteRefused(): void {
    this.unheard.refusedMs = this.parts.nature.monotonicMs()
  }

  /** Set the event loop's one timer to what is due next. */
  wait(): void {
    const { nature } = this.parts
    const untilDeadline = (this.deadlines.nextMs() ?? Number.POSITIVE_INFINITY) - nature.monotonicMs()
    const untilTimer = this.timers.nextMs() - nature.wallMs()
    this.alarm.set(Math.min(untilDeadline, untilTimer, clockRecheckMs))
  }

  stop(): void {
    this.isStopped = true
    this.alarm.clear()
  }

  private ring(lateMs: number): void {
    if (lateMs > stoodStillMs) this.noteStandstill(lateMs)
    if (this.isLooking) return
    this.isLooking = true
    this.lookIn(turnsHeardBeforeDue)
  }

  private noteStandstill(lateMs: number): void {
    const { nature, log } = this.parts
    this.unheard.stoodStillMs = nature.monotonicMs()
    log.warn(
      { late_ms: Math.round(lateMs) },
      'the process stood still: offers and leases that ended meanwhile begin anew, once',
    )
  }

  private lookIn(turns: number): void {
    this.parts.nature.nextTurn(() => {
      if (turns > 1) this.lookIn(turns - 1)
      else this.look()
    })
  }

  private look(): void {
    this.isLooking = false
    if (this.isStopped) return
    if (this.parts.journal.refuses() === undefined) {
      this.fire()
      this.wait()
    } else {
      this.noteRefused()
      this.alarm.set(refusedRetryMs)
    }
  }

  private fire(): void {
    const { nature, deliver } = this.parts
    this.timers.takeDue(nature.wallMs(), timersPerTurnMax, ({ ref, name, generation, message }) =>
      deliver(ref, { body: message, source: { from: 'timer', name, generation } }),
    )
    this.deadlines.takeDue(nature.monotonicMs(), this.unheard, timersPerTurnMax, (ref, deadline, isDue) => {
      const body = this.amendments.reduce((message, amend) => amend(ref, message), deadline.message as MessageBody)
      deliver(ref, { body, source: { from: 'deadline', name: deadline.name, isDue } })
    })
  }
}
