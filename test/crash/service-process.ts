/** The real service as a child process, started on one home and one port, killed and started again. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { BINARY } from '../binary.ts'

/** How long the service may take until it says where it listens. */
const startTimeoutMs = 60_000
/** What a service prints whose port was taken by another between the check and its start. */
const PORT_TAKEN = /Cannot listen on/
const PORTS_MAX = 3

/** How a process ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export class ServiceProcess {
  readonly home: string
  url = ''
  /** Everything the present process wrote to standard error: for the message of a failing test. */
  errors = ''
  private port = 0
  private child: ChildProcess | undefined
  private end: Promise<End> = Promise.resolve({ code: null, signal: null })

  constructor(home: string) {
    this.home = home
  }

  get pid(): number {
    return this.child!.pid!
  }

  get adminToken(): string {
    return readFileSync(join(this.home, 'admin.token'), 'utf8').trim()
  }

  /** Resolves when the service listens; rejects when it ends instead. Later starts take the port of the first. */
  async start(env: Record<string, string> = {}): Promise<void> {
    for (let ports = 1; ; ports++) {
      const isFirst = this.url === ''
      const child = await this.spawn(env)
      try {
        this.url = JSON.parse(await this.firstLine(child)).listening
        return
      } catch (error) {
        if (!isFirst || ports === PORTS_MAX || !PORT_TAKEN.test(this.errors)) throw error
        this.port = 0
      }
    }
  }

  /** Starts the service and does not wait for it. */
  async spawn(env: Record<string, string> = {}): Promise<ChildProcess> {
    if (this.port === 0) this.port = await freePort()
    const child = spawn(process.execPath, [BINARY, 'serve'], {
      env: { ...process.env, ENGINE_HOME: this.home, ENGINE_PORT: String(this.port), ENGINE_LOG_LEVEL: 'warn', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child = child
    this.errors = ''
    this.end = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })))
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text
    })
    return child
  }

  /** A kill that no process can prepare for. Resolves when it is gone. */
  async kill(): Promise<void> {
    this.child?.kill('SIGKILL')
    await this.ended()
  }

  /** A graceful stop. Resolves with the exit code. */
  async stop(): Promise<number | null> {
    this.child?.kill('SIGTERM')
    return (await this.ended()).code
  }

  /** Resolves when the process has ended, by itself or not, and all its output is in `errors`. */
  ended(): Promise<End> {
    return this.end
  }

  private firstLine(child: ChildProcess): Promise<string> {
    return new Promise((resolve, reject) => {
      let text = ''
      const timer = setTimeout(() => {
        child.kill('SIGKILL')
        reject(new Error(`the service did not start within ${startTimeoutMs} ms: ${this.errors}`))
      }, startTimeoutMs)
      // Only once its output is read to the end: the last words come with it.
      child.once('close', (code, signal) => {
        clearTimeout(timer)
        reject(new Error(`the service ended at start (${code ?? signal}): ${this.errors}`))
      })
      child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        const end = text.indexOf('\n')
        if (end < 0) return
        clearTimeout(timer)
        resolve(text.slice(0, end))
      })
    })
  }
}

/**
 * A free port below those that the system gives to clients: one that keeps trying to reach a dead service on such a
 * port would in the end be connected to itself, and hold the port.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
