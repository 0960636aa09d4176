/** A WebSocket at the level of bytes: sends frames that no library would send, and shows what came back. */
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'

export interface FrameParts {
  readonly opcode: number
  readonly payload?: string | Buffer
  readonly isFinal?: boolean
  /** The three reserved bits. */
  readonly reserved?: number
  readonly isMasked?: boolean
  /** The length that the frame claims, if not the true one. */
  readonly length?: number
}

export function frame({
  opcode,
  payload = '',
  isFinal = true,
  reserved = 0,
  isMasked = true,
  length,
}: FrameParts): Buffer {
  const bytes = Buffer.from(payload)
  const said = length ?? bytes.length
  const first = ((isFinal ? 1 : 0) << 7) | (reserved << 4) | opcode
  const mask = isMasked ? 0x80 : 0
  const head = said < 126 ? Buffer.alloc(2) : said < 65_536 ? Buffer.alloc(4) : Buffer.alloc(10)
  head[0] = first
  if (said < 126) head[1] = mask | said
  else if (said < 65_536) {
    head[1] = mask | 126
    head.writeUInt16BE(said, 2)
  } else {
    head[1] = mask | 127
    head.writeBigUInt64BE(BigInt(said), 2)
  }
  if (!isMasked) return Buffer.concat([head, bytes])
  const key = randomBytes(4)
  return Buffer.concat([head, key, Buffer.from(bytes.map((byte, i) => byte ^ key[i % 4]!))])
}

export function handshake(headers: string, path = '/api/watch'): string {
  const key = randomBytes(16).toString('base64')
  return `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n${headers}\r\n`
}

export interface Received {
  readonly status: number
  readonly head: string
  /** Payloads of the text frames. */
  readonly texts: readonly string[]
  /** Code of the close frame. */
  readonly closeCode: number | undefined
  readonly isClosed: boolean
}

/**
 * Sends the handshake and, once it is answered, the parts; resolves with what was received until the end or for
 * `untilMs`.
 */
export function speak(port: number, hands: string, parts: readonly Buffer[], untilMs = 3_000): Promise<Received> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0)
    let isSent = false
    let isClosed = true
    const socket = connect(port, '127.0.0.1', () => socket.write(hands))
    const timer = setTimeout(() => {
      isClosed = false
      socket.destroy()
    }, untilMs)
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk])
      if (isSent || !bytes.includes('\r\n\r\n')) return
      isSent = true
      for (const part of parts) socket.write(part)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve({ ...read(bytes), isClosed })
    })
  })
}

function read(bytes: Buffer): Omit<Received, 'isClosed'> {
  const end = bytes.indexOf('\r\n\r\n')
  const head = bytes.toString('latin1', 0, end < 0 ? bytes.length : end)
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0)
  const texts: string[] = []
  let closeCode: number | undefined
  let rest = status === 101 ? bytes.subarray(end + 4) : Buffer.alloc(0)
  while (rest.length >= 2) {
    const short = rest[1]! & 0x7f
    const at = short === 126 ? 4 : short === 127 ? 10 : 2
    if (rest.length < at) break
    const length = short === 126 ? rest.readUInt16BE(2) : short === 127 ? Number(rest.readBigUInt64BE(2)) : short
    const payload = rest.subarray(at, at + length)
    const opcode = rest[0]! & 0x0f
    if (opcode === 1) texts.push(payload.toString('utf8'))
    if (opcode === 8) closeCode = payload.length >= 2 ? payload.readUInt16BE(0) : 1005
    rest = rest.subarray(at + length)
  }
  return { status, head, texts, closeCode }
}

/** An open WebSocket that does nothing: the caller decides whether it ever reads. */
export function opened(port: number, hands: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(hands))
    socket.once('error', reject)
    socket.once('data', () => {
      socket.removeListener('error', reject)
      socket.on('error', () => {})
      resolve(socket)
    })
  })
}
