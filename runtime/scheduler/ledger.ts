/**
 * The ledger as the scheduler sees it: a summary of each item that waits or runs, derived from committed steps and
 * loaded from their states' indexes. Settled items are not in it, however many there are; what waits on one of
 * them remembers its state.
 */

import { digestOf } from '../../machines/digest.ts'
import type { Lane } from '../../machines/documents/run-request.ts'
import type { WorkItemKind } from '../../machines/documents/work-item.ts'
import { instantMs } from '../../machines/instant.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import { entryOf } from '../../machines/work-item/entry.ts'
import { cycleOf } from '../../machines/work-item/owner.ts'
import { MinHeap } from '../collections/heap.ts'
import { addTo, removeFrom } from '../collections/sets.ts'
import type { Wanted } from '../dispatch/api.ts'
import { Lines } from './lines.ts'
import { Looks, lookOf } from './looks.ts'
import type { WaitingItem } from './rules.ts'

/** States of which the ledger keeps a summary. */
export const LEDGER_STATES = ['submitted', 'queued', 'held', 'running'] as const

export interface Entry extends WaitingItem {
  readonly projectId: string
  readonly lane: Lane
  readonly submittedAt: string
  /** Two items with one key say the same in the same project. */
  readonly twinKey: string
  /** What a runner must be to take it; shared by all items that want the same. */
  readonly wanted: Wanted
  state: string
  dependsOn: readonly string[]
  takenBack: string | undefined
  /** The run request that it is handed out as. */
  runId: string | undefined
  /** What that run holds for itself. */
  repository: string | undefined
  /** It had begun, and its run waits for a runner again. */
  isWaitingAgain: boolean
  /** And none can begin it as things stand: it takes no place. */
  isAside: boolean
  /** Its run waits for a runner that cannot begin it, or is not heard: it keeps its repository from nobody. */
  yields: boolean
  /** When it came to where it stands (RFC 3339). */
  since: string
}

export class Ledger {
  private readonly entries = new Map<string, Entry>()
  /** Of these, those that only look. */
  private lookCount = 0
  private readonly lines = new Lines<Entry>(inOrder)
  private readonly outside = new Set<Entry>()
  private readonly active = new Map<string, Entry>()
  private readonly holders = new Map<string, Set<Entry>>()
  private readonly twins = new Map<string, Entry[]>()
  private readonly dependencies = new Map<string, { state: string | undefined; readonly dependants: Set<Entry> }>()
  /** Items that others on their way into the ledger are to wait for, and how many of these there are. */
  private readonly expected = new Map<string, number>()
  private readonly wants = new Map<string, Wanted>()
  /** Times before which an item is not to start, also of items that have gone: nothing more of them is kept. */
  private readonly times = new MinHeap<undefined>()
  private readonly readState: (id: string) => string | undefined
  /** Items in the queue whose dependencies must be looked at again. */
  readonly suspects = new Set<Entry>()
  /** Items that the scheduler has not looked at yet. */
  readonly submitted = new Set<Entry>()
  /** Items that are handed out, and that no runner has begun. */
  readonly handedOut = new Set<Entry>()
  /** Items that run, and whose run waits for a runner again. */
  readonly waitingAgain = new Set<Entry>()
  readonly looks = new Looks()

  /** `readState`: the committed state of an item that is not in the ledger. */
  constructor(readState: (id: string) => string | undefined) {
    this.readState = readState
  }

  /** In the queue, in lines; handed out ones are not among them. */
  get queued(): Pick<Lines<Entry>, 'open' | 'first' | 'back' | 'count' | 'heads'> {
    return this.lines
  }

  /** Held ones, and those not looked at yet. */
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

  /** Of these, those that take a place. */
  get placedCount(): number {
    let count = this.active.size
    for (const { isAside } of this.waitingAgain) if (isAside) count--
    return count
  }

  /** Those whose run may wait for a runner: for the first, or for another one. */
  get withoutRunner(): Iterable<Entry> {
    return bothOf(this.handedOut, this.waitingAgain)
  }

  /** Whether anything in it only looks, which needs no trusted runner. */
  get hasLooks(): boolean {
    return this.lookCount > 0
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

  /** Whether an item of the ledger, or on its way there, was to wait for it, however that has gone: what it came to must stay known. */
  isDependency(id: string): boolean {
    return this.dependencies.has(id) || this.expected.has(id)
  }

  /** An item that is to wait for these is on its way, until the function that it answers is called, once. */
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

  holderOf(repository: string): string | undefined {
    for (const { id, yields } of this.holders.get(repository) ?? []) if (!yields) return id
    return undefined
  }

  /** The unsettled item of the project that asks for the same. */
  twinOf(twinKey: string): string | undefined {
    return this.twins.get(twinKey)?.[0]?.id
  }

  /** Wall-clock time of the next `not_before` that has not come yet. */
  nextTimeMs(nowMs: number): number | undefined {
    for (let dueMs = this.times.peekKey(); dueMs !== undefined && dueMs <= nowMs; dueMs = this.times.peekKey())
      this.times.pop()
    return this.times.peekKey()
  }

  /** Takes in what a committed step says. */
  note({ value, context }: SnapshotOf<WorkItemContext>): void {
    // News of a run whose item is forgotten: a step, and no item.
    if (value === 'absent') return
    this.looks.note(value, context)
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
    entry.isWaitingAgain = value === 'running' && context.run?.waits === true
    if (entry.dependsOn !== context.depends_on) this.changeDependencies(entry, context.depends_on)
    this.takePlace(entry)
  }

  /** An entry as it would be, for asking the rules about an item that is not there yet. */
  sketch(context: Pick<WorkItemContext, 'id' | 'project' | 'project_id' | 'asked' | 'depends_on'>, at: string): Entry {
    const { id, project, project_id, asked, depends_on } = context
    const { entry_event, access } = entryOf(context)
    const wanted = {
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
      wanted: this.shared(wanted),
      looksFor: lookOf(asked),
      cycleOf: cycleOf(asked),
      notBeforeMs: asked.not_before === undefined ? undefined : instantMs(asked.not_before),
      state: 'queued',
      dependsOn: depends_on,
      takenBack: undefined,
      runId: undefined,
      repository: undefined,
      isWaitingAgain: false,
      isAside: false,
      yields: false,
      since: at,
    }
  }

  private make(context: WorkItemContext, state: string): Entry {
    const entry = { ...this.sketch(context, context.submitted_at), state, dependsOn: NO_IDS }
    this.entries.set(entry.id, entry)
    if (entry.wanted.access === 'read_only') this.lookCount++
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
    if (entry.wanted.access === 'read_only') this.lookCount--
    const others = this.twins.get(entry.twinKey)?.filter((twin) => twin !== entry) ?? []
    if (others.length === 0) this.twins.delete(entry.twinKey)
    else this.twins.set(entry.twinKey, others)
  }

  /** The one place where an entry enters the queue, or stands beside it, or is active. */
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

  /** If it waits in the queue for others, these must be looked at again. */
  suspect(entry: Entry): void {
    const { state, runId, dependsOn } = entry
    if (state === 'queued' && runId === undefined && dependsOn.length > 0) this.suspects.add(entry)
  }

  private shared(wanted: Wanted): Wanted {
    const signature = JSON.stringify(wanted)
    const known = this.wants.get(signature)
    if (known !== undefined) return known
    if (this.wants.size >= wantsMax) this.wants.clear()
    this.wants.set(signature, wanted)
    return wanted
  }
}

function* bothOf<T>(some: Iterable<T>, others: Iterable<T>): Iterable<T> {
  yield* some
  yield* others
}

const NO_IDS: readonly string[] = []
/** Kinds of wish that are remembered: past it they are told apart anew, which costs a little memory. */
const wantsMax = 10_000

/** Interactive work first, then what was submitted first. */
function inOrder(a: Entry, b: Entry): number {
  const lanes = Number(a.lane !== 'interactive') - Number(b.lane !== 'interactive')
  if (lanes !== 0) return lanes
  if (a.submittedAt !== b.submittedAt) return a.submittedAt < b.submittedAt ? -1 : 1
  return a.id < b.id ? -1 : a.id === b.id ? 0 : 1
}

/** What makes work the same work: what is to be done, and who may do it. When, and how long it may take, does not. */
interface Twin {
  readonly objective: string
  readonly kind: WorkItemKind
  /** Of a release or a remediation: what it is about. */
  readonly payload?: unknown
  readonly base_ref?: string | undefined
  readonly context?: unknown
  readonly labels?: readonly string[] | undefined
  readonly runner_id?: string | undefined
}

/** What an item asks for: the same for another one of the project whose objective differs in white space only. */
export function twinKeyOf(projectId: string, asked: Twin): string {
  const { objective, kind, payload = null, base_ref = null, context = {}, labels = [], runner_id = null } = asked
  const words = objective.replace(/\s+/g, ' ').trim()
  return digestOf([projectId, words, kind, payload, base_ref, context, [...labels].sort(), runner_id])
}

function sinceOf(state: string, { submitted_at, started_at, operator_actions, run }: WorkItemContext): string {
  if (state === 'running') return started_at ?? submitted_at
  return run?.handed_out_at ?? operator_actions.at(-1)?.at ?? submitted_at
}
