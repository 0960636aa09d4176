/**
 * Starts work items: reads committed state, asks the pacing rules, and sends `hand_out` to those that may go.
 * Invariant: what it decides on is durable, and each decision is a message to the item, whose own step makes the
 * run request. So a failed write starts nothing, and of two schedulers one wins.
 */
import type { ItemWaitingBecause } from '../../machines/documents/work-item.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import { PACING } from '../../machines/pacing.ts'
import { LANES } from '../../machines/run-request/lanes.ts'
import type { WorkItemBody, WorkItemContext } from '../../machines/work-item/context.ts'
import type { ActorRef, CommittedStep, Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'
import { ControlLoop } from '../control/control-loop.ts'
import type { Health } from '../control/guard.ts'
import type { Dispatcher, Visible } from '../dispatch/api.ts'
import type { LabelUse } from '../dispatch/label-limits.ts'
import type { Logger } from '../log.ts'
import type { PacingView, Scheduler, WaitingItems } from './api.ts'
import { handOut } from './hand-out.ts'
import { LabelPlaces } from './label-places.ts'
import { type Entry, LEDGER_STATES, Ledger } from './ledger.ts'
import { Occupancy } from './occupancy.ts'
import { PacingState } from './pacing-state.ts'
import { ProjectCache } from './project-cache.ts'
import { Repositories } from './repositories.ts'
import {
  firstRule,
  handedOut,
  inDetail,
  isLineHeld,
  lastingReason,
  type Rule,
  type SchedulingView,
  unlandable,
  type WaitingItem,
  wordsOf,
} from './rules.ts'
import { heldBack } from './sentinels.ts'
import { Shares } from './shares.ts'
import { isNews, type StalledParts, standAside, takeBack } from './stalled.ts'
import { LedgerWaitingItems } from './waiting-items.ts'

/** Anything that was missed is found after this long. */
const safetyIntervalMs = 15_000
/** Largest share of the time that ticks may take: with a long queue the next one waits a little. */
const tickShare = 0.1

/** Opens the scheduler on what the journal holds. Call it before the runtime takes its first message. */
export function createScheduler(runtime: Runtime, dispatcher: Dispatcher, log: Logger): Scheduler {
  return new ItemScheduler(runtime, dispatcher, log)
}

class ItemScheduler implements Scheduler, SchedulingView {
  private readonly runtime: Runtime
  private readonly dispatcher: Dispatcher
  private readonly ledger: Ledger
  private readonly loop: ControlLoop<'work_item'>
  private readonly projects: ProjectCache
  /** Items with a `hand_out` under way. */
  private readonly starting = new Set<string>()
  private readonly repositories: Repositories
  private readonly occupancy: Occupancy
  private readonly labels: LabelPlaces
  private readonly shares = new Shares()
  private readonly pacing: PacingState
  private readonly stalled: StalledParts
  readonly waiting: WaitingItems
  /** Entries for which the check whether their line is held failed. */
  private readonly unclear = new WeakSet<Entry>()

  constructor(runtime: Runtime, dispatcher: Dispatcher, log: Logger) {
    this.runtime = runtime
    this.dispatcher = dispatcher
    this.projects = new ProjectCache(runtime)
    this.ledger = new Ledger((id) => committed(runtime, { kind: 'work_item', id })?.value)
    this.repositories = new Repositories(this.ledger, dispatcher)
    this.loop = new ControlLoop(runtime, {
      name: 'scheduler',
      log,
      kind: 'work_item',
      tickShare,
      tick: () => this.tick(),
      reread: (ref) => this.reread(ref),
      rang: () => this.occupancy.fleetChanged(),
    })
    const { ledger, starting, loop } = this
    const { maxRunning } = runtime.settings
    const guarded = <T>(entry: Entry, act: () => T): T | undefined => loop.guarded(refOf(entry), act)
    this.occupancy = new Occupancy({ dispatcher, ledger, starting, maxRunning, guarded })
    this.labels = new LabelPlaces({ ledger, dispatcher, starting })
    this.pacing = new PacingState(runtime, dispatcher, this.labels, this.shares)
    this.stalled = {
      ledger,
      now: this,
      run: (id) => committed(runtime, { kind: 'run_request', id }),
      each: (entry, act) => {
        if (!loop.leaves(entry.id)) guarded(entry, act)
      },
      isFull: () => loop.isFull,
      send: (entry, message) => this.send(entry, message),
      changed: () => this.changed(),
    }
    const shown = <T>(entry: Entry, act: () => T): T | undefined => loop.shown(refOf(entry), act)
    this.waiting = new LedgerWaitingItems({ ledger, takers: dispatcher.waiting, now: this, shown })
    for (const state of LEDGER_STATES)
      for (const { ref, snapshot } of runtime.scan('work_item', 'state', state)) this.load(ref, snapshot)
    for (const { ref, snapshot } of runtime.scan('work_item', 'taken_back', '')) this.load(ref, snapshot)
    this.loop.guarded(PACING, () => this.pacing.read())
    runtime.onCommit((steps) => this.onCommit(steps))
    runtime.beforeDue(heldBack(runtime, this, (ref, act) => loop.guarded(ref, act)))
    runtime.addRetentionGuard(({ kind, id }) => kind === 'work_item' && this.ledger.isDependency(id))
    this.loop.wake()
  }

  waitingBecause(itemId: string, visible?: Visible): ItemWaitingBecause | undefined {
    const entry = this.ledger.find(itemId)
    if (entry === undefined || (entry.state === 'running' && !this.waitsAgain(entry))) return undefined
    const shown = () => wordsOf(this.standing(entry, visible), entry, this)
    return this.loop.shown(refOf(entry), shown) ?? wordsOf({ code: 'passed_over' }, entry, this)
  }

  reasonFor(item: Pick<WorkItemContext, 'id' | 'project' | 'project_id' | 'asked' | 'depends_on'>): string {
    const sketch = this.ledger.sketch(item, new Date(this.nowMs()).toISOString())
    return lastingReason(firstRule(sketch, this), sketch, this)
  }

  expect(dependsOn: readonly string[]): () => void {
    return this.ledger.expect(dependsOn)
  }

  unlandable(dependsOn: readonly string[]): string[] {
    return unlandable(dependsOn, this)
  }

  twinOf(twinKey: string): string | undefined {
    return this.ledger.twinOf(twinKey)
  }

  announce(twinKey: string): (() => void) | undefined {
    return this.ledger.announce(twinKey, this.runtime.platform.monotonicMs())
  }

  isAnnounced(twinKey: string): boolean {
    return this.ledger.isAnnounced(twinKey, this.runtime.platform.monotonicMs())
  }

  view(): PacingView {
    const { ledger, labels, pacing } = this
    return {
      maxRunning: this.maxRunning(),
      runningCount: ledger.runningCount,
      paused: LANES.filter((lane) => pacing.paused.has(lane)),
      isUnreadable: pacing.isUnreadable,
      labelLimits: () => labels.uses(),
      weights: this.shares.weights,
      running: ledger.running,
      waitingCount: (sees) => ledger.queued.count(({ project }) => sees(project)),
      firstWaiting: (limit, sees) => ledger.queued.first(limit, ({ project }) => sees(project)),
      aside: ledger.aside,
      repositoryOf: (entry) => entry.repository ?? this.loop.shown(refOf(entry), () => this.repositoryOf(entry)),
    }
  }

  get health(): Health {
    return this.loop.health
  }

  close(): void {
    this.loop.close()
  }

  // What the rules ask (Circumstances).

  stateOf(id: string): string | undefined {
    return this.ledger.stateOf(id)
  }

  repositoryOf(item: WaitingItem): string | undefined {
    const { projectId, requirements } = item as Entry
    return requirements.access === 'read_only' ? undefined : this.projects.of(projectId).repository
  }

  isArchived(item: WaitingItem): boolean {
    return this.projects.of((item as Entry).projectId).isArchived
  }

  isCampaignPaused(campaign: string): boolean {
    return this.projects.isCampaignPaused(campaign)
  }

  holdersOf(repository: string, item: WaitingItem): readonly string[] {
    return this.repositories.holdersOf(repository, (item as Entry).projectId)
  }

  otherReadOnlyRun({ id, readOnlyOwner }: WaitingItem): string | undefined {
    if (readOnlyOwner === undefined) return undefined
    const isBeside = (other: string): boolean =>
      other !== id && this.ledger.find(other)?.readOnlyOwner === readOnlyOwner
    return this.ledger.readOnlyRuns.otherRunOf(readOnlyOwner, id) ?? [...this.starting].find(isBeside)
  }

  hasPlace(item: WaitingItem): boolean {
    return this.occupancy.hasPlace(item as Entry)
  }

  running(): number {
    return Math.min(this.occupancy.running(), this.occupancy.maxRunning())
  }

  maxRunning(): number {
    return this.occupancy.maxRunning()
  }

  nowMs(): number {
    return this.runtime.platform.wallMs()
  }

  isLanePaused(lane: string): boolean {
    return this.pacing.paused.has(lane)
  }

  readonly fullLabel = (item: WaitingItem): LabelUse | undefined => this.labels.fullFor(item as Entry)
  readonly takenLabel = (item: WaitingItem): LabelUse | undefined => this.labels.takenFrom(item as Entry)
  readonly isInLine = (item: WaitingItem): boolean => this.labels.isInLine(item as Entry)
  readonly isLabelStopped = (item: WaitingItem): boolean => this.labels.isStopped(item as Entry)
  readonly hasRunner = (item: WaitingItem): boolean => this.occupancy.hasRunner(item as Entry)
  readonly isExpected = (item: WaitingItem): boolean => this.occupancy.isExpected(item as Entry)

  /** Its run had begun and has no runner now. */
  private waitsAgain({ isWaitingAgain, runId }: Entry): boolean {
    return isWaitingAgain && this.stalled.run(runId!)?.value === 'queued'
  }

  /** What keeps an item of the ledger from running: its own state, or the first rule. */
  private standing(entry: Entry, visible: Visible | undefined): Rule {
    if (entry.state === 'held') return { code: 'held' }
    const { id, state, runId, requirements: asked } = entry
    if (runId === undefined && this.loop.isBackedOff(id)) return { code: 'passed_over' }
    if (state === 'submitted') return { code: 'submitted' }
    if (runId === undefined)
      return inDetail(firstRule(entry, this), asked, () => this.dispatcher.waiting.withoutTaker(asked, visible))
    return handedOut(runId, this.dispatcher.waitingBecause(runId, visible))
  }

  private onCommit(steps: readonly CommittedStep[]): void {
    let concerns = false
    for (const step of steps) if (this.loop.guarded(step.ref, () => this.note(step))) concerns = true
    if (concerns) this.loop.wake()
  }

  private load(ref: ActorRef, snapshot: SnapshotOf<WorkItemContext>): void {
    this.loop.guarded(ref, () => this.ledger.note(snapshot))
  }

  /** Takes in again what failed because of a bug: a step, or the start of an item. */
  private reread(ref: ActorRef): void {
    if (ref.kind === 'pacing') this.pacing.read()
    const item = ref.kind === 'work_item' ? committed(this.runtime, ref) : undefined
    if (item !== undefined) this.ledger.note(item)
  }

  /** Takes in a step. Returns whether something may start because of it. */
  private note({ ref, before, after }: CommittedStep): boolean {
    this.changed()
    switch (ref.kind) {
      case 'work_item':
        this.ledger.note(after)
        return true
      case 'pacing':
        this.pacing.take(after.context)
        return true
      case 'runner':
      case 'engine_capability':
        this.occupancy.fleetChanged()
        return this.ledger.waitingCount > 0 || this.ledger.handedOut.size > 0
      case 'project':
        return this.projects.forget(ref.id)
      case 'campaign':
        if (after.value === 'paused') this.withhold(after.context.work?.item_id)
        return this.projects.forgetCampaign(ref.id)
      case 'run_request':
        if (this.ledger.waitingCount === 0) return false
        return before === undefined ? this.labels.areLimited(after.context.asked.labels) : isNews(before, after)
      default:
        return false
    }
  }

  /** An item that no runner has begun is about to be taken back: meanwhile its run request is not offered. */
  private withhold(itemId = ''): void {
    const entry = this.ledger.find(itemId)
    if (entry?.state === 'queued' && entry.runId !== undefined) this.dispatcher.leaveOut(entry.runId)
  }

  private changed(): void {
    this.occupancy.changed()
    this.repositories.changed()
    this.labels.changed()
  }

  private tick(): void {
    this.repositories.changed()
    this.labels.changed()
    this.settleDead()
    this.admit()
    if (this.pacing.isKnown) {
      takeBack(this.stalled)
      standAside(this.stalled)
    }
    this.start()
    this.rest()
  }

  /** Before any other rule: an item waiting for one that can never land needs a decision. */
  private settleDead(): void {
    const { suspects } = this.ledger
    for (const entry of this.loop.askable(suspects)) {
      suspects.delete(entry)
      this.loop.guarded(refOf(entry), () => this.settleIfDead(entry))
    }
  }

  private settleIfDead(entry: Entry): void {
    const [dependency] = unlandable(entry.dependsOn, this)
    if (dependency === undefined) return
    const reason = lastingReason(firstRule(entry, this), entry, this)
    this.send(entry, { type: 'block', dependency, reason })
  }

  private admit(): void {
    for (const entry of this.loop.askable(this.ledger.submitted)) {
      this.loop.guarded(refOf(entry), () => {
        const reason = lastingReason(firstRule(entry, this), entry, this)
        this.send(entry, { type: 'admit', reason })
      })
    }
  }

  /** In order, as long as there is room: what starts earlier in a tick counts for what comes later. */
  private start(): void {
    const isOpen = (entry: Entry): boolean => this.hasPlace(entry) && !this.isLineLeft(entry)
    for (const entry of this.loop.askable(this.shares.inOrder(this.ledger.queued, isOpen)))
      this.loop.guarded(refOf(entry), () => this.startIfNext(entry))
  }

  /**
   * One entry answers for its whole line: if the check fails, the line is left alone until that entry is due for a
   * retry. An entry passed over for its own sake does not hold up its line.
   */
  private isLineLeft(entry: Entry): boolean {
    if (this.unclear.has(entry) && this.loop.isBackedOff(entry.id)) return true
    const isHeld = this.loop.guarded(refOf(entry), () => isLineHeld(entry, this))
    if (isHeld === undefined) this.unclear.add(entry)
    else this.unclear.delete(entry)
    return isHeld ?? true
  }

  private startIfNext(entry: Entry): void {
    if (firstRule(entry, this).code === 'next') this.handOut(entry)
  }

  private handOut(entry: Entry): void {
    const snapshot = committed(this.runtime, { kind: 'work_item', id: entry.id })
    const message = snapshot === undefined ? undefined : handOut(this.runtime, snapshot.context)
    if (message === undefined) return
    const repository = this.repositoryOf(entry)
    this.send(entry, message, () => {
      this.starting.delete(entry.id)
      if (repository !== undefined) this.repositories.leave(repository, entry)
    })
    // The message is under way: its answer comes in a later turn.
    if (repository !== undefined) this.repositories.take(repository, entry)
    this.starting.add(entry.id)
    this.shares.served(entry.project)
    this.occupancy.started()
    this.labels.started(entry)
  }

  private send(entry: Entry, message: WorkItemBody, answered?: () => void): void {
    this.loop.ask(entry.id, message, (isTaken) => {
      answered?.()
      this.changed()
      // Someone else was quicker, or writes are refused now: the next commit or a later tick tells what is true.
      if (!isTaken) this.ledger.suspect(entry)
    })
  }

  /** Waits until something happens, the next `not_before` comes, or the safety interval is over. */
  private rest(): void {
    const nowMs = this.nowMs()
    const dueMs = this.ledger.nextTimeMs(nowMs)
    if (this.ledger.waitingCount === 0) return
    this.loop.wakeAfter(Math.min(safetyIntervalMs, (dueMs ?? Number.POSITIVE_INFINITY) - nowMs))
  }
}
function refOf({ id }: Entry): ActorRef {
  return { kind: 'work_item', id }
}
