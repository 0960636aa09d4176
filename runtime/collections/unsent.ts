/** Bytes given to connections and not yet sent out, over all their readers. */
export class Unsent<W> {
  /** The longest waiting comes first. */
  readonly #bytes = new Map<W, number>()
  readonly #bytesMax: number
  #sum = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Bytes of all readers. */
  get bytes(): number {
    return this.#sum
  }

  stays(reader: W, bytes: number): void {
    this.#bytes.set(reader, bytes)
    this.#sum += bytes
  }

  /** The reader's bytes were sent, or it was given up. No effect on a reader without any. */
  gone(reader: W): void {
    this.#sum -= this.#bytes.get(reader) ?? 0
    this.#bytes.delete(reader)
  }

  /** While the bytes are too many, the longest-waiting reader; never the only one. */
  get excess(): W | undefined {
    if (this.#sum <= this.#bytesMax || this.#bytes.size === 1) return undefined
    return this.#bytes.keys().next().value
  }
}
