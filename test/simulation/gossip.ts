/** What the clients of a world know of each other's doings: whom one may read, stop, or lie about. */
import type { Member } from '../../machines/documents/member.ts'
import type { Work } from './actors/runner.ts'

export class Gossip {
  /** Ids of run requests that somebody heard of. */
  readonly requests: string[] = []
  /** Intent records that there are, with the key of their project. */
  readonly records: { readonly id: string; readonly project: string }[] = []
  /** Cycles that each campaign was given when it was added. */
  readonly budgets = new Map<string, number>()
  /** What each initiative steers, and how often it may. */
  readonly steering = new Map<
    string,
    { readonly members: readonly Member[]; readonly assessments: number; readonly actions: number }
  >()
  /** What runners were handed. */
  readonly works: Work[] = []
  /** A runner has accepted a work item, and not begun it. */
  onItemAccepted: (item: string) => void = () => {}
  /** Tokens of runners by id, as they are now. */
  readonly runnerTokens = new Map<string, string>()
}
