/**
 * An actor in memory: its committed record and its mailbox. One message at a time, first in first out; idle
 * actors leave memory by least recent use, so that memory does not grow with the entities ever created.
 */
import { ACTOR_KINDS, type ActorKind, type ActorRef, type MessageBody, type Term } from '../machines/machine.ts'
import type { OwnEvents } from '../machines/own-event.ts'
import type { Journal, OutboxKey } from '../storage/journal.ts'
import type { Reply } from './api.ts'
import { residentActorsMax, residentCharsMax, stepsPerActorPerBatchMax } from './limits.ts'
import { type ActorRecord, absentRecord, decodeRecord } from './record.ts'
import type { Stepper } from './stepper.ts'

/** Where a message came from. Only `outside` is bounded by mailbox depth and answered. */
export type Source =
  | { readonly from: 'outside'; readonly reply: Reply }
  /** `isDue`: it was neither renewed nor ended while its message waited. */
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
  /** The tip: committed, or stepped in the turn that is about to commit. Undefined until first needed. */
  record: ActorRecord | undefined
  /** What was durable when this turn began; reads see this one. */
  committed: ActorRecord | undefined
  /** What its own events have in common, since it last stated one. */
  ownEvents: OwnEvents | undefined = undefined
  /** Characters of the record as it is committed; of one that has changed since it was written out or read, at most so many. */
  chars = 0
  /** Index rows of the tip. */
  terms: readonly Term[] = NO_TERMS
  /** A step of this actor is on its way to a journal that answers later: no message is taken. */
  committing = false
  /** It stands in the list of actors with mail. */
  ready = false
  /** It took a message since the last sweep for idle actors. */
  used = false
  private mail: Mail[] = []
  /** How many of it are taken already. */
  private head = 0

  constructor(ref: ActorRef, key: string, stepper: Stepper) {
    this.ref = ref
    this.key = key
    this.stepper = stepper
  }

  /** The tip is not what the journal holds: it is read again when it is next needed. */
  forgetRecord(): void {
    this.record = undefined
    this.committed = undefined
    this.terms = NO_TERMS
    this.committing = false
  }

  /** Nothing waits for it and nothing of it is under way: it may leave memory. */
  get isIdle(): boolean {
    return !this.ready && !this.committing && this.mailCount === 0
  }

  get mailCount(): number {
    return this.mail.length - this.head
  }

  /** The mail that is taken next. */
  get next(): Mail | undefined {
    return this.mail[this.head]
  }

  put(mail: Mail): void {
    this.mail.push(mail)
  }

  /** Before all that waits. */
  putFirst(mail: readonly Mail[]): void {
    this.mail = [...mail, ...this.mail.slice(this.head)]
    this.head = 0
  }

  /** Drops what came from outside, and answers whose it was; the rest waits on. */
  takeSenders(): readonly Reply[] {
    const waiting = this.mail.slice(this.head)
    this.mail = waiting.filter(({ source }) => source.from !== 'outside')
    this.head = 0
    return waiting.flatMap(({ source }) => (source.from === 'outside' ? [source.reply] : []))
  }

  /**
   * What is taken is let go when the mailbox is empty, which most are after a turn; in one that never is, when it is as
   * much as what waits: each mail is moved once in the mean.
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
  /** Kind by kind: an id is looked up as it comes, where a name put together for it would have to be hashed each time. */
  private readonly actors: Readonly<Record<ActorKind, Map<string, Actor>>>
  /** All of them, in the order in which the sweep for idle ones looks at them. */
  private readonly order = new Set<Actor>()
  private readonly unreadable = new Map<string, { ref: ActorRef; reason: string }>()
  /** Characters of the records of all of them. */
  private recordChars = 0

  constructor(journal: Journal, steppers: Readonly<Record<ActorKind, Stepper>>) {
    this.journal = journal
    this.steppers = steppers
    const actors = {} as Record<ActorKind, Map<string, Actor>>
    for (const kind of ACTOR_KINDS) actors[kind] = new Map()
    this.actors = actors
  }

  get size(): number {
    return this.order.size
  }

  get chars(): number {
    return this.recordChars
  }

  stepper(kind: ActorKind): Stepper {
    return this.steppers[kind]
  }

  /** The actor's key, which one that is in memory has at hand. */
  keyOf({ kind, id }: ActorRef): string {
    return this.actors[kind].get(id)?.key ?? actorKey(kind, id)
  }

  /** The actor, made resident; its record is read when it is first needed. */
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

  /** Reads the actor's record if it has none yet. False when it is quarantined. */
  load(actor: Actor): boolean {
    if (actor.record !== undefined) return true
    if (this.unreadable.has(actor.key)) return false
    const record = this.readRecord(actor.ref, actor.key, actor)
    if (record === undefined) return false
    actor.record = record
    actor.committed = record
    // One that never was may still have a record: of a message that it refused.
    actor.terms = record.snapshot.value === 'absent' ? NO_TERMS : actor.stepper.module.terms(record.snapshot)
    return true
  }

  /** Lets the actor go for good. False: it has mail, or a step under way. */
  forget({ kind, id }: ActorRef): boolean {
    const actor = this.actors[kind].get(id)
    if (actor === undefined) return true
    if (!actor.isIdle) return false
    this.order.delete(actor)
    this.leave(actor)
    return true
  }

  /** The actor's record is of so many characters; `isMore`: of so many more. */
  measured(actor: Actor, chars: number, isMore: boolean): void {
    const before = actor.chars
    actor.chars = isMore ? before + chars : chars
    this.recordChars += actor.chars - before
  }

  /** What has ended is hardly asked again: it leaves memory at once, before a collection carries it along. */
  forgetEnded(actor: Actor, record: ActorRecord): void {
    if (actor.stepper.module.retirement?.at(record.snapshot) !== undefined) this.forget(actor.ref)
  }

  /** The committed record, without making the actor resident; undefined when it is quarantined. */
  peek(ref: ActorRef): ActorRecord | undefined {
    return this.actors[ref.kind].get(ref.id)?.committed ?? this.readRecord(ref, actorKey(ref.kind, ref.id))
  }

  quarantined(): readonly { readonly ref: ActorRef; readonly reason: string }[] {
    return [...this.unreadable.values()]
  }

  /** Something that was said to it has no answer yet. */
  isBusy({ kind, id }: ActorRef): boolean {
    return this.actors[kind].get(id)?.isIdle === false
  }

  isQuarantined(key: string): boolean {
    return this.unreadable.has(key)
  }

  /** Seldom, and then for a while: a sweep looks at all of them. */
  bound(actorsMax = residentActorsMax, charsMax = residentCharsMax): void {
    const isOver = this.order.size > actorsMax * 1.1 || this.recordChars > charsMax * 1.1
    if (isOver) this.passivate(actorsMax, charsMax)
  }

  /**
   * Lets idle actors go until `keep` are left, and their records have no more than `charsMax`: a second-chance sweep, so that
   * an actor used since the last sweep stays once more. Where it is for the records alone, those leave that have more than an
   * even share. The journal's overlay still holds steps that its view does not, so nothing is lost with them.
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

  /** `reader`: the actor that keeps it. */
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
