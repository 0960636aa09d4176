/**
 * One run, from the offer to the last post. The command starts only after the service has taken `started`; every event
 * is posted before the run's end; and once the service says that the attempt is no longer ours, the command is ended
 * and nothing more is posted.
 */
import { saysNotBegun } from '../machines/run-request/failure.ts'
import { type BriefFiles, BriefMismatch, briefFailure, fetchBrief } from './brief.ts'
import { occurredAt } from './clock.ts'
import { type Command, type CommandEnd, commandEnvironment, startCommand } from './command.ts'
import { describeError, describeRefusal, ServiceRefused } from './errors.ts'
import { type ExecutionRequest, unfit } from './execution-request.ts'
import { Findings } from './findings.ts'
import { Heartbeat } from './heartbeat.ts'
import { LineReader } from './line-reader.ts'
import { type Line, readLine } from './output.ts'
import { OutputBatch, type OutputStream, outputEvent } from './output-batch.ts'
import { type OutgoingEvent, outgoing, PostQueue } from './post-queue.ts'
import {
  type CommandStory,
  type Failure,
  failureOf,
  MESSAGE_CHARS_MAX,
  runResult,
  STDERR_TAIL_CHARS,
  waitInWords,
} from './result.ts'
import type { RunEnd, RunOptions } from './run-options.ts'
import { type Cancel, concernsRun, RunPosts } from './run-posts.ts'
import { hiding, runTokenIn } from './run-token.ts'
import type { MajorTasks } from './service-limits.ts'
import { Sessions } from './sessions.ts'
import { type Stop, Unreported } from './stop.ts'
import { TASK_VERDICT, TaskVerdict } from './task-verdict.ts'
import { UnreadLines } from './unread-lines.ts'

export class Run {
  readonly requestId: string
  readonly attempt: number
  /** Resolves when the service has taken `started`, or when the run has ended without it. */
  readonly begun: Promise<void>
  /** Never rejects. */
  readonly ended: Promise<RunEnd>
  readonly #options: RunOptions
  readonly #request: ExecutionRequest
  readonly #posts: RunPosts
  readonly #queue: PostQueue
  readonly #verdict: TaskVerdict
  readonly #output: OutputBatch
  readonly #heartbeat: Heartbeat
  readonly #sessions = new Sessions()
  readonly #posting = new AbortController()
  #stop: Stop | undefined
  /** The last post is under way. */
  #isSettling = false
  #command: Command | undefined
  /** The command ended by itself, before any stop. */
  #hasEnded = false
  #brief: BriefFiles | undefined
  /** What the command may call the service with. */
  #token: string | undefined
  #findings: Findings | undefined
  #said: Record<string, unknown> | undefined
  readonly #unread: UnreadLines
  /** Number of queues that hold too much: while there is one, the command's output is not read. */
  #pressing = 0
  #lastPosts: NodeJS.Timeout | undefined
  #stderrTail = ''

  constructor(request: ExecutionRequest, options: RunOptions) {
    this.requestId = request.request_id
    this.attempt = request.attempt
    this.#request = request
    this.#options = options
    this.#posts = new RunPosts({
      client: options.client,
      requestId: this.requestId,
      attempt: this.attempt,
      signal: this.#posting.signal,
      backoff: options.backoff,
      limits: options.limits,
      ...(options.answerMs === undefined ? {} : { answerMs: options.answerMs }),
      onCancel: (cancel) => this.cancel(cancel),
      onRetry: (error, ms) => this.#log(`${error.message}; retrying in ${Math.ceil(ms / 1000)} s`),
    })
    this.#queue = new PostQueue({
      post: (texts) => this.#posts.events(texts),
      concernsRun,
      onSlow: (error) => this.#log(`${error.message}; retrying with fewer events at a time`),
      onPressure: (full) => this.#press(full),
      onEnded: (error) => this.abandon(error),
    })
    this.#verdict = new TaskVerdict({ request, queue: this.#queue, log: (text) => this.#log(text) })
    this.#unread = new UnreadLines({
      onVerdict: (failure) => this.#verdict.unread(failure),
      tell: (message) => {
        this.#log(message)
        this.#output.add('stderr', `intendant runner: ${message}`, true)
      },
    })
    this.#output = new OutputBatch((stream, text) => this.#queue.add(this.#printed(stream, text)))
    this.#heartbeat = new Heartbeat({
      posts: this.#posts,
      sessions: this.#sessions,
      everyMs: () => options.heartbeatMs ?? options.limits.beatMs,
      tokenMayChange: options.tokenMayChange,
      // A heartbeat overtaken by the last post is refused for that; if the run itself is refused, that post learns it.
      onRefused: (error) => (this.#isSettling ? undefined : this.abandon(error)),
      onRetry: (error, ms) => this.#log(`${error.message}; the next heartbeat is in ${Math.ceil(ms / 1000)} s`),
    })
    let begin = (): void => {}
    this.begun = new Promise((resolve) => {
      begin = resolve
    })
    this.ended = this.#whole(begin).finally(begin)
  }

  /** The service wants the run stopped. */
  cancel(cancel: Cancel): void {
    this.#end({ why: 'cancelled', cancel })
  }

  /** The runner itself stops: the run is handed back, or fails if its command is running. Its last posts are timed. */
  stop(): void {
    if (this.#isFinished) this.#log('stopping: its command has ended; little time is left for its last posts')
    else this.#end({ why: 'runner_stopped' })
    this.#limitLastPosts()
  }

  /** The same at once: the command is killed, and nothing more is posted. */
  kill(): void {
    this.#end({ why: 'runner_stopped' })
    this.#command?.kill()
    this.#posting.abort(new Unreported())
  }

  get #isFinished(): boolean {
    return this.#stop === undefined && (this.#hasEnded || this.#command?.isOver() === true)
  }

  #limitLastPosts(): void {
    const { stopGraceMs, lastPostsMs } = this.#options
    clearTimeout(this.#lastPosts)
    const commandMs = this.#command === undefined ? 0 : stopGraceMs
    this.#lastPosts = setTimeout(() => this.#posting.abort(new Unreported()), commandMs + lastPostsMs)
  }

  /** The run is no longer this runner's: the command is ended, and nothing more is posted. */
  abandon(error: unknown): void {
    this.#end({ why: 'abandoned', error })
    this.#posting.abort(error)
  }

  #end(stop: Stop): void {
    const first = this.#stop === undefined
    if (first || stop.why === 'abandoned') this.#stop = stop
    if (!first) return
    this.#log(stop.why === 'abandoned' ? `abandoned: ${describeError(stop.error)}` : `stopping: ${stop.why}`)
    this.#command?.stop(this.#options.stopGraceMs)
  }

  async #whole(begin: () => void): Promise<RunEnd> {
    try {
      return await this.#live(begin)
    } catch (error) {
      this.abandon(error)
      if (this.#command !== undefined) await this.#command.ended
      const { reason } = this.#posting.signal
      if (!(reason instanceof Unreported)) return 'abandoned'
      this.#log(reason.message)
      return 'unreported'
    } finally {
      clearTimeout(this.#lastPosts)
      this.#heartbeat.stop()
      this.#output.flush()
      await this.#brief?.remove().catch((error) => this.#log(`the brief's files remain: ${describeError(error)}`))
    }
  }

  async #live(begin: () => void): Promise<RunEnd> {
    const fault = unfit(this.#request as unknown as Record<string, unknown>)
    if (fault !== undefined) {
      this.#options.onNotBegun()
      return await this.#fail({ class: 'dispatch', ...fault })
    }
    await this.#posts.move('accepted', {})
    this.#heartbeat.start()
    const unread = await this.#layDownBrief()
    // Requested with the first answer, so available by now.
    const majorTasks = await this.#options.limits.majorTasks()
    if (this.#stop !== undefined) return await this.#settleUnstarted(this.#stop)
    if (unread !== undefined) return await this.#fail(unread)
    const engineRunId = await this.#start()
    this.#findings = engineRunId === undefined ? undefined : this.#findingsOf(engineRunId)
    begin()
    if (this.#stop !== undefined) return await this.#settleStopped(this.#stop)
    this.#log('started')
    const end = await this.#runCommand(majorTasks)
    // First the findings, which may turn into output if they are refused.
    await this.#findings?.empty()
    await this.#queue.empty()
    if (this.#stop !== undefined) return await this.#settleStopped(this.#stop)
    return await this.#settle(end, engineRunId)
  }

  /** Writes the run's brief, if any, to files. Returns the failure if it cannot be had or is not the right one. */
  async #layDownBrief(): Promise<Failure | undefined> {
    const { brief } = this.#request
    if (brief === undefined) return undefined
    const { client, backoff } = this.#options
    try {
      this.#brief = await fetchBrief(brief, { client, backoff, signal: this.#posting.signal })
      return undefined
    } catch (error) {
      if (this.#posting.signal.aborted) throw error
      if (!(error instanceof BriefMismatch)) this.#options.onNotBegun()
      return briefFailure(error)
    }
  }

  /** Posts `started`; returns the engine run's id. A refusal because the request is being cancelled is news too. */
  async #start(): Promise<string | undefined> {
    try {
      const said = await this.#posts.move('started', {})
      this.#token = runTokenIn(said)
      const id = said.run_request?.engine_run_id
      return typeof id === 'string' ? id : undefined
    } catch (error) {
      if (!(error instanceof ServiceRefused) || error.problem.state !== 'cancelling') throw error
      this.cancel({})
      return undefined
    }
  }

  async #settleUnstarted(stop: Stop): Promise<RunEnd> {
    if (stop.why !== 'runner_stopped') return await this.#settleStopped(stop)
    this.#isSettling = true
    await this.#posts.move('release', {})
    this.#log('released')
    return 'released'
  }

  async #settleStopped(stop: Stop): Promise<RunEnd> {
    if (stop.why === 'abandoned') throw stop.error
    if (stop.why === 'cancelled') {
      const reason = stop.cancel.reason
      await this.#fail({ class: 'cancelled', message: reason === undefined ? 'cancelled' : `cancelled: ${reason}` })
      return 'cancelled'
    }
    return await this.#fail({ class: 'execution', code: 'runner_stopped', message: 'the runner was stopped' })
  }

  async #settle(end: CommandEnd, engineRunId: string | undefined): Promise<RunEnd> {
    const what = { request: this.#request, engineRunId, end, said: this.#said, stderrTail: this.#stderrTail }
    const story: CommandStory = { ...what, at: occurredAt() }
    const failure = await this.#verdict.settle(failureOf(story) ?? this.#unread.result, story)
    if (this.#stop !== undefined) return await this.#settleStopped(this.#stop)
    if (failure !== undefined) {
      // The command lacks something it needs, and the next run's would lack it too.
      if (saysNotBegun(failure.class)) this.#options.onNotBegun()
      return await this.#fail({
        ...failure,
        ...(this.#said === undefined ? {} : { result: runResult(story, failure) }),
      })
    }
    try {
      this.#isSettling = true
      await this.#posts.move('completed', { result: runResult(story) })
    } catch (error) {
      if (!(error instanceof ServiceRefused) || concernsRun(error)) throw error
      const message = `the service refused the Run Result: ${describeRefusal(error)}`
      return await this.#fail({ class: 'execution', code: 'result_refused', message })
    }
    this.#log(`completed${waitInWords(this.#said)}`)
    return 'completed'
  }

  /** Reports the failure in any case: if the service refuses its Run Result, then without it. */
  async #fail(body: { class: string; code?: string; message: string; result?: object }): Promise<RunEnd> {
    this.#isSettling = true
    try {
      await this.#posts.move('failed', body)
    } catch (error) {
      if (!(error instanceof ServiceRefused) || concernsRun(error) || body.result === undefined) throw error
      const { result: _, ...rest } = body
      const refused = `(the service refused the Run Result: ${describeRefusal(error)})`
      return await this.#fail({ ...rest, message: `${body.message} ${refused}`.slice(0, MESSAGE_CHARS_MAX) })
    }
    this.#log(body.class === 'cancelled' ? 'cancelled' : `failed (${body.code ?? body.class}): ${body.message}`)
    return 'failed'
  }

  async #runCommand(majorTasks: MajorTasks): Promise<CommandEnd> {
    const token = this.#token
    const stdout = new LineReader(hiding(token, (lines) => this.#stdout(lines)))
    const stderr = new LineReader(hiding(token, (lines) => this.#stderr(lines)))
    const { client, runnerId, environment, command, cwd, stopGraceMs } = this.#options
    const access = token === undefined ? undefined : { url: client.url, token }
    this.#command = startCommand({
      command,
      ...(cwd === undefined ? {} : { cwd }),
      environment: commandEnvironment(environment, this.#request, { runnerId, brief: this.#brief, majorTasks, access }),
      input: `${JSON.stringify(this.#request)}\n`,
      onStdout: (chunk) => stdout.push(chunk),
      onStderr: (chunk) => stderr.push(chunk),
      leftoverGraceMs: stopGraceMs,
    })
    const end = await this.#command.ended
    this.#hasEnded = this.#stop === undefined
    this.#command = undefined
    if (end.error !== undefined) this.#options.onNotBegun()
    if (this.#lastPosts !== undefined) this.#limitLastPosts()
    stdout.end()
    stderr.end()
    this.#output.flush()
    return end
  }

  #stdout(lines: readonly Line[]): void {
    for (const line of lines) {
      const reading = line.whole ? readLine(line.text) : ({ kind: 'text' } as const)
      if (reading.kind === 'event') {
        // Output printed before an event stays before it.
        this.#output.flush()
        this.#queue.add(this.#statedEvent(reading.event, line.text))
      } else if (reading.kind === 'result') {
        this.#said = reading.said
        this.#unread.result = undefined
      } else if (reading.kind === 'text' || this.#findings === undefined) {
        this.#output.add('stdout', line.text, line.ended)
        if (!line.whole) this.#unread.piece(line)
      } else if (reading.kind === 'trace_summary') this.#findings.summarize(reading.said, line.text)
      else this.#findings.observe(reading.said, line.text)
    }
  }

  #findingsOf(engineRunId: string): Findings {
    return new Findings({
      posts: this.#posts,
      request: this.#request,
      engineRunId,
      onPressure: (full) => this.#press(full),
      onEnded: (error) => this.abandon(error),
      onRefused: (line, refusal) => {
        for (const event of this.#refused(line, refusal)) this.#queue.add(event)
      },
    })
  }

  #press(full: boolean): void {
    this.#pressing += full ? 1 : -1
    if (this.#pressing > 0) this.#command?.pause()
    else this.#command?.resume()
  }

  #stderr(lines: readonly Line[]): void {
    for (const { text, ended } of lines) {
      this.#stderrTail = `${this.#stderrTail}${text}${ended ? '\n' : ''}`.slice(-STDERR_TAIL_CHARS)
      this.#output.add('stderr', text, ended)
    }
  }

  /** An event of the command. The service's own time is not the command's to set; a missing time becomes now. */
  #statedEvent(event: Record<string, unknown>, line: string): OutgoingEvent {
    const { recorded_at: _, ...fields } = event
    const isVerdict = event.event_type === TASK_VERDICT
    return outgoing(
      { occurred_at: occurredAt(), payload: {}, ...fields },
      {
        onTaken: () => {
          this.#sessions.note(event)
          if (isVerdict) this.#verdict.taken()
        },
        onRefused: (refusal) => {
          if (isVerdict) this.#verdict.refused(refusal)
          return this.#refused(line, refusal)
        },
      },
    )
  }

  /** A refused line is not lost: it becomes output, followed by the reason. */
  #refused(line: string, refusal: ServiceRefused): OutgoingEvent[] {
    const reason = `intendant runner: the service refused this line: ${describeRefusal(refusal)}`
    this.#log(reason)
    const events: OutgoingEvent[] = []
    const batch = new OutputBatch((stream, text) => events.push(this.#printed(stream, text)))
    batch.add('stdout', line, true)
    batch.add('stderr', reason, true)
    batch.flush()
    return events
  }

  #printed(stream: OutputStream, text: string): OutgoingEvent {
    return outputEvent(stream, text, (lost) => this.#log(lost))
  }

  #log(text: string): void {
    this.#options.log(`${this.requestId} attempt ${this.attempt}: ${text}`)
  }
}
