/**
 * Agent sessions that have not ended, in memory: what their last heartbeats said, and the end of those whose process is
 * gone (SPEC 6.17). The class only asks: each end is a step of the session, so a stop in between neither ends anything
 * twice nor loses an end. While no session is open, a commit costs only a look at the kinds of its steps. A bug met at
 * one session, or at its runner, is retried later and keeps no other session from ending.
 */
import type { AgentSessionContext } from '../../machines/agent-session/context.ts'
import type { Messages } from '../../machines/messages.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { isEndReported } from '../../machines/run-request/rules.ts'
import type { UsageContext } from '../../machines/usage.ts'
import { actorKey } from '../actor.ts'
import type { ActorRef, Answer, CommittedStep, Runtime, SnapshotOf } from '../api.ts'
import { addTo, removeFrom } from '../collections/sets.ts'
import { committed } from '../control/committed.ts'
import type { Health } from '../control/guard.ts'
import { Retries } from '../control/retries.ts'
import { clockRecheckMs } from '../limits.ts'
import type { Logger } from '../log.ts'
import { readable } from '../reader.ts'

/** How far back interrupted sessions and maintenance runs are looked for at a start (SPEC 8). */
const LOOKBACK_MS = 7 * 24 * 3_600_000
/** Pause before an end is asked for again that was refused for lack of room. */
const AGAIN_MS = 1_000

/** What a heartbeat says of a session. */
interface Pulse {
  readonly bytes_written?: number
  readonly last_output_at?: string
  readonly heard_at: string
}

/** A request to end something whose process is gone. */
type End = {
  readonly [K in 'agent_session' | 'maintenance_run']: { readonly ref: ActorRef<K>; readonly message: Messages[K] }
}['agent_session' | 'maintenance_run']

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
  readonly #tries: Retries
  /** Keys of actors whose end was asked for and is not answered yet. */
  readonly #asked = new Set<string>()
  /** By actor key: ends that a bug kept from being asked for or taken. */
  readonly #owed = new Map<string, End>()
  /** By runner id: steps that could not be taken in because of a bug. */
  readonly #unheard = new Map<string, CommittedStep>()
  #isClosed = false
  /** Timers of ends for which there was no room. */
  readonly #again = new Set<unknown>()

  /** Call it before the runtime takes its first message. A record that cannot be read is skipped. */
  constructor(runtime: Runtime, log: Logger) {
    this.#runtime = runtime
    this.#tries = new Retries({
      platform: runtime.platform,
      log,
      name: 'sessions',
      reread: (ref) => this.#reread(ref),
      isUnderWay: (ref) => this.#asked.has(actorKey(ref.kind, ref.id)),
    })
    for (const { ref, snapshot } of runtime.scan('agent_session', 'state', 'started'))
      this.#tries.guard.guarded(ref, () => this.#note(snapshot))
    runtime.onCommit((steps) => this.#onCommit(steps))
    runtime.addRetentionGuard((ref) => isOfKeptWork(runtime, ref))
  }

  get health(): Health {
    return this.#tries.guard.health
  }

  /** Number of sessions that have not ended. */
  get openCount(): number {
    return this.#open.size
  }

  /** What the last heartbeat said of a session that has not ended. */
  pulseOf(sessionId: string): Pulse | undefined {
    return this.#open.get(sessionId)?.pulse
  }

  /** A heartbeat of the run. Ignores sessions that are not the run's or have ended. */
  heard(runId: string, sessions: readonly (Omit<Pulse, 'heard_at'> & { readonly session_id: string })[]): void {
    const heard_at = new Date(this.#runtime.platform.wallMs()).toISOString()
    for (const { session_id, ...said } of sessions) {
      const open = this.#open.get(session_id)
      if (open?.runId === runId) open.pulse = { ...open.pulse, ...said, heard_at }
    }
  }

  /**
   * Before any work is taken: ends what an engine inside this service left behind when the service stopped (sessions
   * without a runner, and maintenance runs, begun in the last seven days), and the sessions of runs that they no longer
   * belong to.
   */
  async recover(): Promise<void> {
    const nowMs = this.#runtime.platform.wallMs()
    const ended_at = new Date(nowMs).toISOString()
    // A time that no clock shows (a leap second) is no reason to leave the session open for ever.
    const isRecent = (at: string): boolean => !(Date.parse(at) < nowMs - LOOKBACK_MS)
    const { guard } = this.#tries
    const sessions = new Map<string, string>()
    const runs = new Set<string>()
    for (const open of this.#open.values())
      guard.guarded(refOf(open), () => {
        const isOurs = open.runnerId === undefined && isRecent(open.beganAt)
        const left = isOurs ? { at: ended_at, inMs: 0 } : this.#left(open)
        if (left === undefined) return
        if (left.inMs > 0) this.#judge(open)
        else sessions.set(open.id, left.at)
      })
    for (const { ref, snapshot } of this.#runtime.scan('maintenance_run', 'state', 'running'))
      if (guard.guarded(ref, () => isRecent(snapshot.context.begin_event.occurred_at)) !== false) runs.add(ref.id)
    // Messages still under way at the stop are in the mailboxes already: the end comes after them.
    for (const { toKind, toId, message } of this.#runtime.journal.outbox()) {
      const { type, session } = message as { type: string; session?: { runner_id?: string } }
      if (toKind === 'agent_session' && type === 'begin' && session?.runner_id === undefined)
        sessions.set(toId, ended_at)
      if (toKind === 'maintenance_run') runs.add(toId)
    }
    await this.#insist([
      ...Array.from(sessions, ([id, at]) => endOf(id, at)),
      ...Array.from(runs, (id): End => ({ ref: { kind: 'maintenance_run', id }, message: { type: 'interrupt' } })),
    ])
  }

  /** Asks again for ends refused for now until they are taken: a service that starts read-only takes no work either. */
  async #insist(ends: readonly End[]): Promise<void> {
    const isLeft = await Promise.all(ends.map((end) => this.#ask(end)))
    const left = ends.filter((_, i) => isLeft[i])
    if (left.length === 0 || this.#isClosed) return
    const timer = this.#runtime.platform.setTimer(() => {
      this.#again.delete(timer)
      void this.#insist(left)
    }, AGAIN_MS)
    this.#again.add(timer)
  }

  /** Asks for an end. True if there was no room, so that it must be asked for again. A bug makes the end owed. */
  async #ask(end: End): Promise<boolean> {
    const { ref, message } = end
    const { guard } = this.#tries
    const key = actorKey(ref.kind, ref.id)
    if (guard.isBackedOff(ref)) {
      this.#owed.set(key, end)
      return false
    }
    this.#asked.add(key)
    try {
      const answer = await this.#runtime.askAsync(ref, message)
      // The step threw, and would throw again at once.
      if (!answer.ok && answer.refusal.code === 'internal_error') throw new Error(answer.refusal.detail)
      guard.passed([ref])
      return isForNow(answer)
    } catch (error) {
      this.#owed.set(key, end)
      guard.failed(ref, error)
      return false
    } finally {
      this.#asked.delete(key)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#tries.close()
    for (const timer of this.#again) this.#runtime.platform.clearTimer(timer)
    for (const { timer } of this.#open.values()) this.#runtime.platform.clearTimer(timer)
  }

  #onCommit(steps: readonly CommittedStep[]): void {
    for (const step of steps) {
      try {
        this.#hear(step)
      } catch (error) {
        if (step.ref.kind === 'runner') this.#keep(step)
        this.#tries.guard.failed(step.ref, error)
      }
    }
  }

  #hear(step: CommittedStep): void {
    const { kind, id } = step.ref
    if (kind === 'agent_session') this.#note(step.after)
    else if (this.#open.size === 0) return
    else if (kind === 'run_request') for (const open of this.#byRun.get(id) ?? []) this.#judge(open)
    else if (kind === 'runner' && this.#byRunner.has(id)) this.#noteRunner(step)
  }

  /** The runner's record alone does not show what changed, so the step is kept, merged with those that follow. */
  #keep(step: CommittedStep): void {
    const before = (this.#unheard.get(step.ref.id) ?? step).before
    this.#unheard.set(step.ref.id, { ...step, before })
  }

  /** Retries an entity that was passed over, now that its pause has ended. */
  #reread(ref: ActorRef): void {
    const key = actorKey(ref.kind, ref.id)
    const end = this.#owed.get(key)
    const step = ref.kind === 'runner' ? this.#unheard.get(ref.id) : undefined
    if (end !== undefined) {
      this.#owed.delete(key)
      void this.#insist([end])
    } else if (step !== undefined) {
      this.#noteRunner(step)
      this.#unheard.delete(ref.id)
    } else if (ref.kind === 'agent_session') {
      const snapshot = committed(this.#runtime, ref)
      if (snapshot !== undefined) this.#note(snapshot)
      const open = this.#open.get(ref.id)
      if (open !== undefined) this.#judge(open)
    }
  }

  /** Ends the sessions of a runner process that was replaced or removed. Judged by the step: times may go back. */
  #noteRunner({ ref, before, after }: CommittedStep): void {
    const { session, removed_at } = after.context
    const isNew = session !== undefined && session.instance !== before?.context.session?.instance
    const at: string | undefined = isNew ? session.started_at : removed_at
    if (at === undefined) return
    for (const open of this.#byRunner.get(ref.id) ?? []) this.#end(open, at)
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
    if (open.runId !== undefined) addTo(this.#byRun, open.runId, open)
    if (open.runnerId !== undefined) addTo(this.#byRunner, open.runnerId, open)
    // Its run may have ended before this step arrived.
    if (open.runId !== undefined) this.#judge(open)
  }

  #forget(open: Open): void {
    this.#open.delete(open.id)
    this.#runtime.platform.clearTimer(open.timer)
    if (open.runId !== undefined) removeFrom(this.#byRun, open.runId, open)
    if (open.runnerId !== undefined) removeFrom(this.#byRunner, open.runnerId, open)
  }

  /** Ends the session if the process that ran it is gone, now or when that becomes certain. */
  #judge(open: Open): void {
    if (this.#isClosed) return
    try {
      const left = this.#left(open)
      if (left === undefined) return
      if (left.inMs > 0) this.#after(open, left.inMs, () => this.#judge(open))
      else this.#end(open, left.at)
    } catch (error) {
      this.#tries.guard.failed(refOf(open), error)
    }
  }

  #end(open: Open, at: string): void {
    void this.#ask(endOf(open.id, at)).then((isLeft) => {
      if (isLeft) this.#after(open, AGAIN_MS, () => this.#end(open, at))
    })
  }

  #after(open: Open, afterMs: number, act: () => void): void {
    if (this.#isClosed || open.timer !== undefined) return
    open.timer = this.#runtime.platform.setTimer(
      () => {
        open.timer = undefined
        if (this.#open.has(open.id)) act()
      },
      Math.min(afterMs, clockRecheckMs),
    )
  }

  /** When the process that ran it ended, and how soon that is certain; undefined if it may be at work. */
  #left(open: Open): Left | undefined {
    const { runId } = open
    if (runId === undefined) return undefined
    const ref = { kind: 'run_request', id: runId } as const
    const run: SnapshotOf<RunRequestContext> | undefined | 'unreadable' = readable(
      () => this.#runtime.read(ref),
      'unreadable' as const,
    )
    if (run === 'unreadable') return undefined
    const nowMs = this.#runtime.platform.wallMs()
    if (run !== undefined && run.context.attempt === open.attempt) return leftByRun(run, nowMs)
    return { at: new Date(nowMs).toISOString(), inMs: 0 }
  }
}

/**
 * Whether this is the sum of an item, or a session of a run, that still exists: an item is shown with its whole sum, and
 * a run may report each of its sessions again, which must not be counted again.
 */
function isOfKeptWork(runtime: Runtime, ref: ActorRef): boolean {
  if (ref.kind !== 'usage' && ref.kind !== 'agent_session') return false
  const isNeeded = (): boolean => {
    const work = workOf(runtime.read(ref)?.context)
    return work !== undefined && runtime.read(work) !== undefined
  }
  return readable(isNeeded, true)
}

function workOf(context: Partial<UsageContext & AgentSessionContext> = {}): ActorRef | undefined {
  const { scope, ref, run_request_id } = context
  if (scope === 'item') return { kind: 'work_item', id: ref! }
  return run_request_id === undefined ? undefined : { kind: 'run_request', id: run_request_id }
}

function refOf({ id }: Pick<Open, 'id'>): ActorRef<'agent_session'> {
  return { kind: 'agent_session', id }
}

function endOf(id: string, ended_at: string): End {
  return { ref: refOf({ id }), message: { type: 'interrupt', ended_at } }
}

function isForNow(answer: Answer): boolean {
  return !answer.ok && answer.isPassing === true
}

interface Left {
  readonly at: string
  readonly inMs: number
}

/** Lost or settled: at once if not reported by its runner, else when its late events are no longer accepted. */
function leftByRun({ value, context }: SnapshotOf<RunRequestContext>, nowMs: number): Left | undefined {
  const { times, made } = context
  const ends = {
    lost: times.lost_at,
    completed: times.completed_at,
    failed: times.failed_at,
    cancelled: times.cancelled_at,
  }
  const at = ends[value as keyof typeof ends]
  if (at === undefined) return undefined
  const isWordOfRunner = value !== 'lost' && isEndReported(context)
  return { at, inMs: isWordOfRunner ? Math.max(0, Date.parse(at) + made.limits.late_events_ms - nowMs) : 0 }
}
