/**
 * What falls due, of which most ends before its time (every run leaves an offer and a lease behind). What has ended never comes
 * out: it is dropped when it comes up, or before, once the ended are the most, so that a sweep costs O(1) each.
 */

import { endedEntriesMin } from '../limits.ts'
import { MinHeap } from './heap.ts'

/** Something in the heap: it is `live` until `end`. */
export interface Entry {
  live: boolean
}

export class SweptHeap<T extends Entry> {
  private readonly heap = new MinHeap<T>()
  /** Of the entries, those that have ended. */
  private ended = 0

  /** Entries in memory, ended ones among them. */
  get size(): number {
    return this.heap.size
  }

  /** The smallest key of what has not ended; undefined: there is nothing. */
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

  /** Takes out what has the smallest key, if that is none above `keyMax`. */
  takeUpTo(keyMax: number): T | undefined {
    const key = this.peekKey()
    return key === undefined || key > keyMax ? undefined : this.heap.pop()
  }

  /** Ends an entry that is in the heap, once. */
  end(entry: T): void {
    entry.live = false
    this.ended++
    if (this.ended < endedEntriesMin || this.ended * 2 < this.heap.size) return
    this.heap.keep((one) => one.live)
    this.ended = 0
  }
}
