/** Faults of the work itself, found before its gate runs: such work does not land, and whoever continues it is told. */
import { markedSince } from './merge.ts'
import type { Run } from './run.ts'
import { changedIn, isDeclared, isElsewhere, isPopulated, populate } from './submodules.ts'

export interface Fault {
  /** One line. */
  readonly summary: string
  readonly diagnosis: string
}

const UNPUSHED = 'a submodule is at a commit that was not pushed'

/** Git operations that the agent began and did not finish. */
interface Leftovers {
  /** Files in conflict. */
  readonly unresolved: readonly string[]
  /** The git command. */
  readonly unfinished: string | undefined
}

/** The first fault of the work at that commit; undefined if there is none. The gate is not run. */
export async function faultIn(
  run: Run,
  head: string,
  { unresolved, unfinished }: Leftovers,
): Promise<Fault | undefined> {
  const { settings, work, clone, worktree, base, since, isContinued, remains } = run
  if (isContinued && !clone.isWithin(base, worktree.head()))
    return { summary: 'the work that it continues is gone', diagnosis: `${work.base} is no longer part of it` }
  const files = [...unresolved, ...markedSince(run, head)].join(', ')
  if (files !== '')
    return {
      summary: `conflicts with ${settings.land ?? 'others'} are left`,
      diagnosis: `conflicts are left in ${files}`,
    }
  if (unfinished !== undefined) {
    const diagnosis = `the agent left a ${unfinished} unfinished${remains.aside}`
    return { summary: `a ${unfinished} is unfinished`, diagnosis }
  }
  const bare = changedIn(worktree, since, head, 'AT').filter(({ path }) => !isDeclared(worktree, path))
  if (bare.length > 0) {
    const names = bare.map(({ path }) => path).join(', ')
    const diagnosis = `the commit holds only the names of ${names}; ${staysIn(run)}`
    return { summary: 'repositories inside the repository are not submodules of it', diagnosis }
  }
  for (const { path, commit } of changedIn(worktree, since, head, 'AMT')) {
    if (isPopulated(worktree, path) && !isElsewhere(run, path, [commit]))
      return unpushedFault(run, `no remote of ${path} has ${commit}`)
    // Only the worktree of the run that made it may have had the commit.
    const fault = isContinued && !isPopulated(worktree, path) ? await populate(run, path) : undefined
    if (fault !== undefined) return { summary: UNPUSHED, diagnosis: fault.message }
  }
  return undefined
}

/** The work names a submodule commit that exists only in the worktree. */
export function unpushedFault(run: Run, why: string): Fault {
  return { summary: UNPUSHED, diagnosis: `${why}; ${staysIn(run)}` }
}

/** Git stores only part of the work. */
export function unaddedFault({ worktree }: Run, { message }: Error): Fault {
  return { summary: 'git does not keep all of the work', diagnosis: `${message}; the work stays in ${worktree.path}` }
}

/**
 * Keeps the worktree if the agent has run, as it then holds something that is nowhere else. Returns the note about it.
 */
function staysIn({ worktree, remains }: Run): string {
  remains.mayGo &&= !remains.isBegun
  return `the work stays in ${worktree.path}`
}
