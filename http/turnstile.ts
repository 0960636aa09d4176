/** Lets requests through one at a time for each key: whoever comes next sees what the one before has done. */
import type { Exchange } from './wire/exchange.ts'

/** Calls `leave` when the next one may come, at once or later. */
type Pass = (leave: () => void) => void

const NOTHING = (): void => {}

interface Waiting {
  readonly exchange: Exchange
  readonly pass: Pass
  readonly over: () => void
  next: Waiting | undefined
}

/** Of one key: who waits behind the one that is through. */
interface Line {
  first: Waiting | undefined
  last: Waiting | undefined
  /** Nobody is through. */
  isFree: boolean
  /** Somebody lets others through already: who leaves at once does not do it within that. */
  isMoving: boolean
}

export class Turnstile {
  readonly #lines = new Map<string, Line>()

  /**
   * Calls `pass` when nobody else is through with this key, unless the client has gone meanwhile. `over` is called once, when
   * it has left or will never come: for who holds something else so long.
   */
  enter(key: string, exchange: Exchange, pass: Pass, over: () => void = NOTHING): void {
    let line = this.#lines.get(key)
    if (line === undefined) {
      line = { first: undefined, last: undefined, isFree: true, isMoving: false }
      this.#lines.set(key, line)
    }
    const waiting: Waiting = { exchange, pass, over, next: undefined }
    if (line.last === undefined) line.first = waiting
    else line.last.next = waiting
    line.last = waiting
    this.#move(key, line)
  }

  /** Lets the next one through, and those behind it for as long as they leave at once. */
  #move(key: string, line: Line): void {
    if (line.isMoving) return
    line.isMoving = true
    try {
      while (line.isFree && line.first !== undefined) {
        const waiting = line.first
        line.first = waiting.next
        if (line.first === undefined) line.last = undefined
        this.#letThrough(key, line, waiting)
      }
    } finally {
      line.isMoving = false
    }
    // Another may have taken its place within an `over`.
    if (line.isFree && this.#lines.get(key) === line) this.#lines.delete(key)
  }

  #letThrough(key: string, line: Line, { exchange, pass, over }: Waiting): void {
    if (exchange.done) {
      over()
      return
    }
    line.isFree = false
    let hasLeft = false
    const leave = (): void => {
      if (hasLeft) return
      hasLeft = true
      line.isFree = true
      try {
        over()
      } finally {
        this.#move(key, line)
      }
    }
    try {
      pass(leave)
    } catch (error) {
      leave()
      exchange.fault(error)
    }
  }
}
