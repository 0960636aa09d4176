/** Full files whose row indexes are in memory, 0.1 to 1 MB each; the least recently used are unloaded. */
import type { Segment } from './segment.ts'

const LOADED_MAX = 16

export class Loaded {
  /** In order of use, the last used at the end. */
  readonly #segments = new Set<Segment>()
  #last: Segment | undefined

  /** Hot: called for each row read, mostly of the same file as before. */
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

  /** Stops counting the file, without unloading it. */
  forget(segment: Segment): void {
    this.#segments.delete(segment)
    if (segment === this.#last) this.#last = undefined
  }

  clear(): void {
    this.#segments.clear()
    this.#last = undefined
  }
}
