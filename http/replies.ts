/**
 * What handlers of every resource answer alike: a refusal as its problem, what was taken or made, a thing that does not exist
 * for the asker, and the cursor that an answer is true for.
 */
import { shown } from '../machines/clipped.ts'
import type { ActorKind, ActorRef, MessageBody } from '../machines/machine.ts'
import type { Refused, Reply, SnapshotOf, Taken } from '../runtime/api.ts'
import { encodeCursor } from '../runtime/stream/cursor.ts'
import { codeOfRefusal } from './problems.ts'
import type { RouteAnswer, ServiceContext } from './route.ts'
import type { Exchange } from './wire/exchange.ts'

/** Answer with the problem that a machine or the runtime named. */
export function refuse(exchange: Exchange, refused: Refused): void {
  const { code, detail, pointer, errors = pointer === undefined ? undefined : [{ pointer, detail }] } = refused.refusal
  exchange.problem(codeOfRefusal(code), sentence(detail), {
    ...(errors === undefined ? {} : { errors }),
    ...(refused.state === undefined ? {} : { state: refused.state }),
    ...(refused.allowed === undefined ? {} : { allowed: refused.allowed }),
    ...(refused.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: refused.retryAfterSeconds }),
  })
}

/** The name is taken by what the asker may not see: where that stands is not told. */
export function refuseUnseen(exchange: Exchange, { state: _, allowed: __, ...refused }: Refused): void {
  refuse(exchange, refused)
}

/** What is to be done with an actor's answer: a refusal is told as its problem, and what was taken is handed on. */
export function whenHeard(
  exchange: Exchange,
  taken: (answer: Taken) => void,
  refused: (exchange: Exchange, answer: Refused) => void = refuse,
): Reply {
  return exchange.later((answer) => {
    if (answer.ok) taken(answer)
    else refused(exchange, answer)
  })
}

/** The same, with the point of the log that what was taken is true for. */
export function whenTaken(
  service: ServiceContext,
  exchange: Exchange,
  taken: (answer: Taken) => void,
  refused?: (exchange: Exchange, answer: Refused) => void,
): Reply {
  const marked = (answer: Taken): void => {
    markCursor(service, exchange, answer.sequence)
    taken(answer)
  }
  return whenHeard(exchange, marked, refused)
}

/** Sends the actor what the caller asks of it, and answers a refusal; what was taken is for `taken` to answer. */
export function askFor(
  service: ServiceContext,
  exchange: Exchange,
  ref: ActorRef,
  message: MessageBody,
  taken: (answer: Taken) => void,
  refused?: (exchange: Exchange, answer: Refused) => void,
): void {
  service.runtime.ask(ref, message, whenTaken(service, exchange, taken, refused))
}

/** What is to be done with the answer to a create: 201 with where the new thing is, or 200 where its key had made it before. */
export function whenCreated(
  service: ServiceContext,
  exchange: Exchange,
  pathOf: (snapshot: SnapshotOf<any>) => string,
  documentOf: (snapshot: SnapshotOf<any>) => object | string,
  refused?: (exchange: Exchange, answer: Refused) => void,
): Reply {
  const created = ({ repeat, snapshot }: Taken): void => {
    exchange.answer(markCreated(exchange, repeat, pathOf(snapshot)), documentOf(snapshot))
  }
  return whenTaken(service, exchange, created, refused)
}

/** What is made under a name that the asker has chosen. */
interface Named {
  readonly kind: ActorKind
  /** Where it is read. */
  readonly path: string
  readonly documentOf: (snapshot: SnapshotOf<any>) => object
  /** Whether the asker may see what has the name now. */
  readonly isSeen: () => boolean
  readonly refused?: (exchange: Exchange, answer: Refused) => void
}

/**
 * The same of that. Of a thing that the asker may not see no more is told than that its name is taken, and that is looked at anew
 * where their key is said to have made it, too: who may see what is decided here, not by how keys are scoped.
 */
export function whenNamed(
  service: ServiceContext,
  exchange: Exchange,
  { kind, path, documentOf, isSeen, refused = refuse }: Named,
): Reply {
  const isTaken: Refused = { ok: false, refusal: { code: 'already_exists', detail: `this ${kind} exists already` } }
  const made = ({ repeat, snapshot, sequence }: Taken): void => {
    if (!isSeen()) {
      refuseUnseen(exchange, isTaken)
      return
    }
    markCursor(service, exchange, sequence)
    exchange.answer(markCreated(exchange, repeat, path), documentOf(snapshot))
  }
  return whenHeard(exchange, made, (_, answer) => (isSeen() ? refused : refuseUnseen)(exchange, answer))
}

/** What its actor would answer to who changes nothing of it; `repeat` is its word for what was said before. */
export function asItStands({ runtime }: ServiceContext, snapshot: SnapshotOf<any>, repeat?: string): Taken {
  const { lastSequence: sequence } = runtime.journal
  const said = repeat === undefined ? {} : { repeat }
  return { ok: true, snapshot, version: 0, sequence, accepted: 0, duplicates: 0, ...said }
}

/** How the documents tell of such a 201. */
export function located(answer: RouteAnswer): RouteAnswer {
  return { ...answer, headers: { ...answer.headers, Location: 'The path at which it is read.' } }
}

/** How the documents tell of an answer with a secret. */
export const UNCACHED = { 'Cache-Control': '`no-store`' } as const

/** The headers of such an answer, and its status. */
export function markCreated(exchange: Exchange, repeat: string | undefined, location: string): 200 | 201 {
  const isReplay = repeat === 'replay'
  if (isReplay) exchange.setHeader('Idempotent-Replay', 'true')
  else exchange.setHeader('Location', location)
  return isReplay ? 200 : 201
}

/** The same words for what is not there and for what the asker may not see. */
export function notFound(exchange: Exchange, what: string, id: string): void {
  exchange.problem('not_found', `There is no ${what} ${shown(id)}.`)
}

/** Say which point of the log the answer is true for: one may read, and watch from there without a gap. */
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
