/** Merges in the worktree: trunk into the work, and what the agent left of an unfinished merge, rebase or stash. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { requestLine } from './earlier.ts'
import { type GitFailed, gitFailureOf } from './git.ts'
import type { Run } from './run.ts'
import { contentOf, type Worktree } from './worktree.ts'

/** Files in which a merge conflicts, each with its content as git left it. */
export type Conflicts = ReadonlyMap<string, string | number | undefined>

export const NO_CONFLICTS: Conflicts = new Map()

/** Files in git's folder that show an unfinished operation. */
const BEGUN = {
  'rebase-merge': 'rebase',
  'rebase-apply': 'rebase',
  CHERRY_PICK_HEAD: 'cherry-pick',
  REVERT_HEAD: 'revert',
}

interface Merged {
  /** Git's error. Without conflicts, the merge failed for another reason: the disk is full, say. */
  readonly fault: GitFailed | undefined
  readonly conflicts: Conflicts
}

/** Merges a commit of trunk into the checked-out commit. */
export function merge(run: Run, commit: string): Merged {
  const { settings, work, clone, worktree } = run
  const said = ['-m', `Merge ${settings.land}`, '-m', requestLine(work)]
  const how = ['-c', 'merge.ff=true', ...clone.committer(), 'merge', '--quiet', ...said, commit]
  const fault = gitFailureOf(() => worktree.run(...how))
  const files = fault === undefined ? [] : unmergedIn(worktree)
  return { fault, conflicts: new Map(files.map((file) => [file, contentOf(join(worktree.path, file))])) }
}

function unmergedIn(worktree: Worktree): string[] {
  return worktree.list('diff', '--name-only', '-z', '--diff-filter=U')
}

/**
 * Files of a merge that are not resolved: they contain conflict markers, or (binary files get none) are still as the
 * merge left them. Of a merge that the agent began itself, all unmerged files count.
 */
export function unresolvedIn(worktree: Worktree, conflicts: Conflicts): string[] {
  const unmerged = new Set(unmergedIn(worktree))
  const isAsItWas = (file: string, path: string): boolean =>
    unmerged.has(file) && (!conflicts.has(file) || (existsSync(path) && contentOf(path) === conflicts.get(file)))
  const isLeft = (file: string): boolean => {
    const path = join(worktree.path, file)
    return isMarked(path) || isAsItWas(file, path)
  }
  return [...new Set([...conflicts.keys(), ...unmerged])].filter(isLeft)
}

/** The same for committed merges: files that differ from both parents were merged by hand. */
export function markedSince({ since, worktree }: Run, head: string): string[] {
  const merged = ['log', '--first-parent', '--merges', '-c', '--name-only', '-z', '--format=', `${since}..${head}`]
  return [...new Set(worktree.list(...merged))].filter((file) => isMarked(join(worktree.path, file)))
}

/** Whether it contains git's conflict markers. */
function isMarked(path: string): boolean {
  return /^(<{7}|>{7}) /m.test(String(contentOf(path) ?? ''))
}

/** The git command that the agent began and did not finish; undefined if there is none. */
export function unfinishedIn({ gitFolder }: Worktree): string | undefined {
  return Object.entries(BEGUN).find(([name]) => existsSync(join(gitFolder, name)))?.[1]
}

/**
 * Restores what the agent has stashed, if it left no other changes; returns whether that was done. Otherwise the stash
 * is reported. `from` is the commit at which the agent began.
 */
export function isUnstashed({ clone, worktree, work, remains }: Run, from: string): boolean {
  const stashed = stashedIn(worktree, work.branch)
  if (stashed === undefined) return false
  const isAll = worktree.head() === from && worktree.run('status', '--porcelain') === ''
  if (isAll && worktree.does('stash', 'apply', '--quiet', stashed)) return true
  remains.aside += ` (stashed, and not in it: ${stashed} in ${clone.path})`
  return false
}

/**
 * The newest stash entry of the branch that was not restored, as a commit. A clone has one stash for all its worktrees.
 */
function stashedIn(worktree: Worktree, branch: string): string | undefined {
  const entries = worktree.run('stash', 'list', '--format=%H %gs').split('\n')
  return entries.find((entry) => /^\S+ (WIP on|On) (.*?): /.exec(entry)?.[2] === branch)?.split(' ')[0]
}
