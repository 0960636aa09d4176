/**
 * Hosts the statecharts. Messages that arrive in one turn of the event loop are stepped and committed together. Only
 * after the journal has made the batch durable are senders answered, listeners told, and outgoing messages, timers
 * and deadlines started. No state is ever read, answered or announced before it is on disk.
 */
import {
  ACTOR_KINDS,
  type ActorKind,
  type ActorRef,
  type MachineModule,
  type MessageBody,
  type SnapshotOf,
} from '../machines/machine.ts'
import { type Commit, type Journal, JournalFailure, type OutboxKey, type OutboxRow } from '../storage/journal.ts'
import { type Actor, ActorTable, type Mail, type Source } from './actor.ts'
import { Answers, noWrites, OVERLOADED, STORAGE_FAILED, unavailable } from './answers.ts'
import type { Answer, CommitListener, ListRequest, ListResult, Platform, Refused, Reply, Runtime } from './api.ts'
import { Batch, type BatchedStep } from './batch.ts'
import { Filling } from './filling.ts'
import { IsolatedSteps } from './isolated-steps.ts'
import { Load } from './load.ts'
import type { Logger } from './log.ts'
import { Reader } from './reader.ts'
import { Ready } from './ready.ts'
import { type Retention, retentionOf } from './retention.ts'
import { SetAside } from './set-aside.ts'
import type { Settings } from './settings.ts'
import { type Stepper, stepperOf } from './stepper.ts'
import { ReadTurns } from './stream/read-turns.ts'
import { type Clock, serviceClock } from './time/clock.ts'
import { type Amend, DueWork, refusedRetryMs } from './time/due-work.ts'

interface RuntimeOptions {
  readonly platform: Platform
  readonly log: Logger
  readonly modules: Readonly<Record<ActorKind, MachineModule>>
  /** The journal failed and no state can be trusted any more. Called once, after every sender has heard 503. */
  readonly onFatal: (failure: Error) => void
  /** No service runs: what falls due waits for one, which alone knows what must be considered then (`beforeDue`). */
  readonly isOffline?: true
  /** Idle actors kept in memory; default: `residentActorsMax` of runtime/limits.ts. */
  readonly residentActorsMax?: number
}

/** Opens the actor system on a journal: deadlines restart in full length, undelivered messages are delivered. */
export function createRuntime(journal: Journal, settings: Settings, options: RuntimeOptions): Runtime {
  const runtime = new ActorRuntime(journal, settings, options)
  runtime.start()
  return runtime
}

class ActorRuntime implements Runtime {
  readonly settings: Settings
  readonly journal: Journal
  readonly platform: Platform
  readonly readTurns: ReadTurns
  private readonly options: RuntimeOptions
  private readonly clock: Clock
  private readonly actors: ActorTable
  private readonly due: DueWork
  private readonly answers: Answers
  private readonly listeners: CommitListener[] = []
  private readonly ready = new Ready()
  private readonly isolated: IsolatedSteps
  private readonly filling: Filling
  private turnPending = false
  readonly load: Load
  private readonly reader: Reader
  private readonly retention: Retention
  readonly setAside: SetAside
  private state: 'open' | 'closing' | 'closed' | 'failed' = 'open'
  private whenIdle: (() => void) | undefined

  constructor(journal: Journal, settings: Settings, options: RuntimeOptions) {
    this.journal = journal
    this.settings = settings
    this.options = options
    this.platform = options.platform
    this.readTurns = new ReadTurns(options.platform)
    this.load = new Load(options.platform)
    this.clock = serviceClock(journal, options.platform, options.log)
    const steppers = {} as Record<ActorKind, Stepper>
    for (const kind of ACTOR_KINDS) steppers[kind] = stepperOf(options.modules[kind])
    this.actors = new ActorTable(journal, steppers)
    this.answers = new Answers(options.platform, options.log, this.load)
    this.reader = new Reader(journal, this.actors, this.platform, options.log)
    const { log, modules } = options
    const { platform, actors, answers, reader } = this
    this.retention = retentionOf(settings, { journal, actors, reader, platform, log, modules })
    this.setAside = new SetAside({ platform, log, actors, tryAgain: (actor, mail) => this.isolated.put(actor, mail) })
    this.isolated = new IsolatedSteps({
      log,
      answers,
      setAside: this.setAside,
      enqueue: (actor) => this.enqueue(actor),
    })
    const { ready, isolated, setAside } = this
    this.filling = new Filling({ platform, journal, actors, ready, isolated, setAside })
    this.due = new DueWork({
      platform,
      journal,
      settings,
      log,
      waiting: () => ready.begunCount,
      deliver: (ref, mail) => this.deliver(ref, mail),
    })
  }

  start(): void {
    for (const kind of ACTOR_KINDS) this.due.begin(this.actors.stepper(kind), this.reader)
    for (const row of this.journal.outbox()) this.send(row, row)
    if (this.options.isOffline === true) this.due.stop()
    this.due.wait()
    this.retention.start()
  }

  ask(ref: ActorRef, body: MessageBody, reply: Reply): void {
    const actor = this.actors.get(ref)
    const refused = this.whyNotNow() ?? (this.load.admits(actor) ? undefined : OVERLOADED)
    if (refused !== undefined) {
      this.answers.refuse(reply, refused)
      return
    }
    this.post(actor, { body, source: { from: 'outside', reply } })
    this.load.taken(actor)
  }

  askAsync(ref: ActorRef, body: MessageBody): Promise<Answer> {
    return new Promise((resolve) => this.ask(ref, { ...body }, resolve))
  }

  read(ref: ActorRef): SnapshotOf<any> | undefined {
    return this.reader.read(ref)
  }

  list(request: ListRequest): Promise<ListResult> {
    return this.reader.list(request)
  }

  scan(kind: ActorKind, index: string, value: string) {
    return this.reader.scan(kind, index, value)
  }

  isBusy(ref: ActorRef): boolean {
    return this.actors.isBusy(ref)
  }

  renew(ref: ActorRef): void {
    this.due.renew(this.actors.keyOf(ref))
  }

  deadlineMs(ref: ActorRef, name: string): number | undefined {
    return this.due.deadlineMs(this.actors.keyOf(ref), name)
  }

  deadlinesPassed(name: string): number {
    return this.due.passed.get(name) ?? 0
  }

  onCommit(listener: CommitListener): void {
    this.listeners.push(listener)
  }

  beforeDue(amend: Amend): void {
    this.due.beforeDue(amend)
  }

  addRetentionGuard(isNeeded: (ref: ActorRef) => boolean): void {
    this.retention.addGuard(isNeeded)
  }

  quarantined() {
    return this.actors.quarantined()
  }

  async close(): Promise<void> {
    if (this.state === 'closing' || this.state === 'closed') return
    const isBusy = this.state === 'open' && (!this.ready.isEmpty || this.turnPending)
    if (this.state === 'open') this.state = 'closing'
    if (isBusy)
      await new Promise<void>((resolve) => {
        this.whenIdle = resolve
      })
    this.due.stop()
    this.setAside.stop()
    await this.retention.stop()
    this.state = 'closed'
    await this.journal.close()
  }

  private whyNotNow(): Refused | undefined {
    if (this.state === 'failed') return unavailable('storage_failed', 'The log failed; the service is shutting down.')
    if (this.state !== 'open') return unavailable('stopping', 'The service is stopping.')
    const reason = this.journal.refuses()
    if (reason === undefined) return undefined
    this.due.noteRefused()
    return unavailable(reason, noWrites(reason))
  }

  private post(actor: Actor, mail: Mail): void {
    actor.put(mail)
    this.enqueue(actor)
  }

  private enqueue(actor: Actor): void {
    if (actor.ready) return
    actor.ready = true
    this.ready.push(actor)
    this.scheduleTurn()
  }

  /** Delivers a message from a timer, a deadline or another actor: never refused for lack of room. */
  private deliver(ref: ActorRef, mail: Mail): void {
    const actor = this.actors.get(ref)
    if (this.actors.isQuarantined(actor.key)) return
    this.post(actor, mail)
  }

  private scheduleTurn(): void {
    if (this.turnPending) return
    this.turnPending = true
    this.platform.nextTurn(() => this.turn())
  }

  private resume(): void {
    this.turnPending = false
    this.scheduleTurn()
  }

  private turn(): void {
    this.turnPending = false
    this.answers.giveRefusals()
    if (this.state === 'failed' || this.state === 'closed') return
    if (!this.ready.isEmpty && this.journal.waitForRoom(() => this.resume())) {
      // The view is a little behind: this turn's work waits for it, so that the backlog stays bounded.
      this.turnPending = true
      return
    }
    const batch = new Batch(this.journal, this.clock)
    if (this.journal.refuses() !== undefined) this.turnAway()
    else if (!this.collect(batch)) return
    if (batch.steps.length === 0) this.settle(batch, this.journal.lastSequence)
    else this.commit(batch)
    this.actors.bound(this.options.residentActorsMax)
    this.becomeIdleOrGoOn()
  }

  /** Returns false if the journal can no longer be read; the failure has then been handled. */
  private collect(batch: Batch): boolean {
    try {
      this.filling.fill(batch)
      return true
    } catch (error) {
      if (!(error instanceof JournalFailure)) throw error
      this.giveUp(batch, error)
      return false
    }
  }

  private commit(batch: Batch): void {
    let isAnswered = false
    try {
      this.journal.append(batch.steps, (failure, commit) => {
        isAnswered = true
        if (failure !== null) this.fail(batch, failure)
        else this.committed(batch, commit!)
      })
    } catch (error) {
      // Thrown after the answer: a bug of ours, on a batch that is already durable, so nothing can be taken back.
      if (isAnswered) throw error
      this.isolated.takeBack(batch, error)
    }
  }

  private committed(batch: Batch, commit: Commit): void {
    const nowMs = this.platform.monotonicMs()
    for (const step of batch.batched) {
      const { change, recordChars } = step.written
      this.actors.measured(step.actor, recordChars, change !== undefined)
      step.actor.committed = step.after
      step.actor.committing = false
      if (step.actor.mailCount > 0) this.enqueue(step.actor)
    }
    const baseSequence = commit.lastSequence - batch.events.length
    for (const event of batch.events) event.sequence += baseSequence + 1
    const steps = batch.committedSteps()
    for (const step of batch.batched) this.setGoing(step, nowMs)
    for (const listener of this.listeners)
      this.answers.guarded('a commit listener', () => listener(steps, batch.events, commit))
    this.settle(batch, baseSequence)
    for (const { actor, after } of batch.batched) this.actors.forgetEnded(actor, after)
    this.due.wait()
  }

  private setGoing(step: BatchedStep, nowMs: number): void {
    const { actor } = step
    this.due.committed(actor, step, nowMs)
    for (const row of step.outbox) this.send(actor.ref, row)
  }

  private send({ kind, id }: Pick<OutboxKey, 'kind' | 'id'>, { n, toKind, toId, message }: OutboxRow): void {
    const source: Source = { from: 'outbox', row: { kind, id, n } }
    this.deliver({ kind: toKind as ActorKind, id: toId }, { body: message as MessageBody, source })
  }

  private settle(batch: Batch, baseSequence: number): void {
    this.setAside.passed(batch)
    this.due.settled(batch.settled)
    this.answers.tell(batch.settled, baseSequence)
    for (const { actor } of batch.late) this.actors.forgetEnded(actor, actor.committed!)
  }

  private fail(batch: Batch, failure: JournalFailure): void {
    this.giveUp(batch, failure)
    this.options.onFatal(failure)
  }

  /** Stops stepping. Every sender hears so; messages from inside remain as their rows. */
  private giveUp(batch: Batch, failure: JournalFailure): void {
    this.state = 'failed'
    this.answers.giveAll(batch.senders(), STORAGE_FAILED)
    for (const actor of this.ready.takeAll()) this.answers.giveAll(actor.takeSenders(), STORAGE_FAILED)
    this.options.log.error({ err: failure }, 'the storage failed')
    this.whenIdle?.()
  }

  private becomeIdleOrGoOn(): void {
    if (this.state === 'failed') return
    if (!this.ready.isEmpty) this.scheduleTurn()
    else if (!this.turnPending) this.whenIdle?.()
  }

  /** The journal refuses writes: outside senders hear 503, messages from inside wait. */
  private turnAway(): void {
    const refused = this.whyNotNow() ?? unavailable('overloaded', 'The service could not write; retry.')
    const ready = this.ready.takeAll()
    for (const actor of ready) {
      this.answers.giveAll(actor.takeSenders(), refused)
      actor.ready = false
    }
    const waiting = ready.filter((actor) => actor.mailCount > 0)
    if (waiting.length === 0) return
    this.platform.setTimer(() => {
      for (const actor of waiting) this.enqueue(actor)
    }, refusedRetryMs)
  }
}
