/** Runs the agent's and the gate's commands in the worktree: passes their output on, and ends them after a stop. */
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { LAST_OUTPUT_MS } from '../command.ts'
import { Guard } from './guard.ts'
import type { Report } from './report.ts'
import type { StopRequest } from './stop-request.ts'
import { goOn, tailOf } from './tail.ts'

/**
 * How long a signal that has ended a command may take to arrive here too, in milliseconds. A stop signals the whole
 * process group, and our own signal may be handled only after the command's end.
 */
const SIGNAL_MS = 250

interface ShellOptions {
  readonly environment: NodeJS.ProcessEnv
  readonly stderr: Writable
  readonly report: Report
  readonly stop: StopRequest
}

interface Given {
  /** The run's worktree: the same each time. */
  readonly cwd: string
  readonly input?: string
  /** File for its standard output; absent: this process's standard error. */
  readonly transcript?: string
}

/** How a command ended. */
export interface Ended {
  /** Null if a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Length of standard output. */
  readonly bytes: number
  /** The end of standard output. */
  readonly printed: string
  /** The end of standard error. */
  readonly complained: string
}

export class Shell {
  readonly #options: ShellOptions
  #guard: Guard | undefined

  constructor(options: ShellOptions) {
    this.#options = options
  }

  /** Runs a command with `/bin/sh -c`. Never rejects: a command that cannot be run counts as ended. */
  run(command: string, { cwd, input, transcript }: Given): Promise<Ended> {
    const { environment, stderr, report, stop } = this.#options
    this.#guard ??= new Guard(cwd, environment)
    const env = { ...environment, ...this.#guard.mark }
    const child = spawn('/bin/sh', ['-c', command], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
    stop.running(() => child.kill('SIGKILL'))
    const printed = tailOf(child.stdout)
    const complained = tailOf(child.stderr)
    let bytes = 0
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    child.stdout.pipe(transcript === undefined ? stderr : this.#file(transcript), { end: transcript !== undefined })
    child.stderr.pipe(stderr, { end: false })
    // The folder is gone.
    child.on('error', ({ message }) => report.note(message))
    // The command need not read its prompt.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const letGo = (): void => {
      child.stdout.destroy()
      child.stderr.destroy()
    }
    child.on('exit', async (code) => {
      if (code === null) await pause(SIGNAL_MS)
      // After a stop the shell ends at once; what still holds the output open is the agent, which has its own time to
      // end.
      if (stop.isAwaited && !stop.isOverdue) stop.running(letGo)
      // A background process of the command may keep the output open.
      else setTimeout(letGo, LAST_OUTPUT_MS).unref()
    })
    return new Promise((resolve) => {
      child.on('close', async (code, signal) => {
        if (code === null) await pause(SIGNAL_MS)
        resolve({ code, signal, bytes, printed: printed(), complained: complained() })
      })
    })
  }

  /** For an orphan: ends the running command, and all that the commands have started, which nobody else would. */
  endAll(): void {
    this.#guard?.endAll()
  }

  /** No more commands are run. */
  close(): void {
    this.#guard?.leave()
  }

  #file(path: string): Writable {
    const file = createWriteStream(path, { mode: 0o600 })
    file.on('error', ({ message }) => this.#options.report.note(`no transcript: ${message}`))
    return file.on('unpipe', goOn)
  }
}
