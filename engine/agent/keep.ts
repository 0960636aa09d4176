/** What the agent has changed is kept on the run's branch, in the clone or on the remote, whatever came of it. */
import { addAll, commit } from './commit.ts'
import { type Fault, faultIn, unaddedFault, unpushedFault } from './fault.ts'
import type { GitFailed } from './git.ts'
import { type Conflicts, isUnstashed, unfinishedIn, unresolvedIn } from './merge.ts'
import type { Run } from './run.ts'
import { areOnlyHere, CHECKED, isOfSubmodules, UNCHECKED, unheldIn } from './submodules.ts'

/** The state of the work after the agent. */
interface Kept {
  /** The commit that is to land; undefined if there is none. */
  readonly head: string | undefined
  /** The agent has changed something. */
  readonly isChanged: boolean
  readonly fault: Fault | undefined
}

export const NOTHING: Kept = { head: undefined, isChanged: false, fault: undefined }

/** Commits what the agent has changed. Throws git's error if nothing could be kept. */
export async function keep(run: Run, from: string, conflicts: Conflicts): Promise<Kept> {
  const { work, worktree, isContinued, remains } = run
  await worktree.regain()
  const isStashed = isUnstashed(run, from)
  const unresolved = unresolvedIn(worktree, conflicts)
  const unfinished = isStashed ? 'stash' : unfinishedIn(worktree)
  // Not committed as a merge, so that whoever continues it meets the conflicts again.
  if (unresolved.length > 0) worktree.run('merge', '--quit')
  const unadded = addAll(worktree)
  const made = commit(run, from)
  if (unadded !== undefined && made === undefined) throw unadded
  const unkept = unadded ?? unheldIn(worktree)
  remains.mayGo = unkept === undefined && !areOnlyHere(run, from)
  const fault =
    unkept === undefined ? await faultIn(run, made ?? from, { unresolved, unfinished }) : unaddedFault(run, unkept)
  // Continued work is to land even if nothing more had to be done.
  const head = made ?? (isContinued ? from : undefined)
  if (made === undefined && isContinued) worktree.run('update-ref', `refs/heads/${work.branch}`, from)
  return { head, isChanged: made !== undefined || unkept !== undefined, fault }
}

export interface Pushed {
  /** The remote's error about the branch. */
  readonly unpushed: GitFailed | undefined
  readonly fault: Fault | undefined
}

/**
 * Pushes the branch, if a remote is configured, and notes where the work is. An error of the push is a fault of the
 * work, or the remote's.
 */
export async function pushBranch(run: Run, { head, fault }: Kept): Promise<Pushed> {
  const { settings, work, remains } = run
  if (head === undefined) return { unpushed: undefined, fault }
  remains.keptAt = work.branch
  if (settings.push === undefined) return { unpushed: undefined, fault }
  const ref = `${head}:refs/heads/${work.branch}`
  const refused = await push(run, ref, CHECKED)
  const isUnpushable = refused !== undefined && isOfSubmodules(refused)
  const unpushed = isUnpushable ? await push(run, ref, UNCHECKED) : refused
  if (unpushed === undefined) remains.keptAt = `${settings.push}/${work.branch}`
  return { unpushed, fault: fault ?? (isUnpushable ? unpushedFault(run, refused.message) : undefined) }
}

export function push({ settings, worktree }: Run, ref: string, ...options: string[]): Promise<GitFailed | undefined> {
  return worktree.overNetwork('push', '--quiet', ...options, settings.push!, ref)
}
