/** Frames that connections have been given and have not taken: so many bytes of memory, over all of them. */
export class Unsent<W> {
  /** Who has stood longest comes first. */
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

  /** Taken, or given up. May be said of who has none. */
  gone(watcher: W): void {
    this.#sum -= this.#bytes.get(watcher) ?? 0
    this.#bytes.delete(watcher)
  }

  /** While there is too much, whose has stayed longest; never that of the only one. */
  get excess(): W | undefined {
    if (this.#sum <= this.#bytesMax || this.#bytes.size === 1) return undefined
    return this.#bytes.keys().next().value
  }
}
