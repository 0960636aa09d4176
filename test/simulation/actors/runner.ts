/**
 * A runner: polls, accepts, starts, works and reports, and in the storm does each of these as badly as a runner can:
 * accepts nothing, goes silent past its lease and comes back, forgets everything and starts over, repeats itself.
 */
import type { Heard } from '../network.ts'
import type { Random } from '../random.ts'
import type { World } from '../world.ts'
import { type Actor, Client, mayBeRepeated } from './actor.ts'
import { adviceOf, OUTAGE } from './adviser.ts'
import { sessionEvent } from './agent-sessions.ts'

/** How a runner deals with one piece of work. */
const MANNERS = {
  proper: 40,
  /** Polls and completes: the other moves are implied. */
  simple: 8,
  /** Starts without accepting. */
  hasty: 6,
  /** Lets the offer run out. */
  deaf: 7,
  release: 6,
  /** Accepts, and never starts. */
  idle: 4,
  /** Is silent for longer than its lease, and then goes on. */
  silent: 8,
  fails: 10,
  /** Does not stop when it is asked to. */
  stubborn: 4,
  reports: 8,
} as const
type Manner = keyof typeof MANNERS

/** A storm is over before a runner is missed for longer. */
const AWAY_MS_MAX = 30_000

const FAILURE_CLASSES = ['execution', 'semantic', 'validation', 'dispatch', 'safety'] as const

export interface Work {
  readonly id: string
  readonly attempt: number
  readonly runner: string
  /** Key of its project. */
  readonly project: string
  engineRun: string | undefined
  /** The event that settles its work item. */
  readonly result: object | undefined
  /** What a read-only run decides. */
  readonly advice: object | undefined
}

interface Offer {
  readonly request_id: string
  readonly attempt: number
  readonly project: { readonly key: string }
  readonly engine: {
    readonly entry_event: string
    readonly payload: { readonly item_id?: string; readonly campaign?: string }
  }
}

export function runners(world: World): readonly Actor[] {
  return world.made.runners.map((made) => new Runner(world, made.id, made.token))
}

export class Runner extends Client {
  readonly id: string
  private readonly chance: Random
  private life = 0
  private instance = 0
  private readonly working = new Set<string>()
  private readonly parked = new Set<() => void>()

  constructor(world: World, id: string, token: string) {
    super(world, id, token)
    this.id = id
    this.chance = this.random.fork()
  }

  async live(): Promise<void> {
    await this.pass(1, 2_000)
    for (;;) {
      const life = ++this.life
      await this.begins(life)
      for (let poller = this.chance.int(1, 2); poller > 0; poller--) this.polls(life).catch(this.failed)
      await this.dies()
      this.life++
      this.working.clear()
      for (const abort of [...this.parked]) abort()
      await this.isAway()
    }
  }

  /** Until the next process of the runner begins, at times so long that it counts as gone. */
  private async isAway(): Promise<void> {
    const { presenceMs } = this.world.settings
    if (this.world.isStormy && presenceMs <= AWAY_MS_MAX && this.chance.chance(0.4))
      await this.world.timeline.pass(this.chance.between(presenceMs * 0.8, presenceMs * 2))
    else await this.pass(50, 8_000)
  }

  /** Resolves when the process of the runner crashes; in the calm it never does. */
  private async dies(): Promise<void> {
    do await this.pass(5_000, 150_000)
    while (!this.world.isStormy)
  }

  private readonly failed = (error: unknown): void => this.world.timeline.fail(error)

  private lives(life: number): boolean {
    return this.life === life
  }

  /** Begins a session for a new process; one in ten does not bother. */
  private async begins(life: number): Promise<void> {
    if (this.world.isStormy && this.chance.chance(0.1)) return
    const body = { instance: `${this.id}-${++this.instance}`, version: '1' }
    const params = [this.id]
    do {
      const heard = await this.call('POST', '/api/runners/:runner_id/session', { params, body })
      if (!mayBeRepeated(heard)) return
      await this.pass(200, 3_000)
    } while (this.lives(life))
  }

  private async polls(life: number): Promise<void> {
    while (this.lives(life)) {
      const seconds = this.chance.pick([0, 1, 5, 30, 60])
      const pending = this.begin('GET', '/api/runners/:runner_id/run-requests/next', {
        params: [this.id],
        query: `wait=${seconds}`,
      })
      this.parked.add(pending.abort)
      if (this.world.isStormy && this.chance.chance(0.08))
        this.world.timeline.in(this.chance.skewed(1, 9_000), pending.abort)
      const heard = await pending.heard
      this.parked.delete(pending.abort)
      if (!this.lives(life)) return
      if (heard.status === 200) this.take(heard.body, life)
      if (heard.status === 401 || heard.status === 409) await this.pass(2_000)
      if (heard.status !== 200) await this.pass(seconds === 0 ? 400 : 20, 2_000)
    }
  }

  private take(offer: Offer, life: number): void {
    const { request_id: id, attempt, engine, project } = offer
    const name = `${id}/${attempt}`
    if (this.working.has(name)) return
    this.working.add(name)
    const { item_id, campaign } = engine.payload
    const isCycle = campaign !== undefined
    const result = item_id === undefined ? undefined : this.resultOf(engine.entry_event, project.key, isCycle)
    const advice = adviceOf(this.world, this.chance, engine)
    const work: Work = { id, attempt, runner: this.id, project: project.key, engineRun: undefined, result, advice }
    this.world.gossip.works.push(work)
    const manner = this.world.isStormy ? this.chance.weighted(MANNERS) : 'proper'
    this.does(work, manner, life)
      .catch(this.failed)
      .finally(() => {
        if (this.lives(life)) this.working.delete(name)
      })
  }

  private async does(work: Work, manner: Manner, life: number): Promise<void> {
    const { chance } = this
    const say = (post: string, body: object = {}) => this.says(work, post, body, life)
    if (manner === 'deaf') return
    if (manner === 'simple') {
      await this.pass(5, 3_000)
      await say('completed', { result: work.advice ?? this.result() })
      return
    }
    if (manner !== 'hasty' && !(await this.accepts(work, say))) return
    if (manner === 'release') {
      await say('release')
      return
    }
    if (manner === 'idle') return
    await this.pass(1, 2_000)
    let heard = await say('started')
    if (!isTaken(heard)) return
    work.engineRun = heard.body.run_request.engine_run_id
    const { leaseMs } = this.world.settings
    const pieces = chance.int(manner === 'silent' ? 1 : 0, 4)
    // A runner that falls silent often has an agent at work.
    if (manner === 'silent' && chance.chance(0.7)) await say('events', { events: [this.sessionEvent(work, 'started')] })
    for (let piece = 0; piece < pieces && this.lives(life); piece++) {
      if (manner === 'silent' && chance.chance(0.6))
        await this.world.timeline.pass(chance.between(leaseMs * 0.8, leaseMs * 3))
      else await this.pass(10, leaseMs * 0.7)
      heard = chance.chance(0.5) ? await say('heartbeat') : await say('events', { events: this.events(work) })
      if (heard.body?.cancel_requested === true && manner !== 'stubborn') {
        await say('failed', { class: 'cancelled', message: 'stopped' })
        return
      }
      if (heard.status === 404 || heard.status === 409) return
    }
    if (manner === 'reports') await this.reports(work)
    if (manner === 'fails') await say('failed', this.failure(work))
    else await this.completes(work, say)
    if (this.world.isStormy && chance.chance(0.15)) {
      await this.pass(10, 20_000)
      await say('events', { events: this.events(work) })
    }
  }

  /** Whether the work is its own now. */
  private async accepts(work: Work, say: (post: string, body: object) => Promise<Heard>): Promise<boolean> {
    const heard = await say('accepted', this.namedRun(work))
    const item: string | undefined = heard.body?.run_request?.work_item_id
    if (isTaken(heard) && item !== undefined) this.world.gossip.onItemAccepted(item)
    return isTaken(heard)
  }

  /** Reports the result of an item before the end; one in ten forgets to. */
  private async completes(work: Work, say: (post: string, body: object) => Promise<Heard>): Promise<void> {
    if (work.result !== undefined && !(this.world.isStormy && this.chance.chance(0.1))) {
      await say('events', { events: [work.result] })
    }
    await say('completed', { result: work.advice ?? this.result() })
    // Advice is often given twice.
    if (work.advice !== undefined && this.world.isStormy && this.chance.chance(0.3)) {
      await this.pass(10, 9_000)
      await say('completed', { result: work.advice })
    }
  }

  private failure({ advice }: Work): object {
    const isOutage = this.chance.chance(0.4)
    const failed = { class: this.chance.pick(FAILURE_CLASSES), message: 'it broke' }
    if (!isOutage) return failed
    // An adviser's campaign waits for its owner if nobody says how long.
    const isTold = advice === undefined && this.chance.chance(0.5)
    const code = this.chance.pick(['provider_unavailable', 'usage_limit', 'agent_missing'])
    return { ...failed, code, ...(isTold ? { result: { retry_after: this.chance.int(1, 90) } } : {}) }
  }

  private resultOf(entryEvent: string, project: string, isCycle: boolean): object {
    const occurred_at = new Date(this.world.wallMs).toISOString()
    const summary = this.chance.hex(6)
    if (entryEvent === 'maintenance_requested') {
      const payload = { project, workflow: 'maintain', success: this.chance.chance(0.8), summary }
      return { event_type: 'project_maintenance_completed', occurred_at, payload }
    }
    const verdicts = [
      { success: true, landed: true, verdict: 'complete', preservation_ref: 'abc' },
      { success: true, landed: true, verdict: 'complete', preservation_ref: 'abc' },
      { success: false, landed: false, verdict: 'complete', land_blocked: 'git_failed', preservation_ref: 'kept' },
      { success: false, landed: false, verdict: 'remainder', gaps: ['more'], preservation_ref: 'kept' },
      { success: false, landed: false, verdict: 'blocked_on_decision', finding: 'which?', options: ['a', 'b'] },
      { success: false, landed: false, verdict: 'runner_error', detail: 'broke' },
      ...(isCycle ? [OUTAGE] : []),
    ]
    const payload = { project, summary, ...this.chance.pick(verdicts) }
    return { event_type: 'task_run_completed', occurred_at, payload }
  }

  private result(): object {
    return { status: this.chance.pick(['completed', 'completed_with_findings']), note: this.chance.hex(6) }
  }

  private namedRun(work: Work): object {
    if (!this.world.isStormy || !this.chance.chance(0.1)) return {}
    return { engine_run_id: `run_own_${work.id.slice(-6)}_${work.attempt}_${this.chance.int(1, 2)}` }
  }

  private events(work: Work): object[] {
    if (this.chance.chance(0.3)) return [this.sessionEvent(work)]
    return Array.from({ length: this.chance.int(1, 3) }, () => ({
      event_type: 'run_output',
      occurred_at: new Date(this.world.clock.offsetMs + this.world.timeline.nowMs).toISOString(),
      payload: { stream: 'stdout', text: `${work.id.slice(-6)} ${work.attempt} ${this.chance.int(1, 40)}` },
    }))
  }

  private sessionEvent({ id, attempt }: Work, is?: 'started'): object {
    return sessionEvent(this.chance, `${id}-${attempt}`, new Date(this.world.wallMs).toISOString(), is)
  }

  private async reports(work: Work): Promise<void> {
    const params = [work.engineRun ?? '']
    const observation = { ...this.seen(work), observed_by: this.id, source_type: 'test' }
    await this.insist(
      'POST',
      '/api/engine-runs/:id/evidence-observations',
      { params, body: { observations: [observation] } },
      3,
    )
  }

  /** About the run alone, or about a record of its project. */
  private seen({ project }: Work): object {
    const records = this.world.gossip.records.filter((record) => record.project === project)
    if (records.length === 0) return { result: 'pass', observed_at: '2026-01-01T00:00:00Z' }
    const { id } = this.chance.pick(records)
    return {
      ...(this.chance.chance(0.7) ? { evidence_id: `${id}.e${this.chance.int(1, 2)}` } : { intent_record_id: id }),
      about: this.chance.pick(['evidence', 'evidence', 'threat', 'contradiction']),
      result: this.chance.pick(['pass', 'pass', 'fail', 'unknown']),
      observed_at: new Date(this.world.clock.offsetMs + this.world.timeline.nowMs).toISOString(),
    }
  }

  /** Posts about the work until it is answered, at times once more. */
  private async says(work: Work, post: string, body: object, life: number): Promise<Heard> {
    // The attempt may be left out while it is the first.
    const attempt = work.attempt === 1 && this.chance.chance(0.2) ? {} : { attempt: work.attempt }
    const rest = { params: [work.id], body: { ...attempt, ...body } }
    const pattern = `/api/run-requests/:id/${post}`
    for (let tries = 0; ; tries++) {
      const heard = await this.call('POST', pattern, rest)
      if (!this.lives(life)) return { status: 410, body: undefined, headers: {} }
      if (!mayBeRepeated(heard) || tries > 8) {
        if (this.world.isStormy && this.chance.chance(0.06)) this.call('POST', pattern, rest).catch(this.failed)
        return heard
      }
      await this.pass(100, 4_000)
    }
  }
}

function isTaken({ status }: Heard): boolean {
  return status === 200
}
