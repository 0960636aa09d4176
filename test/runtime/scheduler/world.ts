/** A scheduler on the real actor system and a journal in memory; the dispatcher's answers are set by the test. */

import type { WaitingBecause } from '../../../machines/documents/waiting-because.ts'
import { projectIdOf } from '../../../machines/ids.ts'
import { modules } from '../../../machines/index.ts'
import type { SnapshotOf } from '../../../machines/machine.ts'
import { PACING } from '../../../machines/pacing.ts'
import type { Lane } from '../../../machines/run-request/lanes.ts'
import { HELD_RUN_STATES } from '../../../machines/run-request/states.ts'
import type { CreateWorkItem, WorkItemContext } from '../../../machines/work-item/context.ts'
import type { ActorRef, Answer, Runtime } from '../../../runtime/api.ts'
import type { Dispatcher, RepositoryHolder, RunnerRequirements } from '../../../runtime/dispatch/api.ts'
import type { LabelUse } from '../../../runtime/dispatch/label-limits.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { createRuntime } from '../../../runtime/runtime.ts'
import type { Scheduler } from '../../../runtime/scheduler/api.ts'
import { createScheduler } from '../../../runtime/scheduler/scheduler.ts'
import { defaultSettings, type Settings } from '../../../runtime/settings.ts'
import { ManualPlatform } from '../../platforms/manual.ts'
import { MemoryJournal } from '../../storage/memory.ts'
import { mistaken } from '../mistaken.ts'

export const BY = { id: 'tok_1', name: 'ann', origin: 'here' }

export function itemId(n: number): string {
  return `wi_${n.toString(16).padStart(24, '0')}`
}

export class World {
  readonly platform: ManualPlatform
  readonly journal: MemoryJournal
  readonly runtime: Runtime
  readonly scheduler: Scheduler
  /** What the dispatcher would answer. */
  capacity = 1_000
  capacityOf: () => number = () => this.capacity
  holders = new Map<string, RepositoryHolder[]>()
  canTake: (wanted: RunnerRequirements) => boolean = () => true
  /** Whether a runner that may take it has a free slot. */
  hasFree: (wanted: RunnerRequirements) => boolean = () => false
  /** Whether a runner that may take it is heard. */
  isExpected: (wanted: RunnerRequirements) => boolean = () => true
  /** Whether the runner of the run is there and takes work. */
  isThere: (run: string) => boolean = () => true
  waitingBecause: () => undefined = () => undefined
  /** What the scheduler has limited. */
  labelLimits: ReadonlyMap<string, number> = new Map()
  /** Labels for which run requests of other origin wait. */
  awaited = new Set<string>()
  /** The weights that the scheduler has told of. */
  weights: ReadonlyMap<string, number> = new Map()
  /** Run requests of other origin that are under way, by label. */
  outside = new Map<string, string[]>()
  /** Why no registered runner may take it; by default, asking is a mistake. */
  strandedBecause: (wanted: RunnerRequirements) => WaitingBecause | undefined = () => {
    throw new TypeError('unexpected')
  }
  pausedLanes: readonly string[] = []
  setPausedLanes: (lanes: Iterable<string>) => void = (lanes) => {
    this.pausedLanes = [...lanes]
  }
  /** What the scheduler logs. */
  readonly told: any[] = []
  /** Where this returns true, telling the actor throws. */
  failsAt: (ref: ActorRef, message: { readonly type: string }) => boolean = () => false
  /** What the scheduler sees of an entity, at start and with each commit. */
  shown: (snapshot: SnapshotOf<any>) => SnapshotOf<any>
  readonly #settings: Partial<Settings>
  #made = 0

  constructor(settings: Partial<Settings> = {}, before?: World) {
    this.#settings = settings
    this.shown = before?.shown ?? ((snapshot) => snapshot)
    this.platform = before?.platform ?? new ManualPlatform()
    this.journal = before?.journal ?? new MemoryJournal()
    this.#made = before === undefined ? 0 : before.#made
    const onFatal = (failure: Error): void => {
      throw failure
    }
    this.runtime = createRuntime(
      this.journal,
      { ...defaultSettings, home: '/nowhere', ...settings },
      { platform: this.platform, log: silentLogger, modules, onFatal },
    )
    this.scheduler = this.another()
    this.platform.run()
  }

  /** A second scheduler of the same runtime. */
  another(): Scheduler {
    const { runtime, told } = this
    const log = { ...silentLogger, error: (fields: object, said: string) => told.push({ ...fields, said }) }
    const dispatcher = {
      repositoryHolders: (repository: string) => this.holders.get(repository) ?? [],
      maxWriters: (id: string) => this.runtime.read({ kind: 'project', id })?.context.max_writers ?? 1,
      onlineCapacity: () => this.capacityOf(),
      hasTaker: (wanted: RunnerRequirements) => this.canTake(wanted),
      isExpected: (wanted: RunnerRequirements) => this.canTake(wanted) && this.isExpected(wanted),
      freeTakers: () => (wanted: RunnerRequirements) => this.canTake(wanted) && this.hasFree(wanted),
      usesSlot: (run: string) => {
        const state = this.runtime.read({ kind: 'run_request', id: run })?.value ?? 'queued'
        return state === 'queued' ? undefined : state !== 'lost' && this.isThere(run)
      },
      leaveOut: () => {},
      setPausedLanes: (lanes: Iterable<string>) => this.setPausedLanes(lanes),
      isAwaited: (label: string) => this.awaited.has(label),
      setWeights: (weights: ReadonlyMap<string, number>) => {
        this.weights = weights
      },
      setLabelLimits: (limits: ReadonlyMap<string, number>) => {
        this.labelLimits = limits
      },
      labels: {
        fullOf: (labels: readonly string[], besides?: string) => this.fullOf(labels, besides),
        holdersOf: (label: string) => this.underWay(label).map((id) => ({ id })),
      },
      waitingBecause: () => this.waitingBecause(),
      waiting: {
        withoutTaker: () => undefined,
        strandedBecause: (wanted: RunnerRequirements) => this.strandedBecause(wanted),
      },
    } as unknown as Dispatcher
    return createScheduler(mistaken(runtime, this), dispatcher, log)
  }

  /** The process ends, and the next one opens what it left. */
  restarted(): World {
    this.scheduler.close()
    return new World(this.#settings, this)
  }

  ask(kind: 'work_item' | 'project' | 'pacing' | 'run_request' | 'sentinel', id: string, message: object): Answer {
    let answer: Answer | undefined
    this.runtime.ask({ kind, id }, { by: BY, ...message } as never, (given) => {
      answer = given
    })
    this.platform.run()
    return answer!
  }

  project(key: string, repository?: string, maxWriters = 1): void {
    const id = projectIdOf(key)
    const where = repository === undefined ? {} : { repository }
    this.ask('project', id, { type: 'create', id, key, name: key, ...where, max_writers: maxWriters })
  }

  /** Submits an item; later ones are younger. */
  submit(project: string, more: Partial<CreateWorkItem> = {}): string {
    const id = itemId(++this.#made)
    this.platform.advance(1)
    this.ask('work_item', id, {
      type: 'create',
      id,
      project,
      project_id: projectIdOf(project),
      objective: `work ${id}`,
      kind: 'task',
      lane: 'interactive',
      origin: 'here',
      source: { kind: 'operator', ref: 'ann' },
      submitted_by: BY,
      reason: 'as told',
      trace_id: this.#made.toString(16).padStart(32, 'a'),
      ...more,
    })
    return id
  }

  item(id: string): SnapshotOf<WorkItemContext> {
    return this.runtime.read({ kind: 'work_item', id })!
  }

  run(id: string): SnapshotOf<any> {
    return this.runtime.read({ kind: 'run_request', id: this.item(id).context.run!.id })!
  }

  isHandedOut(id: string): boolean {
    const { value, context } = this.item(id)
    return value === 'queued' && context.run !== undefined
  }

  /** The runner of the item's run and its attempt, as the runner's posts name them. */
  private holder(id: string): { readonly runner_id: string; readonly attempt: number } {
    return { runner_id: 'r1', attempt: this.run(id).context.attempt }
  }

  /** The runner starts the run. */
  start(id: string): void {
    const run = this.item(id).context.run!.id
    this.ask('run_request', run, { type: 'offer', runner_id: 'r1' })
    this.ask('run_request', run, { type: 'started', ...this.holder(id) })
  }

  /** The runner is lost, and an operator requeues the run. */
  requeue(id: string): void {
    const { run } = this.item(id).context
    this.ask('run_request', run!.id, { type: 'lease_expired', ...this.holder(id) })
    this.ask('run_request', run!.id, { type: 'requeue' })
  }

  /** The run ends without a result: the item fails. */
  end(id: string): void {
    this.start(id)
    const completed = { type: 'completed', ...this.holder(id), result: {}, digest: 'd' }
    this.ask('run_request', this.item(id).context.run!.id, completed)
  }

  /** The work lands. */
  land(id: string): void {
    this.start(id)
    const { run, trace_id } = this.item(id).context
    const event = { id: 'evt_1', event_type: 'task_run_completed', payload: { verdict: 'complete', landed: true } }
    this.ask('work_item', id, {
      type: 'run_event',
      run_request_id: run!.id,
      attempt: this.holder(id).attempt,
      event,
      trace_id,
    })
    this.ask('run_request', run!.id, { type: 'completed', ...this.holder(id), result: {}, digest: 'd' })
  }

  /** The run requests that require the label and that runners hold. */
  private underWay(label: string): string[] {
    const held = HELD_RUN_STATES.flatMap((state) => [...this.runtime.scan('run_request', 'state', state)])
    const isMeant = ({ snapshot }: (typeof held)[number]): boolean => snapshot.context.asked.labels.includes(label)
    return [...held.filter(isMeant).map(({ ref }) => ref.id), ...(this.outside.get(label) ?? [])]
  }

  private fullOf(labels: readonly string[], besides: string | undefined): LabelUse | undefined {
    for (const label of labels) {
      const maxRunning = this.labelLimits.get(label)
      const underWay = this.underWay(label).filter((id) => id !== besides).length
      if (maxRunning !== undefined && underWay >= maxRunning) return { label, maxRunning, underWay }
    }
    return undefined
  }

  limit(label: string, max_running: number): void {
    this.ask('pacing', PACING.id, { type: 'limit', label, max_running })
  }

  unlimit(label: string): void {
    this.ask('pacing', PACING.id, { type: 'unlimit', label })
  }

  weigh(project: string, weight: number): void {
    this.ask('pacing', 'pacing', { type: 'weigh', project, weight })
  }

  pause(...lanes: Lane[]): void {
    this.ask('pacing', PACING.id, { type: 'pause', lanes })
  }

  resume(...lanes: Lane[]): void {
    this.ask('pacing', PACING.id, { type: 'resume', lanes })
  }
}
