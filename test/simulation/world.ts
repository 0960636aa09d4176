/**
 * One world: a seed, a timeline, a service that dies and comes back, clients that do as they like, trouble, and a
 * checker that hears and sees everything. A world has three phases: it is set up in peace; then comes the storm; then
 * calm, in which everything that was promised must come true.
 */
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import type { CommittedStep, SnapshotOf } from '../../runtime/api.ts'
import type { Settings } from '../../runtime/settings.ts'
import { type StreamLimits, streamLimits } from '../../runtime/stream/limits.ts'
import { HEAD_FLOOR, HEAD_LAST } from '../../storage/environments.ts'
import { HomeRefused } from '../../storage/home/home-refused.ts'
import type { Commit, Step } from '../../storage/journal.ts'
import type { Actor } from './actors/actor.ts'
import { actors } from './actors/index.ts'
import type { Watcher } from './actors/watcher.ts'
import { SimulatedDisk } from './disk/disk.ts'
import { Fate } from './fate.ts'
import { Gossip } from './gossip.ts'
import { History } from './history.ts'
import { invariants } from './invariants/index.ts'
import type { Invariant } from './invariants/invariant.ts'
import { Fleet } from './model/fleet.ts'
import { Items } from './model/items.ts'
import { Labels } from './model/labels.ts'
import { Mirror } from './model/mirror.ts'
import { Owners } from './model/owners.ts'
import { type RequestModel, Requests, SETTLED } from './model/requests.ts'
import { Sentinels } from './model/sentinels.ts'
import { Weights } from './model/weights.ts'
import { Writers } from './model/writers.ts'
import { Network, type Said } from './network.ts'
import { type Plan, planOf } from './plan.ts'
import type { WallClock } from './platform.ts'
import { Process } from './process.ts'
import { Random } from './random.ts'
import { type SetUp, setUp } from './set-up.ts'
import { Timeline } from './timeline.ts'
import { Violation } from './violation.ts'

/**
 * So small that one commit is several frames, a short history several pages, and watchers fall out of the newest
 * events.
 */
Object.assign(streamLimits, { frameEventsMax: 3, tailEventsMax: 12, pagesMax: 2 } satisfies Partial<StreamLimits>)

export type Phase = 'set up' | 'storm' | 'calm' | 'over'

export interface Outcome {
  readonly seed: number
  readonly violation: Error | undefined
  readonly virtualMs: number
  readonly steps: number
  readonly events: number
  readonly processes: number
  readonly history: History
}

/** The simulated computer's clock begins here. */
const BEGINNING_MS = Date.UTC(2026, 0, 1)
/** What is not in order after this long a calm never will be. */
const CALM_MS_MAX = 1_800_000
const SET_UP_MS_MAX = 600_000
const CALM_LOOK_MS = 500
const LOOK_MS = 1_000

export class World {
  readonly seed: number
  readonly random: Random
  readonly timeline = new Timeline()
  readonly clock: WallClock = { offsetMs: BEGINNING_MS }
  readonly history: History
  readonly plan: Plan
  readonly settings: Settings
  readonly fate: Fate
  readonly disk: SimulatedDisk
  readonly network: Network
  readonly mirror = new Mirror()
  readonly requests = new Requests((request) => this.mayBeForgotten(request))
  readonly fleet = new Fleet()
  readonly writers = new Writers(this.requests)
  readonly labels = new Labels(this.requests)
  readonly weights = new Weights()
  readonly items = new Items(() => this.plan.isRetaining)
  readonly sentinels = new Sentinels()
  readonly owners = new Owners()
  /** The newest committed snapshots of run requests that the service told itself of. */
  readonly snapshots = new Map<string, SnapshotOf<RunRequestContext>>()
  /** The oldest event that retention has left on the disk. */
  oldestSequence = 1
  readonly gossip = new Gossip()
  readonly watchers: Watcher[] = []
  phase: Phase = 'set up'
  process: Process | undefined
  /** What was made before the storm. */
  made!: SetUp
  adminToken = ''
  private readonly invariants: readonly Invariant[]
  private actors: readonly Actor[] = []
  private processes = 0
  /** Since when the service serves, takes writes, and is let alone; virtual. */
  private wellSinceMs = Number.POSITIVE_INFINITY
  /** Steps of batches that were given to the journal, until they are on disk. */
  private readonly appended = new Map<number, readonly Step[]>()
  private durableBatch = 0
  /** The latest time that the computer's clock had shown when it was last set. */
  private latestBeforeMs = BEGINNING_MS

  constructor(seed: number, keepsHistory: boolean) {
    this.seed = seed
    this.random = new Random(seed)
    this.history = new History(this.timeline, keepsHistory)
    this.plan = planOf(this.random.fork())
    if (this.plan.sentinels > 0) this.clock.offsetMs += this.plan.intoMinuteMs
    this.settings = this.plan.settings
    this.network = new Network(this, this.random.fork())
    this.fate = new Fate(this, this.random.fork())
    this.disk = new SimulatedDisk(this.fate)
    this.invariants = invariants.map((make) => make(this))
  }

  async run(): Promise<Outcome> {
    let violation: Error | undefined
    try {
      await this.live()
    } catch (error) {
      violation = error as Error
      this.history.note('checker', () => `finds ${(error as Error).stack}`)
    }
    this.phase = 'over'
    return {
      seed: this.seed,
      violation,
      virtualMs: this.timeline.nowMs,
      steps: this.timeline.steps,
      events: this.mirror.lastSequence,
      processes: this.processes,
      history: this.history,
    }
  }

  get isStormy(): boolean {
    return this.phase === 'storm'
  }

  get isOver(): boolean {
    return this.phase === 'over'
  }

  get wallMs(): number {
    return Math.floor(this.timeline.nowMs + this.clock.offsetMs)
  }

  /** The latest time that the computer's clock has ever shown. */
  get latestWallMs(): number {
    return Math.max(this.latestBeforeMs, this.wallMs)
  }

  setClock(byMs: number): void {
    this.latestBeforeMs = this.latestWallMs
    this.clock.offsetMs += byMs
  }

  /**
   * Since when the service serves, takes writes, and is troubled by nothing; infinite while that is not so. Only from
   * then on does the service have its time to act by itself.
   */
  get quietSinceMs(): number {
    return Math.max(this.wellSinceMs, this.fate.lastTroubleMs)
  }

  /** Whether retention may have forgotten it by now. */
  mayBeForgotten(request: RequestModel): boolean {
    const { retentionMs, idempotencyMs, lateEventsMs } = this.settings
    if (retentionMs === undefined || !SETTLED.has(request.state)) return false
    return request.settledWallMs! + Math.max(retentionMs, idempotencyMs, lateEventsMs) < this.latestWallMs
  }

  /** The service wrote its first token. */
  keepAdminToken(token: string): void {
    this.adminToken = token
  }

  /** A promise is broken. */
  violated(invariant: string, detail: string): void {
    this.timeline.fail(new Violation(invariant, detail))
  }

  // -- what the checker sees ------------------------------------------------------------------------------------

  /** The disk has flushed rows of the log. */
  flushed(changes: Parameters<Mirror['take']>[0]): void {
    this.guarded(() => {
      for (const event of this.mirror.take(changes)) {
        this.history.note('log', () => `${event.sequence} ${event.text}`)
        for (const invariant of this.invariants) invariant.before?.(event)
        this.fleet.take(event)
        this.writers.take(event)
        this.labels.take(event)
        this.weights.take(event)
        this.items.take(event)
        this.sentinels.take(event)
        const request = this.requests.take(event)
        for (const invariant of this.invariants) invariant.event?.(event, request)
      }
      const last = headOf(changes, HEAD_LAST)
      if (last !== undefined) this.takeSteps(Number.parseInt(last, 10))
      const floor = headOf(changes, HEAD_FLOOR)
      if (floor !== undefined) this.forgets(Number(floor))
    })
  }

  private forgets(until: number): void {
    for (const invariant of this.invariants) invariant.forgets?.(this.oldestSequence, until)
    this.oldestSequence = until
  }

  /** The journal is given a batch. */
  appending(steps: readonly Step[]): void {
    this.appended.set(Number.parseInt(this.disk.head!, 10) + 1, steps)
  }

  private takeSteps(batch: number): void {
    while (this.durableBatch < batch) {
      const steps = this.appended.get(++this.durableBatch)!
      this.appended.delete(this.durableBatch)
      for (const invariant of this.invariants) invariant.steps?.(steps)
      for (const step of steps) this.takeOwnerStep(step)
    }
  }

  private takeOwnerStep(step: Step): void {
    const move = this.owners.take(step, this.timeline.nowMs)
    if (move !== undefined) for (const invariant of this.invariants) invariant.owner?.(move)
  }

  said(said: Said): void {
    this.history.note(said.process.toString(), () => `answers ${said.call.by} ${said.status}`)
    this.guarded(() => {
      for (const invariant of this.invariants) invariant.said?.(said)
    })
  }

  committed(process: Process, steps: readonly CommittedStep[], commit: Commit): void {
    this.guarded(() => {
      for (const { ref, after } of steps) if (ref.kind === 'run_request') this.snapshots.set(ref.id, after)
      for (const invariant of this.invariants) invariant.committed?.(steps, commit, process)
    })
  }

  private guarded(look: () => void): void {
    try {
      look()
    } catch (error) {
      this.timeline.fail(error)
    }
  }

  // -- the service's lives --------------------------------------------------------------------------------------

  boot(): void {
    if (this.process?.isAlive === true || this.isOver) return
    const process = new Process(this, ++this.processes)
    this.process = process
    const deeds = this.fate.deeds
    this.history.note(process.toString(), () => 'starts')
    this.fate.onBoot()
    this.wellSinceMs = Number.POSITIVE_INFINITY
    for (const invariant of this.invariants) invariant.boots?.()
    process.start().then(
      () => {
        if (process.isServing) this.serves(process)
      },
      (error: unknown) => this.didNotStart(process, error, deeds),
    )
  }

  onDeath(process: Process, by: 'kill' | 'power'): void {
    this.history.note(process.toString(), () => `ends by ${by}`)
    this.bootLater()
  }

  /** Stops the service gracefully, and starts it again. */
  async restart(): Promise<void> {
    const { process } = this
    if (process?.isServing !== true) return
    this.history.note(process.toString(), () => 'is asked to stop')
    await process.stop()
    this.history.note(process.toString(), () => 'has stopped')
    if (this.process === process) this.bootLater()
  }

  private bootLater(): void {
    this.timeline.in(this.random.skewed(20, 4_000), () => this.boot())
  }

  private serves(process: Process): void {
    this.history.note(process.toString(), () => `serves; its log ends at ${process.journal!.lastSequence}`)
    process.runtime.onCommit((steps, _events, commit) => this.committed(process, steps, commit))
    this.guarded(() => {
      this.readSnapshots(process)
      for (const invariant of this.invariants) invariant.serves?.(process)
    })
  }

  /** Reads what was committed when no listener was told any more. */
  private readSnapshots({ runtime }: Process): void {
    for (const id of this.requests.byId.keys()) {
      const snapshot = runtime.read({ kind: 'run_request', id })
      if (snapshot !== undefined) this.snapshots.set(id, snapshot)
    }
  }

  private didNotStart(process: Process, error: unknown, deedsBefore: number): void {
    this.history.note(process.toString(), () => `does not start: ${(error as Error).stack}`)
    const isExcused = this.fate.deeds > deedsBefore || (error instanceof HomeRefused && this.fate.excuses(error))
    if (!isExcused) {
      this.violated('the service starts', (error as Error).stack ?? String(error))
      return
    }
    process.die('kill')
  }

  // -- the three times ------------------------------------------------------------------------------------------

  private async live(): Promise<void> {
    const { timeline } = this
    this.boot()
    let isSetUp = false
    setUp(this).then(
      (made) => {
        this.made = made
        isSetUp = true
      },
      (error: unknown) => timeline.fail(error),
    )
    await timeline.run(() => isSetUp || timeline.nowMs > SET_UP_MS_MAX)
    if (!isSetUp) throw new Violation('the world can be set up', 'it was not, in ten minutes of peace')
    this.phase = 'storm'
    this.actors = actors.flatMap((make) => make(this))
    for (const actor of this.actors) this.lives(actor)
    this.fate.begin()
    this.looks()
    const stormEndMs = timeline.nowMs + this.plan.stormMs
    await timeline.run(() => timeline.nowMs >= stormEndMs)
    this.calmDown()
    await this.becomesOrderly()
    await this.lastLook()
  }

  private looks(): void {
    this.timeline.in(LOOK_MS, () => {
      const { process } = this
      const isWell = process?.isServing === true && !process.isDoomed && process.journal!.refuses() === undefined
      if (!isWell) this.wellSinceMs = Number.POSITIVE_INFINITY
      else if (this.wellSinceMs === Number.POSITIVE_INFINITY) this.wellSinceMs = this.timeline.nowMs
      this.guarded(() => {
        for (const invariant of this.invariants) invariant.looks?.()
      })
      this.looks()
    })
  }

  private lives(actor: Actor): void {
    actor.live().catch((error: unknown) => this.timeline.fail(error))
  }

  private calmDown(): void {
    this.history.note('world', () => 'calms down')
    this.phase = 'calm'
    this.fate.end()
    for (const actor of this.actors) actor.calm?.()
    this.boot()
  }

  /** Runs until nothing that was promised is still owed. */
  private async becomesOrderly(): Promise<void> {
    const { timeline } = this
    const untilMs = timeline.nowMs + CALM_MS_MAX + this.fate.clockBackMs
    for (;;) {
      const nextMs = timeline.nowMs + CALM_LOOK_MS
      await timeline.run(() => timeline.nowMs >= nextMs)
      const owed = this.owed()
      if (owed === undefined) return
      if (timeline.nowMs > untilMs) throw new Violation(...owed)
    }
  }

  /** The first promise that has not come true yet, and what is missing. */
  private owed(): [promise: string, detail: string] | undefined {
    if (this.process?.isServing !== true) return ['the service comes back', 'the service is not there in the calm']
    for (const invariant of this.invariants) {
      const owed = invariant.owed?.()
      if (owed !== undefined) return [invariant.name, owed]
    }
    return undefined
  }

  private async lastLook(): Promise<void> {
    let isOver = false
    const look = async (): Promise<void> => {
      for (const invariant of this.invariants) await invariant.finally?.(this.process!)
    }
    look().then(
      () => {
        isOver = true
      },
      (error: unknown) => this.timeline.fail(error),
    )
    await this.timeline.run(() => isOver)
  }
}

/** The head row of that name, as the changes leave it. */
function headOf(changes: Parameters<Mirror['take']>[0], name: string): string | undefined {
  return changes.findLast(({ table, name: row }) => table === 'head' && row === `s${name}`)?.after?.value
}

export function runWorld(seed: number, keepsHistory = false): Promise<Outcome> {
  return new World(seed, keepsHistory).run()
}
