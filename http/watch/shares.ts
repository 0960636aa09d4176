/** Counts the open streams of each token, so that one token cannot take them all. */
import type { Principal } from '../../runtime/access/principals.ts'

export class Shares {
  readonly #open = new Map<Principal, number>()

  of(principal: Principal): number {
    return this.#open.get(principal) ?? 0
  }

  /** Counts one more stream. Returns a function that gives it back, which may be called twice. */
  take(principal: Principal): () => void {
    this.#open.set(principal, this.of(principal) + 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      const left = this.of(principal) - 1
      if (left > 0) this.#open.set(principal, left)
      else this.#open.delete(principal)
    }
  }
}
