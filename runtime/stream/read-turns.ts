/**
 * Whose turn it is to read the log: searches and watchers that replay stand in one line, and share one time in each turn of the
 * event loop. Invariant: however many read, they hold others up no longer than one of them does, and whoever stands first gets on.
 */
import type { Nature } from '../../storage/nature.ts'
import { readTurnMs } from './limits.ts'

export class ReadTurns {
  readonly nature: Nature
  readonly #turnMs: number
  #line: (() => void)[] = []
  /** Of the present turn's time. */
  #usedMs = 0
  /** When the part that is being read has to end. */
  #endMs = 0
  #isScheduled = false

  /** @param turnMs what all of them may take of one turn, together */
  constructor(nature: Nature, turnMs = readTurnMs) {
    this.nature = nature
    this.#turnMs = turnMs
  }

  /** Asked within a part that is being read: whether what it has done is enough for this turn. */
  get isOver(): boolean {
    return this.nature.monotonicMs() >= this.#endMs
  }

  /** Runs it in one of the next turns, behind those who wait. */
  enter(read: () => void): void {
    this.#line.push(read)
    this.#schedule()
  }

  /** The same for who waits for what it returns. Rejects with what it throws. */
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

  /** The same for the first part of a search: at once, when nobody waits and the turn has time left. */
  async first<V>(read: () => V): Promise<V> {
    if (this.#line.length > 0 || this.#usedMs >= this.#turnMs) return this.next(read)
    // The next turn has its time again.
    this.#schedule()
    return this.#timed(read)
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.nature.nextTurn(() => this.#turn())
  }

  #turn(): void {
    this.#isScheduled = false
    this.#usedMs = 0
    let taken = 0
    try {
      // Who reads on stands behind the others, and may have another part in the same turn.
      while (taken < this.#line.length && (taken === 0 || this.#usedMs < this.#turnMs))
        this.#timed(this.#line[taken++]!)
    } finally {
      this.#line = this.#line.slice(taken)
      if (this.#line.length > 0) this.#schedule()
      else this.#usedMs = 0
    }
  }

  #timed<V>(read: () => V): V {
    const { nature } = this
    const startMs = nature.monotonicMs()
    this.#endMs = startMs + this.#turnMs - this.#usedMs
    try {
      return read()
    } finally {
      this.#usedMs += nature.monotonicMs() - startMs
    }
  }
}
