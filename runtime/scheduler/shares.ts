/**
 * Whose item starts next, once a project has a weight. Until then items start by age, whoever's they are (SPEC 6.10
 * names no shares); from then on, within interactive work and within all other, projects take turns by weight, and
 * each project's items go by age. The turns are those of the dispatcher, counted anew for what the ledger hands out.
 */
import { newTurn, type Turn, Turns } from '../dispatch/turns.ts'
import type { Entry, Ledger } from './ledger.ts'

type Queued = Pick<Ledger['queued'], 'open' | 'openInTurn' | 'projects'>

interface Share extends Turn {
  readonly project: string
}

export class Shares {
  weights: ReadonlyMap<string, number> = new Map()
  private turns = new Turns<Share>()
  /** Of all that had items waiting since the first weight was set, by project. */
  private readonly shares = new Map<string, Share>()

  /** Replaces all weights, by key of the project; others have a weight of 1. */
  setWeights(weights: ReadonlyMap<string, number>): void {
    this.weights = weights
    if (weights.size === 0) {
      this.shares.clear()
      this.turns = new Turns()
    }
    this.turns.isWeighted = weights.size > 0
    for (const [project, share] of this.shares) share.weight = weights.get(project) ?? 1
  }

  /** The entries of the open lines in the order in which they start, as `Lines.open` or `openInTurn` walks them. */
  inOrder(queued: Queued, isOpen: (entry: Entry) => boolean): Generator<Entry> {
    if (this.weights.size === 0) return queued.open(isOpen)
    return queued.openInTurn(isOpen, (open) => this.among(open, queued.projects()))
  }

  /**
   * The order of the turns of these projects, by their numbers in the list. `waiting`: all that have items waiting. One
   * that something else holds back keeps its turn, or it would come after those that are not, each time that it may go.
   */
  private among(projects: readonly string[], waiting: ReadonlySet<string>): (a: number, b: number) => number {
    for (const share of this.turns.chunks().flat()) if (!waiting.has(share.project)) this.turns.leave(share)
    for (const project of waiting) {
      const share = this.of(project)
      if (!share.isListed) this.turns.join(share)
    }
    const shares = projects.map((project) => this.of(project))
    return (a, b) => this.turns.compare(shares[a]!, shares[b]!)
  }

  /** An item of the project is handed out. */
  served(project: string): void {
    if (this.turns.isWeighted) this.turns.served(this.of(project))
  }

  private of(project: string): Share {
    const known = this.shares.get(project)
    if (known !== undefined) return known
    const share = { project, ...newTurn(this.weights.get(project)) }
    this.shares.set(project, share)
    return share
  }
}
