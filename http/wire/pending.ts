/** Requests whose answer comes later: what a stop waits for before it closes what they read and write. */
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

  /** Called once, when there are none; at once, if there are none now. */
  whenNone(callback: () => void): void {
    this.#whenNone = callback
    if (this.#count === 0) callback()
  }
}
