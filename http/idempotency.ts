/**
 * `Idempotency-Key`: a create that is sent again is answered with the outcome of the first. A key is scoped to the path
 * and to the caller (by name, since tokens are rotated, and by the projects that a token is confined to). The id of the
 * new entity derives from the key; where the id is a name, a reservation records what the key has created.
 */

import { digestOf } from '../machines/digest.ts'
import { HEADER_KEY, IDEMPOTENCY_KEY_LENGTH_MAX } from '../machines/documents/fields.ts'
import { deriveId, ID_DIGITS, type IdPrefix } from '../machines/ids.ts'
import type { ActorKind, ActorRef } from '../machines/machine.ts'
import { classifyCreate, reusedKey } from '../machines/repeated-create.ts'
import type { Principal } from '../runtime/access/principals.ts'
import type { MessageBody, Reply, Runtime, Taken } from '../runtime/api.ts'
import {
  createOfKey,
  generationAfter,
  generationOf,
  idOfGeneration,
  type Keyed,
  reservationOf,
} from '../runtime/entities/generations.ts'
import { keptKey, madeByKey } from '../runtime/entities/kept-keys.ts'
import type { Reservation } from '../storage/journal.ts'
import { type HoldUntil, holding } from './holding.ts'
import { currentAnswer, refuse } from './replies.ts'
import type { ServiceContext } from './route.ts'
import type { Exchange } from './wire/exchange.ts'
import { TWO_KEYS } from './wire/incoming.ts'

export const IDEMPOTENCY_HEADER = 'idempotency-key'

type KeyResult = { readonly ok: true; readonly key: string | undefined } | { readonly ok: false }

/**
 * The key from the header or from the body's field; if both are given they must agree. Not ok: a problem was answered.
 */
export function readIdempotencyKey(exchange: Exchange, field?: string): KeyResult {
  const given = exchange.header(IDEMPOTENCY_HEADER)
  if (given === TWO_KEYS) {
    exchange.problem('invalid_header', 'More than one Idempotency-Key header was sent.')
    return { ok: false }
  }
  if (given === '') return { ok: true, key: field }
  const header = unquoted(given)
  if (header.length > IDEMPOTENCY_KEY_LENGTH_MAX || !HEADER_KEY.test(header)) {
    const bound = `1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters`
    exchange.problem('invalid_header', `Idempotency-Key must be ${bound}.`)
    return { ok: false }
  }
  if (field !== undefined && field !== header) {
    exchange.problem('idempotency_key_conflict', 'The header Idempotency-Key and the field idempotency_key differ.')
    return { ok: false }
  }
  return { ok: true, key: header }
}

/** Strips the quotes that the header's draft allows around a key. */
function unquoted(header: string): string {
  const text = header.trim()
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
}

/** The members of a create message by which a repeat is recognized, for as long as the settings say. */
function keyed({ settings }: Runtime, key: string): { idempotency_key: string; idempotency_ms: number } {
  return { idempotency_key: key, idempotency_ms: settings.idempotencyMs }
}

interface Creation {
  /** What the caller sent: a different body under the same key is refused. */
  readonly body: unknown
  /**
   * Returns the create message without its id; undefined if a problem was answered. Called only for a key not answered
   * before, so that a repeated create gets its first answer even if the world has changed since. All checks that depend
   * on the current state of other entities therefore belong in here.
   */
  readonly make: () => MessageBody | undefined
}

interface KeyedCreate extends Creation {
  readonly kind: ActorKind
  readonly prefix: IdPrefix
  /**
   * Id of an existing entity that says the same, answered instead of a new one; from then on the key leads to it,
   * whatever becomes of it. Called after `make`.
   */
  readonly twin?: () => string | undefined
}

interface NamedCreate extends Creation {
  /** The entity's name is its id, whatever the key. */
  readonly ref: ActorRef
}

/** Scope of the reservations that lead a key to its newest generation. */
const RESERVATION_SCOPE = 'create'

/**
 * The caller as far as keys are concerned: a token of the same name that is confined to other projects counts as
 * another caller.
 */
export function askerOf({ name, kind, projects }: Principal): string {
  return kind === 'runner' || projects === '*' ? name : `${name}\0${[...projects].sort().join('\0')}`
}

/** The ids of a key by generation, scoped to the caller and the path. */
function placeOf(exchange: Exchange, key: string, kind: ActorKind, prefix: IdPrefix): Keyed {
  const asker = askerOf(exchange.principal)
  const idOf = (generation: number): string => deriveId(prefix, kind, asker, exchange.path, key, String(generation))
  return { kind, scope: RESERVATION_SCOPE, key: idOf(0), idOf }
}

/** Where a key leads, with the members of the create message by which a repeat is recognized. */
interface KeyedPlace extends ReturnType<typeof keyed> {
  readonly id: string
  /** An entity exists there, and the key has not expired. */
  readonly isMade: boolean
  /** To be stored with the step that creates the entity. */
  readonly reservation?: Reservation
}

/**
 * The id that a key has created, or is to create now; a random id without a key. For entities that another actor's step
 * creates: these need an id derived from the key beforehand.
 */
export function keyedPlace(
  runtime: Runtime,
  exchange: Exchange,
  key: string | undefined,
  kind: ActorKind,
  prefix: IdPrefix,
): KeyedPlace {
  if (key === undefined) {
    const id = randomId(runtime, prefix)
    return { id, isMade: false, ...keyed(runtime, id) }
  }
  const place = placeOf(exchange, key, kind, prefix)
  const newest = newestOf(runtime, place, (id) => ({ idempotency_key: id }))
  const isOver = newest.meaning === 'expired'
  const generation = isOver ? generationAfter(runtime, place, newest.generation) : newest.generation
  const id = idOfGeneration(place, generation)
  const isMade = newest.made !== undefined && !isOver
  return { id, isMade, ...keyed(runtime, id), ...reservationOf(place, generation) }
}

/** The newest entity that the key has created, and what this create means to it; no meaning if there is none. */
function newestOf(
  runtime: Runtime,
  place: Keyed,
  createOf: (id: string) => { readonly idempotency_key: string; readonly fingerprint?: string },
) {
  const generation = generationOf(runtime, place)
  const id = idOfGeneration(place, generation)
  const made = runtime.read({ kind: place.kind, id })
  if (made === undefined) return { generation }
  const create = { ...createOf(id), atMs: runtime.platform.wallMs() }
  return { generation, made, meaning: classifyCreate(made.context.internal.creation, create) }
}

export function randomId({ platform }: Runtime, prefix: IdPrefix): string {
  return `${prefix}_${platform.randomHex(ID_DIGITS)}`
}

/**
 * Creates an entity whose id derives from the caller's key, or is random without one. Posts with the same key run one
 * after the other. `repeat` in the answer is `replay` if the key was answered before. `over` is called once, whatever
 * the outcome, after the reply.
 */
export function createKeyed(
  service: ServiceContext,
  exchange: Exchange,
  key: string | undefined,
  create: KeyedCreate,
  reply: Reply,
  over: () => void = () => {},
): void {
  const under = key === undefined ? undefined : underKey(exchange, key, create.kind, create.body)
  const pass = (leave: () => void): void => {
    const before = under === undefined ? undefined : answeredBefore(service, exchange, under, create)
    const ask: Ask = (message, until) => makeKeyed(service, exchange, under, { ...create, message }, until(reply))
    answerOnce(exchange, before, create.make, ask, leave, reply)
  }
  if (under === undefined) pass(over)
  else service.keysInUse.enter(under.place, exchange, pass, over)
}

/** Sends the message, and replies; whatever it still waits for is wrapped with `until`. */
type Ask = (message: MessageBody, until: HoldUntil) => void

/**
 * Replies with the earlier answer if there is one, else asks with the message that `make` returns, unless it answered a
 * problem. Calls `leave` at the end, even if something throws.
 */
function answerOnce(
  exchange: Exchange,
  before: Taken | undefined,
  make: Creation['make'],
  ask: Ask,
  leave: () => void,
  reply: Reply,
): void {
  holding(leave, (until) => {
    const message = before !== undefined || exchange.done ? undefined : make()
    if (message !== undefined) ask(message, until)
    else if (before !== undefined) reply(before)
  })
}

/** An idempotency key with the digest of the body it came with. */
interface Under {
  readonly key: string
  readonly fingerprint: string
  /** Separates keys of different callers and paths: the same key from another caller is not a repeat. */
  readonly place: string
}

function underKey({ principal, path }: Exchange, key: string, kind: ActorKind, body: unknown): Under {
  return { key, fingerprint: digestOf(body), place: digestOf([kind, askerOf(principal), path, key]) }
}

/**
 * The entity that the reservation of an answered key names. Undefined if there is none, or if the body differs from the
 * first one, which is answered with a problem.
 */
function keptAnswer(
  service: ServiceContext,
  exchange: Exchange,
  { fingerprint, place }: Pick<Under, 'fingerprint' | 'place'>,
  kind: ActorKind,
  what: string = words(kind),
): Taken | undefined {
  const { runtime } = service
  const before = madeByKey(runtime, place)
  if (before !== undefined && before.fingerprint !== fingerprint) refuseReused(exchange, what)
  const made = before === undefined || exchange.done ? undefined : runtime.read({ kind, id: before.id })
  return made === undefined ? undefined : currentAnswer(service, made, 'replay')
}

/** Like `keptAnswer`, but also finds an entity whose id derives from the key. */
function answeredBefore(
  service: ServiceContext,
  exchange: Exchange,
  under: Under,
  { kind, prefix }: KeyedCreate,
): Taken | undefined {
  const kept = keptAnswer(service, exchange, under, kind)
  if (kept !== undefined || exchange.done) return kept
  const { key, fingerprint } = under
  const place = placeOf(exchange, key, kind, prefix)
  const { made, meaning } = newestOf(service.runtime, place, () => ({ idempotency_key: key, fingerprint }))
  if (meaning === 'replay') return currentAnswer(service, made, meaning)
  if (meaning === 'reused') refuseReused(exchange, words(kind))
  return undefined
}

function makeKeyed(
  { runtime }: ServiceContext,
  exchange: Exchange,
  under: Under | undefined,
  { kind, prefix, twin: twinOf, message }: KeyedCreate & { readonly message: MessageBody },
  reply: Reply,
): void {
  const twin = twinOf?.()
  if (twin !== undefined) {
    const kept = under === undefined ? {} : { reservation: keptKey(runtime, under.place, { ...under, id: twin }) }
    runtime.ask({ kind, id: twin }, { ...message, id: twin, is_made: true, ...kept } as unknown as MessageBody, reply)
  } else if (under === undefined) {
    const id = randomId(runtime, prefix)
    runtime.ask({ kind, id }, { ...message, id } as MessageBody, reply)
  } else {
    const { key, fingerprint } = under
    const create = { ...message, fingerprint, ...keyed(runtime, key) }
    createOfKey(runtime, { ...placeOf(exchange, key, kind, prefix), message: create }, reply)
  }
}

/**
 * Creates an entity under an id chosen by the caller. What the key has created is recorded with the step that creates
 * it, so that the key is recognized under another name too. Posts with the same key run one after the other.
 */
export function createNamed(
  service: ServiceContext,
  exchange: Exchange,
  key: string | undefined,
  { ref, make, body }: NamedCreate,
  reply: Reply,
): void {
  const { runtime } = service
  if (key === undefined) {
    const message = make()
    if (message !== undefined) runtime.ask(ref, { ...message, fingerprint: digestOf(body) } as MessageBody, reply)
    return
  }
  const { fingerprint, place } = underKey(exchange, key, ref.kind, body)
  const again = keyed(runtime, `${askerOf(exchange.principal)}\0${key}`)
  const makeKnown = (): MessageBody | undefined => {
    const message = make()
    return message === undefined ? undefined : { ...message, ...again }
  }
  askNamed(service, exchange, { ref, place, fingerprint, what: words(ref.kind), make: makeKnown }, reply)
}

/** A name under which a message is sent once, such as an idempotency key. */
export interface OnceName {
  /** Separates equal names of different callers. */
  readonly place: string
  /** Digest of the request: a different request under the same name is refused. */
  readonly fingerprint: string
  /** What the name stands for, in the problem's text. */
  readonly what: string
}

interface NamedAsk extends OnceName {
  readonly ref: ActorRef
  readonly make: Creation['make']
  /** A second name, if the caller gave two: a repeat is recognized by either. */
  readonly also?: OnceName | undefined
}

/**
 * Sends a message to an actor once under a name. The name is recorded with the step that handles it, and for as long as
 * keys are kept a repeat is answered with the actor's current state, as a `replay`. Two posts with one name run one
 * after the other. With a second name the message is sent under that one; the first is recorded by a message that says
 * `is_made`, which a machine takes for a repeat. `over` is called once, whatever the outcome, after the reply.
 */
export function askNamed(
  service: ServiceContext,
  exchange: Exchange,
  { ref, place, fingerprint, what, make, also }: NamedAsk,
  reply: Reply,
  over: () => void = () => {},
): void {
  const { runtime, keysInUse } = service
  const pass = (leave: () => void): void => {
    const before = keptAnswer(service, exchange, { fingerprint, place }, ref.kind, what)
    const ask: Ask = (message, until) => {
      const reservation = keptKey(runtime, place, { id: ref.id, fingerprint })
      const named = { ...message, fingerprint, reservation }
      if (also === undefined) {
        runtime.ask(ref, named as unknown as MessageBody, until(reply))
        return
      }
      const answered: Reply = (answer) => {
        if (!answer.ok) return reply(answer)
        const recorded: Reply = (said) => reply(said.ok ? answer : said)
        runtime.ask(ref, { ...named, is_made: true } as unknown as MessageBody, until(recorded))
      }
      askNamed(
        service,
        exchange,
        { ...also, ref, make: () => message },
        answered,
        until(() => {}),
      )
    }
    answerOnce(exchange, before, make, ask, leave, reply)
  }
  keysInUse.enter(place, exchange, pass, over)
}

function refuseReused(exchange: Exchange, what: string): void {
  refuse(exchange, { ok: false, refusal: reusedKey(what) })
}

function words(kind: ActorKind): string {
  return kind.replaceAll('_', ' ')
}
