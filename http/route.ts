/**
 * A route is data: method, path, right, schemas, handler. The router, the access check, the validators, the API
 * documents and the access table are all derived from one list of routes, so they cannot disagree.
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
import type { KeyedMutex } from './keyed-mutex.ts'
import type { Metrics } from './metrics.ts'
import type { ProblemCode } from './problems.ts'
import type { Backups } from './resources/backups.ts'
import type { StaleHomeNotice } from './stale-home-notice.ts'
import type { QueryFault } from './watch/watch.ts'
import type { Exchange } from './wire/exchange.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * What a runner's token may do here, whatever right the route names for persons:
 * - `own`: only the runner named in the path.
 * - `holder`: only run requests that it holds or held (the handler checks with `http/access.ts`).
 * - `allowed_project`: only its allowed projects.
 *
 * Persons may still be answered 404 later, for what they may not see.
 */
type RunnerRule = 'own' | 'holder' | 'allowed_project'

export interface Access {
  /**
   * The right that a person's token needs. `none`: no token. `any`: any valid token. `runner`: only a runner's token.
   */
  readonly right: Right | 'none' | 'any' | 'runner'
  /** Another right that admits a person's token; the handler decides which of the two the request needs. */
  readonly orRight?: Right
  /** Absent: runners' tokens are refused. */
  readonly runner?: RunnerRule
  /**
   * It changes what the project is, works on by itself without end, or approves what it submits: for people. The token
   * of a run, which may be in the hands of an agent that goes astray, is refused although it holds the right.
   */
  readonly isClosedToRuns?: true
}

export interface RouteBody {
  /** A closed object (an unknown field is 422). */
  readonly schema: TSchema
  /** Which setting bounds it (`bodyBytesMax` or `eventsBodyBytesMax`), and how many values it may have. Default: `body`. */
  readonly limit?: 'body' | 'events'
  /** An absent body is read as `{}`. */
  readonly optional?: boolean
}

/** A body read as a stream (`exchange.upload`), bounded by the setting `ingestBytesMax`. */
export interface RouteUpload {
  /** Accepted content types, with the schema of each. */
  readonly contents: Readonly<Record<string, TSchema>>
}

export interface RouteAnswer {
  readonly description: string
  /** Absent: no body. */
  readonly schema?: TSchema
  readonly example?: unknown
  /** Headers that every such answer has, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>
  /** Headers that only some of these answers have. */
  readonly optionalHeaders?: Readonly<Record<string, string>>
  /** Default `application/json`. */
  readonly contentType?: string
}

export interface Route {
  readonly method: Method
  /** May contain `:params`, each a whole segment. Parameters arrive percent-decoded, in the order of the path. */
  readonly path: string
  /** Verb and object: the name of the function in a generated client, so it must not change. */
  readonly operation: string
  /** Heading in the documents: `projects`, `run requests`, ... */
  readonly area: string
  /** One sentence for the documents. */
  readonly summary: string
  readonly description?: string
  readonly access: Access
  /**
   * A closed object of strings, integers, booleans and lists of strings: an unknown or invalid query parameter is 400
   * `invalid_query`.
   */
  readonly query?: TSchema
  readonly body?: RouteBody
  /** Instead of `body`. */
  readonly upload?: RouteUpload
  /** Reads nothing stored, so it is answered while the service stops, too. */
  readonly readsNothing?: true
  /** Request headers (lower case) that the handler reads: copied before the request becomes invalid. */
  readonly headers?: readonly string[]
  /** Documented answers, by status. */
  readonly answers: Readonly<Record<number, RouteAnswer>>
  /** Problem codes beyond those that every route may answer with. */
  readonly problems?: readonly ProblemCode[]
  /**
   * Types that the route can answer with, matched against `Accept` (406). Default: JSON. The handler reads `accept` to
   * choose.
   */
  readonly produces?: readonly string[]
  /** An endless answer: no HEAD, and not counted as a request in flight. */
  readonly endless?: boolean
  /**
   * A GET whose answer is given only once (work handed out, a peak since the last read): no HEAD, whose client would
   * lose it.
   */
  readonly answersOnce?: true
  /** Also taken as a WebSocket at this path (GET only). */
  readonly socket?: SocketRoute
  /** Taken under any load, because a promise depends on it and it costs next to nothing (http/admission.ts). */
  readonly isAlwaysTaken?: true
  /**
   * Answers exactly once, now or later, with `exchange.answer`, `exchange.problem` or `exchange.stream`. A throw is a
   * 500.
   */
  handle(exchange: Exchange): void
}

/** An open WebSocket: the part of uWebSockets.js's own object that is used here. Valid until `close`. */
export interface Socket {
  /** 1 sent, 0 buffered (wait for `drain`), 2 dropped. */
  send(message: string | Uint8Array, isBinary?: boolean): number
  getBufferedAmount(): number
  /** Closes with a code and a short reason. */
  end(code?: number, reason?: string): void
  /** Drops the connection. */
  close(): void
  cork(callback: () => void): unknown
  getUserData(): SocketData
}

/** The user data of a socket: `state` is what `upgrade` returned. */
export interface SocketData {
  readonly state: unknown
}

export interface SocketRoute {
  readonly idleTimeoutSeconds: number
  readonly maxPayloadBytes: number
  readonly maxBackpressureBytes: number
  /**
   * Takes the checked request (principal, query). Returns the state to attach to the socket, or undefined after having
   * answered a problem. Runs synchronously, within the upgrade.
   */
  upgrade(exchange: Exchange): object | undefined
  /**
   * For a refused browser, which cannot read an HTTP answer: returns the state of a socket that reports the fault and
   * closes.
   */
  refuse(fault: QueryFault, path: string): object
  /** Subprotocol to confirm if the client offered it. */
  readonly protocol: string
  open(socket: Socket): void
  message(socket: Socket, message: ArrayBuffer, isBinary: boolean): void
  /** The ping was already answered. */
  ping(socket: Socket): void
  drain(socket: Socket): void
  /** The socket must not be used any more. */
  close(socket: Socket, code: number): void
}

/**
 * What every handler can use. Routes close over it: `export const runnerRoutes = (service: ServiceContext): readonly
 * Route[]`.
 */
export interface ServiceContext {
  readonly runtime: Runtime
  readonly dispatcher: Dispatcher
  readonly capabilities: Capabilities
  readonly scheduler: Scheduler
  readonly steward: Steward
  readonly sessions: AgentSessions
  readonly principals: Principals
  /** Idempotency keys whose create is not answered yet. */
  readonly keysInUse: KeyedMutex
  /** Told of cursors for events that the home has lost. */
  readonly staleHomeNotice: StaleHomeNotice
  readonly log: Logger
  readonly metrics: Metrics
  /** True once the journal has failed: the process is about to end, and its state may be wrong. */
  readonly hasFailed: () => boolean
  /** When the served certificate expires, milliseconds since the epoch; Infinity without TLS. */
  readonly certificateEndMs: number
  /** Registers a callback for the start of a graceful stop: end streams, answer parked polls. Called once. */
  onClosing(callback: () => void): void
  /** Absent if the journal cannot be copied while it runs. */
  readonly backups?: Backups
}
