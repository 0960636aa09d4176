/**
 * A body that still comes when its request is refused. A connection that is closed then is reset, and the client, which
 * still sends, may never read why (RFC 9112 section 9.6). So the refusal leaves first, and what comes behind it is dropped
 * until all of it has come, the client has gone, or a bound is reached; then the connection ends.
 */
import { sendable, type UwsResponse } from './uws.ts'

/**
 * What is announced up to this is let in and dropped by the server itself, and the connection goes on. Of what is longer,
 * or says nothing of its length, so much is dropped behind a refusal.
 */
export const DROPPED_BYTES_MAX = 16 * 1024 * 1024

/** Long enough to send as much over a slow line; who sends for the sake of sending holds a connection as long without a word. */
export const LINGER_MS_MAX = 10_000

const LINE_END = '\r\n'

/** The body of one request behind which nothing may be read as another. */
export class Lingering {
  readonly #response: UwsResponse
  #isWhole = false
  #droppedBytes = 0
  #timer: NodeJS.Timeout | undefined = undefined

  constructor(response: UwsResponse) {
    this.#response = response
  }

  /** All of the body has come. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** The next bytes of the body have come, whoever reads them. */
  came(bytes: number, isLast: boolean): void {
    this.#isWhole ||= isLast
    if (this.#timer === undefined) return
    this.#droppedBytes += bytes
    if (isLast || this.#droppedBytes > DROPPED_BYTES_MAX) this.#response.close()
  }

  /**
   * Ends the answer whose status and headers are written: `text` is its body. Must be called within a cork.
   *
   * uWebSockets.js closes at once behind an answer that ends its connection, so that it is not told that this one is whole: the
   * body goes with a header, and the end of that header's line with the body. While an answer is owed it takes no other
   * request on the connection.
   */
  refuse(text: string): void {
    const body = text + LINE_END
    this.#response.writeHeader('Date', new Date().toUTCString())
    this.#response.writeHeader('Connection', 'close')
    const rest = `${Buffer.byteLength(body)}${LINE_END}${LINE_END}${text}`
    this.#response.writeHeader('Content-Length', sendable(rest))
    this.#timer = setTimeout(() => this.#response.close(), LINGER_MS_MAX)
    this.#timer.unref()
  }

  /** The connection has ended. */
  gone(): void {
    clearTimeout(this.#timer)
  }
}
