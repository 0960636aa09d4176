/**
 * A request body read as a stream, for bodies that may be larger than memory should hold. The sink pauses the socket
 * when it has enough, so that never more than one chunk from the kernel waits.
 */

import type { Exchange } from '../wire/exchange.ts'
import type { Waiting } from './body-turns.ts'

/** The consumer of an upload. */
export interface UploadSink {
  /** The next bytes, which now belong to the sink. */
  chunk(bytes: Buffer): void
  /** The whole body has arrived. */
  end(): void
  /** The body is too long, or the client has gone: no more bytes follow. */
  broken(why: 'too_large' | 'aborted'): void
}

/** What an upload counts for among the bodies in flight: a waiting chunk, and the batch read from it. */
export const UPLOAD_HELD_BYTES = 8 * 1024 * 1024

interface UploadOptions {
  readonly bytesMax: number
  readonly giveBack: () => void
  readonly stand: (reader: Waiting) => void
}

export class Upload {
  /** Lower case, without parameters. */
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

  /** Queues the reader of what has arrived among all bodies; it runs at once if there is time. */
  stand(reader: Waiting): void {
    this.#stand(reader)
  }

  /** Must be called within uWebSockets.js's handler. */
  receive(sink: UploadSink): void {
    this.#sink = sink
    this.#exchange._attachAbort()
    this.#exchange._response.onData((chunk, isLast) => this.#data(chunk, isLast))
  }

  /** For the body reader only: makes sure that the memory held is given back once, whatever the outcome. */
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

  /**
   * No more of the body is wanted. The rest of it is dropped, and if the connection stays open the next request is
   * read.
   */
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
    // The chunk is detached when this callback returns, so whatever must wait is copied.
    if (chunk.byteLength > 0) sink.chunk(Buffer.from(new Uint8Array(chunk)))
    if (isLast && !this.#isOver) sink.end()
  }

  #break(why: 'too_large' | 'aborted'): void {
    if (this.#isOver) return
    this.finish()
    this.#sink?.broken(why)
  }
}
