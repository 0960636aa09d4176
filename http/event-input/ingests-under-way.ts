/**
 * Which ingests have reached which project of which trace and are not over: of several at the same time, one that
 * recorded nothing itself leaves it to another to state what was recorded.
 */
interface Place {
  present: number
  /** How many have reached it since it was empty. */
  reached: number
}

export interface Visit {
  /** Whether no other is there, and none has come since `mark`, if given. */
  isAlone(mark?: number): boolean
  /** A mark of this moment. */
  mark(): number
  /** Takes effect once. */
  leave(): void
}

export class IngestsUnderWay {
  readonly #places = new Map<string, Place>()

  enter(traceId: string, project: string): Visit {
    const key = `${project}\0${traceId}`
    const place = this.#places.get(key) ?? { present: 0, reached: 0 }
    this.#places.set(key, place)
    place.present++
    place.reached++
    let hasLeft = false
    return {
      isAlone: (mark = place.reached) => place.present === 1 && place.reached === mark,
      mark: () => place.reached,
      leave: () => {
        if (hasLeft) return
        hasLeft = true
        place.present--
        if (place.present === 0) this.#places.delete(key)
      },
    }
  }
}
