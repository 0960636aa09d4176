/** One route while it is served: what an exchange of it asks for, and where its answers are counted. */

import type { Route } from '../route.ts'
import type { Exchange } from './exchange.ts'
import type { Pending } from './pending.ts'

/** What the router keeps for each route: the counters live here so that an answer costs one increment. */
export interface RouteEntry {
  readonly route: Route
  /** What it does is done by a person from somewhere (http/origin.ts). */
  readonly takesOrigin: boolean
  /** Counts those that are answered later; of the whole server. */
  readonly pending: Pending
  /** Answers given, by status. */
  readonly answered: Map<number, number>
  /** Problems answered, by code. */
  readonly problems: Map<string, number>
  /** Told of every answer with its status; undefined while nobody wants to hear of each. */
  readonly onAnswer: ((exchange: Exchange, status: number) => void) | undefined
  /** Told of every programmer's error on the way. */
  onFault(exchange: Exchange, error: unknown): void
}
