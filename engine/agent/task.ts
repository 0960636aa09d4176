/** One task from start to outcome: the agent, its commits, the faults of the work, the gate, the landing. */
import { questionIn } from './answer.ts'
import { addAll, commit } from './commit.ts'
import { type Fault, faultIn, unaddedFault, unpushedFault } from './fault.ts'
import { gateFault } from './gate.ts'
import type { GitFailed } from './git.ts'
import { blockedBy, land } from './landing.ts'
import { type Conflicts, isUnstashed, merge, NO_CONFLICTS, unfinishedIn, unresolvedIn } from './merge.ts'
import { failedBy, failureOf, type Outcome, stoppedWith, tellOutcome } from './outcome.ts'
import { taskPrompt } from './prompts.ts'
import type { Run } from './run.ts'
import { runSession, type SessionEnd } from './session.ts'
import { areOnlyHere, CHECKED, isOfSubmodules, UNCHECKED, unheldIn } from './submodules.ts'
import { endOf } from './tail.ts'

/** Does the task and reports its outcome. Resolves to whether the run succeeded. Throws GitFailed if git fails. */
export async function doTask(run: Run): Promise<boolean> {
  const { work, worktree, isContinued, remains, stop } = run
  const isToMerge = isContinued && run.settings.land !== undefined && work.mayChange
  const { conflicts } = isToMerge ? merge(run, run.trunk!) : { conflicts: NO_CONFLICTS }
  const from = worktree.head()
  const isWhole = isContinued && work.mayChange && conflicts.size === 0
  const before = isWhole ? await faultBefore(run, from) : undefined
  if (stop.isMade) return false
  remains.mayGo = !work.mayChange
  remains.isBegun = true
  const agent = await runSession(run, taskPrompt(run, [...conflicts.keys()], before))
  // Lets a write error show that nobody reads the output.
  await new Promise((heard) => setImmediate(heard))
  const kept = work.mayChange ? await keep(run, from, conflicts) : NOTHING
  const { head, isChanged } = kept
  const { unpushed, fault } = await pushBranch(run, kept)
  const judged = agent.isDone ? await judge(run, { head, unpushed, agent, fault }) : failedBy(agent, isChanged)
  const outcome = stop.isMade && !judged.landed ? stoppedWith(run) : judged
  const failure = outcome && failureOf(run, outcome)
  if (outcome !== undefined) tellOutcome(run, from, outcome)
  if (failure !== undefined) run.report.failure(failure)
  // What has landed is on trunk, so its branch is deleted.
  if (judged.landed) await push(run, `:refs/heads/${work.branch}`)
  return agent.isDone && !stop.isMade && failure === undefined
}

/** The fault of the continued work as it stands. */
async function faultBefore(run: Run, from: string): Promise<Fault | undefined> {
  const fault = (await faultIn(run, from, { unresolved: [], unfinished: undefined })) ?? (await gateFault(run))
  run.worktree.sweep()
  return fault
}

/** The state of the work after the agent. */
interface Kept {
  /** The commit that is to land; undefined if there is none. */
  readonly head: string | undefined
  /** The agent has changed something. */
  readonly isChanged: boolean
  readonly fault: Fault | undefined
}

const NOTHING: Kept = { head: undefined, isChanged: false, fault: undefined }

/** Commits what the agent has changed. Throws git's error if nothing could be kept. */
async function keep(run: Run, from: string, conflicts: Conflicts): Promise<Kept> {
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

/**
 * Pushes the branch, if a remote is configured, and notes where the work is. An error of the push is a fault of the
 * work, or the remote's.
 */
async function pushBranch(run: Run, { head, fault }: Kept): Promise<Pick<Judged, 'unpushed' | 'fault'>> {
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

function push({ settings, worktree }: Run, ref: string, ...options: string[]): Promise<GitFailed | undefined> {
  return worktree.overNetwork('push', '--quiet', ...options, settings.push!, ref)
}

interface Judged {
  readonly head: string | undefined
  /** The remote's error about the branch. */
  readonly unpushed: GitFailed | undefined
  readonly agent: SessionEnd
  readonly fault: Fault | undefined
}

/** The outcome of the work of an agent that succeeded. */
async function judge(run: Run, { head, unpushed, agent, fault }: Judged): Promise<Outcome> {
  const { settings, work, stop } = run
  if (stop.isMade) return {}
  const question = questionIn(agent.text)
  if (question !== undefined) return { verdict: 'blocked_on_decision', summary: question.finding, ...question }
  const against = fault ?? (work.mayChange ? await gateFault(run) : undefined)
  if (against !== undefined) return { verdict: 'defect', ...against }
  const summary = endOf(agent.text) || (head === undefined ? 'nothing was changed' : 'changed without a report')
  const complete = { verdict: 'complete', summary } as const
  if (head === undefined) return { ...complete, success: true }
  if (settings.land === undefined) {
    const kept = `kept on ${work.branch}, since LAND names no branch to land it on`
    return { ...complete, summary: `${summary}\n(${kept})`, land_blocked: 'checkout_not_ready' }
  }
  if (unpushed !== undefined) return { ...complete, ...blockedBy(run, 'git_failed', unpushed.message) }
  const { head: last, ...outcome } = await land(run, head)
  const { landed = false } = outcome
  return { ...complete, success: landed, ...outcome, ...(landed ? { preservation_ref: last } : {}) }
}
