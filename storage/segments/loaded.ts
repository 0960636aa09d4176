/** Full files of which the places of the rows are in memory, 0.1 to 1 MB each: those go that were asked for longest ago. */
import type { Segment } from './segment.ts'

const LOADED_MAX = 16

export class Loaded {
  /** What was asked for last is at the end. */
  readonly #segments = new Set<Segment>()
  #last: Segment | undefined

  /** Hot: said for each row that is read, of one file after another. */
  used(segment: Segment): void {
    if (segment === this.#last) return
    this.#last = segment
    this.#segments.delete(segment)
    this.#segments.add(segment)
    for (const oldest of this.#segments) {
      if (this.#segments.size <= LOADED_MAX) return
      this.unload(oldest)
    }
  }

  unload(segment: Segment): void {
    this.forget(segment)
    segment.unload()
  }

  /** It is not counted any more. */
  forget(segment: Segment): void {
    this.#segments.delete(segment)
    if (segment === this.#last) this.#last = undefined
  }

  clear(): void {
    this.#segments.clear()
    this.#last = undefined
  }
}
