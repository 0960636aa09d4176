/**
 * A route is data: method, path, right, schemas, handler. The router, the access check, the validators, the
 * served documents and the access table all come from one list of these, so that none can say another thing.
 */
import type { Logger } from 'pino'
import type { TSchema } from '../machines/schema.ts'
import type { Principals } from '../runtime/access/principals.ts'
import type { Right } from '../runtime/access/rights.ts'
import type { Runtime } from '../runtime/api.ts'
import type { Dispatcher } from '../runtime/dispatch/dispatcher.ts'
import type { AgentSessions } from '../runtime/entities/agent-sessions.ts'
import type { Capabilities } from '../runtime/entities/capabilities.ts'
import type { Scheduler } from '../runtime/scheduler/api.ts'
import type { Steward } from '../runtime/steward/steward.ts'
import type { LostPast } from './lost-past.ts'
import type { Metrics } from './metrics.ts'
import type { ProblemCode } from './problems.ts'
import type { Backups } from './resources/backups.ts'
import type { Turnstile } from './turnstile.ts'
import type { QueryFault } from './watch/watch.ts'
import type { Exchange } from './wire/exchange.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * What a runner's token may do here, whatever rights the route names for persons (who may be refused 404 later,
 * for what they may not see):
 * `own`: only the runner named in the path; `holder`: only for run requests that it holds or held (the handler
 * checks with `http/access.ts`); `allowed_project`: only for its allowed projects.
 */
type RunnerRule = 'own' | 'holder' | 'allowed_project'

export interface Access {
  /** The right that a person's token needs. `none`: no token asked for. `any`: any valid token. `runner`: only a runner's token. */
  readonly right: Right | 'none' | 'any' | 'runner'
  /** Another right that lets a person's token in; which of the two is needed then, the handler says. */
  readonly orRight?: Right
  /** Absent: a runner's token is refused. */
  readonly runner?: RunnerRule
}

export interface RouteBody {
  /** A closed object (unknown field: 422). */
  readonly schema: TSchema
  /** Which setting bounds it: `bodyBytesMax` or `eventsBodyBytesMax`. Default `body`. */
  readonly limit?: 'body' | 'events'
  /** An absent body is read as `{}`. */
  readonly optional?: boolean
  /**
   * The handler validates by itself (the hot events doors); the router only parses. The schema is still the
   * documented one.
   */
  readonly selfChecked?: boolean
}

/** A body that is taken as it comes (`exchange.upload`), bounded by the setting `ingestBytesMax`. */
export interface RouteUpload {
  /** What it may be, by content type. */
  readonly contents: Readonly<Record<string, TSchema>>
}

export interface RouteAnswer {
  readonly description: string
  /** Absent: no body. */
  readonly schema?: TSchema
  readonly example?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Default `application/json`. */
  readonly contentType?: string
}

export interface Route {
  readonly method: Method
  /** With `:params`, each a whole segment. Parameters arrive percent-decoded in the order of the path. */
  readonly path: string
  /** What it does, as a verb and its object: the name of the function that a generated client has for it, so it stays as it is. */
  readonly operation: string
  /** Heading in the documents: `projects`, `run requests`, ... */
  readonly area: string
  /** One sentence for the documents. */
  readonly summary: string
  readonly description?: string
  readonly access: Access
  /** A closed object of strings, integers, booleans: an unknown or faulty query parameter is 400 `invalid_query`. */
  readonly query?: TSchema
  readonly body?: RouteBody
  /** Instead of `body`. */
  readonly upload?: RouteUpload
  /** Nothing stored is read: it is answered while the service ends, too. */
  readonly readsNothing?: true
  /** Request headers (lower case) that the handler reads: copied before the request goes away. */
  readonly headers?: readonly string[]
  /** What the answers may be, by status. */
  readonly answers: Readonly<Record<number, RouteAnswer>>
  /** Problem codes beyond those that every route may answer with. */
  readonly problems?: readonly ProblemCode[]
  /** Types the route can answer with, asked by `Accept` (406). Default: JSON. The handler reads `accept` to choose. */
  readonly produces?: readonly string[]
  /** An endless answer: no HEAD, not counted as a request in flight. */
  readonly endless?: boolean
  /** What a GET tells is not told again (work handed out, a peak since it was last read): no HEAD, whose client would not see it. */
  readonly answersOnce?: true
  /** Also taken as a WebSocket at this path (GET only). */
  readonly socket?: SocketRoute
  /** Taken under any load, since a promise hangs on it and it costs next to nothing (http/admission.ts). */
  readonly isAlwaysTaken?: true
  /** Answers exactly once, now or later, by `exchange.answer`, `exchange.problem` or `exchange.stream`. A throw is a 500. */
  handle(exchange: Exchange): void
}

/** One open WebSocket: uWebSockets.js's own object, and no more of it than is used. Valid until `close`. */
export interface Socket {
  /** 1 sent, 0 buffered (wait for `drain`), 2 dropped. */
  send(message: string | Uint8Array, isBinary?: boolean): number
  getBufferedAmount(): number
  /** Close with a code and a short reason. */
  end(code?: number, reason?: string): void
  /** Drop the connection. */
  close(): void
  cork(callback: () => void): unknown
  getUserData(): SocketData
}

/** What rides on a socket: whatever `upgrade` returned. */
export interface SocketData {
  readonly state: unknown
}

export interface SocketRoute {
  readonly idleTimeoutSeconds: number
  readonly maxPayloadBytes: number
  readonly maxBackpressureBytes: number
  /**
   * The checked request (principal, query). Returns the state to ride on the socket, or undefined after having
   * answered with a problem. Runs at once, within the upgrade.
   */
  upgrade(exchange: Exchange): object | undefined
  /** Somebody who is not let in, or asks wrongly, and could not read an HTTP answer: the state of a socket that tells so and ends. */
  refuse(fault: QueryFault, path: string): object
  /** Subprotocol to confirm, if the client offered it. */
  readonly protocol: string
  open(socket: Socket): void
  message(socket: Socket, message: ArrayBuffer, isBinary: boolean): void
  /** It was answered already. */
  ping(socket: Socket): void
  drain(socket: Socket): void
  /** The socket may not be used any more. */
  close(socket: Socket, code: number): void
}

/** What every handler may reach. Routes close over it: `export const runnerRoutes = (service: ServiceContext): readonly Route[]`. */
export interface ServiceContext {
  readonly runtime: Runtime
  readonly dispatcher: Dispatcher
  readonly capabilities: Capabilities
  readonly scheduler: Scheduler
  readonly steward: Steward
  readonly sessions: AgentSessions
  readonly principals: Principals
  /** Idempotency keys whose create has no answer yet. */
  readonly keysInUse: Turnstile
  /** Hears of cursors of what the home has lost. */
  readonly lostPast: LostPast
  readonly log: Logger
  readonly metrics: Metrics
  /** True once the journal has failed: the process is about to end, and what it would say of its state may be wrong. */
  readonly hasFailed: () => boolean
  /** Called once, at the start of a graceful stop: end streams, answer what is parked. */
  onClosing(callback: () => void): void
  /** Absent: the journal cannot be copied while it runs. */
  readonly backups?: Backups
}
