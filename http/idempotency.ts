/**
 * `Idempotency-Key`: the same create, sent again, is answered with the first one's outcome. A key is scoped to
 * who asks (by name, since tokens rotate) and to the path; the id of what is made derives from it, or, where a name is
 * the id, what it has made is written down.
 */
import { IDEMPOTENCY_KEY_LENGTH_MAX } from '../machines/documents/fields.ts'
import type { ActorKind, ActorRef } from '../machines/machine.ts'
import type { Answer, MessageBody, Runtime, SnapshotOf } from '../runtime/api.ts'
import { createOfKey, generationOf, idOfGeneration, type Keyed } from '../runtime/generations.ts'
import { deriveId, digestOf, type IdPrefix } from '../runtime/identity.ts'
import { keptKey, madeByKey } from '../runtime/kept-keys.ts'
import type { Exchange } from './exchange.ts'
import type { ServiceContext } from './route.ts'

export const IDEMPOTENCY_HEADER = 'idempotency-key'

/** Visible ASCII without the quotes that the header's draft allows around it. */
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

export type KeyResult = { readonly ok: true; readonly key: string | undefined } | { readonly ok: false }

/** The key of the header, or of the body's field; where both are given they must agree. Not ok: a problem was answered. */
export function readIdempotencyKey(exchange: Exchange, field?: string): KeyResult {
  const header = unquoted(exchange.header(IDEMPOTENCY_HEADER))
  if (header === '') return { ok: true, key: field }
  if (header.length > IDEMPOTENCY_KEY_LENGTH_MAX || !KEY.test(header)) {
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

function unquoted(header: string): string {
  const text = header.trim()
  return text.length > 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
}

/** The members of a create message that make a repeat of it known as one, for as long as the settings say. */
function keyed({ settings }: Runtime, key: string): { idempotency_key: string; idempotency_ms: number } {
  return { idempotency_key: key, idempotency_ms: settings.idempotencyMs }
}

export interface KeyedCreate {
  readonly kind: ActorKind
  readonly prefix: IdPrefix
  /** The create message but for its id. */
  readonly message: MessageBody
  /** What the caller asked for: another body under the same key is refused. */
  readonly body: unknown
}

/** Of the reservations that lead a key to its newest generation. */
const RESERVATION_SCOPE = 'create'
const ID_DIGITS = 24

/** The ids of a key, by generation: scoped to who asks and to the path. */
function placeOf(exchange: Exchange, key: string, kind: ActorKind, prefix: IdPrefix): Keyed {
  const { name } = exchange.principal
  const idOf = (generation: number): string => deriveId(prefix, kind, name, exchange.path, key, String(generation))
  return { kind, scope: RESERVATION_SCOPE, key: idOf(0), idOf }
}

/** The id that a key has made, or makes now; a random one without a key. */
export function createdId(
  runtime: Runtime,
  exchange: Exchange,
  key: string | undefined,
  kind: ActorKind,
  prefix: IdPrefix,
): string {
  if (key === undefined) return `${prefix}_${runtime.nature.randomHex(ID_DIGITS)}`
  const place = placeOf(exchange, key, kind, prefix)
  return idOfGeneration(place, generationOf(runtime, place))
}

/** What the key has made, as it is now; undefined: nothing yet. */
export function keyedEntity(
  runtime: Runtime,
  exchange: Exchange,
  key: string,
  kind: ActorKind,
  prefix: IdPrefix,
): SnapshotOf<any> | undefined {
  return runtime.read({ kind, id: createdId(runtime, exchange, key, kind, prefix) })
}

/**
 * Make an entity whose id derives from the caller's key, or is random without one. The reply gets the id and the
 * answer; `repeat` of the answer is `replay` where the key had made it before.
 */
export function createKeyed(
  runtime: Runtime,
  exchange: Exchange,
  key: string | undefined,
  create: KeyedCreate,
  reply: (answer: Answer, id: string) => void,
): void {
  if (key === undefined) {
    const id = createdId(runtime, exchange, key, create.kind, create.prefix)
    runtime.ask({ kind: create.kind, id }, { ...create.message, id } as MessageBody, (answer) => reply(answer, id))
    return
  }
  const fingerprint = digestOf(create.body)
  const message = { ...create.message, fingerprint, ...keyed(runtime, key) }
  createOfKey(runtime, { ...placeOf(exchange, key, create.kind, create.prefix), message }, reply)
}

export interface NamedCreate {
  /** Its name is its id, whichever key asks for it. */
  readonly ref: ActorRef
  readonly message: MessageBody
  /** What the caller asked for: another body under the same key is refused. */
  readonly body: unknown
}

/**
 * Make an entity that is named by what was asked for. What its key has made is written down with the step that makes
 * it, so that the same key is known under another name, too; two posts with one key go one after the other.
 */
export function createNamed(
  service: ServiceContext,
  exchange: Exchange,
  key: string | undefined,
  { ref, message, body }: NamedCreate,
  reply: (answer: Answer) => void,
): void {
  const { runtime, keysInUse } = service
  const fingerprint = digestOf(body)
  if (key === undefined) {
    runtime.ask(ref, { ...message, fingerprint } as MessageBody, reply)
    return
  }
  const place = madePlace(exchange, ref.kind, key)
  const under = { fingerprint, ...keyed(runtime, `${exchange.principal.name}\0${key}`) }
  keysInUse.enter(place, exchange, (leave) => {
    const before = madeByKey(runtime, place)
    if (before !== undefined && (before.id !== ref.id || before.fingerprint !== fingerprint)) {
      leave()
      refuseReused(exchange, ref.kind)
      return
    }
    const known =
      before === undefined ? { reservation: keptKey(runtime, place, { id: ref.id, fingerprint }) } : { is_made: true }
    runtime.ask(ref, { ...message, ...under, ...known } as unknown as MessageBody, (answer) => {
      leave()
      reply(answer)
    })
  })
}

/**
 * Answer a keyed create with an entity that says the same and that another one has made: the key leads there from now on,
 * whatever becomes of the entity.
 */
export function answerWithTwin(
  { runtime }: ServiceContext,
  exchange: Exchange,
  key: string,
  { ref, message, body }: NamedCreate,
  reply: (answer: Answer) => void,
): void {
  const reservation = keptKey(runtime, madePlace(exchange, ref.kind, key), { id: ref.id, fingerprint: digestOf(body) })
  runtime.ask(ref, { ...message, is_made: true, reservation } as unknown as MessageBody, reply)
}

/** The entity that the key was answered with before; undefined: none. With another body than then a problem is answered. */
export function twinOfKey(
  { runtime }: ServiceContext,
  exchange: Exchange,
  key: string,
  kind: ActorKind,
): SnapshotOf<any> | undefined {
  const before = madeByKey(runtime, madePlace(exchange, kind, key))
  if (before === undefined) return undefined
  if (before.fingerprint === digestOf(exchange.body)) return runtime.read({ kind, id: before.id })
  refuseReused(exchange, kind)
  return undefined
}

/** Scoped to who asks and where: somebody else's same key is not a repeat. */
function madePlace({ principal, path }: Exchange, kind: ActorKind, key: string): string {
  return digestOf([kind, principal.name, path, key])
}

function refuseReused(exchange: Exchange, kind: ActorKind): void {
  exchange.problem('idempotency_key_reused', `This idempotency key was used for another ${words(kind)}.`)
}

function words(kind: ActorKind): string {
  return kind.replaceAll('_', ' ')
}
