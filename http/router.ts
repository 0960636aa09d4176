/**
 * Turns the list of routes into a server. Every path and method is registered with uWebSockets.js, and every request
 * passes the same checks in the same order: version, path, token, right, Accept, query, body. Anything that is not in
 * the list is 404, or 405 with `Allow`.
 */
import type { Logger } from 'pino'
import { type Check, compile } from '../machines/schema.ts'
import { type AccessCheck, admit, revocationFault, runnerParamOf, SOCKET_TOKEN_PREFIX } from './access.ts'
import { type Admission, projectParamOf, type Urgency, urgencyOf } from './admission.ts'
import type { BodyReader } from './bodies/body.ts'
import { takesOrigin } from './origin.ts'
import { QueryParser } from './query.ts'
import { namedBy, type PendingEntities } from './resources/pending-entities.ts'
import type { Method, Route, Socket, SocketData } from './route.ts'
import { accepts } from './wire/accept.ts'
import { BrowserUpgrade } from './wire/browser-upgrade.ts'
import { type Ending, refusedAtEnd } from './wire/ending.ts'
import { Exchange } from './wire/exchange.ts'
import { declaredHeader, fence, incoming, readHeaders, TWO_AUTHORIZATIONS } from './wire/incoming.ts'
import { Pending } from './wire/pending.ts'
import { requestLog } from './wire/request-log.ts'
import type { RouteEntry } from './wire/route-entry.ts'
import { UNSENT_ANSWER_BYTES_MAX, UnsentAnswers } from './wire/unsent-answers.ts'
import {
  type Server,
  UWS_DISABLED_COMPRESSION,
  type UwsHandler,
  type UwsRequest,
  type UwsResponse,
  type UwsVerb,
} from './wire/uws.ts'

const VERBS: Readonly<Record<Method, UwsVerb>> = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'del' }
const JSON_ONLY: readonly string[] = ['application/json']

interface RouterOptions extends Ending {
  readonly routes: readonly Route[]
  readonly server: Server
  readonly access: AccessCheck
  readonly bodies: BodyReader
  readonly admission: Admission
  readonly pendingEntities: PendingEntities
  readonly headerBytesMax: number
  readonly unsentBytesMax?: number | undefined
  readonly log: Logger
}

/** A route with everything compiled from it once: parsers, validators, rules. */
class Gate implements RouteEntry {
  readonly route: Route
  readonly takesOrigin: boolean
  readonly pending: Pending
  readonly unsent: UnsentAnswers
  readonly answered = new Map<number, number>()
  readonly problems = new Map<string, number>()
  readonly onAnswer: RouteEntry['onAnswer']
  readonly paramCount: number
  readonly runnerParam: number
  readonly query: QueryParser
  readonly check: Check | undefined
  readonly produces: readonly string[]
  readonly urgency: Urgency
  readonly projectParam: number
  /**
   * How the path names an entity that another actor's message may still be creating
   * (http/resources/pending-entities.ts).
   */
  readonly named: ReturnType<typeof namedBy>
  readonly withBody: (exchange: Exchange) => void
  readonly #log: Logger

  constructor(
    route: Route,
    { log, pending, unsent }: { readonly log: Logger } & Pick<RouteEntry, 'pending' | 'unsent'>,
    withBody: (gate: Gate, exchange: Exchange) => void,
  ) {
    this.route = route
    this.pending = pending
    this.unsent = unsent
    this.takesOrigin = takesOrigin(route)
    this.#log = log
    this.onAnswer = requestLog(log)
    this.withBody = (exchange) => withBody(this, exchange)
    this.paramCount = route.path.split('/:').length - 1
    this.runnerParam = runnerParamOf(route)
    this.query = new QueryParser(route.query ?? NO_QUERY)
    this.check = route.body === undefined ? undefined : compile(route.body.schema)
    this.produces = route.produces ?? JSON_ONLY
    this.urgency = urgencyOf(route)
    this.projectParam = projectParamOf(route)
    this.named = namedBy(route.path)
  }

  /** A throw is a programming error: it costs this request a 500 and is logged; no other request is affected. */
  onFault(exchange: Exchange, error: unknown): void {
    const { method, path } = this.route
    this.#log.error({ err: error, method, route: path, path: exchange.path }, 'a handler failed')
  }
}

const NO_QUERY = { type: 'object', properties: {}, additionalProperties: false } as const

function declaredHeaders(route: Route, request: UwsRequest): readonly string[] | undefined {
  return route.headers?.map((name) => declaredHeader(name, request))
}

/** Reads the percent-decoded path parameters. Returns the one that cannot be decoded, if there is one. */
function readParams(gate: Gate, exchange: Exchange, request: UwsRequest): string | undefined {
  const params: string[] = []
  for (let i = 0; i < gate.paramCount; i++) {
    const raw = request.getParameter(i)
    const param = raw.includes('%') ? decoded(raw) : raw
    if (param === undefined) return raw
    params.push(param)
  }
  exchange.params = params
  return undefined
}

/** Stands in for requests that no route takes, so that 404 and 405 are counted and logged like other answers. */
const NOWHERE: Route = {
  method: 'GET',
  path: '/*',
  operation: 'nowhere',
  area: 'service',
  summary: 'Any other error.',
  access: { right: 'none' },
  answers: {},
  handle: () => {},
}

export class Router {
  readonly entries: readonly RouteEntry[]
  readonly pending = new Pending()
  readonly unsent: UnsentAnswers
  readonly #options: RouterOptions
  readonly #gates: readonly Gate[]
  readonly #nowhere: Gate

  constructor(options: RouterOptions) {
    this.#options = options
    const withBody = (gate: Gate, exchange: Exchange): void => this.#withBody(gate, exchange)
    this.unsent = new UnsentAnswers(options.unsentBytesMax ?? UNSENT_ANSWER_BYTES_MAX)
    const parts = { log: options.log, pending: this.pending, unsent: this.unsent }
    this.#gates = options.routes.map((route) => new Gate(route, parts, withBody))
    this.#nowhere = new Gate(NOWHERE, parts, withBody)
    this.entries = [...this.#gates, this.#nowhere]
    const { app } = options.server
    for (const gate of this.#gates) if (gate.route.socket !== undefined) this.#registerSocket(gate)
    for (const gate of this.#gates) {
      app[VERBS[gate.route.method]](gate.route.path, this.#handler(gate, false))
      if (takesHead(gate.route)) app.head(gate.route.path, this.#handler(gate, true))
    }
    app.any('/*', (response, request) => this.#elsewhere(response, request))
  }

  #handler(gate: Gate, isHead: boolean): UwsHandler {
    return (response, request) => {
      const exchange = new Exchange(gate, response)
      try {
        this.#pass(gate, exchange, request, isHead)
      } catch (error) {
        exchange.fault(error)
      }
      exchange._returned()
    }
  }

  #pass(gate: Gate, exchange: Exchange, request: UwsRequest, isHead: boolean): void {
    const { route } = gate
    readHeaders(request)
    const { accept, contentType, contentLength } = incoming
    exchange._prepare(declaredHeaders(route, request), isHead, this.#options.isClosing())
    fence(exchange)
    if (!this.#enter(gate, exchange, request)) return
    if (accept !== '' && accept !== '*/*' && !accepts(accept, gate.produces)) {
      exchange.problem('not_acceptable', `This path produces ${gate.produces.join(' or ')}.`)
      return
    }
    if (incoming.contentEncoding !== '' && refusedCoding(exchange, incoming.contentEncoding)) return
    const { urgency } = gate
    if (urgency !== undefined && !this.#options.admission.enter(exchange, urgency, gate.projectParam)) return
    if (route.upload !== undefined && !this.#options.bodies.open(exchange, contentType, contentLength)) return
    if (route.body === undefined) {
      this.#handOver(gate, exchange)
      return
    }
    this.#options.bodies.read(exchange, contentType, contentLength, gate.withBody)
  }

  /** The checks that a WebSocket upgrade passes too. Returns false if a problem was answered. */
  #enter(gate: Gate, exchange: Exchange, request: UwsRequest): boolean {
    const { route } = gate
    const { authorization, protocols, version } = incoming
    // First, since every problem names the path.
    const malformed = gate.paramCount > 0 ? readParams(gate, exchange, request) : undefined
    // Storage is about to close, so only routes that read nothing are still served.
    if (route.readsNothing !== true && refusedAtEnd(this.#options, exchange)) return false
    if (incoming.bytes > this.#options.headerBytesMax) {
      exchange._closeConnection()
      exchange.problem('headers_too_large', `The headers exceed ${this.#options.headerBytesMax} bytes.`)
      return false
    }
    if (incoming.isFramedTwice) {
      exchange.problem('invalid_header', 'The body needs one Content-Length, or Transfer-Encoding: chunked alone.')
      return false
    }
    // An answer that ends its connection is not counted as unsent, so none of the long ones may.
    if (incoming.isFenced && route.method === 'GET') {
      exchange.problem('invalid_header', 'A GET must have no body that is chunked or longer than 16 MiB.')
      return false
    }
    if (incoming.hosts > 1) {
      exchange._closeConnection()
      exchange.problem('invalid_header', 'The request has two Host headers.')
      return false
    }
    if (malformed !== undefined) {
      exchange.problem('malformed_path', `${malformed.slice(0, 60)} is not percent-encoded UTF-8.`)
      return false
    }
    if (version !== '' && version !== '1') {
      exchange.problem(
        'unsupported_api_version',
        `API-Version ${version.slice(0, 20)} is not supported; the only version is 1.`,
      )
      return false
    }
    if (route.access.right !== 'none') {
      const { access } = this.#options
      const isBrowser = authorization === '' && route.socket !== undefined
      const principal = isBrowser ? access.authenticateSocket(protocols) : access.authenticate(authorization)
      if (principal === undefined) {
        exchange.problem('unauthenticated', whyNobody(authorization))
        return false
      }
      exchange.caller = principal
      if (!admit(exchange, route.access, gate.runnerParam)) return false
    }
    const text = request.getQuery()
    // An empty query is always valid: no route has a required query parameter.
    if (text === '' || text === undefined) return true
    const result = gate.query.parse(text)
    if (!result.ok) {
      exchange.problem('invalid_query', 'The query parameters named in `errors` are invalid.', {
        errors: result.errors,
      })
      return false
    }
    exchange.query = result.query
    return true
  }

  #withBody(gate: Gate, exchange: Exchange): void {
    if (refusedAtEnd(this.#options, exchange)) return
    const { caller } = exchange
    if (caller !== undefined && !this.#options.access.holds(caller)) {
      const { code, detail } = revocationFault(caller)
      exchange.problem(code, `${detail} The body, received meanwhile, was discarded.`)
      return
    }
    try {
      const faults = gate.check?.(exchange.body)
      if (faults !== undefined && faults.length > 0) {
        exchange.problem('invalid_body', 'The fields named in `errors` are invalid.', { errors: faults })
        return
      }
      if (gate.takesOrigin && exchange.body.origin !== undefined) exchange._takeOrigin()
      this.#handOver(gate, exchange)
    } catch (error) {
      exchange.fault(error)
    }
  }

  #handOver({ route, named }: Gate, exchange: Exchange): void {
    if (named === undefined) route.handle(exchange)
    else this.#options.pendingEntities.handle(named, exchange)
  }

  #elsewhere(response: UwsResponse, request: UwsRequest): void {
    const path = request.getUrl()
    const method = request.getMethod().toUpperCase()
    const exchange = new Exchange(this.#nowhere, response, path, method.slice(0, 20))
    exchange._prepare(undefined, method === 'HEAD', this.#options.isClosing())
    readHeaders(request)
    fence(exchange)
    const allowed = allowedMethods(this.#gates, path)
    if (allowed.length === 0) {
      exchange.problem('no_such_route', `There is no path ${path.slice(0, 200)}; /openapi.json lists all paths.`)
    } else if (method === 'OPTIONS') {
      exchange.setHeader('Allow', allowed.join(', ')).answer(204)
    } else {
      exchange.setHeader('Allow', allowed.join(', '))
      exchange.problem(
        'method_not_allowed',
        `${method.slice(0, 20)} is not supported here; allowed: ${allowed.join(', ')}.`,
      )
    }
    exchange._returned()
  }

  #registerSocket(gate: Gate): void {
    const route = gate.route.socket!
    this.#options.server.app.ws(gate.route.path, {
      maxPayloadLength: route.maxPayloadBytes,
      idleTimeout: route.idleTimeoutSeconds,
      maxBackpressure: route.maxBackpressureBytes,
      closeOnBackpressureLimit: false,
      compression: UWS_DISABLED_COMPRESSION,
      sendPingsAutomatically: true,
      upgrade: (response, request, context) => this.#upgrade(gate, response, request, context),
      open: (socket) => route.open(socket),
      message: (socket, message, isBinary) => route.message(socket, message, isBinary),
      ping: (socket) => route.ping(socket),
      drain: (socket) => route.drain(socket),
      close: (socket: Socket, code) => route.close(socket, code),
    })
  }

  #upgrade(gate: Gate, response: UwsResponse, request: UwsRequest, context: unknown): void {
    const socket = gate.route.socket!
    readHeaders(request)
    const { protocols, authorization, isChunked } = incoming
    const hasToken = authorization === '' && protocols.includes(SOCKET_TOKEN_PREFIX)
    const isPage = hasToken && !isChunked && request.getHeader('origin') !== ''
    const exchange = isPage ? new BrowserUpgrade(gate, response) : new Exchange(gate, response)
    try {
      exchange._prepare(declaredHeaders(gate.route, request), false, this.#options.isClosing())
      fence(exchange)
      const isLetIn = this.#enter(gate, exchange, request)
      const fault = exchange instanceof BrowserUpgrade ? exchange.refusal : undefined
      if (!isLetIn && fault === undefined) return
      const state = fault === undefined ? socket.upgrade(exchange) : socket.refuse(fault, exchange.path)
      if (state === undefined || exchange.done) return
      const key = request.getHeader('sec-websocket-key')
      const offered = protocols.split(',').map((protocol) => protocol.trim())
      const protocol = offered.includes(socket.protocol) ? socket.protocol : ''
      const data: SocketData = { state }
      exchange._upgraded()
      response.upgrade(data, key, protocol, request.getHeader('sec-websocket-extensions'), context)
    } catch (error) {
      exchange.fault(error)
    } finally {
      exchange._returned()
    }
  }
}

/** Bodies are taken without any content coding (RFC 9110 section 8.4). Returns true if a problem was answered. */
function refusedCoding(exchange: Exchange, coding: string): boolean {
  const { body, upload } = exchange.route
  if ((body === undefined && upload === undefined) || coding.toLowerCase() === 'identity') return false
  exchange.setHeader('Accept-Encoding', 'identity')
  const given = JSON.stringify(coding.slice(0, 60))
  exchange.problem(
    'unsupported_content_encoding',
    `The Content-Encoding is ${given}; only uncompressed bodies are accepted.`,
  )
  return true
}

function whyNobody(authorization: string): string {
  if (authorization === TWO_AUTHORIZATIONS) return 'More than one Authorization header was sent.'
  return authorization === ''
    ? 'No Authorization header was sent.'
    : 'The token is unknown, revoked or expired (a run’s token ends with its run), or the header is not `Bearer <token>`.'
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function takesHead({ method, endless, answersOnce }: Route): boolean {
  return method === 'GET' && endless !== true && answersOnce !== true
}

function allowedMethods(gates: readonly Gate[], path: string): readonly string[] {
  const segments = path.split('/')
  const methods = new Set<string>()
  for (const { route } of gates) {
    const pattern = route.path.split('/')
    if (pattern.length !== segments.length) continue
    if (!pattern.every((part, i) => (part.startsWith(':') ? segments[i] !== '' : part === segments[i]))) continue
    methods.add(route.method)
    if (takesHead(route)) methods.add('HEAD')
  }
  if (methods.size > 0) methods.add('OPTIONS')
  return [...methods]
}
