/**
 * Generates load in a process of its own. Closed loop: each client has one request in flight, to find the capacity of
 * the service. Open loop: requests are sent at scheduled times, whether or not earlier ones were answered.
 */
import { performance } from 'node:perf_hooks'
import { answerRequests } from '../../bench/child.ts'
import { Connection, formatRequest, type Target } from '../../bench/wire.ts'

export interface FloodJob {
  readonly target: Target
  /** Sent in turn; `@` in a body is replaced by a serial number of 16 digits. */
  readonly requests: readonly {
    readonly method: string
    readonly path: string
    readonly token: string
    readonly body?: string
  }[]
  /** Requests per second; undefined means a closed loop with `connections` clients. */
  readonly perSecond?: number
  /** Maximum number of open connections. */
  readonly connections: number
  readonly seconds: number
  /** The first serial number, so that two floods never send the same body. */
  readonly serial: number
}

export interface Waits {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export interface FloodResult {
  readonly seconds: number
  readonly sent: number
  /** Number of answers by status; 0 means that the connection ended without an answer. */
  readonly statuses: Readonly<Record<number, number>>
  /** Milliseconds from the request to its answer. */
  readonly taken: Waits
  readonly refused: Waits
  /** Number of refusals without Retry-After. */
  readonly withoutRetryAfter: number
  /** Number of scheduled times at which every connection was busy. */
  readonly unsent: number
  /** Number of connections that were open at the end. */
  readonly opened: number
  /** The `id` of each created entity. */
  readonly ids: readonly string[]
  /** The share of one core that this process used. */
  readonly clientCpu: number
}

const TICK_MS = 1
/** uWebSockets.js closes a connection that was idle for about 10 s, possibly just as a request is sent on it. */
const RESTED_MS_MAX = 4_000
const IDS_MAX = 2_000_000

class Flood {
  readonly #job: FloodJob
  readonly #idle: Slot[] = []
  readonly #statuses: Record<number, number> = {}
  readonly #takenMs: number[] = []
  readonly #refusedMs: number[] = []
  readonly #ids: string[] = []
  #opened = 0
  #opening = 0
  #sent = 0
  #unsent = 0
  #withoutRetryAfter = 0
  #serial: number
  #isOver = false

  constructor(job: FloodJob) {
    this.#job = job
    this.#serial = job.serial
  }

  async run(): Promise<FloodResult> {
    const { seconds, perSecond, connections } = this.#job
    const cpu = process.cpuUsage()
    const begunMs = performance.now()
    if (perSecond === undefined) for (let n = 0; n < connections; n++) void this.#open(true)
    else await this.#appointed(perSecond, begunMs)
    if (perSecond === undefined) await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
    this.#isOver = true
    const ranMs = performance.now() - begunMs
    const used = process.cpuUsage(cpu)
    // Requests in flight get some time, because they may still be acknowledged.
    for (let tries = 0; tries < 100 && this.#idle.length < this.#opened; tries++)
      await new Promise((resolve) => setTimeout(resolve, 50))
    for (const { connection } of this.#idle) connection.close()
    return {
      seconds: ranMs / 1_000,
      sent: this.#sent,
      statuses: this.#statuses,
      taken: waitsOf(this.#takenMs),
      refused: waitsOf(this.#refusedMs),
      withoutRetryAfter: this.#withoutRetryAfter,
      unsent: this.#unsent,
      opened: this.#opened,
      ids: this.#ids,
      clientCpu: (used.user + used.system) / 1e3 / ranMs,
    }
  }

  async #appointed(perSecond: number, begunMs: number): Promise<void> {
    let due = 0
    for (let nowMs = begunMs; nowMs < begunMs + this.#job.seconds * 1_000; nowMs = performance.now()) {
      const until = ((nowMs - begunMs) / 1_000) * perSecond
      for (; due < until; due++) {
        const slot = this.#awake(nowMs)
        if (slot !== undefined) this.#send(slot)
        else if (this.#opened + this.#opening < this.#job.connections) void this.#open(true)
        else this.#unsent++
      }
      await new Promise((resolve) => setTimeout(resolve, TICK_MS))
    }
  }

  #rest(slot: Slot): void {
    slot.restsSinceMs = performance.now()
    this.#idle.push(slot)
  }

  /**
   * The connection that was idle for the shortest time; if even that one may be about to be closed, all of them are.
   */
  #awake(nowMs: number): Slot | undefined {
    const slot = this.#idle.pop()
    if (slot === undefined || nowMs - slot.restsSinceMs < RESTED_MS_MAX) return slot
    for (const { connection } of [slot, ...this.#idle.splice(0)]) {
      connection.close()
      this.#opened--
    }
    return undefined
  }

  async #open(isDue: boolean): Promise<void> {
    this.#opening++
    let connection: Connection
    try {
      connection = await Connection.open(this.#job.target)
    } catch {
      this.#note(0, 0)
      return
    } finally {
      this.#opening--
    }
    this.#opened++
    const slot = new Slot(connection)
    connection.listen(
      (status, text, from, to) => this.#answered(slot, status, text, from, to),
      () => this.#lost(slot),
    )
    if (isDue && !this.#isOver) this.#send(slot)
    else this.#rest(slot)
  }

  #send(slot: Slot): void {
    const { requests } = this.#job
    const { method, path, token, body } = requests[this.#sent++ % requests.length]!
    const text = body?.replace('@', String(++this.#serial).padStart(16, '0'))
    slot.sentMs = performance.now()
    slot.isBusy = true
    slot.connection.send(formatRequest(method, path, token, text))
  }

  #answered(slot: Slot, status: number, text: string, from: number, to: number): void {
    const ms = performance.now() - slot.sentMs
    slot.isBusy = false
    this.#note(status, ms)
    if (status === 429 || status === 503) {
      const head = text.slice(text.lastIndexOf('HTTP/1.1', from), from)
      if (!/retry-after: \d/i.test(head)) this.#withoutRetryAfter++
    } else if (status === 201 && this.#ids.length < IDS_MAX) {
      const at = text.indexOf('"id":"', from)
      if (at >= 0 && at < to) this.#ids.push(text.slice(at + 6, text.indexOf('"', at + 6)))
    }
    if (this.#job.perSecond === undefined && !this.#isOver) this.#send(slot)
    else this.#rest(slot)
  }

  #lost(slot: Slot): void {
    this.#opened--
    const at = this.#idle.indexOf(slot)
    if (at >= 0) this.#idle.splice(at, 1)
    if (slot.isBusy) this.#note(0, performance.now() - slot.sentMs)
    if (this.#job.perSecond === undefined && !this.#isOver) void this.#open(true)
  }

  #note(status: number, ms: number): void {
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1
    if (status >= 200 && status < 300) this.#takenMs.push(ms)
    else this.#refusedMs.push(ms)
  }
}

class Slot {
  readonly connection: Connection
  sentMs = 0
  restsSinceMs = 0
  isBusy = false

  constructor(connection: Connection) {
    this.connection = connection
  }
}

function waitsOf(values: number[]): Waits {
  const sorted = Float64Array.from(values).sort()
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 }
}

answerRequests({ flood: (job: FloodJob) => new Flood(job).run() })
