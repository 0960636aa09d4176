/**
 * One request and its answer, as a handler sees it: everything copied out of uWebSockets.js's request, exactly
 * one answer, nothing written to an aborted connection. Hot: no promise, no closure unless asked for.
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
/** A path longer than this is not told back: a problem is no echo. */
const INSTANCE_CHARACTERS_MAX = 1_024
export const PREFER_HEADER = 'prefer'
const RETURN_MINIMAL = 'return=minimal'
const QUOTED = /"[^"]*"/g
/** Of two the first holds (RFC 7240 section 2). */
const RETURN = /(?:^|,)\s*return\s*=\s*([^\s,;]*)/i

type State = 'open' | 'answered' | 'streaming' | 'aborted'

export class Exchange {
  readonly entry: RouteEntry
  /** Percent-decoded path parameters, in the order of the route's path. */
  params: readonly string[] = NO_PARAMS
  /** Who asks. Only routes with `access.right: 'none'` may find it undefined. */
  caller: Principal | undefined = undefined
  /** Parsed and validated query, numbers and booleans as such, lists still text. */
  query: Readonly<Record<string, any>> = NO_QUERY
  /** Parsed and validated body; `undefined` for routes without one. */
  body: any = undefined
  /** The body on its way in, for routes that take it as it comes. */
  upload: Upload | undefined = undefined
  /** Bytes of the body as it came: for a route that hashes or stores them. */
  bodyBytes = 0
  /** Whose request in flight it is (http/admission.ts). */
  flow: Flow | undefined = undefined
  /** The problem that was answered. */
  problemCode: ProblemCode | undefined = undefined
  /** When the request came, on the monotonic clock; kept only where each answer is told of. */
  readonly begunMs: number

  readonly #response: UwsResponse
  #path: string | undefined
  readonly #method: string | undefined
  #state: State = 'open'
  /** True until the handler has returned: uWebSockets.js has corked the socket so long. */
  #corked = true
  #closesConnection = false
  #isFenced = false
  /** The body, where an answer before all of it has come ends the connection. */
  #bodyToCome: Lingering | undefined = undefined
  #isHead = false
  #isPending = false
  #origin: string | undefined = undefined
  #answerHeaders: string[] | undefined = undefined
  #requestHeaders: readonly string[] | undefined = undefined
  #abortCallbacks: (() => void)[] | undefined = undefined

  /** `path` and `method` only where the route does not tell them. */
  constructor(entry: RouteEntry, response: UwsResponse, path?: string, method?: string) {
    this.entry = entry
    this.#response = response
    this.#path = path
    this.#method = method
    this.begunMs = entry.onAnswer === undefined ? 0 : performance.now()
  }

  /** Path without the query; put together from the route when first asked for, since most answers do not name it. */
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

  /** Who asks, where the route needs a token. */
  get principal(): Principal {
    return this.caller as Principal
  }

  /** Who does it, as it is recorded. What a person does has an origin: the one that was stated, or the peer's address. */
  get by(): By {
    const { by, kind, name } = this.principal
    if (kind === 'runner' || !this.entry.takesOrigin) return by
    const origin: string = this.#origin ?? this.query.origin ?? `${name}@${this.peer() || 'unknown'}`
    this.#origin = origin
    return { id: by.id, name, origin }
  }

  /** True once an answer was given or the client has gone: nothing more can be answered. */
  get done(): boolean {
    return this.#state !== 'open'
  }

  get aborted(): boolean {
    return this.#state === 'aborted'
  }

  /** A request header that the route declared in `headers`; empty when absent. */
  header(name: string): string {
    const index = this.route.headers?.indexOf(name) ?? -1
    return index < 0 ? '' : (this.#requestHeaders?.[index] ?? '')
  }

  /** Whether the caller wants no more than it cannot do without (RFC 7240 section 4.2); for routes that declare `prefer`. */
  get prefersMinimal(): boolean {
    const preferences = this.header(PREFER_HEADER)
    if (preferences === RETURN_MINIMAL || preferences === '') return preferences !== ''
    return RETURN.exec(preferences.replaceAll(QUOTED, ''))?.[1]?.toLowerCase() === 'minimal'
  }

  /** The peer's address in text; empty when the connection has gone. */
  peer(): string {
    if (this.done) return ''
    return Buffer.from(this.#response.getRemoteAddressAsText()).toString('latin1')
  }

  /** Put a header on the answer to come. */
  setHeader(name: string, value: string): this {
    this.#answerHeaders ??= []
    this.#answerHeaders.push(name, value)
    return this
  }

  /** Run when the client goes away before the answer (at once, if it has). */
  onAborted(callback: () => void): void {
    if (this.#state === 'aborted') {
      callback()
      return
    }
    this.#abortCallbacks ??= []
    this.#abortCallbacks.push(callback)
  }

  /**
   * Answer: a string is JSON text already, an object is serialized, undefined has no body.
   * A second answer is a programmer's error; one to a client that has gone is dropped.
   */
  answer(status: number, body?: string | object): void {
    if (this.#state === 'aborted') return
    if (this.#state !== 'open') throw new Error(`${this.route.method} ${this.route.path} was answered twice`)
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    // Before the answer: of one whose socket is paused no other request would be read.
    this.upload?.finish()
    this.#state = 'answered'
    this.#abortCallbacks = undefined
    this.#count(status)
    if (this.#isFenced) this.#writeLater(status, text)
    else if (this.#corked) this.#write(status, text)
    else this.#response.cork(() => this.#write(status, text))
  }

  /** Answer with the problem of that code (RFC 9457). `detail` says what was wrong with this very request. */
  problem(code: ProblemCode, detail: string, extra?: ProblemExtra): void {
    if (this.done) return
    const entry: Problem = problemTable[code]
    const { problems } = this.entry
    problems.set(code, (problems.get(code) ?? 0) + 1)
    this.problemCode = code
    const retryAfterSeconds = extra?.retryAfterSeconds ?? entry.retryAfterSeconds
    if (retryAfterSeconds !== undefined) this.setHeader('Retry-After', String(Math.ceil(retryAfterSeconds)))
    if (entry.status === 401) this.setHeader('WWW-Authenticate', 'Bearer realm="intendant"')
    this.setHeader('Content-Type', 'application/problem+json')
    const instance = this.path.length > INSTANCE_CHARACTERS_MAX ? undefined : this.path
    this.answer(entry.status, problemDocument(code, detail, instance, extra))
  }

  /** Answer for what was thrown while the request was handled. */
  fault(error: unknown): void {
    const { code, detail, isLogged } = faultOf(error)
    if (isLogged) this.entry.onFault(this, error)
    this.problem(code, detail)
  }

  /**
   * A part of the handler that comes later (behind a reply, a turn, a promise), with the same net below it: what it throws
   * is a fault of this exchange, so that its client is answered and nobody else's request hears of it. It is left out when
   * nothing can be answered any more. All that a handler goes on with passes here or through `await`.
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

  /** Go on, as `later` does, with what the promise brings; what it fails with is a fault of this exchange too. */
  await<V>(promise: Promise<V>, go: (value: V) => void = () => {}): void {
    promise.then(this.later(go), (error: unknown) => this.fault(error))
  }

  /** Begin an answer that goes on. Headers set before are sent; `Content-Type` should be among them. */
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

  /** Used by the router alone. */
  _prepare(requestHeaders: readonly string[] | undefined, isHead: boolean, closesConnection: boolean): void {
    this.#requestHeaders = requestHeaders
    this.#isHead = isHead
    this.#closesConnection = closesConnection
  }

  /** Used by the router alone: the body said where the request comes from, which is no business of the handler. */
  _takeOrigin(): void {
    const { origin, ...rest } = this.body
    this.#origin = origin
    this.body = rest
  }

  /** Used by the router alone: the connection ends with this answer. */
  _closeConnection(): void {
    this.#closesConnection = true
  }

  /**
   * Used by the router alone: where the body ends depends on who reads it, so that nothing behind it may be read as a
   * request. While an answer is owed uWebSockets.js closes a connection on which another request comes: the answer
   * leaves a turn later, when all that came with the request has been read, and the connection ends with it.
   */
  _fence(): void {
    this.#isFenced = true
    this.#closesConnection = true
    this._attachAbort()
  }

  /** Used by the router alone, within uWebSockets.js's handler: an answer before all of the body has come ends the connection. */
  _bodyIsToCome(): void {
    this.#bodyToCome = new Lingering(this.#response)
    this._attachAbort()
    this.#response.onData((chunk, isLast) => this._bodyCame(chunk.byteLength, isLast))
  }

  /** Used by whoever reads the body alone, of all that comes: also of what it reads no more. */
  _bodyCame(bytes: number, isLast: boolean): void {
    this.#bodyToCome?.came(bytes, isLast)
  }

  /** Used by the router alone: the handler has returned; without an answer yet, the abort is attached. */
  _returned(): void {
    this.#corked = false
    if (this.#state === 'open') {
      this.#isPending = true
      this.entry.pending.add()
    }
    if (this.#state === 'open' || this.#state === 'streaming') this._attachAbort()
  }

  /** Used by the router alone: the connection is a WebSocket now and answers no more. */
  _upgraded(): void {
    this.#state = 'answered'
    this.#count(101)
  }

  /** Used by the router and the body reader: must run before the handler gives control back to uWebSockets.js. */
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

  /** Used by the body reader alone. */
  get _response(): UwsResponse {
    return this.#response
  }

  #writeLater(status: number, text: string | undefined): void {
    setImmediate(() => {
      if (this.#state !== 'answered') return
      // An answer to HEAD cannot close its connection.
      if (this.#isHead) this.#response.close()
      else this.#response.cork(() => this.#write(status, text))
    })
  }

  /** Nothing is owed any more, or a stream has begun, which is ended by its own. */
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
      // A reported length would make uWebSockets.js wait for those bytes: write the header, end without one.
      response.writeHeader('Content-Length', String(Buffer.byteLength(text)))
      response.endWithoutBody()
    } else {
      response.end(sendable(text), isLast)
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
