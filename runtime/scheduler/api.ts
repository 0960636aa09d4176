/** The scheduler as the rest of the service sees it. */
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { ItemWaitingBecause } from '../../machines/documents/work-item.ts'
import type { Lane } from '../../machines/run-request/lanes.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import type { FindRows } from '../collections/newest.ts'
import type { Health } from '../control/guard.ts'
import type { Absence, Visible } from '../dispatch/api.ts'
import type { LabelUse } from '../dispatch/label-limits.ts'
import type { QueuedOfProject } from '../dispatch/queue.ts'
import type { Entry } from './ledger.ts'

export interface Scheduler {
  /** Why the item has not started; undefined if it runs or has settled. The reader sees `visible`, by default all. */
  waitingBecause(itemId: string, visible?: Visible): ItemWaitingBecause | undefined
  readonly waiting: WaitingItems
  /** Why an item would wait if it were submitted or released now. */
  reasonFor(item: Pick<WorkItemContext, 'id' | 'project' | 'project_id' | 'asked' | 'depends_on'>): string
  /**
   * An item that depends on these is being created. Retention keeps them until the returned function is called, once,
   * when that item is in the ledger or was refused.
   */
  expect(dependsOn: readonly string[]): () => void
  /** Those of the dependencies that can never land. */
  unlandable(dependsOn: readonly string[]): string[]
  /** The unsettled item of the project that asks for the same, and that nobody has cancelled. */
  twinOf(twinKey: string): string | undefined
  /**
   * An item that asks for this is on its way; call what is returned if it does not come after all. Undefined: another
   * was announced a moment ago and has not come yet.
   */
  announce(twinKey: string): (() => void) | undefined
  isAnnounced(twinKey: string): boolean
  view(): PacingView
  readonly health: Health
  close(): void
}

/** Queued items that are not handed out, for views. Each call walks the lines they wait in. */
export interface WaitingItems {
  /**
   * Finds the items that lack nothing but a runner, and perhaps their repository, and that no registered runner, online
   * or not, may take, in projects whose key `sees` admits.
   */
  stranded(sees: (project: string) => boolean): FindRows
  /**
   * Why no registered runner may take the item; undefined if one may or it does not wait. The reader sees `visible`.
   */
  strandedBecause(itemId: string, visible?: Visible): WaitingBecause | undefined
  /**
   * By project key, for projects that `sees` admits: why items or queued run requests wait for runners that are all
   * away, and for nothing else. The first absence found, if a project has several.
   */
  absences(sees: (project: string) => boolean): ReadonlyMap<string, Absence>
  /** How many items wait, for whatever reason, and for how long, by project. */
  backlog(): readonly QueuedOfProject[]
}

export interface PacingView {
  readonly maxRunning: number
  readonly runningCount: number
  readonly paused: readonly Lane[]
  /** The pause state cannot be read: every lane counts as paused. */
  readonly isUnreadable: boolean
  /** Limited labels, sorted. */
  labelLimits(): readonly LabelUse[]
  /** By key, of projects that have another weight than 1. */
  readonly weights: ReadonlyMap<string, number>
  /** Handed out or running. */
  readonly running: Iterable<Entry>
  /** Number of queued items, and the first in starting order, of the projects whose key `sees` admits. */
  waitingCount(sees: (project: string) => boolean): number
  firstWaiting(limit: number, sees: (project: string) => boolean): readonly Entry[]
  /** Held items, and submitted ones not admitted yet. */
  readonly aside: Iterable<Entry>
  repositoryOf(entry: Entry): string | undefined
}
