/**
 * Keeps a run's lease alive and hears of its cancellation while nothing else is posted. Independent of the events
 * on purpose: a queue that waits for the service must not let the lease end.
 */
import { ServiceRefused } from './errors.ts'
import { mayHelp } from './retry.ts'
import type { RunPosts } from './run-posts.ts'
import type { Sessions } from './sessions.ts'

/** Up to this share of the pause is taken off at random, so that a fleet's heartbeats spread. */
const JITTER = 0.2
/** After a heartbeat that got no answer the next one comes sooner, by this factor. */
const SOONER = 0.25

export class Heartbeat {
  readonly #posts: RunPosts
  readonly #sessions: Sessions
  readonly #everyMs: number
  readonly #onRefused: (refusal: ServiceRefused) => void
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(posts: RunPosts, sessions: Sessions, everyMs: number, onRefused: (refusal: ServiceRefused) => void) {
    this.#posts = posts
    this.#sessions = sessions
    this.#everyMs = everyMs
    this.#onRefused = onRefused
  }

  start(): void {
    this.#next(this.#everyMs)
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
    // A post of events renewed the lease already; of agents at work there is news to tell all the same.
    const quietMs = performance.now() - this.#posts.lastAnswerMs
    if (quietMs < this.#everyMs / 2 && this.#sessions.size === 0) return this.#next(this.#everyMs - quietMs)
    try {
      await this.#posts.heartbeat(await this.#sessions.pulses())
      this.#next(this.#everyMs)
    } catch (error) {
      if (this.#stopped) return
      if (error instanceof ServiceRefused && !mayHelp(error)) this.#onRefused(error)
      else this.#next(this.#everyMs * SOONER)
    }
  }
}
