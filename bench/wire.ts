/**
 * An HTTP/1.1 keep-alive connection for load: preformatted requests out, the least parsing in. Its one purpose is not
 * to be the bottleneck; `fetch` costs ten times what the measured server does. Hot path: one shared read buffer, no
 * promise and no object per answer.
 */
import { connect, type Socket } from 'node:net'

export interface Target {
  readonly host: string
  readonly port: number
}

/** Called for each answer; its body is `text` from `from` to `to`, one character per byte (latin1). */
export type Answered = (status: number, text: string, from: number, to: number) => void

const READ_BYTES = 1024 * 1024
const shared = Buffer.allocUnsafe(READ_BYTES)

export function targetOf(url: string): Target {
  const parsed = new URL(url)
  return { host: parsed.hostname, port: Number(parsed.port) }
}

/** The whole text of a request. `body` must be ASCII, because its length is taken as its number of bytes. */
export function formatRequest(method: string, path: string, token: string, body?: string): string {
  const head = `${method} ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\n`
  if (body === undefined) return `${head}\r\n`
  return `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

/** Content-Length of the head in text[from, to). An answer without one has no body. */
export function contentLength(text: string, from: number, to: number): number {
  let at = text.indexOf('ontent-Length: ', from)
  if (at < 0 || at > to) at = text.indexOf('ontent-length: ', from)
  if (at < 0 || at > to) {
    if (/transfer-encoding: *chunked/i.test(text.slice(from, to))) throw new Error('a chunked answer')
    return 0
  }
  let length = 0
  for (let digit = at + 15; ; digit++) {
    const code = text.charCodeAt(digit) - 48
    if (!(code >= 0 && code <= 9)) return length
    length = length * 10 + code
  }
}

export class Connection {
  readonly #socket: Socket
  #rest = ''
  #answered: Answered = () => {}
  #failed: (failure: Error) => void = () => {}
  #closing = false

  private constructor(target: Target, opened: (failure?: Error) => void) {
    this.#socket = connect({
      ...target,
      noDelay: true,
      onread: {
        buffer: shared,
        callback: (bytes) => {
          this.#read(bytes)
          return true
        },
      },
    })
    this.#socket.once('connect', () => opened())
    this.#socket.once('error', (failure) => {
      opened(failure)
      this.#failed(failure)
    })
    this.#socket.once('close', () => {
      if (!this.#closing) this.#failed(new Error('the server closed the connection'))
    })
  }

  static open(target: Target): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const connection = new Connection(target, (failure) =>
        failure === undefined ? resolve(connection) : reject(failure),
      )
    })
  }

  /** Sets who hears of answers and of the connection's end. */
  listen(answered: Answered, failed: (failure: Error) => void): void {
    this.#answered = answered
    this.#failed = failed
  }

  send(request: string | Buffer): void {
    if (typeof request === 'string') this.#socket.write(request, 'latin1')
    else this.#socket.write(request)
  }

  /** One request and its answer, off the hot path. */
  ask(method: string, path: string, token: string, body?: object): Promise<{ status: number; body: any }> {
    return new Promise((resolve, reject) => {
      this.listen((status, text, from, to) => {
        const json = Buffer.from(text.slice(from, to), 'latin1').toString('utf8')
        resolve({ status, body: json === '' ? undefined : JSON.parse(json) })
      }, reject)
      this.send(formatRequest(method, path, token, body === undefined ? undefined : JSON.stringify(body)))
    })
  }

  close(): void {
    this.#closing = true
    this.#socket.destroy()
  }

  #read(bytes: number): void {
    const chunk = shared.toString('latin1', 0, bytes)
    const text = this.#rest === '' ? chunk : this.#rest + chunk
    let from = 0
    for (;;) {
      const headEnd = text.indexOf('\r\n\r\n', from)
      if (headEnd < 0) break
      const bodyStart = headEnd + 4
      const end = bodyStart + contentLength(text, from, headEnd)
      if (end > text.length) break
      this.#answered(Number(text.slice(from + 9, from + 12)), text, bodyStart, end)
      from = end
    }
    this.#rest = from === text.length ? '' : text.slice(from)
  }
}

/** Does `count` jobs, at most one per connection at a time. */
export async function eachOn(
  target: Target,
  connections: number,
  count: number,
  job: (connection: Connection, index: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    const connection = await Connection.open(target)
    while (next < count) await job(connection, next++)
    connection.close()
  }
  await Promise.all(Array.from({ length: Math.min(connections, count) }, worker))
}
