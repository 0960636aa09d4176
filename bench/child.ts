/**
 * Every server and load client of a benchmark is a process of its own, started here and ended here by its pid, so a
 * benchmark leaves nothing behind, even if it fails.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Collected, Heap, ProbeRequest, Usage } from './probe.ts'

const FIRST_LINE_MS = 300_000
const STOP_MS = 60_000
/** Requests are numbered from 1; with this number the child announces that it accepts them. */
const READY_ID = 0

interface Waiting {
  readonly resolve: (value: any) => void
  readonly reject: (reason: Error) => void
}

export interface StartOptions {
  readonly arguments?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** File for standard error; without it, standard error goes to the benchmark's own. */
  readonly errorFile?: string
}

const running = new Set<Child>()

/** The size of the young generation with which the service is shipped. */
export const YOUNG_GENERATION = '--max-semi-space-size=64'

/** A forked process that answers requests over its IPC channel. */
export class Child {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, Waiting>()
  readonly #ended: Promise<void>
  /**
   * Resolves when the child's handlers are installed. The probe, loaded earlier, would swallow a request sent before.
   */
  readonly #ready: Promise<void>
  readonly firstLine: Promise<Record<string, any>>
  #lastId = 0

  /** @param script a file beside or below this one, by its name in the build (`./ceiling.js`). */
  constructor(script: string, options: StartOptions = {}) {
    const probe = new URL('./probe.js', import.meta.url).href
    this.#process = fork(fileURLToPath(new URL(script, import.meta.url)), options.arguments ?? [], {
      execArgv: [YOUNG_GENERATION, '--expose-gc', '--import', probe],
      env: { ...process.env, ...options.environment },
      stdio: ['ignore', 'pipe', options.errorFile === undefined ? 'inherit' : 'pipe', 'ipc'],
      serialization: 'advanced',
    })
    if (options.errorFile !== undefined)
      this.#process.stderr?.pipe(createWriteStream(options.errorFile, { flags: 'a' }))
    this.firstLine = this.#readFirstLine(script)
    this.firstLine.catch(() => {})
    this.#ended = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => {
        running.delete(this)
        const failure = new Error(`${script} ended (${signal ?? code})`)
        for (const waiting of this.#waiting.values()) waiting.reject(failure)
        this.#waiting.clear()
        resolve()
      })
    })
    this.#process.on('message', (answer: { id: number; result?: unknown; error?: string }) => this.#settle(answer))
    this.#ready = new Promise((resolve) => {
      this.#waiting.set(READY_ID, { resolve, reject: () => resolve() })
    })
    running.add(this)
  }

  get pid(): number {
    return this.#process.pid!
  }

  /** Asks the process to do something, and resolves to its answer. The caller knows its type. */
  async ask<R>(name: string, argument?: unknown): Promise<R> {
    await this.#ready
    return this.#request({ name, argument })
  }

  usage(): Promise<Usage> {
    return this.#request({ probe: 'usage' } satisfies Omit<ProbeRequest, 'id'>)
  }

  heap(): Promise<Heap> {
    return this.#request({ probe: 'heap' } satisfies Omit<ProbeRequest, 'id'>)
  }

  /** What garbage collections left since the last call; the first answer is empty. */
  collected(): Promise<Collected> {
    return this.#request({ probe: 'collected' } satisfies Omit<ProbeRequest, 'id'>)
  }

  profileStart(): Promise<void> {
    return this.#request({ probe: 'profile_start' } satisfies Omit<ProbeRequest, 'id'>)
  }

  profileStop(): Promise<unknown> {
    return this.#request({ probe: 'profile_stop' } satisfies Omit<ProbeRequest, 'id'>)
  }

  /** Ends the process: SIGTERM, then SIGKILL. */
  async stop(): Promise<void> {
    if (!running.has(this)) return
    this.#process.kill('SIGTERM')
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), STOP_MS)
    await this.#ended
    clearTimeout(timer)
  }

  killNow(): void {
    this.#process.kill('SIGKILL')
  }

  #request(message: object): Promise<any> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      if (!running.has(this)) {
        reject(new Error(`process ${this.#process.pid} has ended`))
        return
      }
      this.#waiting.set(id, { resolve, reject })
      this.#process.send({ id, ...message })
    })
  }

  #settle(answer: { id: number; result?: unknown; error?: string }): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if (answer.error === undefined) waiting?.resolve(answer.result)
    else waiting?.reject(new Error(answer.error))
  }

  #readFirstLine(script: string): Promise<Record<string, any>> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${script} said nothing for ${FIRST_LINE_MS} ms`)), FIRST_LINE_MS)
      timer.unref()
      const lines = createInterface({ input: this.#process.stdout! })
      lines.once('line', (line) => {
        clearTimeout(timer)
        resolve(JSON.parse(line))
      })
      this.#process.once('exit', (code, signal) => {
        clearTimeout(timer)
        reject(new Error(`${script} ended (${signal ?? code}) before its first line`))
      })
    })
  }
}

/** Ends whatever still runs: called when the benchmark ends, however it ends. */
export async function stopAll(): Promise<void> {
  await Promise.all([...running].map((child) => child.stop()))
}

export function killAll(): void {
  for (const child of running) child.killNow()
}

/** The child's side of `ask`: answers requests by name until the parent disconnects. */
export function answerRequests(handlers: Readonly<Record<string, (argument: any) => unknown>>): void {
  process.on('message', async (message: { id: number; name?: string; argument?: unknown }) => {
    if (message.name === undefined) return
    try {
      const handler = handlers[message.name]
      if (handler === undefined) throw new Error(`unknown request ${message.name}`)
      process.send!({ id: message.id, result: await handler(message.argument) })
    } catch (failure) {
      process.send!({
        id: message.id,
        error: failure instanceof Error ? failure.message : `${failure}`,
      })
    }
  })
  process.on('disconnect', () => process.exit(0))
  // The probe has unreferenced the channel, which is to keep this process alive.
  process.channel?.ref()
  process.send!({ id: READY_ID })
}
