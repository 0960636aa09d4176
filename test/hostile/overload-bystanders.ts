/**
 * Clients that continue to work while others cause load: runners that send heartbeats for their runs, a quiet project
 * that creates few requests and a runner that polls for them, an idle runner that polls, and workers. Their waits are
 * recorded.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { RunnerAccess, Service } from '../../bench/service.ts'
import { Connection } from './connection.ts'
import type { Felt, OverloadStage } from './overload.ts'

const HEARTBEAT_EVERY_MS = 2_000
const CREATE_EVERY_MS = 200
/** Concurrent polls of the quiet project's runner, so that its own speed does not make a queue. */
const QUIET_POLLS = 4
const POLL_EVERY_MS = 50
const TIMEOUT_MS = 30_000

interface Said {
  readonly status: number
  readonly body: any
  readonly ms: number
}

/** Sends one request after the other over a connection that is reopened once it was closed. */
class Line {
  readonly #port: number
  #connection: Connection | undefined

  constructor(port: number) {
    this.#port = port
  }

  async say(method: string, path: string, token: string, body?: object): Promise<Said> {
    if (this.#connection?.isOpen !== true) this.#connection = await Connection.open(this.#port)
    const text = body === undefined ? '' : JSON.stringify(body)
    const type = body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n`
    const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${type}\r\n`
    const outcome = await this.#connection.ask([Buffer.from(head + text)], { isHead: false, timeoutMs: TIMEOUT_MS })
    if (outcome.kind !== 'answer') return { status: 0, body: outcome.kind, ms: outcome.ms }
    const said = outcome.body.toString()
    return { status: outcome.status, body: said.startsWith('{') ? JSON.parse(said) : undefined, ms: outcome.ms }
  }

  close(): void {
    this.#connection?.close()
  }
}

export class Bystanders {
  readonly #service: Service
  readonly #stage: OverloadStage
  #createToOffer: number[] = []
  #creates: number[] = []
  #polls: number[] = []
  #heartbeats: number[] = []
  #faults: string[] = []
  /** When each request of the quiet project was sent, by its number. */
  readonly #sentMs = new Map<string, number>()
  #isStopping = false
  #running: Promise<unknown>[] = []

  constructor(service: Service, stage: OverloadStage) {
    this.#service = service
    this.#stage = stage
  }

  async start(): Promise<void> {
    const { held, workers } = this.#stage
    this.#running = [
      ...held.map((run, n) => this.#beat(run, (n / held.length) * HEARTBEAT_EVERY_MS)),
      this.#ask(),
      ...Array.from({ length: QUIET_POLLS }, () => this.#takeQuiet()),
      this.#poll(),
      ...workers.map((worker) => this.#work(worker)),
    ]
  }

  /** What the bystanders experienced since the last call. */
  take(): Felt {
    const felt = {
      createToOffer: this.#createToOffer,
      polls: this.#polls,
      heartbeats: this.#heartbeats,
      faults: this.#faults,
    }
    this.#createToOffer = []
    this.#polls = []
    this.#heartbeats = []
    this.#faults = []
    return felt
  }

  /**
   * Resolves with the milliseconds until that many consecutive creates of the quiet project took less than `ms` each.
   */
  async untilQuick(calls: number, ms: number): Promise<number> {
    const begunMs = performance.now()
    for (;;) {
      this.#creates = []
      while (this.#creates.length < calls) await pause(10)
      if (this.#creates.every((took) => took < ms))
        return Math.max(0, performance.now() - begunMs - calls * CREATE_EVERY_MS)
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#running)
  }

  #line(): Line {
    return new Line(this.#service.target.port)
  }

  #fault(who: string, { status, body }: Said): void {
    this.#faults.push(`${who}: ${status} ${JSON.stringify(body)?.slice(0, 300)}`)
  }

  async #beat({ id, token }: { readonly id: string; readonly token: string }, afterMs: number): Promise<void> {
    const line = this.#line()
    await pause(afterMs)
    while (!this.#isStopping) {
      const said = await line.say('POST', `/api/run-requests/${id}/heartbeat`, token, { attempt: 1 })
      this.#heartbeats.push(said.ms)
      if (said.status !== 200) this.#fault('a heartbeat', said)
      await pause(HEARTBEAT_EVERY_MS)
    }
    line.close()
  }

  /** Creates a request for the quiet project a few times per second. */
  async #ask(): Promise<void> {
    const line = this.#line()
    for (let n = 0; !this.#isStopping; n++) {
      const sentMs = performance.now()
      this.#sentMs.set(String(n), sentMs)
      const body = { entry_event: 'scan_requested', payload: { n: String(n) } }
      const said = await line.say('POST', '/api/projects/quiet/run-requests', this.#stage.quietToken, body)
      this.#creates.push(said.ms)
      if (said.status !== 201) this.#fault('a create of the quiet project', said)
      await pause(Math.max(0, CREATE_EVERY_MS - said.ms))
    }
    line.close()
  }

  async #takeQuiet(): Promise<void> {
    const { id, token } = this.#stage.quietRunner
    const line = this.#line()
    while (!this.#isStopping) {
      const offer = await line.say('GET', `/api/runners/${id}/run-requests/next?wait=1`, token)
      if (offer.status === 204) continue
      const sentMs = this.#sentMs.get(offer.body?.engine?.payload?.n)
      if (offer.status !== 200 || sentMs === undefined) {
        this.#fault("the quiet runner's poll", offer)
        await pause(100)
        continue
      }
      this.#createToOffer.push(performance.now() - sentMs)
      await this.#complete(line, offer.body, token)
    }
    line.close()
  }

  async #poll(): Promise<void> {
    const { id, token } = this.#stage.idleRunner
    const line = this.#line()
    while (!this.#isStopping) {
      const said = await line.say('GET', `/api/runners/${id}/run-requests/next`, token)
      this.#polls.push(said.ms)
      if (said.status === 200) await this.#complete(line, said.body, token)
      else if (said.status !== 204) this.#fault('an empty poll', said)
      await pause(POLL_EVERY_MS)
    }
    line.close()
  }

  /** Takes the requests of the noisy projects and completes them. */
  async #work({ id, token }: RunnerAccess): Promise<void> {
    const line = this.#line()
    while (!this.#isStopping) {
      const said = await line.say('GET', `/api/runners/${id}/run-requests/next?wait=1`, token)
      if (said.status === 200) await this.#complete(line, said.body, token)
      else if (said.status !== 204) {
        this.#fault("a worker's poll", said)
        await pause(100)
      }
    }
    line.close()
  }

  /** Completes a run; if the service asks to come back later, it does so. */
  async #complete(
    line: Line,
    { request_id, attempt }: { request_id: string; attempt: number },
    token: string,
  ): Promise<void> {
    const body = { attempt, result: { status: 'completed' } }
    for (let tries = 0; !this.#isStopping && tries < 20; tries++) {
      const said = await line.say('POST', `/api/run-requests/${request_id}/completed`, token, body)
      if (said.status === 200) return
      if (said.status !== 429 && said.status !== 503 && said.status !== 0) return this.#fault('a completion', said)
      await pause(500)
    }
  }
}
