/**
 * An actor in memory: its committed record and its mailbox. It takes one message at a time, first in first out. Idle
 * actors leave memory, least recently used first, so that memory does not grow with the entities ever created.
 */
import { ACTOR_KINDS, type ActorKind, type ActorRef, type MessageBody, type Term } from '../machines/machine.ts'
import type { OwnEvents } from '../machines/own-event.ts'
import type { Journal, OutboxKey } from '../storage/journal.ts'
import type { Reply } from './api.ts'
import { residentActorsMax, residentCharsMax, stepsPerActorPerBatchMax } from './limits.ts'
import { type ActorRecord, absentRecord, decodeRecord } from './record.ts'
import type { Stepper } from './stepper.ts'

/** Where a message came from. Only messages from `outside` are bounded by mailbox depth and answered. */
export type Source =
  | { readonly from: 'outside'; readonly reply: Reply }
  /** `isDue` returns false if the deadline was renewed or ended while its message waited. */
  | { readonly from: 'deadline'; readonly name: string; readonly isDue: () => boolean }
  | { readonly from: 'timer'; readonly name: string; readonly generation: number }
  | { readonly from: 'outbox'; readonly row: OutboxKey }

export interface Mail {
  readonly body: MessageBody
  readonly source: Source
}

const NO_TERMS: readonly Term[] = []

export class Actor {
  readonly ref: ActorRef
  readonly key: string
  readonly stepper: Stepper
  /** The newest record: committed, or stepped in the turn that is about to commit. Undefined until first needed. */
  record: ActorRecord | undefined
  /** The record that was durable when this turn began; reads see this one. */
  committed: ActorRecord | undefined
  /** What the actor's own events have in common; set when it first states one. */
  ownEvents: OwnEvents | undefined = undefined
  /** Characters of the committed record; an upper bound if it changed since it was last written whole or read. */
  chars = 0
  /** Index rows of the newest record. */
  terms: readonly Term[] = NO_TERMS
  /** A step of this actor awaits an asynchronous journal: no message is taken meanwhile. */
  committing = false
  /** The actor is queued in the list of actors with mail. */
  ready = false
  /** The actor took a message since the last sweep for idle actors. */
  used = false
  private mail: Mail[] = []
  /** Index of the next message: those before it are taken. */
  private head = 0

  constructor(ref: ActorRef, key: string, stepper: Stepper) {
    this.ref = ref
    this.key = key
    this.stepper = stepper
  }

  /** Drops a record that is not what the journal holds; it is read again when next needed. */
  forgetRecord(): void {
    this.record = undefined
    this.committed = undefined
    this.terms = NO_TERMS
    this.committing = false
  }

  /** No mail and no step under way: the actor may leave memory. */
  get isIdle(): boolean {
    return !this.ready && !this.committing && this.mailCount === 0
  }

  get mailCount(): number {
    return this.mail.length - this.head
  }

  /** The message that is taken next. */
  get next(): Mail | undefined {
    return this.mail[this.head]
  }

  put(mail: Mail): void {
    this.mail.push(mail)
  }

  /** Puts messages before all that wait. */
  putFirst(mail: readonly Mail[]): void {
    this.mail = [...mail, ...this.mail.slice(this.head)]
    this.head = 0
  }

  /** Drops the messages from outside and returns their replies; the other messages stay. */
  takeSenders(): readonly Reply[] {
    const waiting = this.mail.slice(this.head)
    this.mail = waiting.filter(({ source }) => source.from !== 'outside')
    this.head = 0
    return waiting.flatMap(({ source }) => (source.from === 'outside' ? [source.reply] : []))
  }

  /**
   * Takes the next message. Taken messages are released when the mailbox is empty, as most are after a turn; in one
   * that never empties, once they are as many as those that wait, so that each message is moved once on average.
   */
  take(): Mail | undefined {
    const mail = this.mail[this.head]
    if (mail === undefined) return undefined
    this.head++
    if (this.head === this.mail.length) {
      this.mail = []
      this.head = 0
    } else if (this.head >= stepsPerActorPerBatchMax && this.head * 2 >= this.mail.length) {
      this.mail = this.mail.slice(this.head)
      this.head = 0
    }
    return mail
  }
}

export function actorKey(kind: string, id: string): string {
  return `${kind}/${id}`
}

export class ActorTable {
  private readonly journal: Journal
  private readonly steppers: Readonly<Record<ActorKind, Stepper>>
  /** By kind, then id: a combined key would have to be built and hashed for each look-up. */
  private readonly actors: Readonly<Record<ActorKind, Map<string, Actor>>>
  /** All actors, in the order in which the sweep for idle ones visits them. */
  private readonly order = new Set<Actor>()
  private readonly unreadable = new Map<string, { ref: ActorRef; reason: string }>()
  /** Characters of all resident records. */
  private recordChars = 0

  constructor(journal: Journal, steppers: Readonly<Record<ActorKind, Stepper>>) {
    this.journal = journal
    this.steppers = steppers
    const actors = {} as Record<ActorKind, Map<string, Actor>>
    for (const kind of ACTOR_KINDS) actors[kind] = new Map()
    this.actors = actors
  }

  /** Actors in memory. Like `chars`, for tests of what is kept there. */
  get size(): number {
    return this.order.size
  }

  /** Length of their records' texts. */
  get chars(): number {
    return this.recordChars
  }

  stepper(kind: ActorKind): Stepper {
    return this.steppers[kind]
  }

  /** The actor's key; a resident actor has it ready. */
  keyOf({ kind, id }: ActorRef): string {
    return this.actors[kind].get(id)?.key ?? actorKey(kind, id)
  }

  /** The actor, made resident. Its record is read when first needed. */
  get(ref: ActorRef): Actor {
    const { kind, id } = ref
    const ofKind = this.actors[kind]
    let actor = ofKind.get(id)
    if (actor === undefined) {
      actor = new Actor(ref, actorKey(kind, id), this.steppers[kind])
      ofKind.set(id, actor)
      this.order.add(actor)
    }
    return actor
  }

  /** Reads the actor's record if it has none yet. Returns false if the actor is quarantined. */
  load(actor: Actor): boolean {
    if (actor.record !== undefined) return true
    if (this.unreadable.has(actor.key)) return false
    const record = this.readRecord(actor.ref, actor.key, actor)
    if (record === undefined) return false
    actor.record = record
    actor.committed = record
    // An entity that was never created may still have a record, of a message that it refused.
    actor.terms = record.snapshot.value === 'absent' ? NO_TERMS : actor.stepper.module.terms(record.snapshot)
    return true
  }

  /** Removes the actor from memory for good. Returns false if it has mail or a step under way. */
  forget({ kind, id }: ActorRef): boolean {
    const actor = this.actors[kind].get(id)
    if (actor === undefined) return true
    if (!actor.isIdle) return false
    this.order.delete(actor)
    this.leave(actor)
    return true
  }

  /** Notes the size of the actor's record; with `isMore`, `chars` is added to the size noted before. */
  measured(actor: Actor, chars: number, isMore: boolean): void {
    const before = actor.chars
    actor.chars = isMore ? before + chars : chars
    this.recordChars += actor.chars - before
  }

  /** An ended entity is rarely asked again: it leaves memory at once, before garbage collection promotes it. */
  forgetEnded(actor: Actor, record: ActorRecord): void {
    if (actor.stepper.module.retirement?.at(record.snapshot) !== undefined) this.forget(actor.ref)
  }

  /** The committed record, without making the actor resident; undefined if it is quarantined. */
  peek(ref: ActorRef): ActorRecord | undefined {
    return this.actors[ref.kind].get(ref.id)?.committed ?? this.readRecord(ref, actorKey(ref.kind, ref.id))
  }

  quarantined(): readonly { readonly ref: ActorRef; readonly reason: string }[] {
    return [...this.unreadable.values()]
  }

  /** True while the actor has mail or a step under way. */
  isBusy({ kind, id }: ActorRef): boolean {
    return this.actors[kind].get(id)?.isIdle === false
  }

  isQuarantined(key: string): boolean {
    return this.unreadable.has(key)
  }

  /** Sweeps at 10 % over a bound, not at each step past it, since a sweep visits all actors. */
  bound(actorsMax = residentActorsMax, charsMax = residentCharsMax): void {
    const isOver = this.order.size > actorsMax * 1.1 || this.recordChars > charsMax * 1.1
    if (isOver) this.passivate(actorsMax, charsMax)
  }

  /**
   * Lets idle actors go until at most `keep` are left and their records have at most `charsMax` characters: a
   * second-chance sweep, in which an actor used since the last sweep stays once more. If only the characters are over,
   * only actors with more than an even share leave. Nothing is lost: the journal's overlay still holds the steps that
   * its view does not.
   */
  passivate(keep: number, charsMax: number): void {
    const looks = this.order.size
    const shareChars = charsMax / keep
    let looked = 0
    for (const actor of this.order) {
      const isCrowded = this.order.size > keep
      if ((!isCrowded && this.recordChars <= charsMax) || looked++ >= looks) return
      if (!actor.isIdle || (!isCrowded && actor.chars <= shareChars)) continue
      this.order.delete(actor)
      if (actor.used) {
        actor.used = false
        this.order.add(actor)
      } else this.leave(actor)
    }
  }

  private leave(actor: Actor): void {
    this.actors[actor.ref.kind].delete(actor.ref.id)
    this.recordChars -= actor.chars
  }

  /** `reader`: the actor that will keep the record, if any. */
  private readRecord(ref: ActorRef, key: string, reader?: Actor): ActorRecord | undefined {
    const stepper = this.steppers[ref.kind]
    const text = this.journal.actor(ref.kind, ref.id)
    if (reader !== undefined) this.measured(reader, text?.length ?? 0, false)
    if (text === undefined) return absentRecord(stepper)
    try {
      return decodeRecord(stepper, text)
    } catch (error) {
      this.unreadable.set(key, { ref, reason: error instanceof Error ? error.message : String(error) })
      return undefined
    }
  }
}
