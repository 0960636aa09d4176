/**
 * A Watch subscriber for load: a raw WebSocket that counts the events of its frames by their length, without parsing
 * them. All events of a measurement have the same length, so the count is exact; one witness per measurement parses
 * every frame and checks the order. Hot path: one shared read buffer, and only a frame's length is kept.
 */
import { connect, type Socket } from 'node:net'
import type { Target } from './wire.ts'

const READ_BYTES = 1024 * 1024
const shared = Buffer.allocUnsafe(READ_BYTES)
const OPCODE_TEXT = 1
const OPCODE_CLOSE = 8
const OPCODE_PING = 9
/** A pong without a payload. Clients must mask; the mask is zero. */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0])

export interface SubscriberOptions {
  readonly target: Target
  /** Including the query. */
  readonly path: string
  readonly token: string
  /** Called with each whole frame's payload length; with its text only if `wantsText`. */
  readonly frame: (length: number, text: string) => void
  readonly failed: (failure: Error) => void
  readonly wantsText: boolean
  /** Never reads after the handshake. */
  readonly deaf?: boolean
}

export class Subscriber {
  readonly #options: SubscriberOptions
  readonly #socket: Socket
  #head: Buffer | undefined
  #payloadLeft = 0
  #payloadLength = 0
  #opcode = 0
  #parts: Buffer[] = []
  #isOpen = false
  #closing = false
  #opened: () => void = () => {}

  private constructor(options: SubscriberOptions) {
    this.#options = options
    this.#socket = connect({
      ...options.target,
      noDelay: true,
      onread: {
        buffer: shared,
        callback: (bytes) => {
          this.#read(shared.subarray(0, bytes))
          return !(this.#isOpen && options.deaf === true)
        },
      },
    })
    this.#socket.once('error', options.failed)
    this.#socket.once('close', () => {
      if (!this.#closing) options.failed(new Error('a stream was closed'))
    })
    this.#socket.write(
      `GET ${options.path} HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Authorization: Bearer ${options.token}\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n` +
        'Sec-WebSocket-Version: 13\r\n\r\n',
    )
  }

  /** Resolves when the handshake is done. */
  static open(options: SubscriberOptions): Promise<Subscriber> {
    return new Promise((resolve) => {
      const subscriber = new Subscriber(options)
      subscriber.#opened = () => resolve(subscriber)
    })
  }

  close(): void {
    this.#closing = true
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    let at = 0
    let bytes = chunk
    if (this.#head !== undefined) {
      bytes = Buffer.concat([this.#head, chunk])
      this.#head = undefined
    }
    if (!this.#isOpen) {
      at = this.#handshake(bytes)
      if (at < 0) return
    }
    while (at < bytes.length) {
      if (this.#payloadLeft > 0) at = this.#payload(bytes, at)
      else {
        const next = this.#frameHead(bytes, at)
        if (next < 0) {
          this.#head = Buffer.from(bytes.subarray(at))
          return
        }
        at = next
        if (this.#payloadLeft === 0) this.#frameEnd()
      }
    }
  }

  /** @returns where the frames start, or -1 if the head is incomplete. */
  #handshake(bytes: Buffer): number {
    const end = bytes.indexOf('\r\n\r\n')
    if (end < 0) {
      this.#head = Buffer.from(bytes)
      return -1
    }
    const status = bytes.toString('latin1', 9, 12)
    if (status !== '101') {
      this.#options.failed(new Error(`watch: ${bytes.toString('latin1', 0, 1_000)}`))
      this.close()
      return -1
    }
    this.#isOpen = true
    this.#opened()
    return end + 4
  }

  /** @returns where the payload starts, or -1 if the frame's head is incomplete. */
  #frameHead(bytes: Buffer, at: number): number {
    const left = bytes.length - at
    if (left < 2) return -1
    const short = bytes[at + 1]! & 0x7f
    const size = short < 126 ? 2 : short === 126 ? 4 : 10
    if (left < size) return -1
    this.#opcode = bytes[at]! & 0x0f
    this.#payloadLength =
      short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2))
    this.#payloadLeft = this.#payloadLength
    return at + size
  }

  #payload(bytes: Buffer, at: number): number {
    const taken = Math.min(this.#payloadLeft, bytes.length - at)
    if (this.#options.wantsText) this.#parts.push(Buffer.from(bytes.subarray(at, at + taken)))
    this.#payloadLeft -= taken
    if (this.#payloadLeft === 0) this.#frameEnd()
    return at + taken
  }

  #frameEnd(): void {
    if (this.#opcode === OPCODE_PING) this.#socket.write(PONG)
    else if (this.#opcode === OPCODE_CLOSE) this.#options.failed(new Error('the server ended the stream'))
    else if (this.#opcode === OPCODE_TEXT) {
      const text = this.#options.wantsText ? Buffer.concat(this.#parts).toString('utf8') : ''
      this.#parts = []
      this.#options.frame(this.#payloadLength, text)
    }
  }
}
