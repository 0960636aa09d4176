/**
 * One turn's work: the steps of many actors, combined into one commit. A step is a pure transition and the effects
 * it asked for, written out as the journal's self-contained record. None of it is visible to anyone until the
 * journal has made the whole batch durable.
 */
import { eventText, type PreparedEvent } from '../machines/events/envelope.ts'
import {
  type By,
  type Message,
  type MessageBody,
  type OwnFact,
  SERVICE_BY,
  type SnapshotOf,
  type Term,
  type WithKnownEvents,
} from '../machines/machine.ts'
import { OwnEvents } from '../machines/own-event.ts'
import type { Journal, OutboxRow, Reservation, Step, TimerRow } from '../storage/journal.ts'
import type { Actor, Mail } from './actor.ts'
import type { CommittedStep, Refused, Reply, Taken } from './api.ts'
import { sendersRememberedMax } from './limits.ts'
import { nextMessageNumber } from './message-number.ts'
import type { ActorRecord } from './record.ts'
import type { Outcome } from './stepper.ts'
import { addPayloadFields } from './stream/fields.ts'
import type { Clock } from './time/clock.ts'
import { clearTimer, type Numbering, newParts, type StepParts, WrittenStep } from './written-step.ts'

/** The outcome of one message, given to its sender after the commit. */
export interface Settled {
  readonly actor: Actor
  readonly mail: Mail
  /** Until the commit, `sequence` counts from the log's last event before the batch. */
  readonly answer: Refused | (Omit<Taken, 'sequence'> & { sequence: number })
}

/** A step in the batch, with what the runtime needs once it is durable. */
export interface BatchedStep {
  readonly actor: Actor
  readonly before: ActorRecord
  readonly after: ActorRecord
  readonly written: Pick<WrittenStep, 'change' | 'recordChars'>
  readonly timersSet: readonly TimerRow[]
  readonly outbox: readonly OutboxRow[]
  /** Type of the message, if it came from outside. */
  readonly posted: string | undefined
}

/** The message's events that are new to the log; if some were known, also all of them (`heard`). */
interface News extends WithKnownEvents {
  readonly events: readonly PreparedEvent[]
}

const NO_TERMS: readonly Term[] = []
/** Refusals for the state: a message that the chart knows but a guard refused is not allowed in it now. */
const OF_STATE = new Set(['illegal_move', 'project_archived'])

type Stamped = { -readonly [member in keyof Message]: Message[member] }

/**
 * Timestamps for the facts of one step: the first happens at the message's time, each further one a microsecond later,
 * and all are recorded at the time of the last. So no fact is recorded before it happened, two equal facts stay two,
 * and `verify` finds no fact that was recorded before its cause.
 */
interface Times {
  nextMicros: number
  readonly recordedAt: string
}

/** A message may carry a reservation (a name given once), stored with the step that takes or repeats the message. */
interface Reserving {
  readonly reservation?: Reservation
}

export class Batch {
  readonly steps: Step[] = []
  readonly batched: BatchedStep[] = []
  readonly settled: Settled[] = []
  /** Timers and deadlines that were superseded before their message was stepped. */
  readonly late: { readonly actor: Actor; readonly mail: Mail }[] = []
  /** Events of the batch, in step order. */
  readonly events: Numbering[] = []
  /** Characters in the records and events of the steps. */
  chars = 0
  private readonly journal: Journal
  private readonly clock: Clock
  /** Identities of the recorded events in this batch, which the journal cannot know yet. */
  private readonly recorded = new Set<string>()
  private readonly outcomes: Outcome[] = []
  /** The time of the message that is being stepped. */
  private atMicros = 0

  constructor(journal: Journal, clock: Clock) {
    this.journal = journal
    this.clock = clock
  }

  /** Steps one message of a loaded actor. Rethrows what the machine throws, with nothing added to the batch. */
  step(actor: Actor, mail: Mail): void {
    const before = actor.record!
    if (isLate(before, mail)) {
      this.late.push({ actor, mail })
      return
    }
    const { module } = actor.stepper
    const stated = mail.body.events
    const news = stated === undefined ? undefined : this.newsOf(stated)
    const duplicates = stated === undefined ? 0 : stated.length - news!.events.length
    // An outside message is stamped in place, since copying an object of arbitrary shape costs more than a step. A
    // message that is delivered again should this fail is copied, so that the kept one stays unchanged.
    const isCopied = mail.source.from !== 'outside' || duplicates > 0
    const message = this.stamped(isCopied ? { ...mail.body, ...news } : mail.body)

    const alreadyApplied = mail.source.from === 'outbox' && isApplied(before, mail.source.row)
    const repeat = alreadyApplied ? 'replay' : module.repeats(before.snapshot, message)
    if (repeat !== undefined) {
      this.finishWithoutTransition(actor, mail, { repeat, duplicates })
      return
    }
    this.outcomes.length = 0
    const next = actor.stepper.step(before.snapshot, message, this.outcomes)
    if (next === undefined) this.refuse(actor, mail, message)
    else if (next !== before.snapshot || this.outcomes.length > 0) this.add(actor, mail, message, next, duplicates)
    else this.finishWithoutTransition(actor, mail, { duplicates })
  }

  /** Replies of the senders that this batch answers. */
  senders(): readonly Reply[] {
    return this.settled.flatMap(({ mail: { source } }) => (source.from === 'outside' ? [source.reply] : []))
  }

  /** The batch's messages per actor, in the order each actor received them. */
  mail(): ReadonlyMap<Actor, readonly Mail[]> {
    const byActor = new Map<Actor, Mail[]>()
    for (const { actor, mail } of [...this.settled, ...this.late]) {
      const before = byActor.get(actor)
      if (before === undefined) byActor.set(actor, [mail])
      else before.push(mail)
    }
    return byActor
  }

  /** The steps as listeners are told of them, once the batch is durable. */
  committedSteps(): readonly CommittedStep[] {
    return this.batched.map(({ actor, before, after }) => ({
      ref: actor.ref,
      before: String(before.snapshot.value) === 'absent' ? undefined : before.snapshot,
      after: after.snapshot,
      version: after.version,
    }))
  }

  /** Stamps the message, in place, with the time at which it is taken. */
  private stamped(body: MessageBody): Message {
    const message = body as Stamped
    this.atMicros = this.clock.nextMicros()
    message.at = this.clock.text(this.atMicros)
    message.atMs = Math.floor(this.atMicros / 1000)
    return message
  }

  /** The events new to the log (the same array if all are); if the log holds some, also all of them as `heard`. */
  private newsOf(stated: readonly PreparedEvent[]): News {
    const events: PreparedEvent[] = []
    let heard: PreparedEvent[] | undefined
    const seenHere = new Set<string>()
    for (const event of stated) {
      const identity = identityOf(event)
      if (seenHere.has(identity)) continue
      seenHere.add(identity)
      if (this.isKnown(event, identity)) heard ??= [...events]
      else events.push(event)
      heard?.push(event)
    }
    if (heard !== undefined) return { events, heard }
    return { events: events.length === stated.length ? stated : events }
  }

  private isKnown({ project, trace_id, id }: PreparedEvent, identity: string): boolean {
    return this.recorded.has(identity) || this.journal.eventSequence(project, trace_id, id) !== undefined
  }

  private refuse(actor: Actor, mail: Mail, message: Message): void {
    const { snapshot } = actor.record!
    const { module } = actor.stepper
    const state = String(snapshot.value)
    const refusal =
      module.refusal(snapshot, message) ??
      (state === 'absent'
        ? { code: 'not_found', detail: `There is no ${words(module.kind)} ${actor.ref.id}.` }
        : { code: 'illegal_move', detail: `${aWord(module.kind)} in state ${state} does not allow ${message.type}.` })
    const isOfState = OF_STATE.has(refusal.code) && refusal.isOfContent !== true
    const allowed = actor.stepper.allowed(snapshot, isOfState ? message.type : undefined)
    const known = state === 'absent' ? {} : message.type === 'create' ? { state } : { state, allowed }
    this.settled.push({ actor, mail, answer: { ok: false, refusal, ...known } })
    this.consume(actor, mail)
  }

  private finishWithoutTransition(actor: Actor, mail: Mail, how: { repeat?: string; duplicates: number }): void {
    const { snapshot, version } = actor.record!
    const answer = { ok: true as const, snapshot, version, sequence: this.events.length, accepted: 0, ...how }
    this.settled.push({ actor, mail, answer })
    if (how.repeat !== undefined && this.reservesAnew(mail.body as Reserving)) this.touch(actor, mail)
    else this.consume(actor, mail)
  }

  private reservesAnew({ reservation }: Reserving): boolean {
    if (reservation === undefined) return false
    return this.journal.reservation(reservation.scope, reservation.key) !== reservation.value
  }

  /** A delivered message or fired timer is used up whatever the machine said, by a step of its own if need be. */
  consume(actor: Actor, mail: Mail): void {
    if (mail.source.from !== 'outside' && mail.source.from !== 'deadline') this.touch(actor, mail)
  }

  /** Adds a step that leaves the actor's snapshot unchanged. */
  private touch(actor: Actor, mail: Mail): void {
    const before = actor.record!
    this.write(actor, mail, before.snapshot, actor.terms, partsOf(before, mail))
  }

  private add(actor: Actor, mail: Mail, message: Message, next: SnapshotOf<any>, duplicates: number): void {
    const { module } = actor.stepper
    const before = actor.record!
    const parts = partsOf(before, mail)
    this.carryOut(actor, message, next, parts)
    this.write(actor, mail, next, module.terms(next), parts)
    const version = before.version + 1
    const sequence = this.events.length
    const accepted = parts.recorded.length
    const answer = { ok: true as const, snapshot: next, version, sequence, accepted, duplicates }
    this.settled.push({ actor, mail, answer })
  }

  /** Turns the effects that the step asked for into rows. */
  private carryOut(actor: Actor, message: Message, next: SnapshotOf<any>, parts: StepParts): void {
    const times = this.times(message.at)
    const by = message.by ?? SERVICE_BY
    let own: OwnEvents | undefined
    for (const outcome of this.outcomes) {
      switch (outcome.kind) {
        case 'fact':
          own ??= ownEventsOf(actor, next)
          if ('recorded' in outcome.fact) this.addRecorded(outcome.fact.recorded, own, by, times, parts)
          else this.addOwn(outcome.fact, own, by, times, parts)
          break
        case 'send': {
          const { to, message: sent } = outcome.send
          const n = nextMessageNumber(parts.outboxNumber, this.journal.lastSequence)
          parts.outboxNumber = n
          parts.outbox.push({ n, toKind: to.kind, toId: to.id, message: sent })
          break
        }
        case 'schedule': {
          const { timer, dueMs, message: due } = outcome.schedule
          // A due time that is not a finite number would be read back as already past and would break the heap's order.
          if (!Number.isFinite(dueMs)) throw new Error(`the timer ${timer} of a ${actor.ref.kind} is set to no time`)
          clearTimer(parts, timer)
          const generation = actor.record!.version + 1
          parts.timers = { ...parts.timers, [timer]: { dueMs, generation } }
          parts.timersSet.push({ name: timer, dueMs, generation, message: due })
          break
        }
        case 'cancelTimer':
          clearTimer(parts, outcome.cancelTimer.timer)
          break
      }
    }
  }

  private times(at: string): Times {
    let own = 0
    for (const outcome of this.outcomes) if (outcome.kind === 'fact' && !('recorded' in outcome.fact)) own += 1
    const recordedAt = own > 1 ? this.clock.text(this.clock.passMicros(own - 1)) : at
    return { nextMicros: this.atMicros, recordedAt }
  }

  private addOwn({ type, payload }: OwnFact, own: OwnEvents, by: By, times: Times, parts: StepParts): void {
    const occurredAt = this.clock.text(times.nextMicros++)
    const { id, text } = own.event(type, payload, { occurredAt, recordedAt: times.recordedAt, by })
    const { project, trace_id, run_request_id } = own.envelope
    addEvent({ id, event_type: type, project, trace_id, payload }, text, run_request_id, parts)
  }

  /** Adds an event that someone else stated. */
  private addRecorded(event: PreparedEvent, { envelope }: OwnEvents, by: By, times: Times, parts: StepParts): void {
    const { run_request_id } = event.run_request_id === undefined ? envelope : event
    addEvent(event, eventText(event, { recorded_at: times.recordedAt, by, run_request_id }), run_request_id, parts)
    parts.recorded.push(identityOf(event))
  }

  private write(actor: Actor, mail: Mail, snapshot: SnapshotOf<any>, terms: readonly Term[], parts: StepParts): void {
    const before = actor.record!
    const { source } = mail
    const seen = source.from === 'outbox' ? withSeen(before.seen, source.row) : before.seen
    const after: ActorRecord = {
      snapshot,
      version: before.version + 1,
      outboxNumber: parts.outboxNumber,
      timers: parts.timers,
      seen,
      isStored: true,
    }
    const { reservation } = mail.body as Reserving
    const { ref, stepper } = actor
    const step = new WrittenStep(ref, stepper.module, before, after, parts, {
      termsAdded: terms === actor.terms ? NO_TERMS : missingFrom(actor.terms, terms),
      termsRemoved: terms === actor.terms ? NO_TERMS : missingFrom(terms, actor.terms),
      consumed: source.from === 'outbox' ? source.row : undefined,
      reservation,
    })
    // Before anything joins the batch: if the step cannot be serialized, only this message fails.
    this.chars += step.chars
    this.steps.push(step)
    const posted = source.from === 'outside' ? mail.body.type : undefined
    const { timersSet, outbox } = parts
    this.batched.push({ actor, before, after, written: step, timersSet, outbox, posted })
    for (const identity of parts.recorded) this.recorded.add(identity)
    for (const event of parts.announced) {
      event.sequence = this.events.length
      this.events.push(event)
    }
    actor.record = after
    actor.terms = terms
  }
}

/** A fired timer is cleared first, since the step may set it again. */
function partsOf(before: ActorRecord, { source }: Mail): StepParts {
  const parts = newParts(before)
  if (source.from === 'timer') clearTimer(parts, source.name)
  return parts
}

/** A timer that was set again or cancelled, or a deadline that was renewed or ended, after it had left its heap. */
function isLate(record: ActorRecord, { source }: Mail): boolean {
  if (source.from === 'deadline') return !source.isDue()
  return source.from === 'timer' && record.timers[source.name]?.generation !== source.generation
}

function isApplied(record: ActorRecord, row: { kind: string; id: string; n: number }): boolean {
  return (record.seen[`${row.kind}/${row.id}`] ?? 0) >= row.n
}

/** The newest sender comes last; past the bound the one heard longest ago is dropped. */
function withSeen(seen: Readonly<Record<string, number>>, row: { kind: string; id: string; n: number }) {
  const sender = `${row.kind}/${row.id}`
  if ((seen[sender] ?? 0) >= row.n) return seen
  const { [sender]: _, ...rest } = seen
  const others: Record<string, number> = rest
  const senders = Object.keys(others)
  if (senders.length >= sendersRememberedMax) delete others[senders[0]!]
  return { ...others, [sender]: row.n }
}

function missingFrom(known: readonly Term[], terms: readonly Term[]): readonly Term[] {
  return terms.filter(
    (term) => !known.some((one) => one.index === term.index && one.value === term.value && one.order === term.order),
  )
}

/** Usually the same object as in the last step: an entity's envelope hardly ever changes. */
function ownEventsOf(actor: Actor, { context }: SnapshotOf<any>): OwnEvents {
  const envelope = actor.stepper.module.envelope(context)
  if (actor.ownEvents?.areOf(envelope) !== true) actor.ownEvents = new OwnEvents(envelope)
  return actor.ownEvents!
}

type Told = Pick<PreparedEvent, 'id' | 'event_type' | 'project' | 'trace_id'> & { readonly payload: object }

/** Hot: absent members are left out without copying the object. */
function addEvent(
  { id, event_type, project, trace_id, payload }: Told,
  text: string,
  runRequestId: string | undefined,
  parts: StepParts,
): void {
  const announced: Numbering = { sequence: 0, text, event_type, project, trace_id }
  if (runRequestId !== undefined) announced.run_request_id = runRequestId
  addPayloadFields(announced, payload)
  parts.announced.push(announced)
  const { item_id: itemId } = announced
  parts.events.push(
    itemId === undefined ? { id, project, traceId: trace_id, text } : { id, project, traceId: trace_id, text, itemId },
  )
}

function identityOf(event: PreparedEvent): string {
  return `${event.project}/${event.trace_id ?? ''}/${event.id}`
}

/** `A runner`, `An intent record`. */
function aWord(kind: string): string {
  return `${/^[aeio]/.test(kind) ? 'An' : 'A'} ${words(kind)}`
}

function words(kind: string): string {
  return kind.replaceAll('_', ' ')
}
