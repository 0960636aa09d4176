/**
 * A server without sockets: all that uWebSockets.js does for http/, in memory. Requests are handed to the real router
 * as if they had been read from a connection; answers and frames go to whoever made them.
 */
import type { Socket } from '../../http/route.ts'
import type { Server, UwsApp, UwsHandler, UwsRequest, UwsResponse, UwsSocketBehavior } from '../../http/wire/uws.ts'

export interface WireRequest {
  readonly method: string
  /** The route's path, with its `:params`. */
  readonly pattern: string
  readonly params: readonly string[]
  /** Without `?`. */
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export interface WireAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** A request under way. */
export interface Connection {
  /** The client goes away. Has no effect once the request was answered. */
  abort(): void
}

/** The client's side of a WebSocket. */
export interface SocketClient {
  /** Takes a frame. Returns whether it fitted; if not, nothing more comes before `drain`. */
  receive(bytes: Uint8Array): boolean
  closed(code: number | undefined): void
}

/** The service's side of a WebSocket, as its client's network sees it. */
export interface SocketConnection {
  drain(): void
  /** The client goes away. */
  close(): void
}

const PEER = new TextEncoder().encode('192.0.2.1').buffer

export class Wire implements Server {
  readonly app: UwsApp
  isListening = false
  private readonly handlers = new Map<string, UwsHandler>()
  private readonly sockets = new Map<string, UwsSocketBehavior>()

  constructor() {
    const take = (method: string) => (pattern: string, handler: UwsHandler) => {
      this.handlers.set(`${method} ${pattern}`, handler)
    }
    const verbs = {
      get: take('GET'),
      post: take('POST'),
      put: take('PUT'),
      patch: take('PATCH'),
      del: take('DELETE'),
      head: take('HEAD'),
      options: take('OPTIONS'),
      any: take('*'),
    }
    this.app = {
      ...verbs,
      ws: (pattern: string, behavior: UwsSocketBehavior) => this.sockets.set(pattern, behavior),
      listen: () => {},
      close: () => {},
    }
  }

  async listen(): Promise<number> {
    this.isListening = true
    return 1
  }

  stopListening(): void {
    this.isListening = false
  }

  close(): void {
    this.isListening = false
  }

  /** Hands a request to its route. `answered` is called once, unless the client goes away before. */
  request(request: WireRequest, answered: (answer: WireAnswer) => void): Connection {
    const handler = this.handlers.get(`${request.method} ${request.pattern}`)
    if (handler === undefined) throw new Error(`there is no route ${request.method} ${request.pattern}`)
    const response = new MemoryResponse(answered)
    handler(response, requestOf(request))
    response.deliver(request.body)
    return response
  }

  /** Opens a WebSocket; undefined when it was answered instead. */
  connect(
    request: WireRequest,
    client: SocketClient,
    answered: (answer: WireAnswer) => void,
  ): SocketConnection | undefined {
    const behavior = this.sockets.get(request.pattern)!
    const response = new MemoryResponse(answered)
    behavior.upgrade(response, requestOf(request), undefined)
    if (response.upgraded === undefined) return undefined
    const socket = new MemorySocket(response.upgraded, client, behavior)
    behavior.open(socket)
    return socket
  }
}

function requestOf({ headers, params, query, method, pattern }: WireRequest): UwsRequest {
  return {
    getHeader: (name) => headers[name] ?? '',
    forEach: (visit) => {
      for (const name in headers) visit(name, headers[name]!)
    },
    getParameter: (index) => params[index]!,
    getUrl: () => pattern,
    getMethod: () => method.toLowerCase(),
    getQuery: () => query,
  }
}

class MemoryResponse implements UwsResponse, Connection {
  upgraded: unknown
  private readonly answered: (answer: WireAnswer) => void
  private status = 200
  private readonly headers: Record<string, string> = {}
  private aborted: (() => void) | undefined
  private onChunk: ((chunk: ArrayBuffer, isLast: boolean) => void) | undefined
  private isOver = false

  constructor(answered: (answer: WireAnswer) => void) {
    this.answered = answered
  }

  /** The body comes in one piece. */
  deliver(body: string | undefined): void {
    if (this.onChunk === undefined || this.isOver) return
    const bytes = new TextEncoder().encode(body ?? '')
    this.onChunk(bytes.buffer as ArrayBuffer, true)
  }

  abort(): void {
    if (this.isOver) return
    this.isOver = true
    this.aborted?.()
  }

  writeStatus(status: string): this {
    this.status = Number.parseInt(status, 10)
    return this
  }

  writeHeader(name: string, value: string): this {
    this.headers[name] = value
    return this
  }

  write(): boolean {
    throw new Error('no route of the simulation streams its answer')
  }

  end(body: string | Uint8Array = ''): this {
    if (this.isOver) throw new Error('a connection that is over was written to')
    this.isOver = true
    this.answered({ status: this.status, headers: this.headers, text: String(body) })
    return this
  }

  tryEnd(body: string | Uint8Array): readonly [boolean, boolean] {
    this.end(body)
    return [true, true]
  }

  endWithoutBody(): this {
    return this.end()
  }

  close(): this {
    this.isOver = true
    return this
  }

  cork(callback: () => void): this {
    callback()
    return this
  }

  onAborted(handler: () => void): this {
    this.aborted = handler
    return this
  }

  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): this {
    this.onChunk = handler
    return this
  }

  onWritable(): this {
    return this
  }

  getRemoteAddressAsText(): ArrayBuffer {
    return PEER
  }

  pause(): void {}

  resume(): void {}

  upgrade(data: unknown): void {
    this.isOver = true
    this.upgraded = data
  }
}

const SENT = 1
const BUFFERED = 0

class MemorySocket implements Socket, SocketConnection {
  private readonly data: unknown
  private readonly client: SocketClient
  private readonly behavior: UwsSocketBehavior
  private isOpen = true
  private buffered = 0

  constructor(data: unknown, client: SocketClient, behavior: UwsSocketBehavior) {
    this.data = data
    this.client = client
    this.behavior = behavior
  }

  send(message: string | Uint8Array): number {
    if (!this.isOpen) throw new Error('a closed socket was written to')
    const bytes = typeof message === 'string' ? Buffer.from(message) : message
    if (this.client.receive(bytes)) return SENT
    this.buffered = bytes.byteLength
    return BUFFERED
  }

  getBufferedAmount(): number {
    return this.buffered
  }

  end(code?: number): void {
    this.over(() => this.client.closed(code))
  }

  close(): void {
    this.over(() => this.client.closed(undefined))
  }

  cork(callback: () => void): void {
    callback()
  }

  getUserData(): { readonly state: unknown } {
    return this.data as { readonly state: unknown }
  }

  drain(): void {
    if (!this.isOpen) return
    this.buffered = 0
    this.behavior.drain(this)
  }

  private over(tell: () => void): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.behavior.close(this, 1006, new ArrayBuffer(0))
    tell()
  }
}
