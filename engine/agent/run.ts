/** What the parts of a run share: what it was given, where it works, and what is left of it as far as it has come. */
import type { Clone } from './clone.ts'
import type { Git } from './git.ts'
import type { Giver } from './giver.ts'
import type { Report } from './report.ts'
import type { Settings } from './settings.ts'
import type { Shell } from './shell.ts'
import type { StopRequest } from './stop-request.ts'
import type { Work } from './work.ts'
import type { Worktree } from './worktree.ts'

/** What a run has before it has a place to work in. */
export interface Tools {
  readonly settings: Settings
  readonly work: Work
  readonly git: Git
  readonly clone: Clone
  readonly report: Report
  readonly stop: StopRequest
  readonly giver: Giver
}

export interface Run extends Tools {
  readonly worktree: Worktree
  readonly shell: Shell
  /** The commit that the worktree was made at. */
  readonly base: string
  /** The newest commit of trunk then; undefined: there is none. */
  readonly trunk: string | undefined
  /** Whether it goes on from work of an earlier run that is not on trunk. */
  readonly isContinued: boolean
  /** Behind this commit is what would land. */
  readonly since: string
  readonly remains: Remains
}

/** What is left of a run. The one part of it that changes while it runs. */
interface Remains {
  /** The name of the branch that has the work, with its remote if it is there; undefined: nothing was changed. */
  keptAt: string | undefined
  /** Nothing is in the worktree that is nowhere else. */
  mayGo: boolean
  /** The agent was launched. */
  isBegun: boolean
  /** Behind the summary: what the result's members have no word for, such as where commits are that the agent left behind. */
  aside: string
}
