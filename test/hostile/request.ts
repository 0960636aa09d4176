/** A request of the fuzzer: any part may be wrong, and it can be printed as one line of curl. */
import type { Caller } from './world.ts'

/**
 * Which parts contain deliberate mistakes: after some, the service may close the connection or give an undocumented
 * answer.
 */
export type Mischief = 'none' | 'body' | 'query' | 'path' | 'header' | 'method' | 'token' | 'framing'

export interface Request {
  method: string
  /** As in the request line, with the query. May contain bytes above 127 as latin1. */
  target: string
  /** In order; names may be repeated. Values are latin1. */
  headers: [name: string, value: string][]
  body: Buffer | undefined
  /** If set, the body is sent with Transfer-Encoding: chunked, in chunks of this many bytes. */
  chunkBytes?: number
  /** The number of segments in which it is sent. */
  segments?: number
  /** Whose token it carries; undefined if no known one. */
  caller: Caller | undefined
  /** The operation for which it was made: `POST /api/projects/{id}`. */
  readonly operation: string
  readonly mischief: Set<Mischief>
  /** The body as a value, if it was made from one and not broken afterwards. */
  document?: unknown
}

/**
 * The bytes of the request in the segments in which they are sent. The request line is never split: uWebSockets.js
 * answers 505 if it comes in pieces.
 */
export function bytesOf(request: Request): Buffer[] {
  const { method, target, headers, body, chunkBytes, segments = 1 } = request
  let head = `${method} ${target} HTTP/1.1\r\n`
  for (const [name, value] of headers) head += `${name}: ${value}\r\n`
  if (body !== undefined) {
    head += chunkBytes === undefined ? `Content-Length: ${body.length}\r\n` : 'Transfer-Encoding: chunked\r\n'
  }
  const headBytes = Buffer.from(`${head}\r\n`, 'latin1')
  const payload = body === undefined ? NOTHING : chunkBytes === undefined ? body : chunked(body, chunkBytes)
  return cut(Buffer.concat([headBytes, payload]), headBytes.indexOf('\n') + 1, segments)
}

const NOTHING = Buffer.alloc(0)

function chunked(body: Buffer, bytes: number): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; at += bytes) {
    const piece = body.subarray(at, at + bytes)
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
  }
  parts.push(Buffer.from('0\r\n\r\n'))
  return Buffer.concat(parts)
}

function cut(bytes: Buffer, from: number, segments: number): Buffer[] {
  if (segments <= 1) return [bytes]
  const size = Math.max(1, Math.ceil((bytes.length - from) / segments))
  const parts = [bytes.subarray(0, from)]
  for (let at = from; at < bytes.length; at += size) parts.push(bytes.subarray(at, at + size))
  return parts
}

/** The longest body that is printed within the line, in bytes; longer ones are stored in a file. */
const TOLD_BODY_BYTES_MAX = 64 * 1024

/**
 * One line of bash that sends the same request with curl, with the token of the time. What curl would not send
 * unchanged is sent to the socket byte by byte.
 * @param keep stores a long body in a file and returns its path.
 */
export function curlOf(request: Request, port: number, keep: (body: Buffer) => string): string {
  const { method, target, headers, body, chunkBytes } = request
  const isPlain = [method, target, ...headers.flat()].every((text) => /^[\x20-\x7e]*$/.test(text))
  const isLong = body !== undefined && body.length > TOLD_BODY_BYTES_MAX
  if (!isPlain && !isLong) return `printf ${printed(Buffer.concat(bytesOf(request)))} | nc -q 2 127.0.0.1 ${port}`
  const words = ['curl', '-i', '--path-as-is', '-X', method]
  for (const [name, value] of headers) words.push('-H', quoted(value === '' ? `${name};` : `${name}: ${value}`))
  if (chunkBytes !== undefined) words.push('-H', quoted('Transfer-Encoding: chunked'))
  if (body !== undefined) words.push('--data-binary', isLong ? `@${keep(body)}` : '@-')
  words.push(quoted(`http://127.0.0.1:${port}${target}`))
  return body === undefined || isLong ? words.join(' ') : `printf ${printed(body)} | ${words.join(' ')}`
}

/** The bytes as a format string of printf, in single quotes. */
function printed(bytes: Buffer): string {
  const text = bytes.toString('latin1').replaceAll(/[^\x20-\x7e]|['\\%]/g, (one) => {
    if (one === '%') return '%%'
    return `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`
  })
  return `'${text}'`
}

function quoted(text: string): string {
  return /^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
