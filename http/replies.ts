/**
 * What handlers of every resource answer alike: a refusal as its problem, a thing that does not exist for the
 * asker, and the cursor that an answer is true for.
 */
import { shown } from '../machines/clipped.ts'
import { isId, projectIdOf } from '../machines/ids.ts'
import type { ActorRef, MessageBody } from '../machines/machine.ts'
import type { Refused, Reply, SnapshotOf, Taken } from '../runtime/api.ts'
import { encodeCursor } from '../runtime/stream/cursor.ts'
import { maySee } from './access.ts'
import type { Exchange } from './exchange.ts'
import { codeOfRefusal } from './problems.ts'
import type { RouteAnswer, ServiceContext } from './route.ts'

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

/** Makes of what is called later (a reply, mostly) the same, until whose end something is held. It must be called in the end. */
export type Until = <A extends unknown[]>(go: (...heard: A) => void) => (...heard: A) => void

/** Holds nothing. */
export const untilNothing: Until = (go) => go

/**
 * Holds something that was taken while `run` goes on. It is released once: behind the last reply that `run`, or such a reply, has put
 * through `until`, whatever that comes to; at once where there is none, or where `run` throws.
 */
export function holding(release: () => void, run: (until: Until) => void): void {
  let ends = 1
  let isReleased = false
  const over = (): void => {
    if (isReleased) return
    isReleased = true
    release()
  }
  const end = (): void => {
    ends -= 1
    if (ends === 0) over()
  }
  const until: Until = (go) => {
    ends += 1
    return (...heard) => {
      try {
        go(...heard)
      } finally {
        end()
      }
    }
  }
  try {
    run(until)
  } catch (error) {
    // What it has asked before may be answered or not.
    over()
    throw error
  }
  end()
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

/** The actor id of a project named by its id or by its key. */
export function projectId(idOrKey: string): string {
  return isId('proj', idOrKey) ? idOrKey : projectIdOf(idOrKey)
}

/** The project that the path names by id or key, if it exists for the asker; else 404 is answered. */
export function visibleProject(
  service: ServiceContext,
  exchange: Exchange,
  idOrKey: string,
): SnapshotOf<any> | undefined {
  const project = service.runtime.read({ kind: 'project', id: projectId(idOrKey) })
  if (project !== undefined && maySee(exchange.principal, project.context.key)) return project
  notFound(exchange, 'project', idOrKey)
  return undefined
}

/** The project, if it exists for the asker and takes new work; else the problem is answered. */
export function activeProject(
  service: ServiceContext,
  exchange: Exchange,
  idOrKey: string,
): SnapshotOf<any> | undefined {
  const project = visibleProject(service, exchange, idOrKey)
  return project !== undefined && takesWork(exchange, project) ? project : undefined
}

/** Whether the project takes new work, which an archived one does not. False: the problem was answered. */
export function takesWork(exchange: Exchange, { value, context }: SnapshotOf<any>): boolean {
  if (value === 'active') return true
  exchange.problem('project_archived', `The project ${context.key} is archived and takes no new work.`)
  return false
}

function sentence(detail: string): string {
  const text = detail.slice(0, 1).toUpperCase() + detail.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}
