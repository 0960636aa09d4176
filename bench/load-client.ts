/**
 * The load: N closed-loop clients over raw keep-alive connections, in a process of its own. The same code drives the
 * bare server, the ceiling prototype and the service, so its own cost is the same for all.
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { answerRequests } from './child.ts'
import { CycleClient, EventsClient, type LoadClient, type Meter, RepeatClient } from './load-scripts.ts'
import { quantile } from './statistics.ts'
import { Connection, type Target } from './wire.ts'

/** What each client repeats. */
export type Script =
  | { readonly kind: 'repeat'; readonly requests: readonly string[]; readonly status: number }
  | {
      readonly kind: 'cycle'
      readonly calls: 3 | 6
      readonly project: string
      readonly token: string
      readonly runners: readonly { readonly id: string; readonly token: string }[]
    }
  | {
      readonly kind: 'events'
      readonly perPost: number
      readonly runs: readonly { readonly id: string; readonly token: string }[]
    }

export interface LoadJob {
  readonly target: Target
  readonly clients: number
  readonly warmupMs: number
  readonly durationMs: number
  readonly script: Script
}

export interface LoadResult {
  readonly callsPerSecond: number
  /** Whole rounds of the script: cycles, posts or polls. */
  readonly roundsPerSecond: number
  /** Latency of each call of the script, by name, milliseconds. */
  readonly latencyMs: Readonly<Record<string, { readonly p50: number; readonly p99: number; readonly count: number }>>
  /** Share of one core that this process used. */
  readonly clientCpu: number
  /** Polls that found nothing although there was work. */
  readonly emptyPolls: number
}

/** Makes serial numbers unique, so that no two requests of this process have the same payload. */
let jobs = 0

function scriptFor(job: LoadJob, client: number, connection: Connection, meter: Meter): LoadClient {
  const serial = jobs * 1_000_000_000 + client * 1_000_000
  const script = job.script
  switch (script.kind) {
    case 'repeat':
      return new RepeatClient(connection, meter, shareOf(script.requests, client, job.clients), script.status)
    case 'cycle': {
      const runner = script.runners[client % script.runners.length]!
      return new CycleClient(connection, meter, { ...script, runner, serial })
    }
    case 'events':
      return new EventsClient(connection, meter, {
        run: script.runs[client % script.runs.length]!,
        perPost: script.perPost,
        serial,
      })
  }
}

/** Every client gets requests of its own, as far as there are enough. */
function shareOf(requests: readonly string[], client: number, clients: number): readonly string[] {
  const own = requests.filter((_, index) => index % clients === client)
  return own.length > 0 ? own : [requests[client % requests.length]!]
}

async function run(job: LoadJob): Promise<LoadResult> {
  jobs++
  const samples: Record<string, number[]> = {}
  const sample = (name: string, ms: number): void => {
    const ofName = samples[name]
    if (ofName === undefined) samples[name] = [ms]
    else ofName.push(ms)
  }
  const meter: Meter = { calls: 0, rounds: 0, emptyPolls: 0, sample, stopping: false, running: 0, ended: () => {} }
  const connections = await Promise.all(Array.from({ length: job.clients }, () => Connection.open(job.target)))
  const failed = new Promise<never>((_, reject) => {
    connections.forEach((connection, client) => {
      const driver = scriptFor(job, client, connection, meter)
      connection.listen((status, text, from, to) => {
        try {
          driver.answered(status, text, from, to)
        } catch (failure) {
          reject(failure)
        }
      }, reject)
      meter.running++
      driver.start()
    })
  })
  const ended = new Promise<void>((resolve) => {
    meter.ended = resolve
  })
  await Promise.race([pause(job.warmupMs), failed])
  for (const name of Object.keys(samples)) samples[name] = []
  const before = { calls: meter.calls, rounds: meter.rounds, emptyPolls: meter.emptyPolls }
  const from = performance.now()
  const cpu = process.cpuUsage()
  await Promise.race([pause(job.durationMs), failed])
  const used = process.cpuUsage(cpu)
  const seconds = (performance.now() - from) / 1000
  const result: LoadResult = {
    callsPerSecond: (meter.calls - before.calls) / seconds,
    roundsPerSecond: (meter.rounds - before.rounds) / seconds,
    latencyMs: Object.fromEntries(Object.entries(samples).map(([name, taken]) => [name, quantilesOf(taken)])),
    clientCpu: (used.user + used.system) / 1e6 / seconds,
    emptyPolls: meter.emptyPolls - before.emptyPolls,
  }
  // Let each client finish its round, so that no run request is left in the middle.
  meter.stopping = true
  await Promise.race([ended, failed, pause(5_000)])
  for (const connection of connections) connection.close()
  return result
}

function quantilesOf(samples: readonly number[]): { p50: number; p99: number; count: number } {
  return { p50: quantile(samples, 0.5), p99: quantile(samples, 0.99), count: samples.length }
}

answerRequests({ run })
