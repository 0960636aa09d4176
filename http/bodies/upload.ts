/**
 * A request body that is taken as it comes, for what may be larger than memory should hold. The taker says when it has
 * enough: the socket is paused then, so that what waits is never more than one chunk of the kernel's.
 */

import type { Exchange } from '../wire/exchange.ts'
import type { Waiting } from './body-turns.ts'

/** Whoever takes the body. */
export interface UploadSink {
  /** The next bytes; they are the sink's to keep. */
  chunk(bytes: Buffer): void
  /** All of it has come. */
  end(): void
  /** The body is longer than what is taken, or the client has gone: nothing more comes. */
  broken(why: 'too_large' | 'aborted'): void
}

/** What an upload is counted as among the bodies in flight: a chunk that waits, and a batch of what was in it. */
export const UPLOAD_HELD_BYTES = 8 * 1024 * 1024

interface UploadOptions {
  readonly bytesMax: number
  readonly giveBack: () => void
  readonly stand: (reader: Waiting) => void
}

export class Upload {
  /** Without parameters, in lower case. */
  readonly contentType: string
  readonly bytesMax: number
  readonly #exchange: Exchange
  readonly #giveBack: () => void
  readonly #stand: (reader: Waiting) => void
  #sink: UploadSink | undefined = undefined
  #received = 0
  #isPaused = false
  #isOver = false

  constructor(exchange: Exchange, contentType: string, { bytesMax, giveBack, stand }: UploadOptions) {
    this.#exchange = exchange
    this.contentType = contentType
    this.bytesMax = bytesMax
    this.#giveBack = giveBack
    this.#stand = stand
  }

  /** The reader of what has come takes its turn among all bodies: at once, where there is time. */
  stand(reader: Waiting): void {
    this.#stand(reader)
  }

  /** Must be called within uWebSockets.js's handler. */
  receive(sink: UploadSink): void {
    this.#sink = sink
    this.#exchange._attachAbort()
    this.#exchange._response.onData((chunk, isLast) => this.#data(chunk, isLast))
  }

  /** Used by the body reader alone: whatever becomes of it, what it holds is given back once. */
  watch(): void {
    this.#exchange.onAborted(() => this.#break('aborted'))
  }

  pause(): void {
    if (this.#isPaused || this.#isOver || this.#exchange.done) return
    this.#isPaused = true
    this.#exchange._response.pause()
  }

  resume(): void {
    if (!this.#isPaused || this.#isOver || this.#exchange.done) return
    this.#isPaused = false
    this.#exchange._response.resume()
  }

  /** Nothing more is wanted of it. What still comes is to be passed over, and the next request, if the connection goes on, to be read. */
  finish(): void {
    if (this.#isOver) return
    this.resume()
    this.#isOver = true
    this.#giveBack()
  }

  #data(chunk: ArrayBuffer, isLast: boolean): void {
    this.#exchange._bodyCame(chunk.byteLength, isLast)
    if (this.#isOver) return
    this.#received += chunk.byteLength
    if (this.#received > this.bytesMax) {
      this.#break('too_large')
      return
    }
    const sink = this.#sink!
    // A chunk is emptied when this callback returns: what must wait is copied.
    if (chunk.byteLength > 0) sink.chunk(Buffer.from(new Uint8Array(chunk)))
    if (isLast && !this.#isOver) sink.end()
  }

  #break(why: 'too_large' | 'aborted'): void {
    if (this.#isOver) return
    this.finish()
    this.#sink?.broken(why)
  }
}
