/**
 * Runs git, with time limits. Each git process has its own process group, so that a stop does not kill it half-way:
 * local operations run to their end, and network operations are ended in an orderly way.
 */
import { spawn, spawnSync } from 'node:child_process'
import type { Writable } from 'node:stream'
import { LAST_OUTPUT_MS, signalGroup } from '../command.ts'
import type { StopRequest } from './stop-request.ts'
import { tailOf } from './tail.ts'

/** Time limit for local operations, in milliseconds. */
const LOCAL_MS = 10 * 60_000
/** Time limit for network operations, which may hang. */
export const NETWORK_MS = 8 * 60_000
/** The same after a stop was requested: by then an agent that ignores the stop has used up its time. */
const LAST_LINE_MS = 3_000
/** How long git may go on after SIGTERM before it is killed, in milliseconds. */
const LEAVE_MS = 1_000
/** Largest output of git, in bytes. */
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024
/** How much of git's error output is reported, in characters. It begins with the cause. */
const COMPLAINT_CHARS_MAX = 1_000

/**
 * Hooks are meant for people who work in a checkout; here the gate does the checking. Not used for a push: LFS needs
 * its hook.
 */
export const NO_HOOKS = ['-c', 'core.hooksPath=/dev/null'] as const

/** Git failed; the message is one line. */
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

/** Whether the error comes from git or the machine, and is not a bug in this program. */
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
    // Its messages are parsed here.
    this.#environment = { ...environment, LANGUAGE: 'en' }
    this.#stderr = stderr
    this.#stop = stop
  }

  /** Runs git; returns its output. Throws GitFailed or GitUnavailable. */
  run(cwd: string, args: readonly string[], input = ''): string {
    const { pid, status, signal, stdout, stderr, error } = spawnSync('git', ['-C', cwd, ...NO_HOOKS, ...args], {
      input,
      encoding: 'utf8',
      env: this.#environment,
      // Missing in the types of Node.js: a process group of its own, as for spawn.
      ...{ detached: true },
      maxBuffer: OUTPUT_BYTES_MAX,
      timeout: LOCAL_MS,
      killSignal: 'SIGKILL',
    })
    if (stderr) this.#stderr.write(stderr)
    const code = (error as NodeJS.ErrnoException | undefined)?.code
    if (code === 'ETIMEDOUT') {
      signalGroup(pid, 'SIGKILL')
      throw new GitFailed(`git ${subcommandOf(args)} did not end in ${LOCAL_MS / 60_000} min`)
    }
    // EPIPE: it ended before it had read its input. How it ended says more.
    if (error && code !== 'EPIPE') throw new GitUnavailable(error)
    // Only the newline is removed: NUL-separated output may begin with a space.
    if (status === 0) return stdout.replace(/\n$/, '')
    const lines = linesOf(stderr)
    throw new GitFailed(
      lines.find((line) => /^(fatal|error): /.test(line)) ??
        lines.at(-1) ??
        `git ${subcommandOf(args)} ${howEnded(status, signal)}`,
    )
  }

  /** Whether git exits with 0. Its error output goes to standard error. */
  does(cwd: string, args: readonly string[]): boolean {
    try {
      this.run(cwd, args)
      return true
    } catch {
      return false
    }
  }

  /** NUL-separated output as a list. Throws as `run` does. */
  list(cwd: string, args: readonly string[]): string[] {
    return this.run(cwd, args)
      .split('\0')
      .filter((entry) => entry !== '')
  }

  /**
   * Runs git, with its hooks, for an operation over the network. Resolves to its error, or undefined. A stop interrupts
   * it.
   */
  overNetwork(cwd: string, args: readonly string[]): Promise<GitFailed | undefined> {
    const child = spawn('git', ['-C', cwd, ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: this.#environment,
      detached: true,
    })
    const complained = tailOf(child.stderr)
    child.stderr.pipe(this.#stderr, { end: false })
    const limitMs = this.#stop.isAwaited ? LAST_LINE_MS : NETWORK_MS
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
      child.on('close', (code, signal) => {
        const lines = linesOf(complained()).map((line) => line.trim())
        const said = lines.join('; ').slice(0, COMPLAINT_CHARS_MAX).toWellFormed()
        settle(code === 0 ? undefined : (ending?.why ?? `failed: ${said || `it ${howEnded(code, signal)}`}`))
      })
      // A background process of git's (an ssh connection that is shared) may keep its output open.
      child.on('exit', () => setTimeout(() => child.stderr.destroy(), LAST_OUTPUT_MS).unref())
    })
  }
}

/** Git's error from `act`, in the form of `overNetwork`; undefined if there is none. Rethrows other errors. */
export function gitFailureOf(act: () => void): GitFailed | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    if (error instanceof GitFailed) return error
    throw error
  }
}

const subcommandOf = (args: readonly string[]): string | undefined => args.find((arg) => /^[a-z][a-z-]*$/.test(arg))

const howEnded = (code: number | null, signal: NodeJS.Signals | null): string =>
  signal === null ? `ended with ${code}` : `was killed by ${signal}`

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '')
