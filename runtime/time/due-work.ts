/**
 * Everything that falls due: durable timers on the wall clock and deadlines on the monotonic one, with one event-loop
 * timer for both. While the journal refuses writes, what falls due waits. Callers who have spoken by then are heard
 * first: the sockets are read before anything falls due, and if nothing was read for a while because the process stood
 * still, deadlines restart, once.
 */
import type { ActorRef, MessageBody } from '../../machines/machine.ts'
import type { Journal } from '../../storage/journal.ts'
import { type Actor, actorKey, type Mail } from '../actor.ts'
import type { Platform } from '../api.ts'
import type { BatchedStep, Settled } from '../batch.ts'
import { clockRecheckMs, stoodStillMs, timersPerTurnMax, timersPerTurnMin, turnsHeardBeforeDue } from '../limits.ts'
import type { Logger } from '../log.ts'
import type { Reader } from '../reader.ts'
import type { Settings } from '../settings.ts'
import type { Stepper } from '../stepper.ts'
import { Alarm } from './alarm.ts'
import { Deadlines } from './deadlines.ts'
import { Timers } from './timers.ts'

/** Pause before what the journal refused to write is tried again. */
export const refusedRetryMs = 100

export type Amend = (ref: ActorRef, message: MessageBody) => MessageBody

interface DueWorkParts {
  readonly platform: Platform
  readonly journal: Journal
  readonly settings: Settings
  readonly log: Logger
  /** How many existing entities wait for their next step. */
  readonly waiting: () => number
  /** Puts what fell due into its actor's mailbox. */
  readonly deliver: (ref: ActorRef, mail: Mail) => void
}

export class DueWork {
  /** Deadlines that expired since the start, by name, as far as the machine accepted them as expired. */
  readonly passed = new Map<string, number>()
  private readonly parts: DueWorkParts
  private readonly deadlines = new Deadlines()
  private readonly timers: Timers
  private readonly alarm: Alarm
  private readonly amendments: Amend[] = []
  private readonly unheard = { refusedMs: Number.NEGATIVE_INFINITY, stoodStillMs: Number.NEGATIVE_INFINITY }
  /** The alarm has rung; what is due is looked at a few turns later. */
  private isLooking = false
  private isStopped = false

  constructor(parts: DueWorkParts) {
    this.parts = parts
    this.timers = new Timers(parts.journal)
    this.alarm = new Alarm(parts.platform, (lateMs) => this.ring(lateMs))
  }

  /** At start: start the deadlines of a kind's actors in full length. */
  begin({ module }: Stepper, reader: Reader): void {
    const nowMs = this.parts.platform.monotonicMs()
    for (const state of module.deadlineStates)
      for (const { ref, snapshot } of reader.scan(module.kind, 'state', state)) {
        const deadlines = module.deadlines(snapshot, this.parts.settings)
        this.deadlines.set(actorKey(ref.kind, ref.id), ref, deadlines, nowMs)
      }
  }

  /** A step was committed: its deadlines run from now, its timers are armed. */
  committed(actor: Actor, step: BatchedStep, nowMs: number): void {
    const { module } = actor.stepper
    if (module.deadlineStates.length > 0) {
      this.deadlines.set(actor.key, actor.ref, module.deadlines(step.after.snapshot, this.parts.settings), nowMs)
      // Only a post from outside is a sign of life; the service's own messages are not.
      if (step.posted !== undefined) this.deadlines.heard(actor.key, step.posted, nowMs)
    }
    this.timers.committed(actor.ref, step.before.timers, step.after.timers)
    for (const row of step.timersSet) this.timers.add(actor.ref, row)
  }

  renew(key: string): void {
    this.deadlines.renew(key, this.parts.platform.monotonicMs())
  }

  /** Wall-clock end of a running deadline, milliseconds since the epoch. */
  deadlineMs(key: string, name: string): number | undefined {
    const { platform } = this.parts
    const dueMs = this.deadlines.dueMs(key, name)
    return dueMs === undefined ? undefined : platform.wallMs() + dueMs - platform.monotonicMs()
  }

  beforeDue(amend: Amend): void {
    this.amendments.push(amend)
  }

  /** Counts the deadlines that machines took as passed. */
  settled(settled: readonly Settled[]): void {
    for (const { mail, answer } of settled) {
      const { source } = mail
      if (source.from !== 'deadline' || !answer.ok || answer.repeat !== undefined) continue
      this.passed.set(source.name, (this.passed.get(source.name) ?? 0) + 1)
    }
  }

  /** The journal refuses writes: deadlines armed before now restart. */
  noteRefused(): void {
    this.unheard.refusedMs = this.parts.platform.monotonicMs()
  }

  /** Set the event loop's one timer to what is due next. */
  wait(): void {
    if (this.isStopped) return
    const { platform } = this.parts
    const untilDeadline = (this.deadlines.nextMs() ?? Number.POSITIVE_INFINITY) - platform.monotonicMs()
    const untilTimer = this.timers.nextMs() - platform.wallMs()
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
    const { platform, log } = this.parts
    this.unheard.stoodStillMs = platform.monotonicMs()
    log.warn(
      { late_ms: Math.round(lateMs) },
      'the process stood still: offers and leases that expired meanwhile start over, once',
    )
  }

  private lookIn(turns: number): void {
    this.parts.platform.nextTurn(() => {
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
    const { platform, waiting, deliver } = this.parts
    const limit = Math.max(timersPerTurnMin, timersPerTurnMax - waiting())
    this.timers.takeDue(platform.wallMs(), limit, ({ ref, name, generation, message }) =>
      deliver(ref, { body: this.amended(ref, message), source: { from: 'timer', name, generation } }),
    )
    this.deadlines.takeDue(platform.monotonicMs(), this.unheard, limit, (ref, deadline, isDue) => {
      const body = this.amended(ref, deadline.message)
      deliver(ref, { body, source: { from: 'deadline', name: deadline.name, isDue } })
    })
  }

  private amended(ref: ActorRef, message: MessageBody): MessageBody {
    return this.amendments.reduce((amended, amend) => amend(ref, amended), message)
  }
}
