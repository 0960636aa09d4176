/**
 * One session of the agent: launches it with a prompt, records its transcript, and reports it as `agent_session_*`
 * (SPEC 6.17).
 */
import { randomUUID } from 'node:crypto'
import { basename, resolve } from 'node:path'
import { endInWords } from '../command.ts'
import { type Limit, limitIn } from './limit.ts'
import type { Run } from './run.ts'
import { endOf } from './tail.ts'

/** A shell's exit codes for a program that cannot be run or is not found (POSIX, 2.8.2). */
const NOT_THERE = [126, 127]

export interface SessionEnd {
  readonly isDone: boolean
  readonly isThere: boolean
  /** Its provider gives no answers: it could not go on. */
  readonly limit: Limit | undefined
  /** The agent's last output. */
  readonly text: string
  /** How it ended, for people. */
  readonly how: string
  /** The end of its standard error. */
  readonly complaint: string
}

/** Launches the agent in the worktree, and reports the session. */
export async function runSession(run: Run, prompt: string): Promise<SessionEnd> {
  const { settings, work, worktree, shell, report, stop } = run
  const { request, isStep, mayChange } = work
  const session_id = randomUUID()
  const transcript = resolve(settings.transcripts, `${session_id}.jsonl`)
  const name = programOf(settings.agent)
  report.event('agent_session_started', {
    session_id,
    agent_type: name,
    project: request.project.key,
    working_dir: worktree.path,
    source_log_path: transcript,
    capability: isStep ? 'reasoning' : 'coding',
    access: mayChange ? 'full' : 'read_only',
    started_at: new Date().toISOString(),
    trace_id: request.trace?.trace_id ?? '',
  })
  const ended = await shell.run(settings.agent, { cwd: worktree.path, input: prompt, transcript })
  const { code } = ended
  const isThere = code === null || !NOT_THERE.includes(code)
  const { text, cost } = lastWord(ended.printed)
  const said = { code, printed: text, complained: ended.complained }
  const limit = isThere && !stop.isMade ? limitIn(said, settings.limit, Date.now()) : undefined
  const isDone = code === 0 && limit === undefined
  const exit = code === null ? {} : { exit_code: code }
  const how = isThere ? { ...exit, ...(limit && { error: limit.message }) } : { error: `${name} could not be run` }
  report.event('agent_session_ended', {
    session_id,
    status: isDone ? 'ok' : isThere && limit === undefined ? 'agent_failed' : 'unavailable',
    ended_at: new Date().toISOString(),
    bytes_written: ended.bytes,
    ...how,
    ...(cost === undefined ? {} : { cost: { USD: cost, basis: 'as the agent says' } }),
  })
  return { isDone, isThere, limit, text, how: `the agent ${endInWords(ended)}`, complaint: endOf(ended.complained) }
}

/**
 * Name of the program that a command runs. No other word of the command is reported, since secrets may stand before or
 * after it (`KEY=... agent`).
 */
export function programOf(command: string): string {
  const settings = /^(?:\s*[A-Za-z_]\w*=(?:'[^']*'|"(?:\\.|[^"\\])*"|\$\([^)]*\)|\\.|[^\s'"\\])*(?=\s))*/
  const [word = ''] = command.replace(settings, '').trim().split(/\s/)
  return (word.includes('=') ? '' : basename(word).replace(/[^\w.+@-]/g, '')) || 'agent'
}

/**
 * The output as text, or the result in the last line of `claude -p --output-format json` (or `stream-json`); `cost` in
 * US dollars.
 */
function lastWord(printed: string): { readonly text: string; readonly cost?: number } {
  try {
    const { result, total_cost_usd: cost } = JSON.parse(printed.split('\n').at(-1)!)
    if (typeof result === 'string') return { text: result, ...(typeof cost === 'number' && { cost }) }
  } catch {}
  return { text: printed }
}
