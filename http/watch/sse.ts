/**
 * Watch as server-sent events. Invariant: nothing is written while the kernel's buffer is full, so that a reader that
 * stops costs one frame; uWebSockets.js drops it after 10 s without progress, and it resumes by its cursor.
 */

import type { EventStream } from '../../runtime/stream/event-stream.ts'
import type { Filter } from '../../runtime/stream/filter.ts'
import type { Frame } from '../../runtime/stream/frame.ts'
import type { Delivery, Sink, StreamEnd, Subscription } from '../../runtime/stream/sink.ts'
import { revocationFault } from '../access.ts'
import type { Exchange } from '../wire/exchange.ts'
import type { Stream } from '../wire/stream.ts'
import { endFault, type HoldToken, problemFrame } from './watch.ts'

/** Milliseconds that a browser's EventSource waits before it reconnects. */
const RETRY_FIELD = 'retry: 1000\n\n'

/**
 * A comment. Written on `onWritable`, because once that handler is set uWebSockets.js sends the rest of its buffer only
 * with the next write.
 */
const COMMENT = ':\n'

/** A fan-out passes the same frame to one sink after the other, so its SSE form is built once. */
let lastFrame: Frame | undefined
let lastBytes: Buffer = Buffer.alloc(0)

function bytesOf(frame: Frame): Buffer {
  if (frame === lastFrame) return lastBytes
  const id = frame.cursor === undefined ? '' : `id: ${frame.cursor}\n`
  lastBytes = Buffer.concat([Buffer.from(`${id}event: ${frame.type}\ndata: `), frame.bytes, Buffer.from('\n\n')])
  lastFrame = frame
  return lastBytes
}

class SseSink implements Sink {
  readonly #exchange: Exchange
  readonly #stream: Stream
  #isFull = false
  #isOver = false
  subscription: Subscription | undefined
  forget: () => void = () => {}

  constructor(exchange: Exchange, stream: Stream) {
    this.#exchange = exchange
    this.#stream = stream
    stream.write(RETRY_FIELD)
    stream.onWritable(() => this.#writable())
    exchange.onAborted(() => this.#leave())
  }

  send(frame: Frame): Delivery {
    if (this.#isOver) return 'gone'
    this.#isFull = !this.#stream.write(bytesOf(frame))
    return this.#isFull ? 'full' : 'sent'
  }

  end(end: StreamEnd): void {
    const fault = endFault(end)
    this.finish(fault === undefined ? undefined : problemFrame(this.#exchange.path, fault))
  }

  /** Writes the last frame, if the connection can take it, and ends the stream. */
  finish(frame: Frame | undefined): void {
    if (this.#isOver) return
    const isFull = this.#isFull
    if (frame !== undefined && !isFull) this.#stream.write(bytesOf(frame))
    this.#leave()
    if (isFull) this.#stream.close()
    else this.#stream.end()
  }

  #writable(): void {
    if (!this.#isFull || this.#isOver) return
    this.#isFull = !this.#stream.write(COMMENT)
    if (this.#isFull) this.subscription?.progressed()
    else this.subscription?.drained()
  }

  #leave(): void {
    this.#isOver = true
    this.forget()
    this.subscription?.close()
  }
}

/** Answers with the stream. The exchange has been checked: caller, filter and start. */
export function watchBySse(
  exchange: Exchange,
  stream: EventStream,
  hold: HoldToken,
  filter: Filter,
  after: number,
): void {
  exchange.setHeader('Content-Type', 'text/event-stream')
  exchange.setHeader('Cache-Control', 'no-store')
  // Asks proxies such as nginx not to buffer the answer.
  exchange.setHeader('X-Accel-Buffering', 'no')
  const sink = new SseSink(exchange, exchange.stream(200))
  const { principal, path } = exchange
  sink.forget = hold(principal, () => sink.finish(problemFrame(path, revocationFault(principal))))
  sink.subscription = stream.subscribe(filter, after, sink)
}
