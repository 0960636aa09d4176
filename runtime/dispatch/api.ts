/**
 * What the rest of the service asks of the dispatcher.
 */
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { Throttle } from '../../machines/machine.ts'
import type { Holding } from '../../machines/runner.ts'
import type { FindRows } from '../collections/newest.ts'
import type { Health } from '../control/guard.ts'
import type { Capable } from './matching.ts'
import type { PollHandle } from './polls.ts'
import type { QueuedOfProject } from './queue.ts'
import type { Respond } from './runner.ts'

/** What work asks of a runner, before there is a run request for it. */
export interface Wanted {
  /** Key of the project. */
  readonly project: string
  readonly throttle: Throttle
  readonly access: 'full' | 'read_only'
  readonly entryEvent: string
  readonly labels: readonly string[]
  /** Keys of the projects that its runner must be allowed for beside `project`. */
  readonly furtherProjects: readonly string[]
  /** The only runner that may take it. */
  readonly pin: string | undefined
}

export interface RunnerSeen {
  readonly presence: 'online' | 'offline' | 'never_seen'
  /** RFC 3339; absent when it has never called. */
  readonly last_seen_at?: string
  /** Run requests that use one of its slots. */
  readonly in_flight: readonly string[]
}

export interface DispatchCounts {
  readonly parkedPolls: number
  /** Since the start: parked polls that something ended before their time. */
  readonly wakeups: number
  /** Since the start: offers committed, refused by their actor, and returned because their poll was gone. */
  readonly offers: number
  readonly offersRefused: number
  readonly offersReturned: number
  readonly runners: { readonly online: number; readonly registered: number }
}

/** Keys of the projects that a reader may see, or all: runners that may work for none of them do not exist for it. */
export type Visible = '*' | ReadonlySet<string>

/** Of work that runners may take: none of these has been heard for a while. */
export interface Absence {
  /** When the last of them was heard or, if none ever was, registered (RFC 3339). */
  readonly since: string
  readonly because: WaitingBecause
}

/** Work that no registered runner may take, there or not, which waits for ever as things stand; and work whose runners are away. */
export interface Stranding {
  /** Why no runner may take such work; undefined: one may. `visible`, by default all, is what the reader sees. */
  strandedBecause(wanted: Wanted, visible?: Visible): WaitingBecause | undefined
  /**
   * Finds the queued run requests that wait for nothing but a runner, and that none may take. Of the projects whose key
   * `sees` admits. Costs the number of demands and, where there are such requests, a walk over the queue.
   */
  stranded(sees: (project: string) => boolean): FindRows
  /** Undefined unless some may take such work, and all of them are offline and have been silent for a while. */
  absence(wanted: Wanted): Absence | undefined
  /** The same of queued run requests that wait for nothing else, by the key of their project: one a project that `sees` admits. */
  absences(sees: (project: string) => boolean): Map<string, Absence>
}

export interface Dispatcher {
  readonly health: Health
  /**
   * A runner asks for work, and waits up to `waitMs` for it. `respond` is called once, unless the poll is
   * aborted: within this call when the answer is known.
   */
  poll(runnerId: string, waitMs: number, respond: Respond): PollHandle
  /** Any other call of a runner: it is there. Writes nothing. */
  touch(runnerId: string): void
  /** Why the request is not with a runner yet; undefined when it is not queued. `visible`, by default all, is what the reader sees. */
  waitingBecause(runRequestId: string, visible?: Visible): WaitingBecause | undefined
  readonly waiting: Stranding
  runnerSeen(runnerId: string): RunnerSeen
  /** A process of the runner begins: polls of the one before end. Answers the run requests that it held. */
  beginSession(runnerId: string): readonly Holding[]
  /** A process of the runner ends: it is there no more until it calls again. Answers the run requests that it held. */
  endSession(runnerId: string): readonly Holding[]
  /** The run requests that use one of its slots. */
  heldBy(runnerId: string): readonly Holding[]
  /** The run request that holds the repository, or may still hold it. */
  repositoryHolder(repository: string): string | undefined
  /** Slots of the runners that are there and may take work that changes something; `looks`: or work that only looks. */
  onlineCapacity(looks: boolean): number
  /** Whether a runner that is there may take such work, busy or not. */
  hasTaker(wanted: Wanted): boolean
  /** Whether one of them has a poll here, or may be on its way with one: not who has fallen silent, and is not offline yet. */
  isExpected(wanted: Wanted): boolean
  /** The same of those that have a slot left as of now, who are looked for once. */
  freeTakers(): (wanted: Wanted) => boolean
  /** Whether any registered runner that may work for the project, there or not, is one of those meant. */
  hasRunnerFor(project: string, isMeant: (runnerId: string) => boolean): boolean
  /** Whether the run request uses a slot of a runner that is there and takes work; undefined: no runner has it. */
  usesSlot(runRequestId: string): boolean | undefined
  /** The request is about to be withdrawn: if it waits, it is not offered for a while. */
  leaveOut(runRequestId: string): void
  /** The lanes that offer nothing, all of them. */
  setPausedLanes(lanes: Iterable<string>): void
  /** Asked of each pair of runner and request; undefined: every engine serves everything. */
  setCapable(capable: Capable | undefined): void
  counts(): DispatchCounts
  /** What waits, by project. A walk over the queue. */
  backlog(): readonly QueuedOfProject[]
  /** Every parked poll ends, and later ones are refused. */
  close(): void
}
