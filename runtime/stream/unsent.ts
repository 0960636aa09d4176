/** Bytes of the frames given to connections and not yet sent out, over all watchers. */
export class Unsent<W> {
  /** The longest waiting comes first. */
  readonly #bytes = new Map<W, number>()
  readonly #bytesMax: number
  #sum = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  stays(watcher: W, bytes: number): void {
    this.#bytes.set(watcher, bytes)
    this.#sum += bytes
  }

  /** The watcher's frames were sent, or it was given up. No effect on a watcher without any. */
  gone(watcher: W): void {
    this.#sum -= this.#bytes.get(watcher) ?? 0
    this.#bytes.delete(watcher)
  }

  /** While the bytes are too many, the longest-waiting watcher; never the only one. */
  get excess(): W | undefined {
    if (this.#sum <= this.#bytesMax || this.#bytes.size === 1) return undefined
    return this.#bytes.keys().next().value
  }
}
