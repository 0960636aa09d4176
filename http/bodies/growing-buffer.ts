/**
 * Bytes that come in parts, put together as they come: in one buffer that is never more than twice as long as they are. Each
 * part kept by itself costs a hundred bytes beside its own, and who sends in chunks may send them a byte long.
 */
const NOTHING = Buffer.alloc(0)
const CAPACITY_BYTES_MIN = 4_096

export class Gathered {
  #bytes: Buffer = NOTHING
  #length = 0

  /** The next part: copied. */
  add(part: Uint8Array): void {
    const length = this.#length + part.length
    if (length > this.#bytes.length) this.#grow(length)
    this.#bytes.set(part, this.#length)
    this.#length = length
  }

  /** All of it, which is the caller's to keep. Begins anew. */
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
