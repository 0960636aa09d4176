/**
 * Running git, bounded in time. Each git has a group of processes of its own, so that a stop does not cut it off in the middle:
 * what works on this machine comes to its end, and what goes over a line is ended in order.
 */
import { spawn, spawnSync } from 'node:child_process'
import type { Writable } from 'node:stream'
import { LAST_OUTPUT_MS, signalGroup } from '../command.ts'
import type { StopRequest } from './stop-request.ts'
import { tailOf } from './tail.ts'

/** How long git may take for what is on this machine, milliseconds. */
const LOCAL_MS = 10 * 60_000
/** How long it may take over a line, which may hang. */
export const LINE_MS = 8 * 60_000
/** The same behind a stop: an agent that does not heed it has had its time by then. */
const LAST_LINE_MS = 3_000
/** How long git that was asked to leave may go on before it is killed, milliseconds. */
const LEAVE_MS = 1_000
/** Most that git may print, bytes. */
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024
/** How much of what git has against something is told, characters. It begins with the cause. */
const COMPLAINT_CHARS_MAX = 1_000

/** Hooks are the business of whoever works in a checkout: the gate is what checks here. Not in a push: LFS needs its own. */
export const NO_HOOKS = ['-c', 'core.hooksPath=/dev/null'] as const

/** Git does not do what it was to do; the message is one line. */
export class GitFailed extends Error {
  override readonly name = 'GitFailed'
}

/** Git itself cannot be run. */
export class GitUnavailable extends Error {
  override readonly name = 'GitUnavailable'

  constructor(cause: Error) {
    super(`git cannot be run: ${cause.message}`, { cause })
  }
}

/** Git or the machine is at fault, and not what is written here. */
export function isOutside(error: unknown): error is Error {
  const isGits = error instanceof GitFailed || error instanceof GitUnavailable
  return isGits || (error as NodeJS.ErrnoException).syscall !== undefined
}

interface GitOptions {
  readonly environment: NodeJS.ProcessEnv
  readonly stderr: Writable
  readonly stop: StopRequest
}

export class Git {
  readonly #environment: NodeJS.ProcessEnv
  readonly #stderr: Writable
  readonly #stop: StopRequest

  constructor({ environment, stderr, stop }: GitOptions) {
    // Its messages are read here.
    this.#environment = { ...environment, LANGUAGE: 'en' }
    this.#stderr = stderr
    this.#stop = stop
  }

  /** What git prints. Throws GitFailed or GitUnavailable. */
  run(cwd: string, args: readonly string[], input = ''): string {
    const { pid, status, stdout, stderr, error } = spawnSync('git', ['-C', cwd, ...NO_HOOKS, ...args], {
      input,
      encoding: 'utf8',
      env: this.#environment,
      // Not in the types of Node.js; a group of its own, as with spawn.
      ...{ detached: true },
      maxBuffer: OUTPUT_BYTES_MAX,
      timeout: LOCAL_MS,
      killSignal: 'SIGKILL',
    })
    if (stderr) this.#stderr.write(stderr)
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ETIMEDOUT') {
      signalGroup(pid, 'SIGKILL')
      throw new GitFailed(`git ${subcommandOf(args)} did not end in ${LOCAL_MS / 60_000} min`)
    }
    if (error) throw new GitUnavailable(error)
    // What ends with NUL may begin with a space.
    if (status === 0) return stdout.replace(/\n$/, '')
    const lines = linesOf(stderr)
    throw new GitFailed(
      lines.find((line) => /^(fatal|error): /.test(line)) ?? lines.at(-1) ?? `git ended with ${status}`,
    )
  }

  /** Whether git says so: by its exit code. What it has to say against it is on standard error. */
  does(cwd: string, args: readonly string[]): boolean {
    try {
      this.run(cwd, args)
      return true
    } catch {
      return false
    }
  }

  /** What git prints between NULs. Throws as `run`. */
  list(cwd: string, args: readonly string[]): string[] {
    return this.run(cwd, args)
      .split('\0')
      .filter((entry) => entry !== '')
  }

  /**
   * Runs git, with its hooks, where that goes over a line; resolves to what it has against it, undefined: nothing. A stop is heard
   * meanwhile.
   */
  overLine(cwd: string, args: readonly string[]): Promise<GitFailed | undefined> {
    const child = spawn('git', ['-C', cwd, ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: this.#environment,
      detached: true,
    })
    const complained = tailOf(child.stderr)
    child.stderr.pipe(this.#stderr, { end: false })
    const limitMs = this.#stop.isAwaited ? LAST_LINE_MS : LINE_MS
    let ending: { readonly why: string; readonly timer: NodeJS.Timeout } | undefined
    const end = (why: string): void => {
      if (child.pid === undefined) return
      const group = child.pid
      signalGroup(group, 'SIGTERM')
      ending = { why, timer: setTimeout(() => signalGroup(group, 'SIGKILL'), LEAVE_MS) }
    }
    const limit = setTimeout(() => end(`did not end in ${limitMs / 1_000} s`), limitMs)
    this.#stop.running(() => end('was stopped'))
    return new Promise((resolve) => {
      const settle = (fault: string | undefined): void => {
        clearTimeout(limit)
        clearTimeout(ending?.timer)
        this.#stop.running(undefined)
        resolve(fault === undefined ? undefined : new GitFailed(`git ${subcommandOf(args)} ${fault}`))
      }
      child.on('error', ({ message }) => settle(message))
      child.on('close', (code) => {
        const lines = linesOf(complained()).map((line) => line.trim())
        const said = lines.join('; ').slice(0, COMPLAINT_CHARS_MAX).toWellFormed()
        settle(code === 0 ? undefined : (ending?.why ?? `failed: ${said || `it ended with ${code}`}`))
      })
      // What it left running in the background (a shared connection of ssh's) may keep its output open.
      child.on('exit', () => setTimeout(() => child.stderr.destroy(), LAST_OUTPUT_MS).unref())
    })
  }
}

/** What git has against it, as from `overLine`; undefined: nothing. Throws what is not git's. */
export function faultOf(act: () => void): GitFailed | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    if (error instanceof GitFailed) return error
    throw error
  }
}

const subcommandOf = (args: readonly string[]): string | undefined => args.find((arg) => /^[a-z][a-z-]*$/.test(arg))

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '')
