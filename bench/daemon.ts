/**
 * A server that we cannot fork: started by its command, its output in a file, identified by its pid, and ended with
 * its whole process tree. Nothing outlives the benchmark, even if it fails.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tree } from './processes.ts'

const READY_MS = 180_000
const STOP_MS = 20_000
const LOOK_AGAIN_MS = 50
const LOG_SHOWN = 2_000

export interface DaemonOptions {
  readonly command: readonly string[]
  /** A command that runs the command, and lives as long as it does (`strace ...`). */
  readonly wrapper?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly directory: string
  readonly logFile: string
  readonly user?: User
  /** The signal that asks it to end. */
  readonly stopSignal?: NodeJS.Signals
}

export interface User {
  readonly uid: number
  readonly gid: number
}

const running = new Set<Daemon>()

export class Daemon {
  readonly #process: ChildProcess
  readonly #options: DaemonOptions
  readonly #ended: Promise<void>
  #failure: Error | undefined

  constructor(options: DaemonOptions) {
    this.#options = options
    const [program, ...rest] = [...(options.wrapper ?? []), ...options.command]
    const log = openSync(options.logFile, 'a')
    this.#process = spawn(program!, rest, {
      cwd: options.directory,
      env: { ...process.env, ...options.environment },
      stdio: ['ignore', log, log],
      ...options.user,
    })
    closeSync(log)
    this.#ended = new Promise((resolve) => {
      const over = (): void => {
        running.delete(this)
        resolve()
      }
      this.#process.once('exit', over)
      this.#process.once('error', (failure) => {
        this.#failure = failure
        over()
      })
    })
    running.add(this)
  }

  /** Root of the server's process tree, or of the wrapper's, if there is one. */
  get pid(): number {
    return this.#process.pid ?? 0
  }

  /**
   * Polls `isReady` until it is true. Throws with the end of the log if the server ends or does not come up in time.
   */
  async ready(isReady: () => Promise<boolean>): Promise<this> {
    const until = performance.now() + READY_MS
    while (!(await isReady())) {
      if (!running.has(this) || performance.now() > until) {
        await this.stop()
        const said = readFileSync(this.#options.logFile, 'utf8').slice(-LOG_SHOWN)
        const why = this.#failure?.message ?? 'it did not come up'
        throw new Error(`${this.#options.command[0]}: ${why}\n${said}`)
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
    }
    return this
  }

  /** Asks the server to end, then kills what is left of its process tree. */
  async stop(): Promise<void> {
    const whole = tree(this.pid)
    // The wrapper does not pass signals on; the server is its only child.
    const server = this.#options.wrapper === undefined ? whole[0] : whole[1]
    if (running.has(this) && server !== undefined) {
      signal(server.pid, this.#options.stopSignal ?? 'SIGTERM')
      const timer = setTimeout(() => this.killNow(), STOP_MS)
      await this.#ended
      clearTimeout(timer)
    }
    for (const { pid, name } of whole) if (isStill(pid, name)) signal(pid, 'SIGKILL')
  }

  killNow(): void {
    for (const { pid } of tree(this.pid)) signal(pid, 'SIGKILL')
  }
}

/** A pid seen in our tree is still ours only if the same program runs under it. */
function isStill(pid: number, name: string): boolean {
  return tree(pid)[0]?.name === name
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has ended.
  }
}

export async function stopDaemons(): Promise<void> {
  await Promise.all([...running].map((daemon) => daemon.stop()))
}

export function killDaemons(): void {
  for (const daemon of running) daemon.killNow()
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => (typeof address === 'object' && address !== null ? resolve(address.port) : reject(address)))
    })
  })
}

/** Whether something accepts connections on the port. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    const settle = (listening: boolean): void => {
      socket.destroy()
      resolve(listening)
    }
    socket.once('connect', () => settle(true))
    socket.once('error', () => settle(false))
  })
}

/** A program's output, or undefined if it is not installed or fails. */
export function outputOf(program: string, ...given: readonly string[]): string | undefined {
  try {
    return execFileSync(program, given, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch {
    return undefined
  }
}
