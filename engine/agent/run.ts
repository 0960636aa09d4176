/** What the parts of a run share: its input, its place of work, and what it leaves behind. */
import type { Clone } from './clone.ts'
import type { Git } from './git.ts'
import type { ParentWatch } from './parent-watch.ts'
import type { Report } from './report.ts'
import type { Settings } from './settings.ts'
import type { Shell } from './shell.ts'
import type { StopRequest } from './stop-request.ts'
import type { Work } from './work.ts'
import type { Worktree } from './worktree.ts'

/** What a run has before its worktree exists. */
export interface Tools {
  readonly settings: Settings
  readonly work: Work
  readonly git: Git
  readonly clone: Clone
  readonly report: Report
  readonly stop: StopRequest
  readonly parent: ParentWatch
}

export interface Run extends Tools {
  readonly worktree: Worktree
  readonly shell: Shell
  /** The commit at which the worktree was created. */
  readonly base: string
  /** The newest commit of trunk at that time; undefined if there is none. */
  readonly trunk: string | undefined
  /** The commit of trunk as which an earlier attempt has landed, if one has. */
  readonly earlier: string | undefined
  /** Whether it continues an earlier run's work that is not on trunk. */
  readonly isContinued: boolean
  /** What would land are the commits after this one. */
  readonly since: string
  readonly remains: Remains
}

/** What the run leaves behind: the only part that changes while it runs. */
interface Remains {
  /**
   * Name of the branch that holds the work, prefixed with the remote if it was pushed; undefined if nothing was
   * changed.
   */
  keptAt: string | undefined
  /** The worktree holds nothing that is not elsewhere too, so it may be removed. */
  mayGo: boolean
  /** The agent was launched. */
  isBegun: boolean
  /** Appended to the summary: facts that have no field in the result, such as where the agent left commits. */
  aside: string
}
