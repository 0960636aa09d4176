/**
 * A heap of things that fall due, most of which end before their time (every run leaves an offer and a lease behind).
 * An ended entry never comes out: it is dropped when it reaches the top, or earlier, once ended entries are the
 * majority, so that a sweep costs O(1) per entry.
 */

import { endedEntriesMin } from '../limits.ts'
import { MinHeap } from './heap.ts'

/** An entry of the heap: `live` until `end`. */
export interface Entry {
  live: boolean
}

export class SweptHeap<T extends Entry> {
  private readonly heap = new MinHeap<T>()
  /** How many of the entries have ended. */
  private ended = 0

  /** Entries in memory, including ended ones. */
  get size(): number {
    return this.heap.size
  }

  /** The smallest key of a live entry; undefined if there is none. */
  peekKey(): number | undefined {
    const { heap } = this
    while (heap.peek()?.live === false) {
      heap.pop()
      this.ended--
    }
    return heap.peekKey()
  }

  push(key: number, entry: T): void {
    this.heap.push(key, entry)
  }

  /** Takes out the live entry with the smallest key, unless that is above `keyMax`. */
  takeUpTo(keyMax: number): T | undefined {
    const key = this.peekKey()
    return key === undefined || key > keyMax ? undefined : this.heap.pop()
  }

  /** Ends an entry that is in the heap. Call it once per entry. */
  end(entry: T): void {
    entry.live = false
    this.ended++
    if (this.ended < endedEntriesMin || this.ended * 2 < this.heap.size) return
    this.heap.keep((one) => one.live)
    this.ended = 0
  }
}
