/**
 * What a runner says to the service about one run. Every post carries the attempt; every answer is read for news:
 * an attempt that is no longer ours, or a cancellation.
 */
import { ANSWER_MS_DEFAULT, type Client } from './client.ts'
import { AnswerTimeout, ServiceRefused, ServiceUnreachable } from './errors.ts'
import { isObject } from './execution-request.ts'
import { jsonText } from './json-text.ts'
import { type Backoff, mayHelpInTime, retrying } from './retry.ts'
import type { ServiceLimits } from './service-limits.ts'

export interface Cancel {
  readonly requested_at?: string
  readonly reason?: string
  readonly discard_work?: boolean
}

interface RunPostsOptions {
  readonly client: Client
  readonly requestId: string
  readonly attempt: number
  /** Aborts every post, also one that waits for its next try. */
  readonly signal: AbortSignal
  readonly backoff: Backoff
  /** Hear of the lease from each answer. */
  readonly limits: ServiceLimits
  /** How long the answer to a post may take at first, milliseconds. */
  readonly answerMs?: number
  readonly onCancel: (cancel: Cancel) => void
  readonly onRetry: (error: Error, pauseMs: number) => void
}

interface Limit {
  /** How long the answer may take, milliseconds. */
  readonly answerMs: number
}

type LifecyclePost = 'accepted' | 'started' | 'release' | 'completed' | 'failed'

/** After these the next attempt may wait already, where the run goes back or is tried again. */
const HANDS_BACK: ReadonlySet<string> = new Set(['release', 'failed'])

/** The longest that a post may take which gets longer with each time that it took too long, milliseconds. */
const ANSWER_MS_MAX = 240_000

/**
 * A connection that breaks behind this share of the time that an answer has (5 s of 30) breaks for what is being sent: the service closes one
 * whose body comes too slowly, after 10 s.
 */
const BROKEN_LATE_SHARE = 1 / 6

/** A runner knows what it runs: of the request it reads where it stands (RFC 7240). */
const MINIMAL = { prefer: 'return=minimal' }

export class RunPosts {
  readonly #options: RunPostsOptions
  readonly #path: string
  /** When the service last answered, on the monotonic clock: the lease was renewed then. Milliseconds. */
  lastAnswerMs = 0

  constructor(options: RunPostsOptions) {
    this.#options = options
    this.#path = `/api/run-requests/${encodeURIComponent(options.requestId)}`
  }

  /** A move of the run. Retried until the service has answered; rejects with ServiceRefused. */
  async move(post: LifecyclePost, body: object): Promise<Record<string, any>> {
    return await this.#post(post, jsonText({ attempt: this.#options.attempt, ...body }))
  }

  /**
   * Events, given as their JSON texts. Retried until the service has answered; rejects with ServiceRefused, and where there are
   * several with the ServiceUnreachable that says that it took long: fewer of them may get through.
   */
  async events(texts: readonly string[]): Promise<void> {
    const body = `{"attempt":${this.#options.attempt},"events":[${texts.join(',')}]}`
    if (texts.length === 1) await this.#post('events', body)
    else {
      const longMs = (this.#options.answerMs ?? ANSWER_MS_DEFAULT) * BROKEN_LATE_SHARE
      const mayHelp = (error: unknown): boolean => mayHelpInTime(error) && !tookLong(error, longMs)
      await this.#retrying((limit) => this.#send('events', body, limit), mayHelp)
    }
  }

  /** A statement about an engine run. Retried until the service has answered; rejects with ServiceRefused. */
  async about(engineRunId: string, what: 'trace-summary' | 'evidence-observations', body: string): Promise<void> {
    const { client, signal } = this.#options
    const path = `/api/engine-runs/${encodeURIComponent(engineRunId)}/${what}`
    await this.#retrying((limit) => client.request('POST', path, { body, signal, ...limit }))
  }

  /** One try, answered within `answerMs` or given up: the next heartbeat is the retry. */
  async heartbeat(sessions: readonly object[], answerMs: number): Promise<void> {
    const told = sessions.length === 0 ? {} : { sessions }
    await this.#send('heartbeat', jsonText({ attempt: this.#options.attempt, ...told }), { answerMs })
  }

  async #post(post: string, body: string): Promise<Record<string, any>> {
    return await this.#retrying((limit) => this.#send(post, body, limit))
  }

  /** What took too long has twice the time at the next try: on a slow line nothing else helps. */
  async #retrying<T>(attempt: (limit: Limit) => Promise<T>, mayHelp = mayHelpInTime): Promise<T> {
    const { signal, backoff, onRetry } = this.#options
    let { answerMs = ANSWER_MS_DEFAULT } = this.#options
    const longer = (error: Error, pauseMs: number): void => {
      if (error instanceof AnswerTimeout) answerMs = Math.min(ANSWER_MS_MAX, answerMs * 2)
      onRetry(error, pauseMs)
    }
    return await retrying(() => attempt({ answerMs }), { signal, backoff, onRetry: longer, mayHelp })
  }

  async #send(post: string, body: string, limit: Limit): Promise<Record<string, any>> {
    const { client, signal, attempt, limits } = this.#options
    const answer = await client.request('POST', `${this.#path}/${post}`, { body, signal, headers: MINIMAL, ...limit })
    this.lastAnswerMs = performance.now()
    const said = isObject(answer.body) ? answer.body : {}
    const echoed = said.run_request?.attempt
    if (echoed !== undefined && echoed !== attempt && !HANDS_BACK.has(post)) {
      const detail = `the service is at attempt ${echoed}, this runner at ${attempt}`
      throw new ServiceRefused('POST', `${this.#path}/${post}`, { status: 409, code: 'stale_attempt', detail })
    }
    if (said.cancel_requested === true) this.#options.onCancel(isObject(said.cancel) ? said.cancel : {})
    if (typeof said.lease_expires_at === 'string') await limits.heard(said.lease_expires_at)
    return said
  }
}

/** Whether a post has had no answer for its size, so that a smaller one may have. */
function tookLong(error: unknown, longMs: number): boolean {
  return error instanceof AnswerTimeout || (error instanceof ServiceUnreachable && error.afterMs > longMs)
}

/** Whether a refusal ends the run for this runner, rather than finding fault with the post's content. */
export function concernsRun(refusal: ServiceRefused): boolean {
  const { status, code } = refusal.problem
  if (status === 403) return code !== 'service_owned_type'
  return status === 401 || status === 404 || status === 409 || status === 410
}
