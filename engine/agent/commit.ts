/**
 * Turns what the agent changed into commits on the run's branch, whatever the outcome, and wherever in git the agent
 * left it.
 */
import { clipped } from '../../machines/clipped.ts'
import { requestLine } from './earlier.ts'
import type { Run } from './run.ts'
import type { Worktree } from './worktree.ts'

/** Longest subject line of a commit message, in characters. */
const SUBJECT_CHARS_MAX = 72

/** Stages everything for the next commit. Returns the error of git or the machine about the rest, or undefined. */
export function addAll(worktree: Worktree): Error | undefined {
  try {
    worktree.run('add', '--all')
    return undefined
  } catch (error) {
    worktree.does('add', '--all', '--ignore-errors')
    return error as Error
  }
}

/**
 * Commits what is staged, and makes the run's branch hold everything the agent made; commits that cannot be part of it
 * stay on a branch beside it. `from` is the commit at which the agent began. Returns the newest commit, which is
 * checked out, or undefined if nothing is new.
 */
export function commit(run: Run, from: string): string | undefined {
  const { work, clone, worktree, remains } = run
  const isMerge = worktree.does('rev-parse', '--quiet', '--verify', 'MERGE_HEAD')
  if (isMerge || !worktree.does('diff', '--cached', '--quiet', '--ignore-submodules=none')) commitAdded(run)
  // The agent may have created its own branch, renamed this one, or moved back from its own commits.
  const ref = `refs/heads/${work.branch}`
  const [head, left] = [worktree.head(), clone.commitOf(ref) ?? from]
  const trunk = clone.trunk()
  const isOld = (commit: string): boolean =>
    clone.isWithin(commit, from) || (trunk !== undefined && clone.isWithin(commit, trunk))
  if (isOld(head)) {
    // The gate checks the commit that is to land, so it is checked out.
    if (left !== head) worktree.checkout(left)
    return isOld(left) ? undefined : left
  }
  if (!clone.isWithin(left, head)) {
    worktree.run('update-ref', `${ref}-left`, left)
    remains.aside += ` (commits that are not in it: ${work.branch}-left in ${clone.path})`
  }
  worktree.run('update-ref', ref, head)
  return head
}

/**
 * Adds a commit that changes nothing and names the request, as all of the work's commits may be the agent's own: its
 * next attempt could not know that it has landed (`earlier.ts`). Returns it; it is checked out. Throws as `Git.run` does.
 */
export function commitName(run: Run, head: string): string {
  const { worktree } = run
  worktree.checkout(head)
  worktree.sweep()
  commitAdded(run, '--allow-empty')
  return worktree.head()
}

function commitAdded({ work, clone, git, worktree }: Run, ...options: string[]): void {
  const subject = clipped(work.task.split('\n')[0]!, SUBJECT_CHARS_MAX)
  const message = `${subject}\n\n${requestLine(work)}\n`
  git.run(worktree.path, [...clone.committer(), 'commit', '--quiet', ...options, '--file=-'], message)
}
