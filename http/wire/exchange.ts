/**
 * One request and its answer, as a handler sees it: everything is copied out of uWebSockets.js's request, there is
 * exactly one answer, and nothing is written to an aborted connection. Hot: no promise, and no closure unless needed.
 */
import type { By } from '../../machines/machine.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import type { Flow } from '../admission.ts'
import type { Upload } from '../bodies/upload.ts'
import { faultOf } from '../faults.ts'
import { type Problem, type ProblemCode, type ProblemExtra, problemDocument, problemTable } from '../problems.ts'
import type { Route } from '../route.ts'
import { Lingering } from './lingering.ts'
import type { RouteEntry } from './route-entry.ts'
import { beginningOf } from './status.ts'
import type { Stream } from './stream.ts'
import { sendable, type UwsResponse } from './uws.ts'

const NO_PARAMS: readonly string[] = []
const NO_QUERY: Readonly<Record<string, any>> = {}
/** A longer path is not repeated in the problem's `instance`: a problem must not be an echo. */
const INSTANCE_CHARACTERS_MAX = 1_024
export const PREFER_HEADER = 'prefer'
const RETURN_MINIMAL = 'return=minimal'
const QUOTED = /"[^"]*"/g
/** If given twice, the first holds (RFC 7240 section 2). */
const RETURN = /(?:^|,)\s*return\s*=\s*([^\s,;]*)/i

type State = 'open' | 'answered' | 'streaming' | 'aborted'

export class Exchange {
  readonly entry: RouteEntry
  /** Percent-decoded path parameters, in the order of the route's path. */
  params: readonly string[] = NO_PARAMS
  /** The caller; undefined only for routes with `access.right: 'none'`. */
  caller: Principal | undefined = undefined
  /** Parsed and validated query: numbers, booleans and lists converted; the lists of Watch's filters are still text. */
  query: Readonly<Record<string, any>> = NO_QUERY
  /** Parsed and validated body; `undefined` for routes without one. */
  body: any = undefined
  /** The incoming body, for routes that read it as a stream. */
  upload: Upload | undefined = undefined
  /** Size of the body as received. */
  bodyBytes = 0
  /** The flow in which the request counts as in flight (http/admission.ts). */
  flow: Flow | undefined = undefined
  /** Code of the problem that was answered. */
  problemCode: ProblemCode | undefined = undefined
  /** When the request arrived, on the monotonic clock; kept only if answers are logged. */
  readonly begunMs: number

  readonly #response: UwsResponse
  #path: string | undefined
  readonly #method: string | undefined
  #state: State = 'open'
  /** True until the handler has returned: until then uWebSockets.js has corked the socket. */
  #corked = true
  #closesConnection = false
  #isFenced = false
  /** The body, if an answer before all of it has arrived must close the connection. */
  #bodyToCome: Lingering | undefined = undefined
  #isHead = false
  #isPending = false
  #origin: string | undefined = undefined
  #answerHeaders: string[] | undefined = undefined
  #requestHeaders: readonly string[] | undefined = undefined
  #abortCallbacks: (() => void)[] | undefined = undefined

  /** `path` and `method` are given only if the route does not determine them. */
  constructor(entry: RouteEntry, response: UwsResponse, path?: string, method?: string) {
    this.entry = entry
    this.#response = response
    this.#path = path
    this.#method = method
    this.begunMs = entry.onAnswer === undefined ? 0 : performance.now()
  }

  /** Path without the query; built from the route on first use, since most answers do not need it. */
  get path(): string {
    if (this.#path === undefined) {
      let i = 0
      this.#path = this.route.path.replaceAll(/:\w+/g, (name) => {
        const param = this.params[i++]
        return param === undefined ? name : encodeURIComponent(param)
      })
    }
    return this.#path
  }

  get method(): string {
    return this.#method ?? this.entry.route.method
  }

  get route(): Route {
    return this.entry.route
  }

  /** The caller of a route that needs a token. */
  get principal(): Principal {
    return this.caller as Principal
  }

  /** The caller as it is recorded. A person's change has an origin: the stated one, or else the peer's address. */
  get by(): By {
    const { by, kind, name } = this.principal
    if (kind === 'runner' || !this.entry.takesOrigin) return by
    const origin: string = this.#origin ?? this.query.origin ?? `${name}@${this.peer() || 'unknown'}`
    this.#origin = origin
    return { id: by.id, name, origin }
  }

  /** True once an answer was given or the client has gone: nothing can be answered any more. */
  get done(): boolean {
    return this.#state !== 'open'
  }

  get aborted(): boolean {
    return this.#state === 'aborted'
  }

  /** A request header that the route declared in `headers`; empty if absent. */
  header(name: string): string {
    const index = this.route.headers?.indexOf(name) ?? -1
    return index < 0 ? '' : (this.#requestHeaders?.[index] ?? '')
  }

  /** Whether the caller prefers a minimal answer (RFC 7240 section 4.2); for routes that declare `prefer`. */
  get prefersMinimal(): boolean {
    const preferences = this.header(PREFER_HEADER)
    if (preferences === RETURN_MINIMAL || preferences === '') return preferences !== ''
    return RETURN.exec(preferences.replaceAll(QUOTED, ''))?.[1]?.toLowerCase() === 'minimal'
  }

  /** The peer's address as text; empty if the connection has gone. */
  peer(): string {
    if (this.done) return ''
    return Buffer.from(this.#response.getRemoteAddressAsText()).toString('latin1')
  }

  /** Adds a header to the answer. */
  setHeader(name: string, value: string): this {
    this.#answerHeaders ??= []
    this.#answerHeaders.push(name, value)
    return this
  }

  /** Registers a callback for when the client goes away before the answer; called at once if it already has. */
  onAborted(callback: () => void): void {
    if (this.#state === 'aborted') {
      callback()
      return
    }
    this.#abortCallbacks ??= []
    this.#abortCallbacks.push(callback)
  }

  /**
   * Answers. A string is sent as JSON text, an object is serialized, undefined means no body. A second answer is a
   * programming error; an answer to a client that has gone is dropped.
   */
  answer(status: number, body?: string | object): void {
    if (this.#state === 'aborted') return
    if (this.#state !== 'open') throw new Error(`${this.route.method} ${this.route.path} was answered twice`)
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    // Before the answer: while a socket is paused, no other request on it is read.
    this.upload?.finish()
    this.#state = 'answered'
    this.#abortCallbacks = undefined
    this.#count(status)
    if (this.#isFenced) this.#writeLater(status, text)
    else if (this.#corked) this.#write(status, text)
    else this.#response.cork(() => this.#write(status, text))
  }

  /** Answers with the problem of that code (RFC 9457). `detail` says what was wrong with this particular request. */
  problem(code: ProblemCode, detail: string, extra?: ProblemExtra): void {
    if (this.done) return
    const entry: Problem = problemTable[code]
    const { problems } = this.entry
    problems.set(code, (problems.get(code) ?? 0) + 1)
    this.problemCode = code
    const { retryAfterSeconds } = entry
    if (retryAfterSeconds !== undefined) this.setHeader('Retry-After', String(retryAfterSeconds))
    if (entry.status === 401) this.setHeader('WWW-Authenticate', 'Bearer realm="intendant"')
    this.setHeader('Content-Type', 'application/problem+json')
    const instance = this.path.length > INSTANCE_CHARACTERS_MAX ? undefined : this.path
    this.answer(entry.status, problemDocument(code, detail, instance, extra))
  }

  /** Answers for an error thrown while the request was handled. */
  fault(error: unknown): void {
    const { code, detail, isLogged } = faultOf(error)
    if (isLogged) this.entry.onFault(this, error)
    this.problem(code, detail)
  }

  /**
   * Wraps a part of the handler that runs later (on a reply, a turn, a promise), so that an error it throws becomes a
   * fault of this exchange: its client is answered, and no other request is affected. The part is skipped once nothing
   * can be answered any more. Every continuation of a handler passes through here or through `await`.
   */
  later<V = void>(go: (value: V) => void): (value: V) => void {
    return (value) => {
      if (this.done) return
      try {
        go(value)
      } catch (error) {
        this.fault(error)
      }
    }
  }

  /** Continues with the promise's value, as `later` does; a rejection is a fault of this exchange too. */
  await<V>(promise: Promise<V>, go: (value: V) => void = () => {}): void {
    promise.then(this.later(go), (error: unknown) => this.fault(error))
  }

  /** Begins a streamed answer. Headers set before are sent; `Content-Type` should be among them. */
  stream(status: number): Stream {
    if (this.#state === 'open') {
      this.#state = 'streaming'
      this.#count(status)
      const begin = (): void => this.#writeHead(status, false)
      if (this.#corked) begin()
      else this.#response.cork(begin)
    }
    return this.#streamOut()
  }

  /** For the router only. */
  _prepare(requestHeaders: readonly string[] | undefined, isHead: boolean, closesConnection: boolean): void {
    this.#requestHeaders = requestHeaders
    this.#isHead = isHead
    this.#closesConnection = closesConnection
  }

  /** For the router only: takes `origin` out of the body, which is not the handler's concern. */
  _takeOrigin(): void {
    const { origin, ...rest } = this.body
    this.#origin = origin
    this.body = rest
  }

  /** For the router only: the connection closes with this answer. */
  _closeConnection(): void {
    this.#closesConnection = true
  }

  /**
   * For the router only. Parsers may disagree on where this body ends, so nothing after it may be read as a request.
   * While an answer is owed, uWebSockets.js closes a connection on which another request arrives. So the answer is sent
   * a turn later, when everything that came with the request has been read, and the connection closes with it.
   */
  _fence(): void {
    this.#isFenced = true
    this.#closesConnection = true
    this._attachAbort()
  }

  /**
   * For the router only, within uWebSockets.js's handler: an answer before all of the body has arrived closes the
   * connection.
   */
  _bodyIsToCome(): void {
    this.#bodyToCome = new Lingering(this.#response)
    this._attachAbort()
    this.#response.onData((chunk, isLast) => this._bodyCame(chunk.byteLength, isLast))
  }

  /** For readers of the body only: counts everything that arrives, including what they no longer read. */
  _bodyCame(bytes: number, isLast: boolean): void {
    this.#bodyToCome?.came(bytes, isLast)
  }

  /** For the router only: the handler has returned. If no answer was given yet, attaches the abort handler. */
  _returned(): void {
    this.#corked = false
    if (this.#state === 'open') {
      this.#isPending = true
      this.entry.pending.add()
    }
    if (this.#state === 'open' || this.#state === 'streaming') this._attachAbort()
  }

  /** For the router only: the connection is now a WebSocket, and no answer follows. */
  _upgraded(): void {
    this.#state = 'answered'
    this.#count(101)
  }

  /** For the router and the body reader: must run before the handler returns control to uWebSockets.js. */
  _attachAbort(): void {
    if (this.#state === 'answered' || this.#state === 'aborted') return
    this.#response.onAborted(() => {
      this.#state = 'aborted'
      this.#bodyToCome?.gone()
      this.#settle()
      const callbacks = this.#abortCallbacks
      this.#abortCallbacks = undefined
      if (callbacks !== undefined) for (const callback of callbacks) callback()
    })
  }

  /** For the body reader only. */
  get _response(): UwsResponse {
    return this.#response
  }

  #writeLater(status: number, text: string | undefined): void {
    setImmediate(() => {
      if (this.#state !== 'answered') return
      // uWebSockets.js cannot close the connection with the answer to a HEAD.
      if (this.#isHead) this.#response.close()
      else this.#response.cork(() => this.#write(status, text))
    })
  }

  /** No answer is owed any more, or a stream has begun, whose end is handled by its own code. */
  #settle(): void {
    if (this.#isPending) this.entry.pending.done()
    this.#isPending = false
    this.flow?.leave()
    this.flow = undefined
  }

  #count(status: number): void {
    this.#settle()
    const { answered, onAnswer } = this.entry
    answered.set(status, (answered.get(status) ?? 0) + 1)
    if (onAnswer !== undefined) onAnswer(this, status)
  }

  #writeHead(status: number, hasBody: boolean): void {
    const response = this.#response
    const headers = this.#answerHeaders
    if (headers === undefined) {
      response.writeStatus(beginningOf(status, hasBody ? 'json' : 'other'))
      return
    }
    response.writeStatus(beginningOf(status, hasBody && !headers.includes('Content-Type') ? 'json' : 'other'))
    for (let i = 0; i < headers.length; i += 2) response.writeHeader(headers[i]!, headers[i + 1]!)
  }

  #write(status: number, text: string | undefined): void {
    this.#writeHead(status, text !== undefined)
    const response = this.#response
    const toCome = this.#bodyToCome?.isWhole === false ? this.#bodyToCome : undefined
    const isLast = this.#closesConnection || toCome !== undefined
    if (text !== undefined && toCome !== undefined && this.problemCode !== undefined && !this.#isHead) {
      toCome.refuse(text)
    } else if (text === undefined) {
      // A 204 has no Content-Length (RFC 9110 section 8.6); only `end` can close the connection.
      if (status === 204 && !isLast) response.endWithoutBody()
      else response.end('', isLast)
    } else if (this.#isHead) {
      // With a reported length uWebSockets.js would wait for those bytes: write the header, and end without a length.
      response.writeHeader('Content-Length', String(Buffer.byteLength(text)))
      response.endWithoutBody()
    } else if (isLast) {
      response.end(sendable(text), true)
    } else {
      this.entry.unsent.send(response, text)
    }
  }

  #streamOut(): Stream {
    const response = this.#response
    return {
      write: (chunk) => {
        if (this.#state !== 'streaming') return true
        let isWritten = true
        response.cork(() => {
          isWritten = response.write(typeof chunk === 'string' ? sendable(chunk) : chunk)
        })
        return isWritten
      },
      onWritable: (callback) => {
        if (this.#state !== 'streaming') return
        response.onWritable(() => {
          callback()
          return true
        })
      },
      end: () => {
        if (this.#state !== 'streaming') return
        this.#state = 'answered'
        response.cork(() => response.end(''))
      },
      close: () => {
        if (this.#state === 'streaming') response.close()
      },
    }
  }
}
