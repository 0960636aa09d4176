/** One task from start to outcome: the agent, its commits, the faults of the work, the gate, the landing. */
import { questionIn } from './answer.ts'
import { landedBranches } from './earlier.ts'
import { type Fault, faultIn } from './fault.ts'
import { gateFault } from './gate.ts'
import { keep, NOTHING, type Pushed, push, pushBranch } from './keep.ts'
import { blockedBy, land } from './landing.ts'
import { merge, NO_CONFLICTS } from './merge.ts'
import { failedBy, failureOf, type Outcome, stoppedWith, tellOutcome, tellStarted } from './outcome.ts'
import { taskPrompt } from './prompts.ts'
import type { Run } from './run.ts'
import { runSession, type SessionEnd } from './session.ts'
import { endOf } from './tail.ts'

/** Does the task and reports its outcome. Resolves to whether the run succeeded. Throws GitFailed if git fails. */
export async function doTask(run: Run): Promise<boolean> {
  const { work, worktree, isContinued, earlier, remains, stop } = run
  if (earlier !== undefined) {
    tellOutcome(run, run.base, landedBefore(run, earlier))
    for (const branch of await landedBranches(run)) await push(run, `:refs/heads/${branch}`)
    return true
  }
  const isToMerge = isContinued && run.settings.land !== undefined && work.mayChange
  const { conflicts } = isToMerge ? merge(run, run.trunk!) : { conflicts: NO_CONFLICTS }
  const from = worktree.head()
  const isWhole = isContinued && work.mayChange && conflicts.size === 0
  const before = isWhole ? await faultBefore(run, from) : undefined
  if (stop.isMade) return false
  remains.mayGo = !work.mayChange
  remains.isBegun = true
  if (work.mayChange) worktree.holds({ branch: work.branch, from })
  tellStarted(run)
  const agent = await runSession(run, taskPrompt(run, [...conflicts.keys()], before))
  // Lets a write error show that nobody reads the output.
  await new Promise((heard) => setImmediate(heard))
  const kept = work.mayChange ? await keep(run, from, conflicts) : NOTHING
  // What the gate leaves behind is nobody's work.
  if (remains.mayGo) worktree.holds(undefined)
  const { head, isChanged } = kept
  const { unpushed, fault } = await pushBranch(run, kept)
  const judged = agent.isDone ? await judge(run, { head, unpushed, agent, fault }) : failedBy(agent, isChanged)
  const outcome = stop.isMade && !judged.landed ? stoppedWith(run) : judged
  const failure = outcome && failureOf(run, outcome)
  if (outcome !== undefined) tellOutcome(run, from, outcome)
  if (failure !== undefined) run.report.failure(failure)
  // What is on trunk needs no branch. If an earlier attempt has landed instead, this one's work is not.
  if (judged.landed && run.clone.isWithin(head!, judged.preservation_ref!))
    await push(run, `:refs/heads/${work.branch}`)
  return agent.isDone && !stop.isMade && failure === undefined
}

/** The outcome if nothing is left to do: only work that is complete is pushed to trunk. */
function landedBefore({ settings }: Run, commit: string): Outcome {
  const summary = `an earlier attempt has landed it on ${settings.land}`
  return { verdict: 'complete', success: true, landed: true, summary, preservation_ref: commit }
}

/** The fault of the continued work as it stands. */
async function faultBefore(run: Run, from: string): Promise<Fault | undefined> {
  const fault = (await faultIn(run, from, { unresolved: [], unfinished: undefined })) ?? (await gateFault(run))
  run.worktree.sweep()
  return fault
}

interface Judged extends Pushed {
  readonly head: string | undefined
  readonly agent: SessionEnd
}

/** The outcome of the work of an agent that succeeded. */
async function judge(run: Run, { head, unpushed, agent, fault }: Judged): Promise<Outcome> {
  const { settings, work, stop } = run
  if (stop.isMade) return {}
  const question = questionIn(agent.text)
  if (question !== undefined) return { verdict: 'blocked_on_decision', summary: question.finding, ...question }
  const since = Date.now()
  const against = fault ?? (work.mayChange ? await gateFault(run) : undefined)
  const gateMs = Date.now() - since
  if (against !== undefined) return { verdict: 'defect', ...against }
  const summary = endOf(agent.text) || (head === undefined ? 'nothing was changed' : 'changed without a report')
  const complete = { verdict: 'complete', summary } as const
  if (head === undefined) return { ...complete, success: true }
  if (settings.land === undefined) {
    const kept = `kept on ${work.branch}, since LAND names no branch to land it on`
    return { ...complete, summary: `${summary}\n(${kept})`, land_blocked: 'checkout_not_ready' }
  }
  if (unpushed !== undefined) return { ...complete, ...blockedBy(run, 'git_failed', unpushed.message) }
  if (run.remains.mayGo) run.worktree.holds({ branch: work.branch, from: head, isLanding: true })
  const { head: last, ...outcome } = await land(run, head, gateMs)
  const { landed = false } = outcome
  return { ...complete, success: landed, ...outcome, ...(landed ? { preservation_ref: last } : {}) }
}
