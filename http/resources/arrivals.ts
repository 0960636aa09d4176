/**
 * What one actor's step makes of another comes by message, and is told of before it is there: on Watch, in a list, in an answer. Who asks
 * for it by its id waits, where the answer would be that there is no such thing.
 */
import type { ActorKind, ActorRef } from '../../machines/machine.ts'
import type { Runtime } from '../../runtime/api.ts'
import { lookUntil } from '../later-turns.ts'
import { type Ending, refusedAtEnd } from '../wire/ending.ts'
import type { Exchange } from '../wire/exchange.ts'
import { recordIdOfName } from './intent-records.ts'

type RefOf = (named: string) => ActorRef | undefined

const byId =
  (kind: ActorKind): RefOf =>
  (id) => ({ kind, id })

/** What is named behind these, where others' messages may make it. */
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

/** How the first parameter of such a route names what may be on its way; undefined: nothing that it names may be. */
export function namedBy(path: string): RefOf | undefined {
  const [, collection] = /^(?:\/api)?\/([a-z-]+)\/:/.exec(path) ?? []
  return collection === undefined ? undefined : MADE_BY_MESSAGE[collection]
}

export class Arrivals {
  readonly #runtime: Pick<Runtime, 'isBusy' | 'nature' | 'read'>
  readonly #ending: Ending

  constructor(runtime: Pick<Runtime, 'isBusy' | 'nature' | 'read'>, ending: Ending) {
    this.#runtime = runtime
    this.#ending = ending
  }

  /** Has the route handle it: at once, or when what its path names is not on its way any more. */
  handle(refOf: RefOf, exchange: Exchange): void {
    const ref = refOf(exchange.params[0]!)
    if (ref === undefined || !this.#isComing(ref)) exchange.route.handle(exchange)
    else this.#await(ref, exchange)
  }

  #await(ref: ActorRef, exchange: Exchange): void {
    const { hasFailed, isClosing } = this.#ending
    const isOver = (): boolean => hasFailed() || isClosing() || !this.#isComing(ref)
    lookUntil(this.#runtime.nature, exchange, isOver, () => {
      if (refusedAtEnd(this.#ending, exchange)) return
      if (this.#isComing(ref)) exchange.problem('view_behind', 'It may be on its way to be made, and is not there yet.')
      else exchange.route.handle(exchange)
    })
  }

  /** Hot: of nearly all that is asked for no message waits. */
  #isComing(ref: ActorRef): boolean {
    return this.#runtime.isBusy(ref) && this.#runtime.read(ref) === undefined
  }
}
