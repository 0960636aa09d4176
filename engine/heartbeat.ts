/**
 * Keeps a run's lease alive, and learns of a cancellation, while nothing else is posted. Independent of the event queue
 * on purpose: a queue that waits for the service must not let the lease expire.
 */
import { ServiceRefused } from './errors.ts'
import { mayHelpInTime } from './retry.ts'
import type { RunPosts } from './run-posts.ts'
import type { Sessions } from './sessions.ts'

/** Up to this share of the interval is subtracted at random, so that a fleet's heartbeats spread out. */
const JITTER = 0.2
/** After an unanswered heartbeat the next interval is shortened by this factor. */
const SOONER = 0.25
/**
 * With a token that may be replaced, this many heartbeats in a row must be refused as unknown before the run is
 * abandoned.
 */
const UNKNOWN_MAX = 3

interface HeartbeatOptions {
  readonly posts: RunPosts
  readonly sessions: Sessions
  /** Interval in milliseconds, before jitter. Read each time, since it follows the lease. */
  readonly everyMs: () => number
  /** Whether the token is read anew for each request. */
  readonly tokenMayChange: boolean
  /** The service has refused the run for good: it is no longer ours. */
  readonly onRefused: (refusal: ServiceRefused) => void
  /** Refused, but the next heartbeat may succeed. */
  readonly onRetry: (refusal: ServiceRefused, pauseMs: number) => void
}

export class Heartbeat {
  readonly #options: HeartbeatOptions
  #timer: NodeJS.Timeout | undefined
  #stopped = false
  /** Heartbeats in a row refused for their token. */
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
    // A post of events has renewed the lease already; running agent sessions still need a heartbeat for their progress.
    const quietMs = performance.now() - posts.lastAnswerMs
    if (quietMs < everyMs / 2 && sessions.size === 0) return this.#next(everyMs - quietMs)
    try {
      // A request on a silently dead connection must leave time for further ones before the lease ends.
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

  /** Whether the token was refused, and may have been replaced by the next heartbeat. */
  #mayBeReplaced({ problem }: ServiceRefused): boolean {
    if (problem.status !== 401 || !this.#options.tokenMayChange) return false
    this.#unknown += 1
    return this.#unknown < UNKNOWN_MAX
  }
}
