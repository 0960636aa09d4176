/** A route while it is served: what its exchanges need, and where their answers are counted. */

import type { Route } from '../route.ts'
import type { Exchange } from './exchange.ts'
import type { Pending } from './pending.ts'
import type { UnsentAnswers } from './unsent-answers.ts'

/** What the router keeps for each route. The counters are here so that an answer costs one increment. */
export interface RouteEntry {
  readonly route: Route
  /** Whether a person causes the change, so that an origin is recorded (http/origin.ts). */
  readonly takesOrigin: boolean
  /** Counts the requests of the whole server that are answered later. */
  readonly pending: Pending
  /** Holds what clients have not taken of its answers; one for the whole server. */
  readonly unsent: UnsentAnswers
  /** Answers given, by status. */
  readonly answered: Map<number, number>
  /** Problems answered, by code. */
  readonly problems: Map<string, number>
  /** Called for every answer with its status; undefined if answers are not logged. */
  readonly onAnswer: ((exchange: Exchange, status: number) => void) | undefined
  /** Called for every programming error while a request is handled. */
  onFault(exchange: Exchange, error: unknown): void
}
