/**
 * What the handlers of every resource answer in the same way: a refusal as its problem, what was accepted or created,
 * an entity that does not exist for the caller, and the cursor for which an answer is true.
 */
import { shown } from '../machines/clipped.ts'
import type { ActorKind, ActorRef, MessageBody } from '../machines/machine.ts'
import { nameTaken } from '../machines/repeated-create.ts'
import type { Refused, Reply, SnapshotOf, Taken } from '../runtime/api.ts'
import { encodeCursor } from '../runtime/stream/cursor.ts'
import { codeOfRefusal } from './problems.ts'
import { publicMoves } from './public-moves.ts'
import type { RouteAnswer, ServiceContext } from './route.ts'
import type { Exchange } from './wire/exchange.ts'

/** Answers with the problem that a machine or the runtime named. */
export function refuse(exchange: Exchange, refused: Refused): void {
  const { code, detail, pointer, errors = pointer === undefined ? undefined : [{ pointer, detail }] } = refused.refusal
  exchange.problem(codeOfRefusal(code), sentence(detail), {
    ...(errors === undefined ? {} : { errors }),
    ...(refused.state === undefined ? {} : { state: refused.state }),
    ...(refused.allowed === undefined ? {} : { allowed: publicMoves(refused.allowed) }),
  })
}

/** For a name taken by an entity that the caller may not see: its state is not disclosed. */
export function refuseUnseen(exchange: Exchange, { state: _, allowed: __, ...refused }: Refused): void {
  refuse(exchange, refused)
}

/** A reply that answers a refusal as its problem and passes an acceptance on to `taken`. */
export function onReply(
  exchange: Exchange,
  taken: (answer: Taken) => void,
  refused: (exchange: Exchange, answer: Refused) => void = refuse,
): Reply {
  return exchange.later((answer) => {
    if (answer.ok) taken(answer)
    else refused(exchange, answer)
  })
}

/** Like `onReply`, and sets the cursor at which the accepted answer is true. */
export function onAccepted(
  service: ServiceContext,
  exchange: Exchange,
  taken: (answer: Taken) => void,
  refused?: (exchange: Exchange, answer: Refused) => void,
): Reply {
  const marked = (answer: Taken): void => {
    markCursor(service, exchange, answer.sequence)
    taken(answer)
  }
  return onReply(exchange, marked, refused)
}

/** Sends the actor the caller's message and answers a refusal; `taken` answers an acceptance. */
export function askActor(
  service: ServiceContext,
  exchange: Exchange,
  ref: ActorRef,
  message: MessageBody,
  taken: (answer: Taken) => void,
  refused?: (exchange: Exchange, answer: Refused) => void,
): void {
  service.runtime.ask(ref, message, onAccepted(service, exchange, taken, refused))
}

/** A reply to a create: 201 with the location of the new entity, or 200 if the key had created it before. */
export function onCreated(
  service: ServiceContext,
  exchange: Exchange,
  pathOf: (snapshot: SnapshotOf<any>) => string,
  documentOf: (snapshot: SnapshotOf<any>) => object | string,
  refused?: (exchange: Exchange, answer: Refused) => void,
): Reply {
  const created = ({ repeat, snapshot }: Taken): void => {
    exchange.answer(markCreated(exchange, repeat, pathOf(snapshot)), documentOf(snapshot))
  }
  return onAccepted(service, exchange, created, refused)
}

/** An entity created under a name that the caller has chosen. */
interface Named {
  readonly kind: ActorKind
  /** Path at which it is read. */
  readonly path: string
  readonly documentOf: (snapshot: SnapshotOf<any>) => object
  /** Whether the caller may see the entity that has the name now. */
  readonly isSeen: () => boolean
  readonly refused?: (exchange: Exchange, answer: Refused) => void
}

/**
 * Like `onCreated`, for such an entity. If the caller may not see it, the answer says only that the name is taken.
 * That is checked again even for a replay, because visibility is decided here and not by the scope of keys.
 */
export function onNamed(
  service: ServiceContext,
  exchange: Exchange,
  { kind, path, documentOf, isSeen, refused = refuse }: Named,
): Reply {
  const isTaken: Refused = { ok: false, refusal: nameTaken(kind) }
  const made = ({ repeat, snapshot, sequence }: Taken): void => {
    if (!isSeen()) {
      refuseUnseen(exchange, isTaken)
      return
    }
    markCursor(service, exchange, sequence)
    exchange.answer(markCreated(exchange, repeat, path), documentOf(snapshot))
  }
  return onReply(exchange, made, (_, answer) => (isSeen() ? refused : refuseUnseen)(exchange, answer))
}

/** The actor's current state in the form of an accepted answer; `repeat` marks it as one to a repeated message. */
export function currentAnswer({ runtime }: ServiceContext, snapshot: SnapshotOf<any>, repeat?: string): Taken {
  const { lastSequence: sequence } = runtime.journal
  const said = repeat === undefined ? {} : { repeat }
  return { ok: true, snapshot, version: 0, sequence, accepted: 0, duplicates: 0, ...said }
}

/** Documents the `Location` header of a 201. */
export function located(answer: RouteAnswer): RouteAnswer {
  return { ...answer, headers: { ...answer.headers, Location: 'The path at which to read it.' } }
}

/** Documents the header of an answer that contains a secret. */
export const UNCACHED = { 'Cache-Control': '`no-store`' } as const

/** Sets the headers of an answer to a create, and returns its status. */
export function markCreated(exchange: Exchange, repeat: string | undefined, location: string): 200 | 201 {
  const isReplay = repeat === 'replay'
  if (isReplay) exchange.setHeader('Idempotent-Replay', 'true')
  else exchange.setHeader('Location', location)
  return isReplay ? 200 : 201
}

/** Refuses the body for what its schema cannot check. Says false, for checks that answer so. */
export function refuseBody(exchange: Exchange, pointer: string, detail: string): false {
  exchange.problem('invalid_body', 'The fields named in `errors` are invalid; nothing was accepted.', {
    errors: [{ pointer, detail }],
  })
  return false
}

/** The same words whether the entity does not exist or the caller may not see it. */
export function notFound(exchange: Exchange, what: string, id: string): void {
  exchange.problem('not_found', `There is no ${what} ${shown(id)}.`)
}

/** Sets the log position for which the answer is true: a client can read, and then watch from there without a gap. */
export function markCursor(service: ServiceContext, exchange: Exchange, sequence?: number): void {
  exchange.setHeader('Watch-Cursor', cursorAt(service, sequence ?? service.runtime.journal.lastSequence))
}

export function cursorAt(service: ServiceContext, sequence: number): string {
  return encodeCursor(service.runtime.journal, sequence)
}

function sentence(detail: string): string {
  const text = detail.slice(0, 1).toUpperCase() + detail.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}
