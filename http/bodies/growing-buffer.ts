/**
 * Concatenates bytes that arrive in parts, in one buffer that is never more than twice as long as they are. Keeping
 * each part separately would cost a hundred bytes of overhead for each, and a chunked body may arrive in parts of one
 * byte.
 */
const NOTHING = Buffer.alloc(0)
const CAPACITY_BYTES_MIN = 4_096

export class GrowingBuffer {
  #bytes: Buffer = NOTHING
  #length = 0

  /** Copies the next part. */
  add(part: Uint8Array): void {
    const length = this.#length + part.length
    if (length > this.#bytes.length) this.#grow(length)
    this.#bytes.set(part, this.#length)
    this.#length = length
  }

  /** Returns all bytes, which then belong to the caller, and starts anew. */
  take(): Buffer {
    const whole = this.#bytes.subarray(0, this.#length)
    this.#bytes = NOTHING
    this.#length = 0
    return whole
  }

  #grow(length: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#length, CAPACITY_BYTES_MIN))
    grown.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = grown
  }
}
