/**
 * What a runner posts about one run. Every post carries the attempt, and every answer is checked for news: an attempt
 * that is no longer ours, or a cancellation.
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
  /** Aborts every post, including one that waits for a retry. */
  readonly signal: AbortSignal
  readonly backoff: Backoff
  /** Told of the lease in each answer. */
  readonly limits: ServiceLimits
  /** Initial limit for the answer to a post, in milliseconds. */
  readonly answerMs?: number
  readonly onCancel: (cancel: Cancel) => void
  readonly onRetry: (error: Error, pauseMs: number) => void
}

interface Limit {
  /** Limit for the answer, in milliseconds. */
  readonly answerMs: number
}

type LifecyclePost = 'accepted' | 'started' | 'release' | 'completed' | 'failed'

/** After these posts the next attempt may already be waiting, if the run is requeued or retried. */
const HANDS_BACK: ReadonlySet<string> = new Set(['release', 'failed'])

/** Upper bound for the limit of a post, which grows each time that it was too short, in milliseconds. */
const ANSWER_MS_MAX = 240_000

/**
 * A connection that breaks after this share of an answer's limit (5 s of 30) breaks because of the size of what is
 * being sent: the service closes a connection whose body arrives too slowly after 10 s.
 */
const BROKEN_LATE_SHARE = 1 / 6

/** A runner knows what it runs, so of the request it only asks for the state (RFC 7240). */
const MINIMAL = { prefer: 'return=minimal' }

export class RunPosts {
  readonly #options: RunPostsOptions
  readonly #path: string
  /** When the service last answered, on the monotonic clock, in milliseconds: the lease was renewed then. */
  lastAnswerMs = 0

  constructor(options: RunPostsOptions) {
    this.#options = options
    this.#path = `/api/run-requests/${encodeURIComponent(options.requestId)}`
  }

  /** Posts a move of the run. Retries until the service has answered; rejects with ServiceRefused. */
  async move(post: LifecyclePost, body: object): Promise<Record<string, any>> {
    return await this.#post(post, jsonText({ attempt: this.#options.attempt, ...body }))
  }

  /**
   * Posts events, given as JSON texts. Retries until the service has answered; rejects with ServiceRefused and, for
   * several events that took long, with ServiceUnreachable: fewer of them may get through.
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

  /** Posts a document about an engine run. Retries until the service has answered; rejects with ServiceRefused. */
  async about(engineRunId: string, what: 'trace-summary' | 'evidence-observations', body: string): Promise<void> {
    const { client, signal } = this.#options
    const path = `/api/engine-runs/${encodeURIComponent(engineRunId)}/${what}`
    await this.#retrying((limit) => client.request('POST', path, { body, signal, ...limit }))
  }

  /** A single try, given up after `answerMs`: the next heartbeat is the retry. */
  async heartbeat(sessions: readonly object[], answerMs: number): Promise<void> {
    const told = sessions.length === 0 ? {} : { sessions }
    await this.#send('heartbeat', jsonText({ attempt: this.#options.attempt, ...told }), { answerMs })
  }

  async #post(post: string, body: string): Promise<Record<string, any>> {
    return await this.#retrying((limit) => this.#send(post, body, limit))
  }

  /** Doubles the limit after each time-out: on a slow line nothing else helps. */
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

/** Whether a post may have failed because of its size, so that a smaller one may get through. */
function tookLong(error: unknown, longMs: number): boolean {
  return error instanceof AnswerTimeout || (error instanceof ServiceUnreachable && error.afterMs > longMs)
}

/** Whether a refusal ends the run for this runner, instead of concerning the post's content. */
export function concernsRun(refusal: ServiceRefused): boolean {
  const { status, code } = refusal.problem
  if (status === 403) return code !== 'service_owned_type'
  return status === 401 || status === 404 || status === 409 || status === 410
}
