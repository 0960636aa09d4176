/**
 * Agent sessions that have not ended, in memory: what their heartbeats told last, and the end of those whose process
 * is gone (SPEC 6.17). It only asks: each end is a step of the session, so that a stop in between ends nothing twice
 * and loses nothing. Where no session is open, a commit costs it a look at the kinds of its steps.
 */
import type { AgentSessionContext } from '../machines/agent-session/context.ts'
import type { RunRequestContext } from '../machines/run-request/context.ts'
import type { Answer, CommittedStep, MessageBody, Runtime, SnapshotOf } from './api.ts'
import { readable } from './reader.ts'

/** How far back interrupted sessions and maintenance runs are looked for at a start (SPEC 8). */
const LOOKBACK_MS = 7 * 24 * 3_600_000
/** An end that could not be taken for want of room is asked for again after this long. */
const AGAIN_MS = 1_000
/** The longest wait without a look at the clock, which may be set meanwhile. */
const LOOK_MS_MAX = 600_000

/** What a heartbeat says of a session. */
export interface Pulse {
  readonly bytes_written?: number
  readonly last_output_at?: string
  readonly heard_at: string
}

interface Open {
  readonly id: string
  readonly runId: string | undefined
  readonly runnerId: string | undefined
  readonly attempt: number | undefined
  readonly beganAt: string
  pulse?: Pulse
  /** Set while it is to be looked at again. */
  timer?: unknown
}

export class AgentSessions {
  readonly #runtime: Runtime
  readonly #open = new Map<string, Open>()
  readonly #byRun = new Map<string, Set<Open>>()
  readonly #byRunner = new Map<string, Set<Open>>()
  #isClosed = false
  /** Set while something of before the start is still to be ended. */
  #recovery: unknown

  /** Call it before the runtime takes its first message. A record that cannot be read is skipped. */
  constructor(runtime: Runtime) {
    this.#runtime = runtime
    for (const { snapshot } of runtime.scan('agent_session', 'state', 'started')) this.#note(snapshot)
    runtime.onCommit((steps) => this.#onCommit(steps))
  }

  /** How many have not ended. */
  get openCount(): number {
    return this.#open.size
  }

  /** What the last heartbeat told of a session that has not ended. */
  pulseOf(sessionId: string): Pulse | undefined {
    return this.#open.get(sessionId)?.pulse
  }

  /** A heartbeat of the run. What it says of sessions that are not the run's, or have ended, is nobody's. */
  heard(runId: string, sessions: readonly (Omit<Pulse, 'heard_at'> & { readonly session_id: string })[]): void {
    const heard_at = new Date(this.#runtime.nature.wallMs()).toISOString()
    for (const { session_id, ...said } of sessions) {
      const open = this.#open.get(session_id)
      if (open?.runId === runId) open.pulse = { ...open.pulse, ...said, heard_at }
    }
  }

  /**
   * Before any work is taken: what an engine inside this service left behind when that stopped is over. Sessions of no
   * runner that began in the last seven days, and maintenance runs; then those of runs that are no longer theirs.
   */
  async recover(): Promise<void> {
    const nowMs = this.#runtime.nature.wallMs()
    const ended_at = new Date(nowMs).toISOString()
    // A time that no clock shows (a leap second) is no reason to leave it open for ever.
    const isRecent = (at: string): boolean => !(Date.parse(at) < nowMs - LOOKBACK_MS)
    const sessions = new Map<string, string>()
    const runs = new Set<string>()
    for (const open of this.#open.values()) {
      const left = open.runnerId === undefined && isRecent(open.beganAt) ? { at: ended_at, inMs: 0 } : this.#left(open)
      if (left === undefined) continue
      if (left.inMs > 0) this.#judge(open)
      else sessions.set(open.id, left.at)
    }
    for (const { ref, snapshot } of this.#runtime.scan('maintenance_run', 'state', 'running'))
      if (isRecent(snapshot.context.begin_event.occurred_at)) runs.add(ref.id)
    // What was told of before the stop and is still on its way stands in the mailboxes already: the end comes behind it.
    for (const { toKind, toId, message } of this.#runtime.journal.outbox()) {
      const { type, session } = message as { type: string; session?: { runner_id?: string } }
      if (toKind === 'agent_session' && type === 'begin' && session?.runner_id === undefined)
        sessions.set(toId, ended_at)
      if (toKind === 'maintenance_run') runs.add(toId)
    }
    await this.#insist([
      ...Array.from(
        sessions,
        ([id, at]) =>
          () =>
            this.#interrupt(id, at),
      ),
      ...Array.from(runs, (id) => () => this.#runtime.askAsync({ kind: 'maintenance_run', id }, { type: 'interrupt' })),
    ])
  }

  /** A service that starts without taking writes takes no work either: what it could not end, it ends when it writes again. */
  async #insist(ends: readonly (() => Promise<Answer>)[]): Promise<void> {
    const answers = await Promise.all(ends.map((end) => end()))
    const left = ends.filter((_, i) => isForNow(answers[i]!))
    if (left.length === 0 || this.#isClosed) return
    this.#recovery = this.#runtime.nature.setTimer(() => void this.#insist(left), AGAIN_MS)
  }

  close(): void {
    this.#isClosed = true
    this.#runtime.nature.clearTimer(this.#recovery)
    for (const { timer } of this.#open.values()) this.#runtime.nature.clearTimer(timer)
  }

  #onCommit(steps: readonly CommittedStep[]): void {
    for (const step of steps) {
      const { kind, id } = step.ref
      if (kind === 'agent_session') this.#note(step.after)
      else if (this.#open.size === 0) continue
      else if (kind === 'run_request') for (const open of this.#byRun.get(id) ?? []) this.#judge(open)
      else if (kind === 'runner' && this.#byRunner.has(id)) this.#noteRunner(step)
    }
  }

  /** Another process of the runner, or none any more. Told by the step and not by times, which a clock may set back. */
  #noteRunner({ ref, before, after }: CommittedStep): void {
    const { session, removed_at } = after.context
    const isNew = session !== undefined && session.instance !== before?.context.session?.instance
    const at: string | undefined = isNew ? session.started_at : removed_at
    if (at === undefined) return
    for (const open of this.#byRunner.get(ref.id)!) this.#end(open, at)
  }

  #note({ value, context }: SnapshotOf<AgentSessionContext>): void {
    const known = this.#open.get(context.session_id)
    if (value !== 'started') {
      if (known !== undefined) this.#forget(known)
      return
    }
    if (known !== undefined) return
    const open: Open = {
      id: context.session_id,
      runId: context.run_request_id,
      runnerId: context.runner_id,
      attempt: context.attempt,
      beganAt: context.begin_event!.occurred_at,
    }
    this.#open.set(open.id, open)
    put(this.#byRun, open.runId, open)
    put(this.#byRunner, open.runnerId, open)
    // Its run may have gone while the news of it was under way.
    if (open.runId !== undefined) this.#judge(open)
  }

  #forget(open: Open): void {
    this.#open.delete(open.id)
    this.#runtime.nature.clearTimer(open.timer)
    take(this.#byRun, open.runId, open)
    take(this.#byRunner, open.runnerId, open)
  }

  /** Ends it if the process that ran it is gone, or when that is certain. */
  #judge(open: Open): void {
    const left = this.#left(open)
    if (left === undefined || this.#isClosed) return
    if (left.inMs > 0) this.#after(open, left.inMs, () => this.#judge(open))
    else this.#end(open, left.at)
  }

  #end(open: Open, at: string): void {
    void this.#interrupt(open.id, at).then((answer) => {
      if (isForNow(answer)) this.#after(open, AGAIN_MS, () => this.#end(open, at))
    })
  }

  #after(open: Open, afterMs: number, act: () => void): void {
    if (this.#isClosed || open.timer !== undefined) return
    open.timer = this.#runtime.nature.setTimer(
      () => {
        open.timer = undefined
        if (this.#open.has(open.id)) act()
      },
      Math.min(afterMs, LOOK_MS_MAX),
    )
  }

  #interrupt(id: string, ended_at: string): Promise<Answer> {
    const message = { type: 'interrupt', ended_at } as MessageBody
    return this.#runtime.askAsync({ kind: 'agent_session', id }, message)
  }

  /** Since when the process that ran it is gone, and when that is certain; undefined: it may be at work. */
  #left(open: Open): Left | undefined {
    const { runId } = open
    if (runId === undefined) return undefined
    const ref = { kind: 'run_request', id: runId } as const
    const run: SnapshotOf<RunRequestContext> | undefined | 'unreadable' = readable(
      () => this.#runtime.read(ref),
      'unreadable' as const,
    )
    if (run === 'unreadable') return undefined
    const nowMs = this.#runtime.nature.wallMs()
    if (run !== undefined && run.context.attempt === open.attempt) return leftByRun(run, nowMs)
    return { at: new Date(nowMs).toISOString(), inMs: 0 }
  }
}

function isForNow(answer: Answer): boolean {
  return !answer.ok && answer.retryAfterSeconds !== undefined
}

interface Left {
  readonly at: string
  readonly inMs: number
}

/** Lost, or settled: at once without a word of its runner, else when its late events are no longer taken. */
function leftByRun({ value, context }: SnapshotOf<RunRequestContext>, nowMs: number): Left | undefined {
  const { times, internal, attempt, made } = context
  const ends = {
    lost: times.lost_at,
    completed: times.completed_at,
    failed: times.failed_at,
    cancelled: times.cancelled_at,
  }
  const at = ends[value as keyof typeof ends]
  if (at === undefined) return undefined
  const isWordOfRunner = value !== 'lost' && internal.last_post?.attempt === attempt
  return { at, inMs: isWordOfRunner ? Math.max(0, Date.parse(at) + made.limits.late_events_ms - nowMs) : 0 }
}

function put(map: Map<string, Set<Open>>, key: string | undefined, open: Open): void {
  if (key === undefined) return
  const known = map.get(key)
  if (known === undefined) map.set(key, new Set([open]))
  else known.add(open)
}

function take(map: Map<string, Set<Open>>, key: string | undefined, open: Open): void {
  const known = key === undefined ? undefined : map.get(key)
  if (known?.delete(open) && known.size === 0) map.delete(key!)
}
