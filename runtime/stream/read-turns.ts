/**
 * Turns at reading the log: searches and replaying watchers wait in one queue and share a fixed time in each turn of
 * the event loop. Invariant: however many read, together they hold others up no longer than one would, and the first in
 * the queue always advances.
 */
import type { Platform } from '../../storage/platform.ts'
import { readTurnMs } from './limits.ts'

export class ReadTurns {
  readonly platform: Platform
  readonly #turnMs: number
  #line: (() => void)[] = []
  /** Used of the present turn's time. */
  #usedMs = 0
  /** When the part being read must end. */
  #endMs = 0
  #isScheduled = false

  /** @param turnMs time in one turn for all of them together */
  constructor(platform: Platform, turnMs = readTurnMs) {
    this.platform = platform
    this.#turnMs = turnMs
  }

  /** For a part being read: whether it has used up this turn's time. */
  get isOver(): boolean {
    return this.platform.monotonicMs() >= this.#endMs
  }

  /** Runs `read` in one of the next turns, after those already waiting. */
  enter(read: () => void): void {
    this.#line.push(read)
    this.#schedule()
  }

  /** The same, resolving to what `read` returns. Rejects with what it throws. */
  next<V>(read: () => V): Promise<V> {
    return new Promise((resolve, reject) => {
      this.enter(() => {
        try {
          resolve(read())
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  /** The same for the first part of a search: runs at once if nobody waits and the turn has time left. */
  async first<V>(read: () => V): Promise<V> {
    if (this.#line.length > 0 || this.#usedMs >= this.#turnMs) return this.next(read)
    // `#turn` then resets the time.
    this.#schedule()
    return this.#timed(read)
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.platform.nextTurn(() => this.#turn())
  }

  #turn(): void {
    this.#isScheduled = false
    this.#usedMs = 0
    let taken = 0
    try {
      // A reader that continues goes to the end of the queue, and may have another part in the same turn.
      while (taken < this.#line.length && (taken === 0 || this.#usedMs < this.#turnMs))
        this.#timed(this.#line[taken++]!)
    } finally {
      this.#line = this.#line.slice(taken)
      if (this.#line.length > 0) this.#schedule()
      else this.#usedMs = 0
    }
  }

  #timed<V>(read: () => V): V {
    const { platform } = this
    const startMs = platform.monotonicMs()
    this.#endMs = startMs + this.#turnMs - this.#usedMs
    try {
      return read()
    } finally {
      this.#usedMs += platform.monotonicMs() - startMs
    }
  }
}
