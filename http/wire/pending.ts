/** Counts requests that are answered later. A stop waits for them before it closes what they read and write. */
export class Pending {
  #count = 0
  #whenNone: (() => void) | undefined = undefined

  get count(): number {
    return this.#count
  }

  add(): void {
    this.#count += 1
  }

  done(): void {
    this.#count -= 1
    if (this.#count === 0) this.#whenNone?.()
  }

  /** Calls back once, when no request is pending; at once if none is now. */
  whenNone(callback: () => void): void {
    this.#whenNone = callback
    if (this.#count === 0) callback()
  }
}
