/**
 * How many runs may change a repository at the same time. Each project sets a limit for what it starts (`max_writers`,
 * one unless set), and projects that share a repository count each other's runs: one joins those at work only if that
 * leaves no more of them than its own project allows, and the project of each of them.
 */

/** Work that holds a repository, or wants to. */
export interface Writer {
  readonly projectId: string
}

/** Whether no further run of the project may change the repository that these hold. */
export function areEnough(
  holders: Iterable<Writer>,
  projectId: string,
  limitOf: (projectId: string) => number,
): boolean {
  let limit = limitOf(projectId)
  let count = 0
  for (const holder of holders) {
    count++
    limit = Math.min(limit, limitOf(holder.projectId))
    if (count >= limit) return true
  }
  return false
}

/** Most holders of a repository that a sentence names. */
const NAMED_MAX = 3

/** For a sentence: what holds a repository, named by its ids or by words about each. */
export function namesOf(holders: readonly string[]): string {
  if (holders.length > NAMED_MAX) return `${holders.slice(0, NAMED_MAX).join(', ')} and others`
  return holders.length < 2 ? holders.join('') : `${holders.slice(0, -1).join(', ')} and ${holders.at(-1)}`
}
