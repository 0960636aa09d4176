/** Commands of whoever set the run up, an agent or a gate: run in the worktree, passed on to the runner, and ended behind a stop. */
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { LAST_OUTPUT_MS } from '../command.ts'
import type { Report } from './report.ts'
import type { StopRequest } from './stop-request.ts'
import { goOn, tailOf } from './tail.ts'

/**
 * How long a signal that has ended a command may take to be heard here, too, milliseconds: whoever stops the run signals its whole
 * group, and that we were meant may be heard behind the command's end.
 */
const SIGNAL_MS = 250

interface ShellOptions {
  readonly environment: NodeJS.ProcessEnv
  readonly stderr: Writable
  readonly report: Report
  readonly stop: StopRequest
}

interface Given {
  readonly cwd: string
  readonly input?: string
  /** The file that its standard output goes to; absent: standard error of this process. */
  readonly transcript?: string
}

/** How a command ended. */
export interface Ended {
  /** Null: by a signal. */
  readonly code: number | null
  /** Of standard output. */
  readonly bytes: number
  /** The end of standard output. */
  readonly printed: string
  /** The end of standard error. */
  readonly complained: string
}

export class Shell {
  readonly #options: ShellOptions

  constructor(options: ShellOptions) {
    this.#options = options
  }

  /** Runs it with `/bin/sh -c`. Never rejects: what cannot be run has ended. */
  run(command: string, { cwd, input, transcript }: Given): Promise<Ended> {
    const { environment, stderr, report, stop } = this.#options
    const child = spawn('/bin/sh', ['-c', command], { cwd, env: environment, stdio: ['pipe', 'pipe', 'pipe'] })
    stop.running(() => child.kill('SIGKILL'))
    const printed = tailOf(child.stdout)
    const complained = tailOf(child.stderr)
    let bytes = 0
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    child.stdout.pipe(transcript === undefined ? stderr : this.#file(transcript), { end: transcript !== undefined })
    child.stderr.pipe(stderr, { end: false })
    // Its folder is gone.
    child.on('error', ({ message }) => report.note(message))
    // It need not read its prompt.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const letGo = (): void => {
      child.stdout.destroy()
      child.stderr.destroy()
    }
    child.on('exit', async (code) => {
      if (code === null) await pause(SIGNAL_MS)
      // Behind a stop the shell ends at once: what keeps the output open is the agent, which has its time.
      if (stop.isAwaited && !stop.isOverdue) stop.running(letGo)
      // What it left running in the background may keep its output open.
      else setTimeout(letGo, LAST_OUTPUT_MS).unref()
    })
    return new Promise((resolve) => {
      child.on('close', async (code) => {
        if (code === null) await pause(SIGNAL_MS)
        resolve({ code, bytes, printed: printed(), complained: complained() })
      })
    })
  }

  #file(path: string): Writable {
    const file = createWriteStream(path, { mode: 0o600 })
    file.on('error', ({ message }) => this.#options.report.note(`no transcript: ${message}`))
    return file.on('unpipe', goOn)
  }
}
