/** What the agent changed, as commits on the branch of the run: whatever came of it, wherever in git it went. */
import { clipped } from '../../machines/clipped.ts'
import type { Run } from './run.ts'
import type { Worktree } from './worktree.ts'

/** Longest first line of a commit's message, characters. */
const SUBJECT_CHARS_MAX = 72

/** Adds what there is, for the next commit. What git has against some of it, or the machine; undefined: nothing. */
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
 * Commits what was added, and has the branch hold all that the agent made; what does not follow from another stays on a branch beside
 * it. `from`: where the agent began. Returns the newest commit, which is checked out; undefined: it holds nothing that is new.
 */
export function commit(run: Run, from: string): string | undefined {
  const { work, clone, worktree, remains } = run
  const isMerge = worktree.does('rev-parse', '--quiet', '--verify', 'MERGE_HEAD')
  if (isMerge || !worktree.does('diff', '--cached', '--quiet', '--ignore-submodules=none')) commitAdded(run)
  // It may have made a branch of its own, renamed this one, or gone back from what it had committed.
  const ref = `refs/heads/${work.branch}`
  const [head, left] = [worktree.head(), clone.commitOf(ref) ?? from]
  const trunk = clone.trunk()
  const isOld = (commit: string): boolean =>
    clone.isWithin(commit, from) || (trunk !== undefined && clone.isWithin(commit, trunk))
  if (isOld(head)) {
    // The gate is asked about what is to land.
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

function commitAdded({ work, clone, git, worktree }: Run): void {
  const subject = clipped(work.task.split('\n')[0]!, SUBJECT_CHARS_MAX)
  const message = `${subject}\n\nIntendant-Request: ${work.request.request_id}\n`
  git.run(worktree.path, [...clone.committer(), 'commit', '--quiet', '--file=-'], message)
}
