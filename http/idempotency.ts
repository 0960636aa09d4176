/**
 * `Idempotency-Key`: the same create, sent again, is answered with the first one's outcome. A key is scoped to
 * who asks (by name, since tokens rotate, and by the projects that a token is confined to) and to the path; the id of what is made derives from it, or, where a name is
 * the id, what it has made is written down.
 */

import { digestOf } from '../machines/digest.ts'
import { HEADER_KEY, IDEMPOTENCY_KEY_LENGTH_MAX } from '../machines/documents/fields.ts'
import { deriveId, ID_DIGITS, type IdPrefix } from '../machines/ids.ts'
import type { ActorKind, ActorRef } from '../machines/machine.ts'
import { reusedKey, secondCreate } from '../machines/second-create.ts'
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
import { holding } from './holding.ts'
import { asItStands, refuse } from './replies.ts'
import type { ServiceContext } from './route.ts'
import type { Exchange } from './wire/exchange.ts'
import { TWO_KEYS } from './wire/incoming.ts'

export const IDEMPOTENCY_HEADER = 'idempotency-key'

type KeyResult = { readonly ok: true; readonly key: string | undefined } | { readonly ok: false }

/** The key of the header, or of the body's field; where both are given they must agree. Not ok: a problem was answered. */
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

/** Without the quotes that the header's draft allows around it. */
function unquoted(header: string): string {
  const text = header.trim()
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
}

/** The members of a create message that make a repeat of it known as one, for as long as the settings say. */
function keyed({ settings }: Runtime, key: string): { idempotency_key: string; idempotency_ms: number } {
  return { idempotency_key: key, idempotency_ms: settings.idempotencyMs }
}

interface Creation {
  /** What the caller asked for: another body under the same key is refused. */
  readonly body: unknown
  /**
   * The create message but for its id; undefined: a problem was answered. Asked only where the key was not answered before,
   * so that a create said again is answered as it was, whatever has become of what it is for: all that depends on how other
   * things stand is asked in here.
   */
  readonly make: () => MessageBody | undefined
}

interface KeyedCreate extends Creation {
  readonly kind: ActorKind
  readonly prefix: IdPrefix
  /**
   * The id of one that says the same, which is answered in its place: the key leads there from then on, whatever becomes of
   * it. Asked behind `make`.
   */
  readonly twin?: () => string | undefined
}

interface NamedCreate extends Creation {
  /** Its name is its id, whichever key asks for it. */
  readonly ref: ActorRef
}

/** Of the reservations that lead a key to its newest generation. */
const RESERVATION_SCOPE = 'create'

/** Who asks, as far as keys go: a token of the same name that is confined to other projects is somebody else. */
export function askerOf({ name, kind, projects }: Principal): string {
  return kind === 'runner' || projects === '*' ? name : `${name}\0${[...projects].sort().join('\0')}`
}

/** The ids of a key, by generation: scoped to who asks and to the path. */
function placeOf(exchange: Exchange, key: string, kind: ActorKind, prefix: IdPrefix): Keyed {
  const asker = askerOf(exchange.principal)
  const idOf = (generation: number): string => deriveId(prefix, kind, asker, exchange.path, key, String(generation))
  return { kind, scope: RESERVATION_SCOPE, key: idOf(0), idOf }
}

/** Where a key leads, with the members of the create message that make a repeat of it known as one. */
interface KeyedPlace extends ReturnType<typeof keyed> {
  readonly id: string
  /** Something is there, and the time of the key is not over. */
  readonly isMade: boolean
  /** To be kept with the step that makes it. */
  readonly reservation?: Reservation
}

/**
 * The id that a key has made, or makes now; a random one without a key. For who makes it by another one's step: what is made
 * so has its own id for a key.
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

/** The newest that the key has made, and what this create means to it; no meaning: there is none. */
function newestOf(
  runtime: Runtime,
  place: Keyed,
  createOf: (id: string) => { readonly idempotency_key: string; readonly fingerprint?: string },
) {
  const generation = generationOf(runtime, place)
  const id = idOfGeneration(place, generation)
  const made = runtime.read({ kind: place.kind, id })
  if (made === undefined) return { generation }
  const create = { ...createOf(id), atMs: runtime.nature.wallMs() }
  return { generation, made, meaning: secondCreate(made.context.internal.creation, create) }
}

export function randomId({ nature }: Runtime, prefix: IdPrefix): string {
  return `${prefix}_${nature.randomHex(ID_DIGITS)}`
}

/**
 * Make an entity whose id derives from the caller's key, or is random without one; posts with one key go one after the
 * other. `repeat` of the answer is `replay` where the key was answered before. `over` is called once, whatever comes of it,
 * and behind the reply.
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
    const ask: Ask = (message, taken) => makeKeyed(service, exchange, under, { ...create, message }, taken)
    answerOnce(exchange, before, create.make, ask, leave, reply)
  }
  if (under === undefined) pass(over)
  else service.keysInUse.enter(under.place, exchange, pass, over)
}

type Ask = (message: MessageBody, taken: Reply) => void

/**
 * Answers what was answered before, else what comes of the message that is made now; a problem may have been answered, too. Leaves
 * whatever is thrown.
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
    if (message !== undefined) ask(message, until(reply))
    else if (before !== undefined) reply(before)
  })
}

/** A key as it was given with a body. */
interface Under {
  readonly key: string
  readonly fingerprint: string
  /** Tells the keys of different callers and paths apart: somebody else's same key is not a repeat. */
  readonly place: string
}

function underKey({ principal, path }: Exchange, key: string, kind: ActorKind, body: unknown): Under {
  return { key, fingerprint: digestOf(body), place: digestOf([kind, askerOf(principal), path, key]) }
}

/**
 * The answer to a key that was answered before with what is written down for it. Undefined: nothing is; with another body
 * than then a problem is answered.
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
  return made === undefined ? undefined : asItStands(service, made, 'replay')
}

/** The same, or with what has its id from the key. */
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
  if (meaning === 'replay') return asItStands(service, made, meaning)
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
 * Make an entity that is named by what was asked for. What its key has made is written down with the step that makes
 * it, so that the same key is known under another name, too; two posts with one key go one after the other.
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

/** Something that is asked under a name that stands for it, such as a key. */
interface NamedAsk {
  readonly ref: ActorRef
  /** Tells the names of others apart. */
  readonly place: string
  /** Of what is asked: something else under the same name is refused. */
  readonly fingerprint: string
  /** What the name is for. */
  readonly what: string
  readonly make: Creation['make']
}

/**
 * Asks an actor once under a name, for as long as keys are kept: it is written down with the step that does it, and who asks
 * again is answered with how it stands, as a `replay`. Two posts with one name go one after the other.
 */
export function askNamed(
  service: ServiceContext,
  exchange: Exchange,
  { ref, place, fingerprint, what, make }: NamedAsk,
  reply: Reply,
): void {
  const { runtime, keysInUse } = service
  keysInUse.enter(place, exchange, (leave) => {
    const before = keptAnswer(service, exchange, { fingerprint, place }, ref.kind, what)
    const ask: Ask = (message, taken) => {
      const reservation = keptKey(runtime, place, { id: ref.id, fingerprint })
      runtime.ask(ref, { ...message, fingerprint, reservation } as unknown as MessageBody, taken)
    }
    answerOnce(exchange, before, make, ask, leave, reply)
  })
}

function refuseReused(exchange: Exchange, what: string): void {
  refuse(exchange, { ok: false, refusal: reusedKey(what) })
}

function words(kind: ActorKind): string {
  return kind.replaceAll('_', ' ')
}
