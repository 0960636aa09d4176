/**
 * How a command's end is reported to the service: the Run Result, the failure, and for a task the typed verdict that
 * settles it. Pure: computed from the request, the command's end and what it stated.
 */
import { FAILURE_CLASSES } from '../machines/documents/run-request.ts'
import { RUN_STATUSES } from '../machines/documents/run-result.ts'
import { type CommandEnd, endInWords } from './command.ts'
import { type ExecutionRequest, isObject } from './execution-request.ts'

export const RUN_RESULT_SCHEMA = 'intendant.run_result.v1'

/** How much of the end of standard error goes into a failure's message, in characters. */
export const STDERR_TAIL_CHARS = 2_000

/** Bounds of a failure's fields at the service, in characters. */
export const MESSAGE_CHARS_MAX = 4_000
const CODE_CHARS_MAX = 128
const WORD_CHARS_MAX = 1_000
const STATUSES: readonly string[] = RUN_STATUSES

export interface Failure {
  readonly class: string
  readonly code?: string
  readonly message: string
}

export interface CommandStory {
  readonly request: ExecutionRequest
  readonly engineRunId: string | undefined
  readonly end: CommandEnd
  /** The command's last Run Result line, if there was one. */
  readonly said: Readonly<Record<string, unknown>> | undefined
  readonly stderrTail: string
  /** RFC 3339. */
  readonly at: string
}

/** The Run Result: what the command stated, with the run's identity, which the command cannot change. */
export function runResult(story: CommandStory, failure?: Failure): Record<string, unknown> {
  const { request, said, end } = story
  const { failure: _, status = STATUSES[0], ...own } = said ?? {}
  return {
    completed_at: story.at,
    ...own,
    schema_version: RUN_RESULT_SCHEMA,
    // A failed run's status is in its failure.
    ...(failure === undefined ? { status } : {}),
    run_request_id: request.request_id,
    ...(story.engineRunId === undefined ? {} : { engine_run_id: story.engineRunId }),
    project_id: request.project.id,
    entry_event: request.engine.entry_event,
    throttle: request.engine.throttle,
    ...(request.brief ? { brief_id: request.brief.id, brief_digest: request.brief.digest } : {}),
    ...(end.code === null ? {} : { exit_code: end.code }),
  }
}

/** How long the work waited for its turn to land, as the end of a sentence; empty if the command stated no such wait. */
export function waitInWords({ landing_waited_ms: ms }: NonNullable<CommandStory['said']> = {}): string {
  return typeof ms === 'number' ? `; it waited ${(ms / 1_000).toFixed(1)} s for its turn to land` : ''
}

/** Why the run failed; undefined if it did not: exit code 0, and no Run Result that says otherwise. */
export function failureOf(story: CommandStory): Failure | undefined {
  const { end, said, stderrTail } = story
  const failure = said?.failure ?? undefined
  if (failure !== undefined) return saidFailure(isObject(failure) ? failure : { message: wordOf(failure) })
  if (end.error !== undefined) {
    return {
      class: 'execution',
      code: 'command_not_started',
      message: `the command could not be started: ${end.error.message}`,
    }
  }
  if (end.code === 0) return statusFailure(said?.status)
  const how = endInWords(end)
  const code = end.signal === null ? `exit_${end.code}` : `signal_${end.signal.slice(3).toLowerCase()}`
  const tail = stderrTail.trim()
  return { class: 'execution', code, message: tail === '' ? `the command ${how}` : `the command ${how}: ${tail}` }
}

function saidFailure(failure: Record<string, any>): Failure {
  const said = typeof failure.message === 'string' ? failure.message : ''
  const isClass = FAILURE_CLASSES.includes(failure.class)
  const other = isClass || failure.class === undefined ? '' : ` (its class ${wordOf(failure.class)} is unknown)`
  return {
    class: isClass ? failure.class : 'execution',
    ...(typeof failure.code === 'string' && failure.code !== '' ? { code: failure.code.slice(0, CODE_CHARS_MAX) } : {}),
    message: `${said === '' ? 'the command reported a failure' : said}${other}`.slice(0, MESSAGE_CHARS_MAX),
  }
}

/** Any status but the two successful ones counts as a failure, whatever was meant. */
function statusFailure(status: unknown = 'completed'): Failure | undefined {
  if (STATUSES.includes(status as string)) return undefined
  const message = `the command’s Run Result has the status ${wordOf(status)}: a successful status is ${STATUSES.join(' or ')}`
  return { class: 'execution', code: 'run_result_status', message }
}

function wordOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, WORD_CHARS_MAX) : JSON.stringify(value).slice(0, WORD_CHARS_MAX)
}

/** Whether `task_run_completed` settles a request with this entry event. */
export function isTask(request: ExecutionRequest): boolean {
  return request.engine.entry_event === 'execution_requested'
}

/**
 * The payload of `task_run_completed` (SPEC 6.7) for a command that stated none. The runner knows of no landing: a
 * command that lands work states that in an event of its own.
 */
export function taskResult(
  request: ExecutionRequest,
  failure: Failure | undefined,
  said: CommandStory['said'] = undefined,
): Record<string, unknown> {
  return {
    project: request.project.key,
    success: failure === undefined,
    landed: false,
    summary: failure === undefined ? 'the command ended with exit code 0' : failure.message,
    verdict: failure === undefined ? 'complete' : 'runner_error',
    ...(failure === undefined ? {} : { detail: failure.message }),
    // A run that could not begin, or a provider that cannot be used, is not the task's fault: the fields let the
    // dispatching entity see that.
    ...(failure === undefined ? {} : { failure_class: failure.class }),
    ...(failure?.code === undefined ? {} : { failure_code: failure.code }),
    ...(failure === undefined || said?.retry_after === undefined ? {} : { retry_after: said.retry_after }),
    ...dispatcherOf(request),
  }
}

/** The entity that dispatched the task, as each of its events carries it (SPEC 6.7); nothing for other work. */
export function dispatcherOf(request: ExecutionRequest): Record<string, unknown> {
  if (!isTask(request)) return {}
  const { campaign, campaign_cycle: cycle } = request.engine.payload
  return {
    ...(typeof campaign === 'string' ? { campaign } : {}),
    ...(Number.isSafeInteger(cycle) ? { campaign_cycle: cycle } : {}),
  }
}
