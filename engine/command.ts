/**
 * A run's command: a shell in its own process group, so that a stop reaches everything it started. The request goes to
 * its standard input; of the service's credentials only its own token reaches it, if it has one.
 */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { BriefFiles } from './brief.ts'
import type { ExecutionRequest } from './execution-request.ts'
import { statusOf } from './process-status.ts'
import type { RunAccess } from './run-token.ts'
import type { MajorTasks } from './service-limits.ts'

/** How long output may still arrive after a command and its process group are gone, in milliseconds. */
export const LAST_OUTPUT_MS = 2_000
/** How long a process group may take to disappear after SIGKILL, in milliseconds. */
const GONE_MS = 1_000
const GROUP_LOOK_MS = 20
const GROUP_LOOK_MS_MAX = 250

export interface CommandEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The command could not be started at all. */
  readonly error?: Error
}

/** How a process ended, for people: `ended with exit code 1`, `was killed by SIGKILL`. */
export function endInWords({ code, signal }: Pick<CommandEnd, 'code' | 'signal'>): string {
  return signal === null ? `ended with exit code ${code}` : `was killed by ${signal}`
}

export interface Command {
  readonly pid: number | undefined
  /** Resolves when the command has ended, its process group is gone and its output is read. Never rejects. */
  readonly ended: Promise<CommandEnd>
  /** Whether the command itself has ended; its process group and output may take a little longer. */
  readonly isOver: () => boolean
  /** Sends SIGTERM to the group, and SIGKILL after `graceMs`. Only the first call has an effect. */
  stop(graceMs: number): void
  /** Sends SIGKILL to the group at once. */
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
  /** How long processes that the command left in its group may take to end after SIGTERM, in milliseconds. */
  readonly leftoverGraceMs: number
}

interface CommandGiven {
  readonly runnerId: string
  readonly brief: BriefFiles | undefined
  readonly majorTasks: MajorTasks
  readonly access: RunAccess | undefined
}

/**
 * The environment of a command: the runner's own without `ENGINE_*` (the service's address and the runner's token),
 * plus the run's identity, W3C trace context for tools that continue traces, and the limits on maintenance. If the run
 * has a token, it and the address are where `intendant` looks for them.
 */
export function commandEnvironment(
  environment: NodeJS.ProcessEnv,
  request: ExecutionRequest,
  { runnerId, brief, majorTasks, access }: CommandGiven,
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
  if (access !== undefined) {
    given.ENGINE_URL = access.url
    given.ENGINE_TOKEN = access.token
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
    // Node.js throws some errors (ENOTDIR, ENOMEM), and reports others a moment later (ENOENT, EMFILE).
    return notStarted(Promise.resolve(error as Error), options)
  }
  if (child.pid !== undefined) return running(child, child.pid, options)
  return notStarted(new Promise((resolve) => child.once('error', resolve)), options)
}

/** A command that the machine could not start: it ends with the error. */
function notStarted(reason: Promise<Error>, { cwd }: CommandOptions): Command {
  const where = cwd === undefined ? '' : ` in ${cwd}`
  const ended = reason.then(({ message }) => ({ code: null, signal: null, error: new Error(`${message}${where}`) }))
  return { pid: undefined, ended, isOver: () => true, stop() {}, kill() {}, pause() {}, resume() {} }
}

function running(child: ChildProcessWithoutNullStreams, pid: number, options: CommandOptions): Command {
  // A command need not read its input, so a closed pipe is no error.
  child.stdin.on('error', () => {})
  child.stdin.end(options.input)
  child.stdout.on('data', options.onStdout)
  child.stderr.on('data', options.onStderr)

  let killTimer: NodeJS.Timeout | undefined
  let killAtMs: number | undefined
  const stop = (graceMs: number): void => {
    // Only once: a second signal could interrupt the command's clean-up.
    if (killAtMs !== undefined || !signalGroup(pid, 'SIGTERM')) return
    // A stopped process handles SIGTERM only after SIGCONT.
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

/**
 * @param stopLeftovers returns when SIGKILL is due, on the monotonic clock
 */
async function endOf(child: ChildProcess, pid: number, stopLeftovers: () => number): Promise<CommandEnd> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const end = await new Promise<CommandEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  // The shell is gone. Processes it left in the background must not run on without a lease. The wait is bounded: a
  // process in uninterruptible sleep survives even SIGKILL.
  const patienceEnds = stopLeftovers() + GONE_MS
  for (let lookMs = GROUP_LOOK_MS; groupLives(pid) && performance.now() < patienceEnds; lookMs *= 2) {
    await pause(Math.min(lookMs, GROUP_LOOK_MS_MAX))
  }
  await lastOutput(child, closed)
  return end
}

/**
 * Waits until the output is read to its end, but not for long: a process that left the group may hold the pipes open.
 */
async function lastOutput(child: ChildProcess, closed: Promise<void>): Promise<void> {
  let quietMs = 0
  const timer = setInterval(() => {
    // While a full queue holds it back, output is still to come.
    if (child.stdout?.isPaused()) quietMs = 0
    else quietMs += LAST_OUTPUT_MS / 10
    if (quietMs < LAST_OUTPUT_MS) return
    child.stdout?.destroy()
    child.stderr?.destroy()
  }, LAST_OUTPUT_MS / 10)
  await closed
  clearInterval(timer)
}

/** Returns false if no process of the group is left. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Whether a process of the group is still running. Zombies do not count: where nothing reaps orphans (a container
 * without an init), they and their group stay forever.
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

/** Also false for a process that ended after the listing. */
function isLiveMember(pid: number, group: number): boolean {
  const status = statusOf(pid)
  return status?.group === group && !/[ZX]/.test(status.state)
}
