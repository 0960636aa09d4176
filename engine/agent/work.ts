/** The requested work: the Execution Request from standard input, and the run's brief. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { READ_ONLY_ENTRY_EVENTS } from '../../machines/work-item/entry.ts'
import { type ExecutionRequest, identityOf, unfit } from '../execution-request.ts'
import { branchOf } from './branch.ts'
import { JOBS, type Job, TASK } from './jobs.ts'
import { Refused } from './refused.ts'

export interface Work {
  readonly request: ExecutionRequest
  /** Whether the next step of a campaign or an initiative is requested, which the agent only decides. */
  readonly isStep: boolean
  /** What is asked for. Of no importance for such a step. */
  readonly job: Job
  readonly mayChange: boolean
  /** The branch of this attempt alone. */
  readonly branch: string
  /** What the agent is asked to do, unless it is a step. */
  readonly task: string
  /** What more it is told: JSON, undefined if nothing. */
  readonly context: unknown
  /** Name of the commit to begin at: a branch, tag or revision, with or without a remote. Undefined: trunk. */
  readonly base: string | undefined
  /** The prompt of the run's brief; undefined: the task's own text is used. */
  readonly briefPrompt: string | undefined
}

/** `text` is the Execution Request as JSON. Throws Refused. */
export function readWork(text: string, environment: NodeJS.ProcessEnv): Work {
  const request = readRequest(text)
  const { request_id, attempt, engine, repo } = request
  const { payload } = engine
  const isStep = READ_ONLY_ENTRY_EVENTS.has(engine.entry_event)
  const job = isStep ? TASK : JOBS.get(engine.entry_event)
  if (job === undefined) throw new Refused('unsupported_entry_event', unserved(engine.entry_event))
  // Its gates are commands: only an owner, not whoever makes a request by hand, may have them run.
  if (isStep && request.work_item_id === undefined)
    throw new Refused(
      'unsupported_entry_event',
      'a next step must belong to the campaign or initiative that asks for it',
    )
  const { INTENDANT_BRIEF_FILE: briefFile, INTENDANT_PROMPTS_DIR: prompts } = environment
  const objective = String(payload.objective ?? (briefFile ? objectiveOf(briefFile) : '')).trim()
  const task = job.ask(objective, payload)
  if (!isStep && task === '') throw new Refused('no_objective', 'the task has no objective')
  return {
    request,
    isStep,
    job,
    mayChange: !isStep && engine.throttle === 'full' && engine.access !== 'read_only',
    branch: branchOf(request_id, attempt),
    task,
    context: job.context(payload),
    base: typeof payload.base_ref === 'string' ? payload.base_ref : (repo?.revision ?? repo?.branch),
    briefPrompt: prompts ? promptIn(prompts) : undefined,
  }
}

function unserved(entryEvent: string): string {
  const served = [...JOBS.keys()].join(', ')
  return `intendant agent does not handle ${entryEvent}, only ${served} and the next steps of campaigns and initiatives: give it to a runner with another command, and declare what this one serves (intendant engine declare)`
}

function readRequest(text: string): ExecutionRequest {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {}
  if (identityOf(body) === undefined) {
    const message = 'standard input is not an Execution Request (JSON): this command is run by a runner (--exec)'
    throw new Refused('malformed_execution_request', message)
  }
  const fault = unfit(body as Record<string, any>)
  if (fault !== undefined) throw new Refused(fault.code, fault.message)
  return body as ExecutionRequest
}

function objectiveOf(briefFile: string): unknown {
  try {
    return JSON.parse(readFileSync(briefFile, 'utf8')).snapshot.mission.objective
  } catch (error) {
    throw new Refused('no_brief', `INTENDANT_BRIEF_FILE is not a compiled brief: ${(error as Error).message}`)
  }
}

function promptIn(folder: string): string | undefined {
  const file = join(folder, 'execution.md')
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}
