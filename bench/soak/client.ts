/**
 * The load of a soak: whole cycles, first as fast as the service takes them (a closed loop), then at a fixed rate,
 * whether or not earlier ones have ended (an open loop), so that a stalled service is not spared the work that arrives
 * meanwhile. A cycle's latency counts from when it was due.
 */
import { createHistogram, performance, type RecordableHistogram } from 'node:perf_hooks'
import { answerRequests } from '../child.ts'
import { CycleClient, type LoadClient, type Meter } from '../load-scripts.ts'
import type { RunnerAccess } from '../service.ts'
import { Connection, type Target } from '../wire.ts'

export interface SoakJob {
  readonly target: Target
  readonly project: string
  readonly token: string
  /** One client each, so as many cycles can be under way at once. */
  readonly runners: readonly RunnerAccess[]
}

/** What happened since the last reading. */
export interface SoakReading {
  readonly seconds: number
  readonly cycles: number
  readonly callP50Ms: number
  readonly callP99Ms: number
  readonly callMaxMs: number
  readonly cycleP50Ms: number
  readonly cycleP99Ms: number
  readonly refused: number
  /** Cycles that are due now and have no free client. */
  readonly waiting: number
  readonly clientCpu: number
}

const TICK_MS = 1
const SERIALS_EACH = 1_000_000_000

/**
 * Latencies in milliseconds, kept to a thousandth and counted as they come: sorting a minute of them blocked the
 * client for 0.6 s, and the cycles that fell due meanwhile then reached the service all at once.
 */
class Latencies {
  readonly #micros: RecordableHistogram = createHistogram()

  add(ms: number): void {
    this.#micros.record(Math.max(1, Math.round(ms * 1_000)))
  }

  get count(): number {
    return this.#micros.count
  }

  get maxMs(): number {
    return this.#micros.max / 1_000
  }

  /** NaN if there are none. */
  percentileMs(percent: number): number {
    return this.count === 0 ? Number.NaN : this.#micros.percentile(percent) / 1_000
  }

  clear(): void {
    this.#micros.reset()
  }
}

class Soak {
  readonly #meter: Meter & { refused: number }
  readonly #free: LoadClient[] = []
  readonly #due: number[] = []
  readonly #dueOf = new Map<LoadClient, number>()
  readonly #job: SoakJob
  /** Undefined: each client begins its next cycle when its last has ended. */
  #pace: { readonly cyclesPerSecond: number; readonly fromMs: number } | undefined
  #begun = 0
  readonly #calls = new Latencies()
  readonly #cycles = new Latencies()
  #readMs = performance.now()
  #readCpu = process.cpuUsage()
  #timer: NodeJS.Timeout | undefined
  #failure: Error | undefined

  constructor(job: SoakJob) {
    this.#job = job
    this.#meter = {
      calls: 0,
      rounds: 0,
      emptyPolls: 0,
      sample: (_, ms) => this.#calls.add(ms),
      stopping: false,
      running: 0,
      ended: () => {},
      finished: (client) => this.#finished(client),
      refused: 0,
    }
  }

  async begin(): Promise<void> {
    const { runners, target, project, token } = this.#job
    for (const [index, runner] of runners.entries()) {
      const connection = await Connection.open(target)
      const serial = (index + 1) * SERIALS_EACH
      const client = new CycleClient(connection, this.#meter, { calls: 6, project, token, runner, serial })
      const failed = (failure: Error): void => {
        this.#failure ??= failure
      }
      connection.listen((status, text, from, to) => {
        try {
          client.answered(status, text, from, to)
        } catch (failure) {
          failed(failure as Error)
        }
      }, failed)
      this.#start(client, performance.now())
    }
  }

  /** Starts the open loop at this rate. Called once. */
  pace(cyclesPerSecond: number): void {
    this.#pace = { cyclesPerSecond, fromMs: performance.now() }
    this.#timer = setInterval(() => this.#tick(this.#pace!), TICK_MS)
  }

  /** Begins every cycle that has fallen due, as long as there are free clients. */
  #tick({ cyclesPerSecond, fromMs }: { cyclesPerSecond: number; fromMs: number }): void {
    const due = ((performance.now() - fromMs) / 1_000) * cyclesPerSecond
    while (this.#begun < due) this.#due.push(fromMs + (this.#begun++ / cyclesPerSecond) * 1_000)
    this.#startDue()
  }

  #startDue(): void {
    while (this.#due.length > 0 && this.#free.length > 0) {
      // The client that has been idle longest, so that the service closes no idle connection.
      this.#start(this.#free.shift()!, this.#due.shift()!)
    }
  }

  #start(client: LoadClient, dueMs: number): void {
    this.#dueOf.set(client, dueMs)
    client.start()
  }

  #finished(client: LoadClient): void {
    const nowMs = performance.now()
    this.#cycles.add(nowMs - this.#dueOf.get(client)!)
    if (this.#pace === undefined) {
      this.#start(client, nowMs)
      return
    }
    this.#free.push(client)
    this.#startDue()
  }

  read(): SoakReading {
    if (this.#failure !== undefined) throw this.#failure
    const nowMs = performance.now()
    const seconds = (nowMs - this.#readMs) / 1_000
    const cpu = process.cpuUsage(this.#readCpu)
    const reading: SoakReading = {
      seconds,
      cycles: this.#cycles.count,
      callP50Ms: this.#calls.percentileMs(50),
      callP99Ms: this.#calls.percentileMs(99),
      callMaxMs: this.#calls.maxMs,
      cycleP50Ms: this.#cycles.percentileMs(50),
      cycleP99Ms: this.#cycles.percentileMs(99),
      refused: this.#meter.refused,
      waiting: this.#due.length,
      clientCpu: (cpu.user + cpu.system) / 1e6 / seconds,
    }
    this.#calls.clear()
    this.#cycles.clear()
    this.#meter.refused = 0
    this.#readMs = nowMs
    this.#readCpu = process.cpuUsage()
    return reading
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

let soak: Soak | undefined

answerRequests({
  begin: async (job: SoakJob) => {
    soak = new Soak(job)
    await soak.begin()
  },
  pace: (cyclesPerSecond: number) => soak!.pace(cyclesPerSecond),
  read: () => soak!.read(),
  stop: () => soak!.stop(),
})
