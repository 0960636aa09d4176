/** What the rest of the service asks of the scheduler. */
import type { Lane } from '../../machines/documents/run-request.ts'
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { ItemWaitingBecause } from '../../machines/documents/work-item.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import type { FindRows } from '../collections/newest.ts'
import type { Health } from '../control/guard.ts'
import type { Visible } from '../dispatch/api.ts'
import type { Entry } from './ledger.ts'

export interface Scheduler {
  /** Why the item has not started; undefined when it runs or has settled. `visible`, by default all, is what the reader sees. */
  waitingBecause(itemId: string, visible?: Visible): ItemWaitingBecause | undefined
  /**
   * Finds the queued items, not handed out, that wait for nothing but a runner, and that no registered one may take, there or
   * not. Of the projects whose key `sees` admits. A walk over the lines in which they wait.
   */
  stranded(sees: (project: string) => boolean): FindRows
  /** Why no registered runner may take the item; undefined: one may, or it does not wait. `visible` as above. */
  strandedBecause(itemId: string, visible?: Visible): WaitingBecause | undefined
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
