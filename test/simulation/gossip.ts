/** What the clients of a world know of each other's doings: whom one may read, stop, or lie about. */
import type { Work } from './actors/runner.ts'

export class Gossip {
  /** Ids of run requests that somebody heard of. */
  readonly requests: string[] = []
  /** Intent records that there are, with the key of their project. */
  readonly records: { readonly id: string; readonly project: string }[] = []
  /** What runners were handed. */
  readonly works: Work[] = []
  /** Tokens of runners by id, as they are now. */
  readonly runnerTokens = new Map<string, string>()
}
