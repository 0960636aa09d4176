/**
 * Keeps a run's lease alive and hears of its cancellation while nothing else is posted. Independent of the events
 * on purpose: a queue that waits for the service must not let the lease end.
 */
import { ServiceRefused } from './errors.ts'
import { mayHelpInTime } from './retry.ts'
import type { RunPosts } from './run-posts.ts'
import type { Sessions } from './sessions.ts'

/** Up to this share of the pause is taken off at random, so that a fleet's heartbeats spread. */
const JITTER = 0.2
/** After a heartbeat that got no answer the next one comes sooner, by this factor. */
const SOONER = 0.25
/** A token that may change is given up when so many heartbeats in a row have found it unknown: it may be about to be replaced. */
const UNKNOWN_MAX = 3

interface HeartbeatOptions {
  readonly posts: RunPosts
  readonly sessions: Sessions
  /** From one to the next, milliseconds; jitter is taken off it. Asked each time: it follows the lease. */
  readonly everyMs: () => number
  /** Whether the token is read anew for each request. */
  readonly tokenMayChange: boolean
  /** The service wants no more of it: the run is not ours. */
  readonly onRefused: (refusal: ServiceRefused) => void
  /** It was answered, and not taken; the next one may be. */
  readonly onRetry: (refusal: ServiceRefused, pauseMs: number) => void
}

export class Heartbeat {
  readonly #options: HeartbeatOptions
  #timer: NodeJS.Timeout | undefined
  #stopped = false
  /** So many heartbeats, one after the other, were refused for their token. */
  #unknown = 0

  constructor(options: HeartbeatOptions) {
    this.#options = options
  }

  start(): void {
    this.#next(this.#options.everyMs())
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  #next(afterMs: number): void {
    if (this.#stopped) return
    this.#timer = setTimeout(() => void this.#beat(), afterMs * (1 - JITTER * Math.random()))
  }

  async #beat(): Promise<void> {
    const { posts, sessions } = this.#options
    const everyMs = this.#options.everyMs()
    // A post of events renewed the lease already; of agents at work there is news to tell all the same.
    const quietMs = performance.now() - posts.lastAnswerMs
    if (quietMs < everyMs / 2 && sessions.size === 0) return this.#next(everyMs - quietMs)
    try {
      // One on a connection that has silently gone must leave the next ones their time before the lease ends.
      await posts.heartbeat(await sessions.pulses(), everyMs)
      this.#unknown = 0
      this.#next(this.#options.everyMs())
    } catch (error) {
      this.#failed(error, everyMs * SOONER)
    }
  }

  #failed(error: unknown, pauseMs: number): void {
    if (this.#stopped) return
    if (error instanceof ServiceRefused && !mayHelpInTime(error) && !this.#mayBeReplaced(error)) {
      this.#options.onRefused(error)
      return
    }
    if (error instanceof ServiceRefused) this.#options.onRetry(error, pauseMs)
    this.#next(pauseMs)
  }

  /** Whether it is the token that was refused, and another one may be there for the next heartbeat. */
  #mayBeReplaced({ problem }: ServiceRefused): boolean {
    if (problem.status !== 401 || !this.#options.tokenMayChange) return false
    this.#unknown += 1
    return this.#unknown < UNKNOWN_MAX
  }
}
