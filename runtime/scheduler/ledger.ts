/**
 * The ledger as the scheduler sees it: a summary of each item that waits or runs, derived from committed steps and
 * loaded from the indexes of their states. Settled items, however many, are not in it; an item that depends on
 * one remembers that one's state.
 */

import { digestOf } from '../../machines/digest.ts'
import type { WorkItemKind } from '../../machines/documents/work-item.ts'
import { instantMs } from '../../machines/instant.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { Lane } from '../../machines/run-request/lanes.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import { entryOf } from '../../machines/work-item/entry.ts'
import { cycleOf } from '../../machines/work-item/owner.ts'
import { MinHeap } from '../collections/heap.ts'
import { addTo, removeFrom } from '../collections/sets.ts'
import type { RunnerRequirements } from '../dispatch/api.ts'
import { Lines } from './lines.ts'
import { ReadOnlyRuns, readOnlyOwnerOf } from './read-only-runs.ts'
import type { WaitingItem } from './rules.ts'

/** Item states of which the ledger keeps a summary. */
export const LEDGER_STATES = ['submitted', 'queued', 'held', 'running'] as const

export interface Entry extends WaitingItem {
  readonly projectId: string
  readonly lane: Lane
  readonly submittedAt: string
  /** Equal for two items of one project that ask for the same. */
  readonly twinKey: string
  /** What its runner must be; one object shared by all items with the same wish. */
  readonly requirements: RunnerRequirements
  state: string
  dependsOn: readonly string[]
  takenBack: string | undefined
  /** The run request that it is handed out as. */
  runId: string | undefined
  /** The repository that this run holds exclusively. */
  repository: string | undefined
  /** An owner has cancelled it, and its run has not ended yet. */
  isStopping: boolean
  /** Its run had begun and waits for a runner again. */
  isWaitingAgain: boolean
  /** Its run waits, and no runner can begin or continue it as things stand: it takes no place. */
  isAside: boolean
  /** Its run waits for runners that cannot take it or are silent: others may use its repository. */
  yields: boolean
  /** When it reached its present state (RFC 3339). */
  since: string
}

interface Announcement {
  /** Monotonic milliseconds. */
  readonly saidMs: number
}

export class Ledger {
  private readonly entries = new Map<string, Entry>()
  /** How many of them are read-only. */
  private readOnlyCount = 0
  private readonly lines = new Lines<Entry>(inOrder)
  private readonly outside = new Set<Entry>()
  private readonly active = new Map<string, Entry>()
  private readonly holders = new Map<string, Set<Entry>>()
  private readonly twins = new Map<string, Entry[]>()
  /** Items that are on their way, by twin key, oldest first. */
  private readonly announced = new Map<string, Announcement>()
  private readonly dependencies = new Map<string, { state: string | undefined; readonly dependants: Set<Entry> }>()
  /** Dependencies of items on their way into the ledger, with the number of such items. */
  private readonly expected = new Map<string, number>()
  private readonly wants = new Map<string, RunnerRequirements>()
  /** Every `not_before`, including those of items that have left the ledger. */
  private readonly times = new MinHeap<undefined>()
  private readonly readState: (id: string) => string | undefined
  /** Queued items whose dependencies must be checked again. */
  readonly suspects = new Set<Entry>()
  /** Items that the scheduler has not looked at yet. */
  readonly submitted = new Set<Entry>()
  /** Handed-out items that no runner has begun. */
  readonly handedOut = new Set<Entry>()
  /** Running items whose run waits for a runner again. */
  readonly waitingAgain = new Set<Entry>()
  readonly readOnlyRuns = new ReadOnlyRuns()

  /** `readState`: the committed state of an item that is not in the ledger. */
  constructor(readState: (id: string) => string | undefined) {
    this.readState = readState
  }

  /** Queued items in lines, without those handed out. */
  get queued(): Pick<Lines<Entry>, 'open' | 'openInTurn' | 'first' | 'back' | 'count' | 'heads' | 'projects'> {
    return this.lines
  }

  /** Held items, and those not looked at yet. */
  get aside(): Iterable<Entry> {
    return this.outside
  }

  /** Handed out or running. */
  get running(): Iterable<Entry> {
    return this.active.values()
  }

  get runningCount(): number {
    return this.active.size
  }

  /** Of these, the number that take a place. */
  get placedCount(): number {
    let count = this.active.size
    for (const { isAside } of this.withoutRunner) if (isAside) count--
    return count
  }

  /** Items whose run may be waiting for a runner: its first, or another one. */
  get withoutRunner(): Iterable<Entry> {
    return bothOf(this.handedOut, this.waitingAgain)
  }

  /** Whether any item is read-only and so needs no trusted runner. */
  get hasReadOnly(): boolean {
    return this.readOnlyCount > 0
  }

  get waitingCount(): number {
    return this.entries.size - this.active.size
  }

  find(id: string): Entry | undefined {
    return this.entries.get(id)
  }

  stateOf(id: string): string | undefined {
    return this.entries.get(id)?.state ?? (this.dependencies.get(id) ?? { state: this.readState(id) }).state
  }

  /** Whether an item in the ledger, or on its way there, depends on it, so that its outcome must stay known. */
  isDependency(id: string): boolean {
    return this.dependencies.has(id) || this.expected.has(id)
  }

  /** An item that depends on these is on its way, until the returned function is called, once. */
  expect(dependsOn: readonly string[]): () => void {
    for (const id of dependsOn) this.expected.set(id, (this.expected.get(id) ?? 0) + 1)
    return () => {
      for (const id of dependsOn) {
        const others = this.expected.get(id)! - 1
        if (others === 0) this.expected.delete(id)
        else this.expected.set(id, others)
      }
    }
  }

  /** The items whose runs hold the repository. */
  holdersOf(repository: string): Entry[] {
    return [...(this.holders.get(repository) ?? [])].filter(({ yields }) => !yields)
  }

  /** The unsettled item of the project that asks for the same, and that nobody has cancelled. */
  twinOf(twinKey: string): string | undefined {
    return this.twins.get(twinKey)?.find(({ isStopping }) => !isStopping)?.id
  }

  /**
   * An item that asks for this is on its way; call what is returned if it does not come after all. Undefined: another
   * was announced a moment ago and has not come yet. `nowMs` is monotonic.
   */
  announce(twinKey: string, nowMs: number): (() => void) | undefined {
    if (this.isAnnounced(twinKey, nowMs)) return undefined
    const announcement = { saidMs: nowMs }
    this.announced.set(twinKey, announcement)
    return () => {
      if (this.announced.get(twinKey) === announcement) this.announced.delete(twinKey)
    }
  }

  isAnnounced(twinKey: string, nowMs: number): boolean {
    for (const [key, { saidMs }] of this.announced) {
      if (nowMs - saidMs < announcedMsMax) break
      this.announced.delete(key)
    }
    return this.announced.has(twinKey)
  }

  /** Wall-clock time of the next `not_before` that has not passed yet. */
  nextTimeMs(nowMs: number): number | undefined {
    for (let dueMs = this.times.peekKey(); dueMs !== undefined && dueMs <= nowMs; dueMs = this.times.peekKey())
      this.times.pop()
    return this.times.peekKey()
  }

  /** Takes in a committed step. */
  note({ value, context }: SnapshotOf<WorkItemContext>): void {
    // A step of an item that was forgotten (news of its run arrived late): no item.
    if (value === 'absent') return
    this.readOnlyRuns.note(value, context)
    const known = this.entries.get(context.id)
    if (!(LEDGER_STATES as readonly string[]).includes(value)) {
      if (known !== undefined) this.forget(known)
      this.noteSettled(context.id, value)
      return
    }
    const entry = known ?? this.make(context, value)
    this.leavePlace(entry)
    entry.state = value
    entry.since = sinceOf(value, context)
    entry.runId = context.run?.id
    entry.takenBack = context.internal.taken_back
    entry.repository = context.run?.repository ?? undefined
    entry.isStopping = context.internal.stopping
    entry.isWaitingAgain = value === 'running' && context.run?.waits === true
    if (entry.dependsOn !== context.depends_on) this.changeDependencies(entry, context.depends_on)
    this.takePlace(entry)
  }

  /** An entry as it would be, to ask the rules about an item that does not exist yet. */
  sketch(context: Pick<WorkItemContext, 'id' | 'project' | 'project_id' | 'asked' | 'depends_on'>, at: string): Entry {
    const { id, project, project_id, asked, depends_on } = context
    const { entry_event, access } = entryOf(context)
    const requirements = {
      project,
      throttle: 'full',
      access,
      entryEvent: entry_event,
      labels: asked.labels ?? [],
      furtherProjects: asked.told_of ?? NO_IDS,
      pin: asked.runner_id,
    } as const
    return {
      id,
      project,
      projectId: project_id,
      lane: asked.lane,
      submittedAt: at,
      twinKey: twinKeyOf(project_id, asked),
      requirements: this.shared(requirements),
      readOnlyOwner: readOnlyOwnerOf(asked),
      cycleOf: cycleOf(asked),
      notBeforeMs: asked.not_before === undefined ? undefined : instantMs(asked.not_before),
      state: 'queued',
      dependsOn: depends_on,
      takenBack: undefined,
      runId: undefined,
      repository: undefined,
      isStopping: false,
      isWaitingAgain: false,
      isAside: false,
      yields: false,
      since: at,
    }
  }

  private make(context: WorkItemContext, state: string): Entry {
    const entry = { ...this.sketch(context, context.submitted_at), state, dependsOn: NO_IDS }
    this.entries.set(entry.id, entry)
    if (entry.requirements.access === 'read_only') this.readOnlyCount++
    this.announced.delete(entry.twinKey)
    const twins = this.twins.get(entry.twinKey)
    if (twins === undefined) this.twins.set(entry.twinKey, [entry])
    else twins.push(entry)
    if (entry.notBeforeMs !== undefined) this.times.push(entry.notBeforeMs, undefined)
    return entry
  }

  private forget(entry: Entry): void {
    this.leavePlace(entry)
    this.changeDependencies(entry, NO_IDS)
    this.entries.delete(entry.id)
    if (entry.requirements.access === 'read_only') this.readOnlyCount--
    const others = this.twins.get(entry.twinKey)?.filter((twin) => twin !== entry) ?? []
    if (others.length === 0) this.twins.delete(entry.twinKey)
    else this.twins.set(entry.twinKey, others)
  }

  /** The one place where an entry joins the queue, stands outside it, or becomes active. */
  private takePlace(entry: Entry): void {
    if (entry.state === 'running' || entry.runId !== undefined) {
      this.active.set(entry.id, entry)
      if (entry.state === 'queued') this.handedOut.add(entry)
      if (entry.isWaitingAgain) this.waitingAgain.add(entry)
      if (entry.repository !== undefined) addTo(this.holders, entry.repository, entry)
      return
    }
    if (entry.state === 'queued') {
      this.lines.add(entry)
      this.suspect(entry)
      return
    }
    this.outside.add(entry)
    if (entry.state === 'submitted') this.submitted.add(entry)
  }

  private leavePlace(entry: Entry): void {
    if (this.active.delete(entry.id)) {
      if (entry.repository !== undefined) removeFrom(this.holders, entry.repository, entry)
      entry.isAside = false
      entry.yields = false
    } else if (!this.outside.delete(entry)) this.lines.remove(entry)
    this.handedOut.delete(entry)
    this.waitingAgain.delete(entry)
    this.submitted.delete(entry)
    this.suspects.delete(entry)
  }

  private changeDependencies(entry: Entry, ids: readonly string[]): void {
    for (const id of entry.dependsOn) {
      const dependency = this.dependencies.get(id)
      dependency?.dependants.delete(entry)
      if (dependency?.dependants.size === 0) this.dependencies.delete(id)
    }
    entry.dependsOn = ids
    for (const id of ids) {
      const known = this.dependencies.get(id)
      if (known === undefined) this.dependencies.set(id, { state: this.readState(id), dependants: new Set([entry]) })
      else known.dependants.add(entry)
    }
  }

  private noteSettled(id: string, state: string): void {
    const dependency = this.dependencies.get(id)
    if (dependency === undefined) return
    dependency.state = state
    for (const entry of dependency.dependants) this.suspect(entry)
  }

  /** If the entry is queued with dependencies, they must be checked again. */
  suspect(entry: Entry): void {
    const { state, runId, dependsOn } = entry
    if (state === 'queued' && runId === undefined && dependsOn.length > 0) this.suspects.add(entry)
  }

  private shared(requirements: RunnerRequirements): RunnerRequirements {
    const signature = JSON.stringify(requirements)
    const known = this.wants.get(signature)
    if (known !== undefined) return known
    if (this.wants.size >= wantsMax) this.wants.clear()
    this.wants.set(signature, requirements)
    return requirements
  }
}

function* bothOf<T>(some: Iterable<T>, others: Iterable<T>): Iterable<T> {
  yield* some
  yield* others
}

const NO_IDS: readonly string[] = []
/** An announced item takes some turns to come. One that is not there by then was not submitted after all. */
const announcedMsMax = 2_000
/** Distinct wishes that are remembered; past this all are dropped and shared anew, which costs a little memory. */
const wantsMax = 10_000

/** Interactive work first, then in order of submission. */
function inOrder(a: Entry, b: Entry): number {
  const lanes = Number(a.lane !== 'interactive') - Number(b.lane !== 'interactive')
  if (lanes !== 0) return lanes
  if (a.submittedAt !== b.submittedAt) return a.submittedAt < b.submittedAt ? -1 : 1
  return a.id < b.id ? -1 : a.id === b.id ? 0 : 1
}

/** What makes two items the same work: what is to be done, and who may do it, but not when or for how long. */
interface Twin {
  readonly objective: string
  readonly kind: WorkItemKind
  /** For a release or a remediation: what it is about. */
  readonly payload?: unknown
  readonly base_ref?: string | undefined
  readonly context?: unknown
  readonly labels?: readonly string[] | undefined
  readonly runner_id?: string | undefined
}

/** Key of what an item asks for; objectives that differ only in white space are the same. */
export function twinKeyOf(projectId: string, asked: Twin): string {
  const { objective, kind, payload = null, base_ref = null, context = {}, labels = [], runner_id = null } = asked
  const words = objective.replace(/\s+/g, ' ').trim()
  return digestOf([projectId, words, kind, payload, base_ref, context, [...labels].sort(), runner_id])
}

function sinceOf(state: string, { submitted_at, started_at, operator_actions, run }: WorkItemContext): string {
  if (state === 'running') return started_at ?? submitted_at
  return run?.handed_out_at ?? operator_actions.at(-1)?.at ?? submitted_at
}
