/**
 * The load on one system: closed loops of whole cycles through the system's own client, in a process of its own. It
 * reads the server's CPU time and its recorded flushes itself, at the edges of the measured window, so that both
 * belong to the cycles it counted.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { answerRequests } from '../child.ts'
import { cpuMs, flushingDescriptors } from '../processes.ts'
import { quantile } from '../statistics.ts'
import { type Driver, jobOf, type Open } from './driver.ts'
import { countFlushes } from './flushes.ts'
import type { Address } from './server.ts'

const drivers = {
  intendant: async () => (await import('./drivers/intendant.ts')).plain,
  'intendant-node-http': async () => (await import('./drivers/intendant.ts')).nodeHttp,
  'bullmq-calls': async () => (await import('./drivers/bullmq.ts')).calls,
  'bullmq-worker': async () => (await import('./drivers/bullmq.ts')).worker,
  'redis-lists': async () => (await import('./drivers/redis.ts')).lists,
  'skip-locked': async () => (await import('./drivers/skip-locked.ts')).skipLocked,
  'pg-boss': async () => (await import('./drivers/pg-boss.ts')).pgBoss,
  'graphile-worker': async () => (await import('./drivers/graphile-worker.ts')).asItComes,
  'graphile-worker-batching': async () => (await import('./drivers/graphile-worker.ts')).batching,
  jetstream: async () => (await import('./drivers/nats.ts')).workQueue,
  beanstalkd: async () => (await import('./drivers/beanstalkd.ts')).beanstalk,
  'rabbitmq-quorum': async () => (await import('./drivers/rabbitmq.ts')).quorum,
  'rabbitmq-classic': async () => (await import('./drivers/rabbitmq.ts')).classic,
} satisfies Record<string, () => Promise<Open>>

export type DriverName = keyof typeof drivers

export interface PeerJob {
  readonly driver: DriverName
  readonly address: Address
  readonly clients: number
  readonly warmupMs: number
  readonly durationMs: number
  /** Root of the server's process tree. */
  readonly serverPid: number
  /** The file in which strace records the server's flushes. */
  readonly flushFile?: string
}

export interface PeerResult {
  readonly cyclesPerSecond: number
  /** Latency of a whole cycle. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly serverCpuUsPerCycle: number
  readonly clientCpuUsPerCycle: number
  readonly flushesPerCycle?: number
}

/** Even a slow system ends its last cycles within this time. */
const DRAIN_MS = 15_000
/** Keeps the jobs of a client process distinct; processes differ by pid. */
let serial = (process.pid % 1_000) * 1_000_000

async function run(job: PeerJob): Promise<PeerResult> {
  const driver = await (await drivers[job.driver]())(job.address, job.clients)
  try {
    return await measured(driver, job)
  } finally {
    await driver.close()
  }
}

async function measured(driver: Driver, job: PeerJob): Promise<PeerResult> {
  let samples: number[] = []
  let stopping = false
  const client = async (index: number): Promise<void> => {
    while (!stopping) {
      const from = performance.now()
      await driver.cycle(index, jobOf(serial++))
      samples.push(performance.now() - from)
    }
  }
  const clients = Promise.all(Array.from({ length: job.clients }, (_, index) => client(index)))
  await Promise.race([pause(job.warmupMs), clients])
  const before = edge(job)
  samples = []
  await Promise.race([pause(job.durationMs), clients])
  const after = edge(job)
  const taken = samples
  stopping = true
  await Promise.race([clients, late(job)])
  const cycles = taken.length
  const flushes = { flushesPerCycle: flushesBetween(job, before, after) / cycles }
  return {
    cyclesPerSecond: cycles / ((after.atMs - before.atMs) / 1000),
    p50Ms: quantile(taken, 0.5),
    p99Ms: quantile(taken, 0.99),
    serverCpuUsPerCycle: ((after.serverMs - before.serverMs) * 1000) / cycles,
    clientCpuUsPerCycle: ((after.ownMs - before.ownMs) * 1000) / cycles,
    ...(job.flushFile === undefined ? {} : flushes),
  }
}

interface Edge {
  readonly atMs: number
  readonly serverMs: number
  readonly ownMs: number
  readonly recordedBytes: number
}

function edge(job: PeerJob): Edge {
  const own = process.cpuUsage()
  return {
    serverMs: cpuMs(job.serverPid),
    ownMs: (own.user + own.system) / 1000,
    recordedBytes: job.flushFile === undefined ? 0 : sizeOf(job.flushFile),
    atMs: performance.now(),
  }
}

function sizeOf(path: string): number {
  const file = openSync(path, 'r')
  const { size } = fstatSync(file)
  closeSync(file)
  return size
}

function flushesBetween(job: PeerJob, before: Edge, after: Edge): number {
  if (job.flushFile === undefined) return 0
  const file = openSync(job.flushFile, 'r')
  const bytes = Buffer.alloc(after.recordedBytes - before.recordedBytes)
  readSync(file, bytes, 0, bytes.length, before.recordedBytes)
  closeSync(file)
  return countFlushes(bytes.toString('latin1'), flushingDescriptors(job.serverPid))
}

function late(job: PeerJob): Promise<never> {
  return new Promise((_, reject) => {
    const say = (): void => reject(new Error(`${job.driver}: clients still wait after ${DRAIN_MS} ms`))
    setTimeout(say, DRAIN_MS).unref()
  })
}

answerRequests({ run })
