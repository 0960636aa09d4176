/** Lets requests through one at a time for each key, so that each sees what the one before it has done. */
import type { Exchange } from './wire/exchange.ts'

/** Runs a request; it calls `leave`, at once or later, to let the next one through. */
type Pass = (leave: () => void) => void

const NOTHING = (): void => {}

interface Waiting {
  readonly exchange: Exchange
  readonly pass: Pass
  readonly over: () => void
  next: Waiting | undefined
}

/** The requests for one key, in order, behind the one that is through. */
interface Line {
  first: Waiting | undefined
  last: Waiting | undefined
  /** No request is through. */
  isFree: boolean
  /** `#move` is running: a request that leaves synchronously must not start it again. */
  isMoving: boolean
}

export class KeyedMutex {
  readonly #lines = new Map<string, Line>()

  /**
   * Calls `pass` once no other request is through with this key, unless the client has gone by then. `over` is called
   * once, when this request has left or will never be let through, to release what the caller holds meanwhile.
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

  /** Lets the next request through, and those behind it as long as each leaves synchronously. */
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
    // An `over` callback may have begun a new line for the key.
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
