/** Actions of owners on an entity: each is a route of its own, and sends one message to the entity's actor. */
import type { ActorRef, MessageBody, SnapshotOf } from '../../machines/machine.ts'
import type { Refused } from '../../runtime/api.ts'
import { askActor } from '../replies.ts'
import type { Route, RouteBody, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'
import { activeProject } from './projects.ts'

/** The entities that the actions are about; `S` is the snapshot of one. */
export interface Moved<S extends SnapshotOf<any>> {
  /** Path of one entity, to which the action's name is appended. */
  readonly path: string
  /** Its name in operation ids: `WorkItem`. */
  readonly noun: string
  readonly area: string
  readonly answer: NonNullable<Route['answers'][200]>
  /** The entity that the path names. Returns undefined if a problem was answered. */
  readonly find: (service: ServiceContext, exchange: Exchange) => S | undefined
  readonly refOf: (one: S) => ActorRef
  readonly documentOf: (service: ServiceContext, exchange: Exchange, one: S) => object
  readonly refused?: (exchange: Exchange, answer: Refused) => void
}

export interface Move<S extends SnapshotOf<any>> {
  readonly name: string
  readonly summary: string
  readonly description?: string
  readonly body: RouteBody
  /** It creates work, which an archived project does not take. */
  readonly makesWork?: true
  /** Members of the message besides the body's. */
  readonly more?: (service: ServiceContext, one: S) => object
}

export function moveRoute<S extends SnapshotOf<any>>(service: ServiceContext, moved: Moved<S>, move: Move<S>): Route {
  const { name, summary, description, body, makesWork, more } = move
  return {
    method: 'POST',
    path: `${moved.path}/${name}`,
    operation: `${name}${moved.noun}`,
    area: moved.area,
    summary,
    ...(description === undefined ? {} : { description }),
    access: { right: 'work.operate' },
    body,
    answers: { 200: moved.answer },
    problems: ['not_found', 'illegal_move', ...(makesWork === true ? (['project_archived'] as const) : [])],
    handle: (exchange) => {
      const one = moved.find(service, exchange)
      if (one === undefined) return
      if (makesWork === true && activeProject(service, exchange, one.context.project_id) === undefined) return
      tellMoved(service, exchange, moved, one, { type: name, ...exchange.body, ...more?.(service, one) })
    },
  }
}

/** Sends the message to the actor, and answers with the resulting entity. */
export function tellMoved<S extends SnapshotOf<any>>(
  service: ServiceContext,
  exchange: Exchange,
  { refOf, documentOf, refused }: Moved<S>,
  one: S,
  said: object,
): void {
  const message = { by: exchange.by, ...said } as MessageBody
  const taken = ({ snapshot }: { readonly snapshot: SnapshotOf<any> }): void => {
    exchange.answer(200, documentOf(service, exchange, snapshot as S))
  }
  askActor(service, exchange, refOf(one), message, taken, refused)
}
