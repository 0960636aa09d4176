/**
 * The bundled runner: polls for offers, runs each one's command, and lives through every restart of the service.
 * It holds at most as many runs as it may, and leaves none behind when it ends.
 */
import { randomUUID } from 'node:crypto'
import type { Answer, Client } from './client.ts'
import { describeRetry, ServiceRefused } from './errors.ts'
import { type ExecutionRequest, identityOf } from './execution-request.ts'
import { type Backoff, DEFAULT_BACKOFF, mayHelpInTime, pause, retrying } from './retry.ts'
import { Run } from './run.ts'
import type { RunEnd } from './run-options.ts'
import { ServiceLimits } from './service-limits.ts'

/** How long a poll is parked at the service, seconds; under the 60 s after which proxies cut a silent connection. */
const POLL_SECONDS = 50
/** How much longer than that its answer may take, milliseconds. */
const POLL_SLACK_MS = 15_000
/** A poll answered empty sooner than this, milliseconds, was not parked: the next one waits a little. */
const PARKED_MS_MIN = 1_000
/** After a run that could not begin here nothing is taken for so long, milliseconds: it would fail the whole queue. */
const REST_MS = 1_000
/** The longest that this becomes, doubling from one such run to the next. Below what makes a runner offline. */
const REST_MS_MAX = 60_000
/** How long a word that may be the last waits to be taken, milliseconds. */
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
  /** Hold at most this many runs. Absent: as many as the service's record of this runner allows. */
  readonly capacity?: number
  /** End after one run. */
  readonly once: boolean
  /** When asked to end: how long the present runs may take, milliseconds. */
  readonly drainMs: number
  /** From SIGTERM to SIGKILL of a command, milliseconds. */
  readonly stopGraceMs?: number
  /** How long a stopped run waits for the service to take its last posts, milliseconds. */
  readonly lastPostsMs?: number
  /** Absent: as often as the lease asks for. */
  readonly heartbeatMs?: number
  /** How long the answer to a post about a run may take at first, milliseconds. Default 30 s. */
  readonly answerMs?: number
  readonly backoff?: Backoff
  /** Whether the client's token is read anew for each request. Default: no. */
  readonly tokenMayChange?: boolean
  /** One line for the runner's log. */
  readonly log: (text: string) => void
}

export interface Runner {
  /**
   * The ends of all runs, in order, when the runner has ended by `drain`, `stop` or `once`. Rejects with
   * ServiceRefused when the service does not want this runner (unknown id, wrong token).
   */
  readonly finished: Promise<readonly RunEnd[]>
  /** Take nothing more; end when the present runs have, or fail them after `drainMs`. */
  drain(): void
  /** Take nothing more and stop the present runs now; a service that is away is told of it for a bounded time. */
  stop(): void
  /** The same without a word: when this returns, no command is left that could outlive the process. */
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
  /** Aborted when nothing more is to be taken. */
  readonly #taking = new AbortController()
  #fatal: unknown
  #isKilled = false
  #drained = false
  #emptyAnswers = 0
  /** Runs, one after the other, that could not begin here. */
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
    this.#taking.abort(new Error('the runner takes nothing more'))
    if (this.#runs.size > 0)
      this.#options.log(`waiting for ${this.#runs.size} run(s), at most ${this.#options.drainMs / 1000} s`)
    setTimeout(() => this.stop(), this.#options.drainMs).unref()
  }

  stop(): void {
    this.#taking.abort(new Error('the runner takes nothing more'))
    for (const run of this.#runs.values()) run.stop()
  }

  kill(): void {
    this.#isKilled = true
    this.#taking.abort(new Error('the runner takes nothing more'))
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

  /** Tells the service that this process is a new one: what an earlier process of this runner held is over. */
  async #openSession(): Promise<void> {
    const { client, id, log } = this.#options
    await this.#retrying(() => this.#tellSession({}, { signal: this.#taking.signal }))
    this.#isKnown = true
    log(`runner ${id} connected to ${client.url}`)
  }

  /** Tells it that this process is gone, once: where that is not heard, its silence says so later. */
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

  /** A service that answers at once without work (draining, a proxy that does not wait) is not asked in a tight loop. */
  async #afterNothing(waitedMs: number): Promise<void> {
    this.#emptyAnswers = waitedMs < PARKED_MS_MIN ? this.#emptyAnswers + 1 : 0
    // The first short answer is news (a drain, a cancel): the next poll parks.
    if (this.#emptyAnswers < 2) return
    const { firstMs, longestMs } = this.#backoff
    await pause(Math.min(longestMs / 2, firstMs * 2 ** Math.min(this.#emptyAnswers - 2, 20)), this.#taking.signal)
  }

  /** Headers of a poll's answer: which runs are to be stopped, and whether this runner is drained. */
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

  /** Whether the answer was an offer that is new to this runner. */
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
    // One offer at a time: the service would only repeat this one.
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
      `this machine could not begin ${this.#notBegun} run(s) in a row: nothing is taken for ${restMs / 1000} s`,
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
    // The signal lives as long as the runner, which comes here with each run.
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
      // Neither a session nor a poll asks for anything that the service could stumble over: no fault of its own is final.
      faultsMax: Number.POSITIVE_INFINITY,
    })
    if (told) this.#options.log('answered again')
    return answer
  }
}
