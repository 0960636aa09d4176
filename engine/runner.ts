/**
 * The bundled runner: polls for offers, runs each one's command, and survives every restart of the service. It never
 * holds more runs than its capacity, and leaves none behind when it ends.
 */
import { randomUUID } from 'node:crypto'
import type { Answer, Client } from './client.ts'
import { describeRetry, ServiceRefused } from './errors.ts'
import { type ExecutionRequest, identityOf } from './execution-request.ts'
import { type Backoff, DEFAULT_BACKOFF, mayHelpInTime, pause, retrying } from './retry.ts'
import { Run } from './run.ts'
import type { RunEnd } from './run-options.ts'
import { ServiceLimits } from './service-limits.ts'

/** How long a poll is parked at the service, in seconds; below the 60 s after which proxies cut silent connections. */
const POLL_SECONDS = 50
/** Extra time for the poll's answer, in milliseconds. */
const POLL_SLACK_MS = 15_000
/** A poll answered empty sooner than this, in milliseconds, was not parked: the next one waits a little. */
const PARKED_MS_MIN = 1_000
/**
 * How long nothing is taken after a run that could not begin here, in milliseconds: otherwise the whole queue would
 * fail.
 */
const REST_MS = 1_000
/**
 * Upper bound of that pause, which doubles with each such run in a row; below the time after which a runner is offline.
 */
const REST_MS_MAX = 60_000
/** How long a last post may take to be taken, in milliseconds. */
const LAST_POSTS_MS = 5_000

export interface RunnerOptions {
  readonly client: Client
  readonly id: string
  /** For `/bin/sh -c`; gets the Execution Request on its standard input. */
  readonly command: string
  readonly cwd?: string
  readonly environment: NodeJS.ProcessEnv
  /** The runner's own version, shown by the service. */
  readonly version: string
  /** Most runs to hold. Absent: as many as the service's record of this runner allows. */
  readonly capacity?: number
  /** Ends after one run. */
  readonly once: boolean
  /** How long current runs may take after a drain, in milliseconds. */
  readonly drainMs: number
  /** From SIGTERM to SIGKILL of a command, in milliseconds. */
  readonly stopGraceMs?: number
  /** How long a stopped run waits for the service to take its last posts, in milliseconds. */
  readonly lastPostsMs?: number
  /** Absent: derived from the lease. */
  readonly heartbeatMs?: number
  /** Initial limit for the answer to a post about a run, in milliseconds. Default 30 s. */
  readonly answerMs?: number
  readonly backoff?: Backoff
  /** Whether the client's token is read anew for each request. Default: no. */
  readonly tokenMayChange?: boolean
  /** One line for the runner's log. */
  readonly log: (text: string) => void
}

export interface Runner {
  /**
   * The ends of all runs, in order, once the runner has ended by `drain`, `stop` or `once`. Rejects with ServiceRefused
   * if the service refuses this runner (unknown id, wrong token).
   */
  readonly finished: Promise<readonly RunEnd[]>
  /** Takes no more work; ends when the current runs have ended, or stops them after `drainMs`. */
  drain(): void
  /** Takes no more work and stops the current runs now; a service that is away is retried for a limited time. */
  stop(): void
  /** The same without any post: when this returns, no command is left that could outlive the process. */
  kill(): void
}

export function startRunner(options: RunnerOptions): Runner {
  const loop = new Loop(options)
  return { finished: loop.finished, drain: () => loop.drain(), stop: () => loop.stop(), kill: () => loop.kill() }
}

class Loop {
  readonly finished: Promise<readonly RunEnd[]>
  readonly #options: RunnerOptions
  readonly #backoff: Backoff
  readonly #limits: ServiceLimits
  /** Most runs to hold; undefined: as many as the service offers. */
  readonly #capacity: number | undefined
  readonly #runs = new Map<string, Run>()
  readonly #ends: RunEnd[] = []
  /** Whether the service was told of this process. */
  #isKnown = false
  readonly #instance = randomUUID()
  /** Aborted when no more work is to be taken. */
  readonly #taking = new AbortController()
  #fatal: unknown
  #isKilled = false
  #drained = false
  #emptyAnswers = 0
  /** Runs in a row that could not begin here. */
  #notBegun = 0
  #restsUntilMs = 0

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#backoff = options.backoff ?? DEFAULT_BACKOFF
    this.#limits = new ServiceLimits(options.client)
    this.#capacity = options.once ? 1 : options.capacity
    this.finished = this.#whole()
  }

  drain(): void {
    if (this.#taking.signal.aborted) return
    this.#taking.abort(new Error('the runner accepts no more work'))
    if (this.#runs.size > 0)
      this.#options.log(`waiting for ${this.#runs.size} run(s), at most ${this.#options.drainMs / 1000} s`)
    setTimeout(() => this.stop(), this.#options.drainMs).unref()
  }

  stop(): void {
    this.#taking.abort(new Error('the runner accepts no more work'))
    for (const run of this.#runs.values()) run.stop()
  }

  kill(): void {
    this.#isKilled = true
    this.#taking.abort(new Error('the runner accepts no more work'))
    for (const run of this.#runs.values()) run.kill()
  }

  async #whole(): Promise<readonly RunEnd[]> {
    try {
      await this.#openSession()
      while (!this.#taking.signal.aborted) await this.#pollOnce()
    } catch (error) {
      // Ended on purpose: not an error.
      if (!this.#taking.signal.aborted) this.#fatal = error
    }
    if (this.#fatal !== undefined) for (const run of this.#runs.values()) run.abandon(this.#fatal)
    await Promise.all([...this.#runs.values()].map((run) => run.ended))
    if (this.#fatal === undefined && this.#isKnown && !this.#isKilled) await this.#endSession()
    if (this.#fatal !== undefined) throw this.#fatal
    return this.#ends
  }

  /** Tells the service that this is a new process: what an earlier process of this runner held is over. */
  async #openSession(): Promise<void> {
    const { client, id, log } = this.#options
    await this.#retrying(() => this.#tellSession({}, { signal: this.#taking.signal }))
    this.#isKnown = true
    log(`runner ${id} connected to ${client.url}`)
  }

  /** Tells the service, with one try, that this process is gone; otherwise its silence shows that later. */
  async #endSession(): Promise<void> {
    const answerMs = this.#options.lastPostsMs ?? LAST_POSTS_MS
    await this.#tellSession({ ended: true }, { signal: AbortSignal.timeout(answerMs) }).catch(() => {})
  }

  #tellSession(more: object, options: { readonly signal: AbortSignal }): Promise<Answer> {
    const { client, id, version } = this.#options
    const body = { version, instance: this.#instance, ...more }
    return client.request('POST', `/api/runners/${encodeURIComponent(id)}/session`, { body, ...options })
  }

  async #pollOnce(): Promise<void> {
    const { client, id } = this.#options
    if (this.#capacity !== undefined && this.#runs.size >= this.#capacity) {
      await this.#untilSlot()
      return
    }
    const restMs = this.#restsUntilMs - performance.now()
    if (restMs > 0) await pause(restMs, this.#taking.signal)
    const askedMs = performance.now()
    const answer = await this.#retrying(() =>
      client.request('GET', `/api/runners/${encodeURIComponent(id)}/run-requests/next`, {
        query: { wait: POLL_SECONDS },
        signal: this.#taking.signal,
        answerMs: POLL_SECONDS * 1000 + POLL_SLACK_MS,
      }),
    )
    this.#readNews(answer)
    if (answer.status !== 204 && (await this.#take(answer.body))) this.#emptyAnswers = 0
    else await this.#afterNothing(performance.now() - askedMs)
  }

  /**
   * Keeps a service that answers at once without work (draining, or behind a proxy that does not wait) from being
   * polled in a tight loop.
   */
  async #afterNothing(waitedMs: number): Promise<void> {
    this.#emptyAnswers = waitedMs < PARKED_MS_MIN ? this.#emptyAnswers + 1 : 0
    // The first short answer may be news (a drain, a cancellation): the next poll parks.
    if (this.#emptyAnswers < 2) return
    const { firstMs, longestMs } = this.#backoff
    await pause(Math.min(longestMs / 2, firstMs * 2 ** Math.min(this.#emptyAnswers - 2, 20)), this.#taking.signal)
  }

  /** Headers of a poll's answer: which runs to stop, and whether this runner is drained. */
  #readNews({ headers }: Answer): void {
    for (const id of (headers.get('intendant-cancel') ?? '').split(',')) this.#runs.get(id.trim())?.cancel({})
    const drained = headers.get('intendant-draining') === 'true'
    if (drained !== this.#drained) {
      this.#options.log(
        drained ? 'drained by an operator: no new work until `intendant runner undrain`' : 'no longer drained',
      )
    }
    this.#drained = drained
  }

  /** Returns whether the answer was an offer that is new to this runner. */
  async #take(body: unknown): Promise<boolean> {
    const identity = identityOf(body)
    if (identity === undefined) {
      this.#options.log(
        'an offer without request_id and attempt was not understood: is the service newer than this runner?',
      )
      return false
    }
    const earlier = this.#runs.get(identity.request_id)
    if (earlier !== undefined) {
      if (earlier.attempt >= identity.attempt) return false
      earlier.abandon(new Error(`attempt ${identity.attempt} was offered`))
      await earlier.ended
      if (this.#taking.signal.aborted) return false
    }
    const run = this.#startRun(body as ExecutionRequest)
    // One offer at a time: until `started` the service would only repeat this one.
    await run.begun
    return true
  }

  #startRun(request: ExecutionRequest): Run {
    const { client, id, command, cwd, environment, heartbeatMs, answerMs, log, once } = this.#options
    let isBegun = true
    const run = new Run(request, {
      client,
      runnerId: id,
      command,
      ...(cwd === undefined ? {} : { cwd }),
      environment,
      backoff: this.#backoff,
      limits: this.#limits,
      tokenMayChange: this.#options.tokenMayChange ?? false,
      ...(heartbeatMs === undefined ? {} : { heartbeatMs }),
      ...(answerMs === undefined ? {} : { answerMs }),
      stopGraceMs: this.#options.stopGraceMs ?? 10_000,
      lastPostsMs: this.#options.lastPostsMs ?? LAST_POSTS_MS,
      onNotBegun: () => {
        isBegun = false
        this.#rest()
      },
      log,
    })
    this.#runs.set(run.requestId, run)
    void run.ended.then((end) => {
      this.#runs.delete(run.requestId)
      this.#ends.push(end)
      if (isBegun && (end === 'completed' || end === 'failed')) this.#notBegun = 0
      if (once && end !== 'released' && end !== 'abandoned') this.drain()
    })
    return run
  }

  #rest(): void {
    const restMs = Math.min(REST_MS_MAX, REST_MS * 2 ** Math.min(this.#notBegun, 20))
    this.#notBegun += 1
    this.#restsUntilMs = performance.now() + restMs
    this.#options.log(
      `this machine could not begin ${this.#notBegun} run(s) in a row: accepting no work for ${restMs / 1000} s`,
    )
  }

  async #untilSlot(): Promise<void> {
    const { signal } = this.#taking
    let onAbort = (): void => {}
    const asked = new Promise<void>((resolve) => {
      onAbort = resolve
    })
    signal.addEventListener('abort', onAbort)
    await Promise.race([asked, ...[...this.#runs.values()].map((run) => run.ended)])
    // The signal lives as long as the runner, and each run comes here.
    signal.removeEventListener('abort', onAbort)
  }

  async #retrying(attempt: () => Promise<Answer>): Promise<Answer> {
    let told = false
    const onRetry = (error: Error, pauseMs: number): void => {
      if (error instanceof ServiceRefused || pauseMs > 1000 || !told) this.#options.log(describeRetry(error))
      told = true
    }
    const answer = await retrying(attempt, {
      signal: this.#taking.signal,
      backoff: this.#backoff,
      onRetry,
      mayHelp: mayHelpInTime,
      // Neither a session nor a poll can cause a fault inside the service, so none is final.
      faultsMax: Number.POSITIVE_INFINITY,
    })
    if (told) this.#options.log('the service answers again')
    return answer
  }
}
