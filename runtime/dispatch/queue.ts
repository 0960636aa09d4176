/**
 * The queued run requests, in some fifty bytes each outside the garbage-collected heap, ordered within their demand by
 * priority, then age, then id. What a poll does not need to know stays in the request's snapshot.
 */
import { isId } from '../../machines/ids.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import {
  demandSignature,
  exclusiveRepository,
  furtherProjects,
  isReady,
  requiredLabels,
} from '../../machines/run-request/demand.ts'
import type { ListRow, Platform } from '../api.ts'
import { IndexHeap, type Positions } from '../collections/index-heap.ts'
import { type FoundRows, firstOf } from '../collections/newest.ts'
import { addTo, removeFrom } from '../collections/sets.ts'
import { type Demand, type ProjectTurn, pair, type Supply, unpairDemand } from './eligibility.ts'
import { IdTable } from './id-table.ts'
import { microsOf } from './micros.ts'
import { newTurn, Turns } from './turns.ts'

/** States of a slot: whether a queued request can be offered, and if not, why. */
const FREE = 0
const UNREADY = 1
const READY = 2
const OFFERING = 3
const HELD_BACK = 4

/** Demands without requests that are kept, so that a stream of single requests does not rebuild them each time. */
const idleDemandsMax = 256

const NONE: readonly Demand[] = []

export interface DemandAndPriority {
  readonly demand: Demand
  readonly priority: number
}

export interface QueuedOfProject {
  readonly project: string
  readonly count: number
  /** Milliseconds since the oldest of them was made. */
  readonly oldestAgeMs: number
}

export class Queue {
  private readonly platform: Platform
  private readonly suppliesOf: () => Iterable<Supply>
  private capacity = 64
  private ids = new IdTable(64)
  private createdMicros = new Float64Array(64)
  private priority = new Int8Array(64)
  private demandOf = new Int32Array(64)
  private state = new Uint8Array(64)
  private readonly positions: Positions = { of: new Int32Array(64).fill(-1) }
  private used = 0
  private freeSlots: number[] = []
  private count = 0
  private readonly demands = new Map<string, Demand>()
  private readonly bySlot: (Demand | undefined)[] = []
  private readonly freeDemands: number[] = []
  private idleDemands = 0
  private readonly projects = new Map<string, ProjectTurn>()
  private readonly repositories = new Map<string, Set<Demand>>()
  private readonly pins = new Map<string, Set<Demand>>()
  private readonly labels = new Map<string, Set<Demand>>()
  private readonly order = (a: number, b: number) => this.before(a, b)
  private readonly turns = new Turns<ProjectTurn>()
  private weights: ReadonlyMap<string, number> = new Map()

  /** `suppliesOf`: all supplies, to pair a new demand with. */
  constructor(platform: Platform, suppliesOf: () => Iterable<Supply>) {
    this.platform = platform
    this.suppliesOf = suppliesOf
  }

  get size(): number {
    return this.count
  }

  allDemands(): Iterable<Demand> {
    return this.demands.values()
  }

  /** The projects that have something to offer, in the order of their turns, in chunks. Valid until the next change. */
  get inTurn(): readonly (readonly ProjectTurn[])[] {
    return this.turns.chunks()
  }

  /** Replaces all weights, by key of the project; others have a weight of 1. */
  setWeights(weights: ReadonlyMap<string, number>): void {
    this.weights = weights
    this.turns.isWeighted = weights.size > 0
    for (const [key, project] of this.projects) project.weight = weights.get(key) ?? 1
  }

  demandsOfRepository(repository: string): Iterable<Demand> {
    return this.repositories.get(repository) ?? NONE
  }

  /** Whether a request that requires the label could be offered, as far as the requests themselves are concerned. */
  isAwaited(label: string): boolean {
    for (const { ready } of this.labels.get(label) ?? NONE) if (ready.size > 0) return true
    return false
  }

  demandsPinnedTo(runnerId: string): Iterable<Demand> {
    return this.pins.size === 0 ? NONE : (this.pins.get(runnerId) ?? NONE)
  }

  demandCountPinnedTo(runnerId: string): number {
    return this.pins.get(runnerId)?.size ?? 0
  }

  /**
   * Adds a queued request, or applies what a step has changed in it. Returns its demand if the request is ready,
   * else undefined. A request that is being offered or held back stays so.
   */
  put(context: RunRequestContext): Demand | undefined {
    const demand = this.demandFor(context)
    const known = this.ids.find(context.id)
    const slot =
      known >= 0 ? known : this.insert(context.id, microsOf(context.created_at), context.asked.priority, demand)
    if (known >= 0 && this.demandOf[slot] !== demand.slot) this.changeDemand(slot, demand)
    const state = this.state[slot]!
    if (state === OFFERING || state === HELD_BACK) return undefined
    const next = isReady(context) ? READY : UNREADY
    this.become(slot, next)
    return next === READY ? demand : undefined
  }

  /** What a request shares with all of the same demand and priority. */
  demandAndPriorityOf(context: RunRequestContext): DemandAndPriority {
    return { demand: this.demandFor(context), priority: context.asked.priority }
  }

  /** Adds a ready request. Skips one that is known, or whose id or time is invalid. */
  putWith(id: string, createdAt: string, { demand, priority }: DemandAndPriority): void {
    const createdMicros = microsOf(createdAt)
    if (!isId('runreq', id) || this.ids.find(id) >= 0 || Number.isNaN(createdMicros)) return
    this.become(this.insert(id, createdMicros, priority, demand), READY)
  }

  /** Gives the projects their turns by the age of each one's oldest ready request. */
  seatByAge(): void {
    const oldest = new Map<ProjectTurn, number>()
    for (let slot = 0; slot < this.used; slot++) {
      if (this.state[slot] !== READY) continue
      const { project } = this.demandOfSlot(slot)
      const created = this.createdMicros[slot]!
      if (created < (oldest.get(project) ?? Number.POSITIVE_INFINITY)) oldest.set(project, created)
    }
    for (const [project] of [...oldest].sort(([, a], [, b]) => a - b)) this.turns.toEnd(project)
  }

  /** The request is no longer queued. */
  remove(id: string): void {
    const slot = this.ids.find(id)
    if (slot < 0) return
    this.become(slot, FREE)
    this.ids.remove(slot)
    this.leaveDemand(this.demandOfSlot(slot))
    this.count--
    this.freeSlots.push(slot)
    if (this.count === 0) this.freeSlots = []
    if (this.count === 0) this.used = 0
  }

  /** Takes the demand's first ready request out of the order to be offered, as its project's turn. Returns its id. */
  take(demand: Demand): string {
    const slot = demand.ready.first
    this.become(slot, OFFERING)
    this.turns.served(demand.project)
    return this.ids.idOf(slot)
  }

  /** The offer was refused: the request stays out of the order until `release`. False if it was not being offered. */
  holdBack(id: string): boolean {
    const slot = this.ids.find(id)
    if (slot < 0 || this.state[slot] !== OFFERING) return false
    this.become(slot, HELD_BACK)
    return true
  }

  /** Keeps a queued request out of the order until `release`. */
  leaveOut(id: string): void {
    const slot = this.ids.find(id)
    if (slot >= 0) this.become(slot, HELD_BACK)
  }

  /** Id of the demand's first ready request. The demand must have one. */
  firstOf(demand: Demand): string {
    return this.ids.idOf(demand.ready.first)
  }

  /** Ends a `holdBack` or `leaveOut`; returns the demand if the request is ready. */
  release(id: string, context: RunRequestContext): Demand | undefined {
    const slot = this.ids.find(id)
    if (slot < 0 || this.state[slot] !== HELD_BACK) return undefined
    const next = isReady(context) ? READY : UNREADY
    this.become(slot, next)
    return next === READY ? this.demandOfSlot(slot) : undefined
  }

  /** Whether demand a's first ready request goes before demand b's. Both must have one. */
  goesBefore(a: Demand, b: Demand): boolean {
    if (a.project !== b.project) return this.turns.compare(a.project, b.project) < 0
    return this.before(a.ready.first, b.ready.first)
  }

  /** The demand of a queued request; undefined if it is no longer queued. */
  demandOfRequest(id: string): Demand | undefined {
    const slot = this.ids.find(id)
    return slot < 0 ? undefined : this.demandOfSlot(slot)
  }

  /** Counts and ages by project: one walk over the queue, for each scrape of the metrics. */
  byProject(): QueuedOfProject[] {
    const nowMicros = this.platform.wallMs() * 1000
    const totals = new Map<string, { count: number; oldest: number }>()
    for (let slot = 0; slot < this.used; slot++) {
      if (this.state[slot] === FREE) continue
      const { key } = this.demandOfSlot(slot).project
      const total = totals.get(key)
      const created = this.createdMicros[slot]!
      if (total === undefined) totals.set(key, { count: 1, oldest: created })
      else {
        total.count++
        if (created < total.oldest) total.oldest = created
      }
    }
    return [...totals].map(([project, { count, oldest }]) => ({
      project,
      count,
      oldestAgeMs: Math.max(0, (nowMicros - oldest) / 1000),
    }))
  }

  /** A page of the demands' requests that could be offered if there were a runner. One walk over the queue. */
  newestOfferable(demands: ReadonlySet<Demand>, limit: number, after: ListRow | undefined): FoundRows {
    const afterMicros = after === undefined ? Number.POSITIVE_INFINITY : Number(after.order)
    const isBehind = (slot: number): boolean => {
      const micros = this.createdMicros[slot]!
      return micros < afterMicros || (micros === afterMicros && this.ids.idOf(slot) < after!.id)
    }
    const newest = (a: number, b: number): number => {
      if (a === b) return 0
      return this.createdMicros[b]! - this.createdMicros[a]! || (this.ids.before(b, a) ? -1 : 1)
    }
    const { first, more } = firstOf(this.offerable(demands), newest, limit, isBehind)
    const rows = first.map((slot) => ({ order: String(this.createdMicros[slot]), id: this.ids.idOf(slot) }))
    return more ? { rows, next: rows.at(-1)! } : { rows }
  }

  /** The most recent first, as far as slot numbers tell. */
  private *offerable(demands: ReadonlySet<Demand>): Generator<number> {
    for (let slot = this.used - 1; slot >= 0; slot--) {
      const state = this.state[slot]
      if ((state === READY || state === HELD_BACK) && demands.has(this.demandOfSlot(slot))) yield slot
    }
  }

  private before(a: number, b: number): boolean {
    if (this.priority[a] !== this.priority[b]) return this.priority[a]! > this.priority[b]!
    if (this.createdMicros[a] !== this.createdMicros[b]) return this.createdMicros[a]! < this.createdMicros[b]!
    return this.ids.before(a, b)
  }

  /** The one place where a request enters or leaves the order. */
  private become(slot: number, state: number): void {
    const before = this.state[slot]!
    if (before === state) return
    const demand = this.demandOfSlot(slot)
    const { ready, project } = demand
    if (before === READY) {
      ready.remove(slot)
      if (ready.size === 0) project.waiting.delete(demand)
      if (--project.ready === 0) this.turns.leave(project)
    }
    this.state[slot] = state
    if (state !== READY) return
    if (project.ready === 0) this.turns.join(project)
    project.ready++
    if (ready.size === 0) project.waiting.add(demand)
    ready.push(slot)
  }

  private insert(id: string, createdMicros: number, priority: number, demand: Demand): number {
    const slot = this.freeSlots.pop() ?? this.used
    if (slot === this.capacity) this.grow()
    if (slot === this.used) this.used++
    this.ids.add(id, slot)
    this.createdMicros[slot] = createdMicros
    this.priority[slot] = priority
    this.demandOf[slot] = demand.slot
    this.state[slot] = FREE
    this.positions.of[slot] = -1
    this.count++
    this.joinDemand(demand)
    return slot
  }

  private changeDemand(slot: number, demand: Demand): void {
    const state = this.state[slot]!
    if (state === READY) this.become(slot, UNREADY)
    this.leaveDemand(this.demandOfSlot(slot))
    this.demandOf[slot] = demand.slot
    this.joinDemand(demand)
  }

  private grow(): void {
    this.capacity *= 2
    this.createdMicros = wider(this.createdMicros, new Float64Array(this.capacity))
    this.priority = wider(this.priority, new Int8Array(this.capacity))
    this.demandOf = wider(this.demandOf, new Int32Array(this.capacity))
    this.state = wider(this.state, new Uint8Array(this.capacity))
    this.positions.of = wider(this.positions.of, new Int32Array(this.capacity))
    this.ids.grow(this.capacity, this.used)
  }

  private demandOfSlot(slot: number): Demand {
    return this.bySlot[this.demandOf[slot]!]!
  }

  private demandFor(context: RunRequestContext): Demand {
    const signature = demandSignature(context)
    const known = this.demands.get(signature)
    if (known !== undefined) return known
    if (this.idleDemands > idleDemandsMax + this.demands.size / 2) this.sweep()
    const { project, throttle } = context
    const { access, lane, entry_event, runner_id } = context.asked
    const repository = exclusiveRepository(context)
    const demand: Demand = {
      signature,
      slot: this.freeDemands.pop() ?? this.bySlot.length,
      project: this.projectTurn(project),
      projectId: context.project_id,
      throttle,
      access,
      lane,
      entryEvent: entry_event,
      labels: requiredLabels(context),
      furtherProjects: furtherProjects(context),
      pin: runner_id,
      repository,
      ready: new IndexHeap(this.positions, this.order),
      queued: 0,
      supplies: [],
    }
    this.demands.set(signature, demand)
    this.bySlot[demand.slot] = demand
    this.idleDemands++
    if (repository !== undefined) addTo(this.repositories, repository, demand)
    for (const label of demand.labels) addTo(this.labels, label, demand)
    if (runner_id !== undefined) addTo(this.pins, runner_id, demand)
    else for (const supply of this.suppliesOf()) pair(supply, demand)
    return demand
  }

  private projectTurn(key: string): ProjectTurn {
    const known = this.projects.get(key)
    const project = known ?? { key, demands: 0, ready: 0, waiting: new Set(), ...newTurn(this.weights.get(key)) }
    if (known === undefined) this.projects.set(key, project)
    project.demands++
    return project
  }

  private joinDemand(demand: Demand): void {
    if (demand.queued++ === 0) this.idleDemands--
  }

  private leaveDemand(demand: Demand): void {
    if (--demand.queued === 0) this.idleDemands++
  }

  /** Forgets demands that have no requests. */
  private sweep(): void {
    for (const demand of this.demands.values()) {
      if (demand.queued > 0) continue
      this.demands.delete(demand.signature)
      this.bySlot[demand.slot] = undefined
      this.freeDemands.push(demand.slot)
      unpairDemand(demand)
      if (demand.repository !== undefined) removeFrom(this.repositories, demand.repository, demand)
      for (const label of demand.labels) removeFrom(this.labels, label, demand)
      if (demand.pin !== undefined) removeFrom(this.pins, demand.pin, demand)
      if (--demand.project.demands === 0) this.projects.delete(demand.project.key)
    }
    this.idleDemands = 0
  }
}

function wider<A extends { set(from: A): void }>(from: A, to: A): A {
  to.set(from)
  return to
}
