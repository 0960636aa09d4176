/** Lets requests through one at a time for each key: whoever comes next sees what the one before has done. */
import type { Exchange } from './exchange.ts'

/** Calls `leave` when the next one may come, at once or later. */
type Pass = (leave: () => void) => void

export class Turnstile {
  /** Who waits behind the one that is through, by key. */
  readonly #behind = new Map<string, [Exchange, Pass][]>()

  /** Calls `pass` when nobody else is through with this key, unless the client has gone meanwhile. */
  enter(key: string, exchange: Exchange, pass: Pass): void {
    if (exchange.done) return
    const waiting = this.#behind.get(key)
    if (waiting !== undefined) {
      waiting.push([exchange, pass])
      return
    }
    const behind: [Exchange, Pass][] = []
    this.#behind.set(key, behind)
    const leave = (): void => {
      if (this.#behind.get(key) !== behind) return
      this.#behind.delete(key)
      for (const [next, its] of behind) this.enter(key, next, its)
    }
    try {
      pass(leave)
    } catch (error) {
      leave()
      exchange.fault(error)
    }
  }
}
