/** What the rest of the service asks of the scheduler. */
import type { Lane } from '../../machines/documents/run-request.ts'
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { ItemWaitingBecause } from '../../machines/documents/work-item.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import type { FindRows } from '../collections/newest.ts'
import type { Health } from '../control/guard.ts'
import type { Absence, Visible } from '../dispatch/api.ts'
import type { QueuedOfProject } from '../dispatch/queue.ts'
import type { Entry } from './ledger.ts'

export interface Scheduler {
  /** Why the item has not started; undefined when it runs or has settled. `visible`, by default all, is what the reader sees. */
  waitingBecause(itemId: string, visible?: Visible): ItemWaitingBecause | undefined
  readonly waiting: WaitingItems
  /** Why an item would wait that is submitted or released now. */
  reasonFor(item: Pick<WorkItemContext, 'id' | 'project' | 'project_id' | 'asked' | 'depends_on'>): string
  /**
   * An item is asked for that is to wait for these: retention leaves them until the function that it answers is called, once,
   * when that item is in the ledger or was refused.
   */
  expect(dependsOn: readonly string[]): () => void
  /** Those of the dependencies that can never land. */
  unlandable(dependsOn: readonly string[]): string[]
  /** The unsettled item of the project that asks for the same. */
  twinOf(twinKey: string): string | undefined
  view(): PacingView
  readonly health: Health
  close(): void
}

/** What waits in the queue, not handed out, told where a person looks. Each a walk over the lines in which it waits. */
export interface WaitingItems {
  /**
   * Finds the items that wait for nothing but a runner, and that no registered one may take, there or not. Of the projects
   * whose key `sees` admits.
   */
  stranded(sees: (project: string) => boolean): FindRows
  /** Why no registered runner may take the item; undefined: one may, or it does not wait. `visible`, by default all, is what the reader sees. */
  strandedBecause(itemId: string, visible?: Visible): WaitingBecause | undefined
  /**
   * Projects whose items or queued run requests wait for nothing but runners that are all away, by key: of those that `sees`
   * admits. Of a project that waits for several it is the first that is found.
   */
  absences(sees: (project: string) => boolean): ReadonlyMap<string, Absence>
  /** How many items wait, whatever for, and for how long, by project. */
  backlog(): readonly QueuedOfProject[]
}

export interface PacingView {
  readonly maxRunning: number
  readonly runningCount: number
  readonly paused: readonly Lane[]
  /** The pause state cannot be read: every lane counts as paused. */
  readonly isUnreadable: boolean
  /** Handed out or running. */
  readonly running: Iterable<Entry>
  /** How many wait in the queue, and the first of them in the order in which they start: of the projects whose key `sees` admits. */
  waitingCount(sees: (project: string) => boolean): number
  firstWaiting(limit: number, sees: (project: string) => boolean): readonly Entry[]
  /** Held ones. */
  readonly aside: Iterable<Entry>
  repositoryOf(entry: Entry): string | undefined
}
