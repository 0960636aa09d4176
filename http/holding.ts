/** What is held while something is asked, and released once, behind the last answer. */

/** Makes of what is called later (a reply, mostly) the same, until whose end something is held. It must be called in the end. */
export type Until = <A extends unknown[]>(go: (...heard: A) => void) => (...heard: A) => void

/** Holds nothing. */
export const untilNothing: Until = (go) => go

/**
 * Holds something that was taken while `run` goes on. It is released once: behind the last reply that `run`, or such a reply, has put
 * through `until`, whatever that comes to; at once where there is none, or where `run` throws.
 */
export function holding(release: () => void, run: (until: Until) => void): void {
  let ends = 1
  let isReleased = false
  const over = (): void => {
    if (isReleased) return
    isReleased = true
    release()
  }
  const end = (): void => {
    ends -= 1
    if (ends === 0) over()
  }
  const until: Until = (go) => {
    ends += 1
    return (...heard) => {
      try {
        go(...heard)
      } finally {
        end()
      }
    }
  }
  try {
    run(until)
  } catch (error) {
    // What it has asked before may be answered or not.
    over()
    throw error
  }
  end()
}
