/**
 * Answers that their clients have not taken. uWebSockets.js would copy whatever a connection does not take, without a
 * bound over all connections. So it is given no more than the connection takes, and the rest waits here; beyond the
 * bound, the connection that has taken nothing for longest is closed. While an answer waits, uWebSockets.js closes the
 * connection if another request comes on it.
 *
 * Not counted are answers without a body and those that end their connection: of these the library does not report
 * what was taken. They are short (http/router.ts), a few hundred bytes for each request, but for the answer to a
 * chunked POST, which is one for each connection.
 */
import { Unsent } from '../../runtime/collections/unsent.ts'
import { sendable, type UwsResponse } from './uws.ts'

/** Over all connections: as much as for the frames of watchers. Room for twenty-eight of the largest answers. */
export const UNSENT_ANSWER_BYTES_MAX = 256 * 1024 * 1024

export class UnsentAnswers {
  readonly #unsent: Unsent<UwsResponse>
  #closed = 0

  constructor(bytesMax: number) {
    this.#unsent = new Unsent(bytesMax)
  }

  get bytes(): number {
    return this.#unsent.bytes
  }

  /** Connections that were closed because too much was waiting. */
  get closed(): number {
    return this.#closed
  }

  /**
   * Sends the body of an answer whose status and headers are written. Must be called within a cork. Hot: nearly all
   * answers are taken at once.
   */
  send(response: UwsResponse, text: string): void {
    // Takes half a microsecond longer than `end`, which does not report what was taken.
    if (!response.tryEnd(sendable(text))[1]) this.#wait(response, Buffer.from(text))
  }

  #wait(response: UwsResponse, body: Buffer): void {
    response.onAborted(() => this.#unsent.gone(response))
    response.onWritable((offset) => this.#goOn(response, body, offset))
    this.#unsent.stays(response, body.length)
    for (let one = this.#unsent.excess; one !== undefined; one = this.#unsent.excess) {
      this.#closed += 1
      // Its `onAborted` removes it.
      one.close()
    }
  }

  /** Some of it was taken, so it now waits behind those that took nothing meanwhile. Returns whether all was taken. */
  #goOn(response: UwsResponse, body: Buffer, offset: number): boolean {
    let isTaken = false
    response.cork(() => {
      isTaken = response.tryEnd(body.subarray(offset), body.length)[1]
    })
    this.#unsent.gone(response)
    if (!isTaken) this.#unsent.stays(response, body.length)
    return isTaken
  }
}
