/** The real service as a child process, started on one home and one port, killed and started again. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

const binary = fileURLToPath(new URL('../../cli/main.js', import.meta.url))

/** How long the service may take until it says where it listens. */
const startTimeoutMs = 20_000

export class ServiceProcess {
  readonly home: string
  url = ''
  /** Everything the present process wrote to standard error: for the message of a failing test. */
  errors = ''
  private port = 0
  private child: ChildProcess | undefined

  constructor(home: string) {
    this.home = home
  }

  get adminToken(): string {
    return readFileSync(`${this.home}/admin.token`, 'utf8').trim()
  }

  /** Resolves when the service listens. Later starts take the port of the first. */
  async start(env: Record<string, string> = {}): Promise<void> {
    if (this.port === 0) this.port = await freePort()
    const child = spawn(process.execPath, [binary, 'serve'], {
      env: { ...process.env, ENGINE_HOME: this.home, ENGINE_PORT: String(this.port), ENGINE_LOG_LEVEL: 'warn', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child = child
    this.errors = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text
    })
    const line = await firstLine(child)
    this.url = JSON.parse(line).listening
  }

  /** The end that no process can prepare for. Resolves when it is gone. */
  async kill(): Promise<void> {
    await this.end('SIGKILL')
  }

  /** A graceful stop. Resolves with the exit code. */
  stop(): Promise<number | null> {
    return this.end('SIGTERM')
  }

  private async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const { child } = this
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null
    const exited = once(child, 'exit')
    child.kill(signal)
    const [code] = await exited
    return code
  }
}

/**
 * A free port below those that the system gives to clients: one that tries again and again to reach a dead
 * service on such a port would in the end be connected to itself, and hold the port.
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

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    let errors = ''
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`the service did not start within ${startTimeoutMs} ms: ${errors}`))
    }, startTimeoutMs)
    child.stderr!.on('data', (chunk) => {
      errors += chunk
    })
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      reject(new Error(`the service ended at start (${code ?? signal}): ${errors}`))
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
