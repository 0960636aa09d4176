/**
 * Keeps a run's lease alive and hears of its cancellation while nothing else is posted. Independent of the events
 * on purpose: a queue that waits for the service must not let the lease end.
 */
import { ServiceRefused } from './errors.ts'
import { mayHelp } from './retry.ts'
import type { RunPosts } from './run-posts.ts'

/** Up to this share of the pause is taken off at random, so that a fleet's heartbeats spread. */
const JITTER = 0.2
/** After a heartbeat that got no answer the next one comes sooner, by this factor. */
const SOONER = 0.25

export class Heartbeat {
  readonly #posts: RunPosts
  readonly #everyMs: number
  readonly #onRefused: (refusal: ServiceRefused) => void
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(posts: RunPosts, everyMs: number, onRefused: (refusal: ServiceRefused) => void) {
    this.#posts = posts
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
    // A post of events renewed the lease already.
    const quietMs = performance.now() - this.#posts.lastAnswerMs
    if (quietMs < this.#everyMs / 2) return this.#next(this.#everyMs - quietMs)
    try {
      await this.#posts.heartbeat()
      this.#next(this.#everyMs)
    } catch (error) {
      if (this.#stopped) return
      if (error instanceof ServiceRefused && !mayHelp(error)) this.#onRefused(error)
      else this.#next(this.#everyMs * SOONER)
    }
  }
}
