/**
 * A runner's command: a coding agent does one task in a git worktree of its own. Its changes are committed to a branch,
 * whatever the outcome, and the gate decides whether the task is complete. The same agent also decides the next step of
 * a campaign or an initiative: it then looks at trunk, and none of its changes are kept.
 */
import type { Writable } from 'node:stream'
import { NOT_BEGUN } from '../../machines/run-request/failure.ts'
import { Clone } from './clone.ts'
import { landedEarlier } from './earlier.ts'
import { Git, GitFailed, isOutside } from './git.ts'
import { clearLeftBehind } from './left-behind.ts'
import { stoppedWith, tellOutcome } from './outcome.ts'
import { ParentWatch } from './parent-watch.ts'
import { Refused } from './refused.ts'
import { Report } from './report.ts'
import type { Run, Tools } from './run.ts'
import { readSettings } from './settings.ts'
import { Shell } from './shell.ts'
import { findStart } from './start.ts'
import { decide } from './step.ts'
import { StopRequest } from './stop-request.ts'
import { goOn } from './tail.ts'
import { doTask } from './task.ts'
import { readWork } from './work.ts'
import { Worktree } from './worktree.ts'

interface AgentOptions {
  /** Holds the settings; inherited by everything that is run. */
  readonly environment: NodeJS.ProcessEnv
  /** Reads the Execution Request as JSON. */
  readonly readInput: () => string
  /** Gets events and the Run Result, one per line. */
  readonly stdout: Writable
  readonly stderr: Writable
  /**
   * Registers for signals: `onStop` is called when the runner asks for a stop, `onUnheard` when nobody reads the output
   * any more.
   */
  readonly outlive: (onStop: () => void, onUnheard: () => void) => void
}

/**
 * Does the requested work and reports it. Resolves to the exit code: 0, or 1 if the run failed, could not begin or was
 * stopped.
 */
export async function runAgent(options: AgentOptions): Promise<0 | 1> {
  const report = new Report(options.stdout, options.stderr)
  const stop = new StopRequest()
  options.outlive(
    () => stop.make(),
    () => stop.unheard(),
  )
  options.stderr.on('unpipe', goOn)
  try {
    const run = await begin(options, report, stop)
    return run !== undefined && (await carryOut(run)) ? 0 : 1
  } catch (error) {
    if (error instanceof Refused) report.notBegun(error.code, error.message)
    else if (isOutside(error)) report.notBegun('git_failed', error.message)
    else throw error
    return 1
  }
}

/**
 * Prepares the run. Throws Refused, or an outside error (`isOutside`), before a worktree exists. Resolves to undefined
 * if the run was stopped before that.
 */
async function begin(
  { environment, readInput, stderr }: AgentOptions,
  report: Report,
  stop: StopRequest,
): Promise<Run | undefined> {
  const parent = new ParentWatch()
  const settings = readSettings(environment)
  if (environment.LAND && settings.land === undefined) report.note('LAND has no effect without PUSH: nothing is landed')
  const work = readWork(readInput(), environment)
  const git = new Git({ environment, stderr, stop })
  const clone = new Clone({ git, settings, report, stop })
  checkRepository(clone)
  const tools: Tools = { settings, work, git, clone, report, stop, parent }
  const shell = new Shell({ environment, stderr, report, stop })
  // First, since this run may be to continue what such a run has made.
  await clearLeftBehind({ ...tools, shell })
  const start = await findStart(tools)
  if (start === undefined) return undefined
  const { base, trunk } = start
  const earlier = await landedEarlier(tools, trunk)
  if (stop.isMade) return undefined
  const worktree = await Worktree.add(tools, base)
  // Whoever kills this process finds the work by this line.
  if (work.mayChange) report.note(`working in ${worktree.path}, on the branch ${work.branch}`)
  const isPreserved = /(^|\/)intendant\//.test(String(work.request.engine.payload.base_ref ?? ''))
  const isContinued = isPreserved && trunk !== undefined && !clone.isWithin(base, trunk)
  const remains = { keptAt: undefined, mayGo: true, isBegun: false, aside: '' }
  const since = isContinued ? trunk : base
  return { ...tools, worktree, shell, base, trunk, earlier, isContinued, since, remains }
}

/** Throws Refused if the clone is no git repository, and GitUnavailable if git cannot be run. */
function checkRepository(clone: Clone): void {
  try {
    clone.run('rev-parse', '--git-dir')
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error
    throw new Refused('no_repository', `${clone.path} is not a git repository that this user may read`)
  }
}

/** Does the work; resolves to whether it succeeded. Anything left behind in the clone or elsewhere is reported. */
async function carryOut(run: Run): Promise<boolean> {
  const { work, clone, worktree, base, shell, stop, parent, remains } = run
  // What it does can reach nobody any more, and its run may be another runner's soon.
  const orphaned = parent.whenGone(() => {
    shell.endAll()
    stop.make()
  })
  try {
    return await (work.isStep ? decide(run) : doTask(run))
  } catch (error) {
    // The agent may have committed its work itself.
    const made = remains.isBegun && !work.isStep ? clone.commitOf(`refs/heads/${work.branch}`) : undefined
    if (made !== undefined && !clone.isWithin(made, base)) remains.keptAt ??= work.branch
    if (!isOutside(error)) throw error
    giveUp(run, error)
    return false
  } finally {
    clearInterval(orphaned)
    shell.close()
    if (remains.mayGo || !worktree.isThere()) await worktree.takeDown(remains.keptAt !== work.branch)
    else worktree.leave()
  }
}

/** Ends a run because git failed. Whatever was done stays where it is, and the report names the place. */
function giveUp(run: Run, { message }: Error): void {
  const { work, worktree, base, report, stop, remains } = run
  if (stop.isMade) {
    report.note(message)
    const outcome = work.isStep ? undefined : stoppedWith(run)
    if (outcome !== undefined) tellOutcome(run, base, outcome)
    return
  }
  const left = remains.mayGo ? remains.keptAt : worktree.path
  const isThere = remains.mayGo || worktree.isThere()
  const where = isThere ? left && `the work is in ${left}` : `${worktree.path} is gone`
  const detail = [message, where].filter(Boolean).join('; ')
  const failure = { class: remains.isBegun ? 'execution' : NOT_BEGUN, code: 'git_failed', message: detail }
  if (!work.isStep)
    tellOutcome(run, base, {
      verdict: 'runner_error',
      summary: detail,
      detail,
      failure_class: failure.class,
      failure_code: failure.code,
      ...(remains.mayGo ? {} : { worktree: worktree.path }),
    })
  report.failure(failure)
}
