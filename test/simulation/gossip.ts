/** What the clients of a world know of each other: what one may read, stop, or lie about. */
import type { Member } from '../../machines/documents/member.ts'
import type { Work } from './actors/runner.ts'

export class Gossip {
  /** Ids of run requests that somebody heard of. */
  readonly requests: string[] = []
  /** Known intent records, with the key of their project. */
  readonly records: { readonly id: string; readonly project: string }[] = []
  /** The cycles that each campaign was given when it was added. */
  readonly budgets = new Map<string, number>()
  /** What each initiative steers, and its budgets. */
  readonly steering = new Map<
    string,
    { readonly members: readonly Member[]; readonly assessments: number; readonly actions: number }
  >()
  /** What runners were handed. */
  readonly works: Work[] = []
  /** Called when a runner has accepted a work item and not begun it. */
  onItemAccepted: (item: string) => void = () => {}
  /** Tokens of runners by id, as they are now. */
  readonly runnerTokens = new Map<string, string>()
}
