/**
 * A run's command: a shell in a process group of its own, so that stopping it stops everything it started. The
 * request goes to its standard input; the service's credentials never reach it.
 */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { BriefFiles } from './brief.ts'
import type { ExecutionRequest } from './execution-request.ts'
import { statusOf } from './process-status.ts'
import type { MajorTasks } from './service-limits.ts'

/** How long output may still arrive after a command and its group are gone, milliseconds. */
export const LAST_OUTPUT_MS = 2_000
/** How long a group that got SIGKILL may take to be gone, milliseconds. */
const GONE_MS = 1_000
const GROUP_LOOK_MS = 20
const GROUP_LOOK_MS_MAX = 250

export interface CommandEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The command could not be started at all. */
  readonly error?: Error
}

export interface Command {
  readonly pid: number | undefined
  /** Resolves when the command has ended, its process group is gone and its output is read. Never rejects. */
  readonly ended: Promise<CommandEnd>
  /** Whether the command itself has ended: the rest of its group, and its output, may still take a while. */
  readonly isOver: () => boolean
  /** Asks the group to end (SIGTERM), and ends it (SIGKILL) when `graceMs` have passed. Only the first call does. */
  stop(graceMs: number): void
  /** Ends the group at once (SIGKILL). */
  kill(): void
  /** Stops reading the output: the command blocks on its next write once the pipe is full. */
  pause(): void
  resume(): void
}

interface CommandOptions {
  /** For `/bin/sh -c`. */
  readonly command: string
  readonly cwd?: string
  readonly environment: NodeJS.ProcessEnv
  readonly input: string
  readonly onStdout: (chunk: Buffer) => void
  readonly onStderr: (chunk: Buffer) => void
  /** How long what the command left behind in its group may take to end by itself after SIGTERM, milliseconds. */
  readonly leftoverGraceMs: number
}

/**
 * The environment of a command: the runner's own without `ENGINE_*` (where to find the service and with what
 * token), the run's identity and W3C trace context for tools that continue traces, and what maintenance may dispatch.
 */
export function commandEnvironment(
  environment: NodeJS.ProcessEnv,
  request: ExecutionRequest,
  runnerId: string,
  brief: BriefFiles | undefined,
  majorTasks: MajorTasks,
): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(([name]) => !name.startsWith('ENGINE_') && name !== 'TRACEPARENT')
  const given: NodeJS.ProcessEnv = {
    ...Object.fromEntries(kept),
    INTENDANT_RUNNER_ID: runnerId,
    INTENDANT_REQUEST_ID: request.request_id,
    INTENDANT_ATTEMPT: String(request.attempt),
    INTENDANT_PROJECT: request.project.key,
    INTENDANT_ENTRY_EVENT: request.engine.entry_event,
    INTENDANT_THROTTLE: request.engine.throttle,
  }
  if (brief !== undefined) {
    given.INTENDANT_BRIEF_FILE = brief.brief
    given.INTENDANT_PROMPTS_DIR = brief.prompts
  }
  const { perProject, perNight } = majorTasks
  if (perProject !== undefined) given.INTENDANT_MAJOR_TASKS_PER_PROJECT = String(perProject)
  if (perNight !== undefined) given.INTENDANT_MAJOR_TASKS_PER_NIGHT = String(perNight)
  if (request.trace?.traceparent !== undefined) given.TRACEPARENT = request.trace.traceparent
  return given
}

export function startCommand(options: CommandOptions): Command {
  let child: ChildProcessWithoutNullStreams
  try {
    child = spawn('/bin/sh', ['-c', options.command], {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: options.environment,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    })
  } catch (error) {
    // Node.js throws some faults (ENOTDIR, ENOMEM), and tells of others in a moment (ENOENT, EMFILE).
    return notStarted(Promise.resolve(error as Error), options)
  }
  if (child.pid !== undefined) return running(child, child.pid, options)
  return notStarted(new Promise((resolve) => child.once('error', resolve)), options)
}

/** A command that the machine could not start: it has ended with the reason. */
function notStarted(reason: Promise<Error>, { cwd }: CommandOptions): Command {
  const where = cwd === undefined ? '' : ` in ${cwd}`
  const ended = reason.then(({ message }) => ({ code: null, signal: null, error: new Error(`${message}${where}`) }))
  return { pid: undefined, ended, isOver: () => true, stop() {}, kill() {}, pause() {}, resume() {} }
}

function running(child: ChildProcessWithoutNullStreams, pid: number, options: CommandOptions): Command {
  // A command need not read its input: a closed pipe is its right.
  child.stdin.on('error', () => {})
  child.stdin.end(options.input)
  child.stdout.on('data', options.onStdout)
  child.stderr.on('data', options.onStderr)

  let killTimer: NodeJS.Timeout | undefined
  let killAtMs: number | undefined
  const stop = (graceMs: number): void => {
    // Once: a second signal would cut short its clearing up.
    if (killAtMs !== undefined || !signalGroup(pid, 'SIGTERM')) return
    // A stopped process takes no SIGTERM until it goes on.
    signalGroup(pid, 'SIGCONT')
    killAtMs = performance.now() + graceMs
    killTimer = setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs)
  }
  const stopLeftovers = (): number => {
    stop(options.leftoverGraceMs)
    return killAtMs ?? performance.now()
  }
  const ended = endOf(child, pid, stopLeftovers).finally(() => clearTimeout(killTimer))
  return {
    pid,
    ended,
    isOver: () => child.exitCode !== null || child.signalCode !== null,
    stop,
    kill: () => void signalGroup(pid, 'SIGKILL'),
    pause() {
      child.stdout.pause()
      child.stderr.pause()
    },
    resume() {
      child.stdout.resume()
      child.stderr.resume()
    },
  }
}

/** @param stopLeftovers answers when SIGKILL is due, on the monotonic clock. */
async function endOf(child: ChildProcess, pid: number, stopLeftovers: () => number): Promise<CommandEnd> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const end = await new Promise<CommandEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  // The shell is gone; what it started in the background is not left to run on under nobody's lease. The wait is
  // bounded: a process in an uninterruptible wait outlives even SIGKILL.
  const patienceEnds = stopLeftovers() + GONE_MS
  for (let lookMs = GROUP_LOOK_MS; groupLives(pid) && performance.now() < patienceEnds; lookMs *= 2) {
    await pause(Math.min(lookMs, GROUP_LOOK_MS_MAX))
  }
  await lastOutput(child, closed)
  return end
}

/** Waits until the output is read to its end. Something that left the group may hold the pipes: not waited for long. */
async function lastOutput(child: ChildProcess, closed: Promise<void>): Promise<void> {
  let quietMs = 0
  const timer = setInterval(() => {
    // Held back by a full queue, output is still to come.
    if (child.stdout?.isPaused()) quietMs = 0
    else quietMs += LAST_OUTPUT_MS / 10
    if (quietMs < LAST_OUTPUT_MS) return
    child.stdout?.destroy()
    child.stderr?.destroy()
  }, LAST_OUTPUT_MS / 10)
  await closed
  clearInterval(timer)
}

/** False when no process of the group is left. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Whether a process of the group still runs. Dead ones that nobody has collected do not count: where nothing reaps
 * orphans (a container without an init) they stay for ever, and the group with them.
 */
function groupLives(pid: number): boolean {
  if (!signalGroup(pid, 0)) return false
  if (process.platform !== 'linux') return true
  try {
    return readdirSync('/proc').some((entry) => /^\d+$/.test(entry) && isLiveMember(Number(entry), pid))
  } catch {
    return true
  }
}

/** False also of one that was gone between the listing and the look. */
function isLiveMember(pid: number, group: number): boolean {
  const status = statusOf(pid)
  return status?.group === group && !/[ZX]/.test(status.state)
}
