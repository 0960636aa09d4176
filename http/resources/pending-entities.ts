/**
 * When one actor's step creates another, the new actor's message is delivered a moment later, but its id may already
 * have been seen on Watch, in a list or in an answer. A request for such an id waits here, instead of being answered
 * that there is no such entity.
 */
import type { ActorKind, ActorRef } from '../../machines/machine.ts'
import type { Runtime } from '../../runtime/api.ts'
import { pollUntil } from '../later-turns.ts'
import { type Ending, refusedAtEnd } from '../wire/ending.ts'
import type { Exchange } from '../wire/exchange.ts'
import { recordIdOfName } from './intent-records.ts'

type RefOf = (named: string) => ActorRef | undefined

const byId =
  (kind: ActorKind): RefOf =>
  (id) => ({ kind, id })

/** Collections whose entities messages from other actors may create, with the ref that an id in the path stands for. */
const MADE_BY_MESSAGE: Readonly<Record<string, RefOf>> = {
  'agent-sessions': byId('agent_session'),
  hypotheses: byId('hypothesis'),
  'intent-records': (named) => {
    const id = recordIdOfName(named)
    return id === undefined ? undefined : { kind: 'intent_record', id }
  },
  'run-requests': byId('run_request'),
  'work-items': byId('work_item'),
}

/** How the first path parameter names an entity that may still be on its way; undefined if no such entity can be. */
export function namedBy(path: string): RefOf | undefined {
  const [, collection] = /^(?:\/api)?\/([a-z-]+)\/:/.exec(path) ?? []
  return collection === undefined ? undefined : MADE_BY_MESSAGE[collection]
}

export class PendingEntities {
  readonly #runtime: Pick<Runtime, 'isBusy' | 'platform' | 'read'>
  readonly #ending: Ending

  constructor(runtime: Pick<Runtime, 'isBusy' | 'platform' | 'read'>, ending: Ending) {
    this.#runtime = runtime
    this.#ending = ending
  }

  /** Lets the route handle the request: at once, or once the entity that the path names is no longer on its way. */
  handle(refOf: RefOf, exchange: Exchange): void {
    const ref = refOf(exchange.params[0]!)
    if (ref === undefined || !this.#isPending(ref)) exchange.route.handle(exchange)
    else this.#await(ref, exchange)
  }

  #await(ref: ActorRef, exchange: Exchange): void {
    const { hasFailed, isClosing } = this.#ending
    const isOver = (): boolean => hasFailed() || isClosing() || !this.#isPending(ref)
    pollUntil(this.#runtime.platform, exchange, isOver, () => {
      if (refusedAtEnd(this.#ending, exchange)) return
      if (this.#isPending(ref)) exchange.problem('view_behind', 'It may be about to be created.')
      else exchange.route.handle(exchange)
    })
  }

  /** Hot: for nearly all requests no message is waiting. */
  #isPending(ref: ActorRef): boolean {
    return this.#runtime.isBusy(ref) && this.#runtime.read(ref) === undefined
  }
}
