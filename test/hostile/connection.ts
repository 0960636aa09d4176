/**
 * A keep-alive connection that sends bytes unchanged and reads answers strictly (RFC 9112): bytes that were not asked
 * for, or are framed otherwise than announced, are a fault of the service.
 */
import { connect, type Socket } from 'node:net'

export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  /** Names are in lower case; values of repeated headers are joined by a comma. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  readonly ms: number
}

/** The connection ended before the answer was complete. */
export interface Closed {
  readonly kind: 'closed'
  readonly received: string
  readonly ms: number
  /** Since the previous answer or the opening: the time that uWebSockets.js counts until a request is complete. */
  readonly restedMs: number
}

/** No complete answer came in time. */
export interface Silent {
  readonly kind: 'silent'
  readonly received: string
  readonly ms: number
}

/** The answer violates the protocol. */
export interface Garbled {
  readonly kind: 'garbled'
  readonly why: string
  readonly received: string
  readonly ms: number
}

export type Outcome = Answer | Closed | Silent | Garbled

export interface AskOptions {
  /** Whether the method is HEAD: then the answer has no body, whatever its Content-Length. */
  readonly isHead: boolean
  readonly timeoutMs: number
  /** Answers of this media type never end: the head and the first part of the body suffice. */
  readonly endlessType?: string
}

interface Waiting {
  readonly options: AskOptions
  readonly begunMs: number
  readonly timer: NodeJS.Timeout
  readonly resolve: (outcome: Outcome) => void
}

/** uWebSockets.js closes a connection that was idle for about 10 s. */
const RESTED_MS = 4_000
const SHOWN_BYTES = 2_000
const NOTHING = Buffer.alloc(0)

export class Connection {
  readonly #socket: Socket
  #received: Buffer = NOTHING
  #waiting: Waiting | undefined
  #isOpen = true
  #isSending = false
  #usedMs = performance.now()

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#read(false)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#isOpen = false
      this.#read(true)
    })
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.removeListener('error', reject)
        resolve(new Connection(socket))
      })
    })
  }

  /** False also if the connection has been idle for so long that the service may be about to close it. */
  get isOpen(): boolean {
    return this.#isOpen && !this.#socket.destroyed && performance.now() - this.#usedMs < RESTED_MS
  }

  /** Sends the parts, several of them in a segment each, and waits for one answer. */
  ask(parts: readonly Buffer[], options: AskOptions): Promise<Outcome> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#finish(this.#broken('silent')), options.timeoutMs)
      this.#waiting = { options, begunMs: performance.now(), timer, resolve }
      if (!this.isOpen) this.#finish(this.#broken('closed'))
      else if (this.#received.length > 0) this.#finish(this.#garbled('bytes came that nothing had asked for'))
      else this.#send(parts, 0)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #send(parts: readonly Buffer[], from: number): void {
    if (from >= parts.length) return
    // The answer came before everything was sent: the rest would be read as the next request.
    if (this.#waiting === undefined) return
    this.#isSending = from + 1 < parts.length
    this.#socket.write(parts[from]!)
    if (from + 1 < parts.length) setImmediate(() => this.#send(parts, from + 1))
  }

  #read(isOver: boolean): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    const outcome = this.#parse(waiting, isOver)
    if (outcome !== undefined) this.#finish(outcome)
    else if (isOver) this.#finish(this.#broken('closed'))
  }

  #finish(outcome: Outcome): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    this.#waiting = undefined
    this.#usedMs = performance.now()
    clearTimeout(waiting.timer)
    if (outcome.kind !== 'answer' || this.#isSending || outcome.headers.get('connection') === 'close') this.close()
    waiting.resolve(outcome)
  }

  #broken(kind: 'closed' | 'silent'): Closed | Silent {
    const nowMs = performance.now()
    return { kind, received: this.#shown(), ms: nowMs - this.#waiting!.begunMs, restedMs: nowMs - this.#usedMs }
  }

  #garbled(why: string): Garbled {
    return { kind: 'garbled', why, received: this.#shown(), ms: performance.now() - this.#waiting!.begunMs }
  }

  #shown(): string {
    return this.#received.toString('latin1', 0, SHOWN_BYTES)
  }

  #parse({ options, begunMs }: Waiting, isOver: boolean): Outcome | undefined {
    const received = this.#received
    const end = received.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const [first = '', ...lines] = received.toString('latin1', 0, end).split('\r\n')
    const start = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]+$/.exec(first)
    if (start === null) return this.#garbled(`the status line is ${JSON.stringify(first)}`)
    const headers = new Map<string, string>()
    for (const line of lines) {
      const header = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([\x20-\x7e]*)$/.exec(line)
      if (header === null) return this.#garbled(`a header line is ${JSON.stringify(line)}`)
      const name = header[1]!.toLowerCase()
      const known = headers.get(name)
      headers.set(name, known === undefined ? header[2]! : `${known}, ${header[2]!}`)
    }
    const status = Number(start[1])
    const from = end + 4
    const done = (body: Buffer, length: number): Outcome => {
      this.#received = received.subarray(from + length)
      if (this.#received.length > 0) return this.#garbled('bytes follow the answer')
      return { kind: 'answer', status, headers, body, ms: performance.now() - begunMs }
    }
    const type = headers.get('content-type') ?? ''
    if (options.endlessType !== undefined && type.startsWith(options.endlessType)) {
      const body = received.subarray(from)
      this.#received = NOTHING
      this.close()
      return { kind: 'answer', status, headers, body, ms: performance.now() - begunMs }
    }
    if (options.isHead || status === 204 || status === 304) return done(NOTHING, 0)
    const length = headers.get('content-length')
    if (length === undefined) {
      if (!isOver) return headers.has('connection') ? undefined : this.#garbled('the answer has no Content-Length')
      const body = received.subarray(from)
      return done(body, body.length)
    }
    if (!/^\d+$/.test(length)) return this.#garbled(`Content-Length is ${length}`)
    if (received.length - from < Number(length)) return undefined
    return done(received.subarray(from, from + Number(length)), Number(length))
  }
}
