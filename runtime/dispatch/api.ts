/** The dispatcher as the rest of the service sees it. */
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { Throttle } from '../../machines/machine.ts'
import type { Holding } from '../../machines/runner/context.ts'
import type { FindRows } from '../collections/newest.ts'
import type { Health } from '../control/guard.ts'
import type { Writer } from '../writers.ts'
import type { LabelUse } from './label-limits.ts'
import type { Capable } from './matching.ts'
import type { PollHandle } from './polls.ts'
import type { QueuedOfProject } from './queue.ts'
import type { Respond } from './runner.ts'

/** What work asks of a runner, before there is a run request for it. */
export interface RunnerRequirements {
  /** Key of the project. */
  readonly project: string
  readonly throttle: Throttle
  readonly access: 'full' | 'read_only'
  readonly entryEvent: string
  readonly labels: readonly string[]
  /** Keys of the projects that its runner must be allowed for in addition to `project`. */
  readonly furtherProjects: readonly string[]
  /** The only runner that may take it. */
  readonly pin: string | undefined
}

export interface RunnerSeen {
  readonly presence: 'online' | 'offline' | 'never_seen'
  /** RFC 3339; absent if the runner has never called. */
  readonly last_seen_at?: string
  /** Run requests that use one of the runner's slots. */
  readonly in_flight: readonly string[]
}

export interface DispatchCounts {
  readonly parkedPolls: number
  /** Since the start: parked polls that something ended before their time. */
  readonly wakeups: number
  /** Since the start: offers committed, refused by their actor, and taken back before they were accepted. */
  readonly offers: number
  readonly offersRefused: number
  readonly offersReturned: number
  readonly runners: { readonly online: number; readonly registered: number; readonly limited: number }
}

/** Keys of the projects that a reader may see, or all. Runners that work for none of them do not exist for it. */
export type Visible = '*' | ReadonlySet<string>

/**
 * For work that some runners may take: none of them has been heard for a while, or those that have are limited and nobody
 * knows until when: for an hour at least, or because they lack the agent.
 */
export interface Absence {
  /** When the last of them was heard or, if none ever was, registered; when the last of them was limited (RFC 3339). */
  readonly since: string
  readonly because: WaitingBecause
}

/** Work that waits for ever because no registered runner may take it, and work whose runners are all away. */
export interface Stranding {
  /** Why no runner may take such work; undefined if one may. The reader sees `visible`, by default all. */
  strandedBecause(requirements: RunnerRequirements, visible?: Visible): WaitingBecause | undefined
  /** Why no runner takes such work now, online or not; undefined if one that is online does, busy or not. */
  withoutTaker(requirements: RunnerRequirements, visible?: Visible): WaitingBecause | undefined
  /**
   * Finds the queued run requests that lack nothing but a runner, and perhaps their repository, and that no runner may
   * take, in projects whose key `sees` admits. Costs the number of demands and, if there are such requests, a walk over
   * the queue.
   */
  stranded(sees: (project: string) => boolean): FindRows
  /** Undefined unless some runners may take such work and all of them are away or limited, and have been for a while. */
  absence(requirements: RunnerRequirements): Absence | undefined
  /**
   * The same for queued run requests that lack only a runner, or wait for their provider: one per key of a project that
   * `sees` admits.
   */
  absences(sees: (project: string) => boolean): Map<string, Absence>
}

/** A run request that holds a repository. */
export interface RepositoryHolder extends Writer {
  readonly id: string
}

/** How many runs with a label are under way, for those that are limited. */
interface LimitedLabels {
  /**
   * The first of the labels of which no further run may start, as far as runs are concerned that runners hold or may
   * hold; undefined if there is none. `besides`: a run request that is not counted.
   */
  fullOf(labels: readonly string[], besides?: string): LabelUse | undefined
  /** Those runs; empty if the label is not limited. */
  holdersOf(label: string): Iterable<{ readonly id: string }>
}

export interface Dispatcher {
  readonly health: Health
  /**
   * A runner asks for work and waits up to `waitMs` for it. `respond` is called once, unless the poll is aborted;
   * within this call if the answer is known.
   */
  poll(runnerId: string, waitMs: number, respond: Respond): PollHandle
  /** Notes any other call of a runner as a sign of life. Writes nothing. */
  touch(runnerId: string): void
  /** Why the request is not with a runner yet; undefined if not queued. The reader sees `visible`, by default all. */
  waitingBecause(runRequestId: string, visible?: Visible): WaitingBecause | undefined
  readonly waiting: Stranding
  runnerSeen(runnerId: string): RunnerSeen
  /** A process of the runner begins: polls of the previous one end. Returns the run requests the runner holds. */
  beginSession(runnerId: string): readonly Holding[]
  /** A process of the runner ends: it is offline until it calls again. Returns the run requests the runner holds. */
  endSession(runnerId: string): readonly Holding[]
  /** The run requests that use one of the runner's slots. */
  heldBy(runnerId: string): readonly Holding[]
  /** The run requests that hold the repository, or may still hold it. */
  repositoryHolders(repository: string): Iterable<RepositoryHolder>
  /** How many runs that the project starts may change its repository at the same time (../writers.ts). */
  readonly maxWriters: (projectId: string) => number
  /**
   * Slots of the online runners that may take work that changes something; with `includesReadOnly`, also read-only
   * work.
   */
  onlineCapacity(includesReadOnly: boolean): number
  /** Whether an online runner may take such work, busy or not. */
  hasTaker(requirements: RunnerRequirements): boolean
  /** Whether such a runner has a parked poll or is expected to poll: excludes runners silent but not yet offline. */
  isExpected(requirements: RunnerRequirements): boolean
  /** A predicate like `isExpected`, for the runners that have a free slot now; they are collected once. */
  freeTakers(): (requirements: RunnerRequirements) => boolean
  /** Whether any registered runner, online or not, that may work for the project satisfies `isMeant`. */
  hasRunnerFor(project: string, isMeant: (runnerId: string) => boolean): boolean
  /** Whether the run request uses a slot of an online runner that takes work; undefined if no runner has it. */
  usesSlot(runRequestId: string): boolean | undefined
  /** The request is about to be withdrawn: if it is queued, it is not offered for a while. */
  leaveOut(runRequestId: string): void
  readonly labels: LimitedLabels
  /** Whether a run request that requires the label waits, for whatever it is that keeps it from being offered now. */
  isAwaited(label: string): boolean
  /** Replaces the limits of labels: how many runs that require one may be under way, by label. */
  setLabelLimits(limits: ReadonlyMap<string, number>): void
  /** Replaces the weights of projects, by key: the turns of a project while one of weight 1 has one. */
  setWeights(weights: ReadonlyMap<string, number>): void
  /** Replaces the set of lanes in which nothing is offered. */
  setPausedLanes(lanes: Iterable<string>): void
  /** Asked for each pair of runner and request; undefined: every engine serves everything. */
  setCapable(capable: Capable | undefined): void
  counts(): DispatchCounts
  /** What waits, by project. A walk over the queue. */
  backlog(): readonly QueuedOfProject[]
  /** Ends every parked poll; later polls are refused. */
  close(): void
}
