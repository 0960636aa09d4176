/**
 * A body that is still arriving when its request is refused. Closing the connection at once would reset it, and the
 * client, still sending, might never read the reason (RFC 9112 section 9.6). So the refusal is sent first and the rest
 * of the body is dropped, until all of it has come, the client has gone, or a bound is reached; then the connection
 * closes.
 */
import { sendable, type UwsResponse } from './uws.ts'

/**
 * A body announced as no longer than this is received and dropped by uWebSockets.js itself, and the connection stays
 * open. Of a longer one, or one of unknown length, this much is dropped after a refusal.
 */
export const DROPPED_BYTES_MAX = 16 * 1024 * 1024

/** Long enough to send that much over a slow line, and the longest that a hostile sender can hold the connection. */
export const LINGER_MS_MAX = 10_000

const LINE_END = '\r\n'

/** The body of one request, after which nothing may be read as another request. */
export class Lingering {
  readonly #response: UwsResponse
  #isWhole = false
  #droppedBytes = 0
  #timer: NodeJS.Timeout | undefined = undefined

  constructor(response: UwsResponse) {
    this.#response = response
  }

  /** All of the body has arrived. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Counts the next bytes of the body, whoever reads them. */
  came(bytes: number, isLast: boolean): void {
    this.#isWhole ||= isLast
    if (this.#timer === undefined) return
    this.#droppedBytes += bytes
    if (isLast || this.#droppedBytes > DROPPED_BYTES_MAX) this.#response.close()
  }

  /**
   * Ends the answer whose status and headers are written; `text` is its body. Must be called within a cork.
   *
   * uWebSockets.js closes at once after an answer that ends its connection, so it must not learn that this answer is
   * complete: the body is written as part of a header's value, and the end of that header's line is the end of the
   * body. While an answer is owed, it takes no other request on the connection.
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

  /** The connection has closed. */
  gone(): void {
    clearTimeout(this.#timer)
  }
}
