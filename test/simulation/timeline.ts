/**
 * The one order in which everything happens: callbacks at virtual times, one after another, each with all the promises
 * that it settled run to completion before the next. Time passes only from one to the next.
 */

export interface Happening {
  readonly atMs: number
  cancelled: boolean
}

interface Entry extends Happening {
  readonly order: number
  readonly happen: () => void
}

/**
 * A turn of the real event loop costs a tenth of what happens in it, so most callbacks end without one: their promises
 * run to completion all the same. What only a real turn brings (a rejected promise that is never caught ends the
 * process there) is at most some callbacks late.
 */
const HAPPENINGS_A_TURN = 8

/** Virtual milliseconds to the microsecond, so that sums of them stay exact enough to print. */
export function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

const SETTLED = Promise.resolve()

export class Timeline {
  nowMs = 0
  /** Callbacks run so far. */
  steps = 0
  private readonly heap: Entry[] = []
  private made = 0
  private failure: { readonly error: unknown } | undefined

  /**
   * Calls back at that time, or now at the earliest; callbacks of one time in the order in which they were asked for.
   */
  at(atMs: number, happen: () => void): Happening {
    const entry = { atMs: Math.max(rounded(atMs), this.nowMs), order: this.made++, happen, cancelled: false }
    this.push(entry)
    return entry
  }

  in(ms: number, happen: () => void): Happening {
    return this.at(this.nowMs + ms, happen)
  }

  /** Resolves after this many milliseconds. */
  pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.in(ms, resolve))
  }

  /** Ends the run: `run` throws what was found wrong, even if it was found inside the service. */
  fail(error: unknown): void {
    this.failure ??= { error }
  }

  /**
   * Runs until `isOver`, or until nothing is left to happen. Rejects with what was given to `fail`, or thrown by a
   * callback.
   */
  run(isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = (): void => {
        if (this.failure !== undefined) {
          reject(this.failure.error)
          return
        }
        let entry = this.pop()
        while (entry?.cancelled === true) entry = this.pop()
        if (entry === undefined || isOver()) {
          if (entry !== undefined) this.push(entry)
          resolve()
          return
        }
        this.nowMs = entry.atMs
        this.steps++
        try {
          entry.happen()
        } catch (error) {
          this.fail(error)
        }
        if (this.steps % HAPPENINGS_A_TURN === 0) setImmediate(next)
        else SETTLED.then(behind)
      }
      // Called among the promises that this callback has settled; what it asks for comes when none of them is left.
      const behind = (): void => process.nextTick(next)
      setImmediate(next)
    })
  }

  private push(entry: Entry): void {
    const { heap } = this
    let at = heap.length
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(entry, heap[above]!)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = entry
  }

  private pop(): Entry | undefined {
    const { heap } = this
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++
      if (!isBefore(heap[below]!, last!)) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = last!
    return first
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
}
