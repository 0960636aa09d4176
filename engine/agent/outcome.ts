/** The outcome of a task as `task_run_completed` (SPEC 6.7). */
import type { taskRunCompleted } from '../../machines/events/task.ts'
import { AGENT_MISSING, NOT_BEGUN, STOPPED, saysOutage } from '../../machines/run-request/failure.ts'
import type { Static } from '../../machines/schema.ts'
import { dispatcherOf, type Failure } from '../result.ts'
import type { Run } from './run.ts'
import type { SessionEnd } from './session.ts'
import { endOf } from './tail.ts'

/**
 * The event's payload. A failed run states its failure here too, so that the dispatching entity can recognize failures
 * that are not the task's.
 */
export type TaskResult = Static<typeof taskRunCompleted> & {
  readonly failure_class?: string
  readonly failure_code?: string
  /** When an unavailable provider is back, RFC 3339. */
  readonly retry_after?: string
  /** Where the files are, if git failed to store them. */
  readonly worktree?: string
}

/** Empty for a run that was stopped before its work was judged. */
export type Outcome = Partial<TaskResult>

/** Nothing was done, and the next task would not find the agent either: another runner may have it. */
export function notThere(message: string): Failure {
  return { class: NOT_BEGUN, code: AGENT_MISSING, message }
}

/** The outcome of an agent session that failed. `isKept`: the agent had changed something. */
export function failedBy({ isThere, limit, how, text, complaint }: SessionEnd, isKept: boolean): Outcome {
  if (limit !== undefined) {
    const { code: failure_code, message, ...when } = limit
    const failure_class = isKept ? 'execution' : NOT_BEGUN
    return {
      verdict: 'runner_error',
      summary: `${how}: ${message}`,
      detail: message,
      failure_class,
      failure_code,
      ...when,
    }
  }
  const detail = [how, endOf(text) || complaint].filter(Boolean).join(': ')
  const said = { verdict: 'runner_error', summary: how, detail } as const
  return isThere || isKept ? said : { ...said, failure_class: NOT_BEGUN, failure_code: AGENT_MISSING }
}

/**
 * What a stopped run reports: where its work is, and not how it ended, which the end of the run says. Undefined if
 * nothing was changed.
 */
export function stoppedWith({ worktree, remains: { keptAt, mayGo } }: Run): Outcome | undefined {
  if (keptAt === undefined && mayGo) return undefined
  const summary = 'the run was stopped'
  const where = mayGo ? {} : { worktree: worktree.path }
  return { verdict: 'runner_error', summary, detail: summary, failure_class: STOPPED, ...where }
}

/**
 * The failure of a run that must fail: one without an item to carry the verdict, or one whose agent is not available.
 */
export function failureOf({ work, settings, remains }: Run, outcome: Outcome): Failure | undefined {
  const { verdict, summary, diagnosis, detail, failure_class, failure_code, land_blocked } = outcome
  if (saysOutage(failure_code)) return { class: failure_class!, code: failure_code!, message: endOf(detail!) }
  const code = verdict === 'complete' ? (settings.land === undefined ? undefined : land_blocked) : verdict
  const isItems = work.request.engine.payload.item_id !== undefined
  if (isItems || code === undefined || verdict === 'runner_error') return undefined
  const where = remains.keptAt === undefined ? undefined : `the work is in ${remains.keptAt}`
  return { class: 'semantic', code, message: endOf([summary, diagnosis, where].filter(Boolean).join('\n')) }
}

/**
 * Reports where the task is worked on. If this process is killed, that is the only word of it, and the next run keeps
 * what is there on that branch.
 */
export function tellStarted({ work, worktree, report }: Run): void {
  report.event(work.job.started, {
    project: work.request.project.key,
    ...(work.mayChange ? { branch: work.branch } : {}),
    worktree: worktree.path,
    ...dispatcherOf(work.request),
  })
}

/** Reports the outcome. `from` is the commit at which the agent began. */
export function tellOutcome({ work, trunk, report, remains }: Run, from: string, outcome: Outcome): void {
  const result = {
    project: work.request.project.key,
    success: false,
    landed: false,
    ...(remains.keptAt === undefined ? {} : { preservation_ref: remains.keptAt }),
    ...outcome,
    summary: `${outcome.summary}${remains.aside}`,
    workspace_base: { commit: from, trunk: trunk ?? from },
    ...dispatcherOf(work.request),
  } as TaskResult
  report.event(work.job.completed, work.job.tell(result, work.request.engine.payload))
  // The service gives the run to a runner again when the provider is back, to go on from there.
  const { preservation_ref, retry_after } = result
  if (saysOutage(result.failure_code)) report.result({ preservation_ref, retry_after })
}
