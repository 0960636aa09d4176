/**
 * How many runs may change a repository at the same time. Each project sets a limit for what it starts (`max_writers`,
 * one unless set), and projects that share a repository count each other's runs: one joins those at work only if that
 * leaves no more of them than its own project allows, and the project of each of them.
 */

/** Work that holds a repository, or wants to. */
export interface Writer {
  readonly projectId: string
}

/** The work that holds one repository, the longest there first. */
export class Holders<T extends Writer> {
  private readonly all = new Set<T>()
  /** How many of them each project has started: whether one more may join is asked far more often than one does. */
  private readonly counts = new Map<string, number>()

  get size(): number {
    return this.all.size
  }

  [Symbol.iterator](): Iterator<T> {
    return this.all.values()
  }

  add(holder: T): void {
    if (this.all.has(holder)) return
    this.all.add(holder)
    this.counts.set(holder.projectId, (this.counts.get(holder.projectId) ?? 0) + 1)
  }

  delete(holder: T): void {
    if (!this.all.delete(holder)) return
    const others = this.counts.get(holder.projectId)! - 1
    if (others === 0) this.counts.delete(holder.projectId)
    else this.counts.set(holder.projectId, others)
  }

  /** Whether no further run of the project may change the repository. */
  areEnough(projectId: string, limitOf: (projectId: string) => number): boolean {
    let limit = limitOf(projectId)
    for (const other of this.counts.keys()) limit = Math.min(limit, limitOf(other))
    return this.size >= limit
  }
}

/** Most holders of a repository that a sentence names. */
const NAMED_MAX = 3

/** For a sentence: what holds a repository, named by its ids or by words about each. */
export function namesOf(holders: readonly string[]): string {
  if (holders.length > NAMED_MAX) return `${holders.slice(0, NAMED_MAX).join(', ')} and others`
  return holders.length < 2 ? holders.join('') : `${holders.slice(0, -1).join(', ')} and ${holders.at(-1)}`
}
