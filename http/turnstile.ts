/** Lets requests through one at a time for each key: whoever comes next sees what the one before has done. */
import type { Exchange } from './exchange.ts'

/** Calls `leave` when the next one may come, at once or later. */
type Pass = (leave: () => void) => void

const NOTHING = (): void => {}

export class Turnstile {
  /** Who waits behind the one that is through, by key. */
  readonly #behind = new Map<string, Parameters<Turnstile['enter']>[]>()

  /**
   * Calls `pass` when nobody else is through with this key, unless the client has gone meanwhile. `over` is called once, when
   * it has left or will never come: for who holds something else so long.
   */
  enter(key: string, exchange: Exchange, pass: Pass, over: () => void = NOTHING): void {
    if (exchange.done) {
      over()
      return
    }
    const waiting = this.#behind.get(key)
    if (waiting !== undefined) {
      waiting.push([key, exchange, pass, over])
      return
    }
    const behind: Parameters<Turnstile['enter']>[] = []
    this.#behind.set(key, behind)
    const leave = (): void => {
      if (this.#behind.get(key) !== behind) return
      this.#behind.delete(key)
      over()
      for (const next of behind) this.enter(...next)
    }
    try {
      pass(leave)
    } catch (error) {
      leave()
      exchange.fault(error)
    }
  }
}
