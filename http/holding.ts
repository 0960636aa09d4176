/** Holds a resource across asynchronous replies, and releases it exactly once, after the last of them. */

/**
 * Wraps a callback (mostly a reply) so that the resource is held until the callback has run. The wrapped callback must
 * be called eventually.
 */
export type HoldUntil = <A extends unknown[]>(go: (...heard: A) => void) => (...heard: A) => void

/** For callers that hold nothing. */
export const holdNothing: HoldUntil = (go) => go

/**
 * Holds a resource while `run` goes on. `release` is called once: after the last callback wrapped with `until` (by
 * `run` or by such a callback) has returned or thrown; immediately if none was wrapped, or if `run` throws.
 */
export function holding(release: () => void, run: (until: HoldUntil) => void): void {
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
  const until: HoldUntil = (go) => {
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
    // Replies to what it asked before the throw may never come.
    over()
    throw error
  }
  end()
}
