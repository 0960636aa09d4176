/**
 * More load than the service can handle. The peak is measured first; then twice as much is offered at scheduled times,
 * whether or not it is answered, while others continue: runners that hold work, a quiet project with its runner,
 * workers. What is required of their waits is in `README.md`.
 */
import { spawnSync } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { Child } from '../../bench/child.ts'
import { type RunnerAccess, Service } from '../../bench/service.ts'
import { BINARY } from '../binary.ts'
import { quantile } from './beside.ts'
import type { FloodJob, FloodResult } from './flood-child.ts'
import { Bystanders } from './overload-bystanders.ts'

export interface OverloadOptions {
  readonly home: string
  /** Seconds for which twice the peak is offered. */
  readonly seconds: number
  /** Seconds for which the peak is measured. */
  readonly peakSeconds: number
  /** Seconds of load by each noisy neighbour. */
  readonly noisySeconds: number
  readonly log: (line: string) => void
}

/** What the bystanders experienced in one phase; waits are in milliseconds. */
export interface Felt {
  readonly createToOffer: readonly number[]
  readonly polls: readonly number[]
  readonly heartbeats: readonly number[]
  readonly faults: readonly string[]
}

export interface OverloadReport {
  readonly peakPerSecond: number
  readonly flood: FloodResult
  readonly calm: Felt
  readonly under: Felt
  readonly noisyRunner: Felt
  readonly noisyReader: Felt
  /** From the end of the load until answers were fast again. */
  readonly recoveryMs: number
  /** Number of acknowledged requests that were missing after the process was killed and restarted. */
  readonly lost: number
  readonly sampled: number
  /** Number of leases that ended although their runners sent heartbeats. */
  readonly leasesEnded: number
  readonly residentMibMax: number
  /** MiB of the collected heap before and after. */
  readonly heapMib: readonly [before: number, after: number]
  readonly verified: string
}

const NOISY_PROJECTS = 4
const PEAK_CONNECTIONS = 128
const FLOOD_CONNECTIONS = 4_000
const HELD_RUNS = 60
const NOISY_CONNECTIONS = 64
/** The service counts as recovered after this many consecutive calls that took less than this each. */
const RECOVERED_CALLS = 5
const RECOVERED_MS = 250
const SAMPLE = 3_000
const CREATE = '{"entry_event":"scan_requested","payload":{"n":"@"}}'

export async function overload(options: OverloadOptions): Promise<OverloadReport> {
  const { home, log } = options
  const service = await Service.start(home, ['--lease', '10s'])
  const flooder = new Child('../test/hostile/flood-child.js')
  const stage = await setUp(service)
  const bystanders = new Bystanders(service, stage)
  await bystanders.start()
  const flood = (job: Omit<FloodJob, 'target'>): Promise<FloodResult> =>
    flooder.ask<FloodResult>('flood', { ...job, target: service.target })

  const peak = await flood({
    requests: stage.creates,
    connections: PEAK_CONNECTIONS,
    seconds: options.peakSeconds,
    serial: 0,
  })
  const peakPerSecond = peak.taken.count / peak.seconds
  log(
    `peak: ${Math.round(peakPerSecond)} creates a second from ${PEAK_CONNECTIONS} clients, p99 ${peak.taken.p99.toFixed(1)} ms`,
  )
  await pause(1_000)
  bystanders.take()
  await pause(3_000)
  const calm = bystanders.take()
  log(told('calm', calm))
  const heapBefore = await heapMib(service)

  const resident = watchResident(service)
  const flooded = await flood({
    requests: stage.creates,
    perSecond: peakPerSecond * 2,
    connections: FLOOD_CONNECTIONS,
    seconds: options.seconds,
    serial: 1_000_000_000,
  })
  const recoveryMs = await bystanders.untilQuick(RECOVERED_CALLS, RECOVERED_MS)
  const under = bystanders.take()
  log(
    `offered ${Math.round(peakPerSecond * 2)} a second for ${flooded.seconds.toFixed(1)} s: ${JSON.stringify(flooded.statuses)}, unsent ${flooded.unsent}`,
  )
  log(
    `taken: p50 ${flooded.taken.p50.toFixed(1)}, p99 ${flooded.taken.p99.toFixed(1)} ms; refused: p50 ${flooded.refused.p50.toFixed(1)}, p99 ${flooded.refused.p99.toFixed(1)} ms`,
  )
  log(told('meanwhile', under))
  log(`quick again ${Math.round(recoveryMs)} ms after the load ended`)

  const noisyRunner = await beside(flood, bystanders, {
    requests: stage.noisyEvents,
    connections: NOISY_CONNECTIONS,
    seconds: options.noisySeconds,
    serial: 2_000_000_000,
  })
  log(told('beside a noisy runner', noisyRunner))
  const noisyReader = await beside(flood, bystanders, {
    requests: stage.lists,
    connections: NOISY_CONNECTIONS,
    seconds: options.noisySeconds,
    serial: 0,
  })
  log(told('beside a noisy reader', noisyReader))

  const residentMibMax = resident.stop()
  const heapAfter = await heapMib(service)
  const leasesEnded = await metric(service, 'intendant_lease_expired_total')
  await bystanders.stop()
  await flooder.stop()
  const { lost, sampled, verified } = await afterKill(service, home, flooded.ids)
  log(
    `of ${sampled} acknowledged, ${lost} were lost in a kill behind the flood; ${leasesEnded} leases ended; resident at most ${residentMibMax} MiB`,
  )
  return {
    peakPerSecond,
    flood: flooded,
    calm,
    under,
    noisyRunner,
    noisyReader,
    recoveryMs,
    lost,
    sampled,
    leasesEnded,
    residentMibMax,
    heapMib: [heapBefore, heapAfter],
    verified,
  }
}

export interface OverloadStage {
  readonly creates: FloodJob['requests']
  /** Posts of 200 events each by one runner for its own run. */
  readonly noisyEvents: FloodJob['requests']
  readonly lists: FloodJob['requests']
  /** Runs in progress whose leases must not end. */
  readonly held: readonly { readonly id: string; readonly token: string }[]
  readonly quietToken: string
  readonly quietRunner: RunnerAccess
  readonly idleRunner: RunnerAccess
  readonly workers: readonly RunnerAccess[]
}

async function setUp(service: Service): Promise<OverloadStage> {
  const tokens: string[] = []
  for (let n = 0; n < NOISY_PROJECTS; n++) {
    await service.createProject(`noisy${n}`)
    tokens.push(await tokenFor(service, `noisy${n}`))
  }
  for (const key of ['held', 'quiet', 'events']) await service.createProject(key)
  const noisy = Array.from({ length: NOISY_PROJECTS }, (_, n) => `noisy${n}`)
  const runnersOf = (prefix: string, count: number, allowed_projects: readonly string[], capacity = 1) =>
    service.createRunnersLike(prefix, count, () => ({ allowed_projects, capacity }))
  const holders = await runnersOf('holder', 6, ['held'], 20)
  const held = await service.startRuns('held', holders, HELD_RUNS)
  const [noisyRunner] = await runnersOf('noisy-runner', 1, ['events'])
  const [noisyRun] = await service.startRuns('events', [noisyRunner!], 1)
  const events = Array.from({ length: 200 }, (_, n) => ({
    event_type: 'something_seen',
    occurred_at: '2026-01-01T00:00:00.000000Z',
    payload: { n: `@ ${n}`, text: 'x'.repeat(200) },
  }))
  const [quietRunner] = await runnersOf('quiet-runner', 1, ['quiet'], 8)
  const [idleRunner] = await runnersOf('idle-runner', 1, ['held'])
  return {
    creates: tokens.map((token, n) => ({
      method: 'POST',
      path: `/api/projects/noisy${n}/run-requests`,
      token,
      body: CREATE,
    })),
    noisyEvents: [
      {
        method: 'POST',
        path: `/api/run-requests/${noisyRun!.id}/events`,
        token: noisyRun!.token,
        body: JSON.stringify({ attempt: 1, events }),
      },
    ],
    lists: [{ method: 'GET', path: '/api/run-requests?limit=500', token: tokens[0]! }],
    held: [...held, noisyRun!],
    quietToken: await tokenFor(service, 'quiet'),
    quietRunner: quietRunner!,
    idleRunner: idleRunner!,
    workers: await runnersOf('worker', 8, noisy),
  }
}

async function tokenFor(service: Service, project: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${service.target.port}/api/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: `of ${project}`, roles: ['operator'], projects: [project] }),
  })
  return ((await response.json()) as { token: string }).token
}

async function beside(
  flood: (job: Omit<FloodJob, 'target'>) => Promise<FloodResult>,
  bystanders: Bystanders,
  job: Omit<FloodJob, 'target'>,
): Promise<Felt> {
  bystanders.take()
  await flood(job)
  return bystanders.take()
}

export function told(when: string, { createToOffer, polls, heartbeats, faults }: Felt): string {
  const of = (values: readonly number[]): string =>
    `p50 ${quantile(values, 0.5).toFixed(1)}, p99 ${quantile(values, 0.99).toFixed(1)} ms (${values.length})`
  return `${when}: create to offer ${of(createToOffer)}; polls ${of(polls)}; heartbeats ${of(heartbeats)}; ${faults.length} faults`
}

function watchResident(service: Service): { stop(): number } {
  let most = 0
  const timer = setInterval(() => {
    service.child.usage().then(
      ({ rssBytes }) => {
        most = Math.max(most, Math.round(rssBytes / 1024 / 1024))
      },
      () => {},
    )
  }, 1_000)
  return {
    stop: () => {
      clearInterval(timer)
      return most
    },
  }
}

async function heapMib(service: Service): Promise<number> {
  const { heapUsedBytes, externalBytes } = await service.child.heap()
  return Math.round((heapUsedBytes + externalBytes) / 1024 / 1024)
}

async function metric(service: Service, name: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${service.target.port}/metrics`, {
    headers: { authorization: `Bearer ${service.token}` },
  })
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(await response.text())?.[1] ?? Number.NaN)
}

/** Kills the process, restarts it and looks up what it had acknowledged under load. */
async function afterKill(service: Service, home: string, ids: readonly string[]) {
  service.child.killNow()
  await service.stop()
  const again = await Service.start(home)
  let lost = 0
  const step = Math.max(1, Math.floor(ids.length / SAMPLE))
  const sample = ids.filter((_, n) => n % step === 0)
  for (const id of sample) {
    const response = await fetch(`http://127.0.0.1:${again.target.port}/api/run-requests/${id}`, {
      headers: { authorization: `Bearer ${again.token}` },
    })
    await response.arrayBuffer()
    if (response.status !== 200) lost++
  }
  await again.stop()
  const verified = spawnSync(process.execPath, [BINARY, 'verify'], {
    env: { ...process.env, ENGINE_HOME: home },
    encoding: 'utf8',
  })
  return { lost, sampled: sample.length, verified: verified.status === 0 ? '' : `${verified.stdout}${verified.stderr}` }
}

/** Limits of the bystanders' waits, in milliseconds. */
const FELT_MS_MAX = 3_000
const REFUSED_MS_MAX = 2_000
const RECOVERY_MS_MAX = 2_000
/** Bytes of heap that may be used for each request that the flood left queued, and MiB in addition. */
const HEAP_BYTES_A_REQUEST = 1_000
const HEAP_MIB = 96

/** Promises that were broken; these hold on any machine. */
export function brokenPromises(report: OverloadReport): string[] {
  const { flood, under, noisyRunner, noisyReader } = report
  const faults: string[] = []
  for (const status of Object.keys(flood.statuses).map(Number)) {
    if (![201, 429, 503].includes(status)) faults.push(`${flood.statuses[status]} of the flood were answered ${status}`)
  }
  if (flood.withoutRetryAfter > 0) faults.push(`${flood.withoutRetryAfter} refusals had no Retry-After`)
  if (report.lost > 0) faults.push(`${report.lost} of ${report.sampled} acknowledged requests were lost`)
  if (report.leasesEnded > 0) faults.push(`${report.leasesEnded} leases ended`)
  if (report.verified !== '') faults.push(`verify: ${report.verified}`)
  for (const [when, felt] of Object.entries({
    flood: under,
    'noisy runner': noisyRunner,
    'noisy reader': noisyReader,
  })) {
    for (const fault of felt.faults.slice(0, 3)) faults.push(`beside the ${when}: ${fault}`)
    for (const [what, values] of waitsOf(felt)) if (values.length === 0) faults.push(`beside the ${when}: no ${what}`)
  }
  return faults
}

/** What took too long or too much memory; meaningful only on a machine without other load. */
export function slowAnswers(report: OverloadReport): string[] {
  const { flood, under, noisyRunner, noisyReader, heapMib: heap } = report
  const faults: string[] = []
  const hold = (isKept: boolean, fault: string): void => {
    if (!isKept) faults.push(fault)
  }
  hold(flood.refused.count > 0, 'nothing was refused: it was not too much')
  hold(flood.refused.p99 < REFUSED_MS_MAX, `refusals took ${flood.refused.p99.toFixed(0)} ms (p99)`)
  hold(report.recoveryMs < RECOVERY_MS_MAX, `answers were slow for ${report.recoveryMs.toFixed(0)} ms after the load`)
  const requests = flood.taken.count + report.peakPerSecond * 60
  const allowed = heap[0] + HEAP_MIB + (requests * HEAP_BYTES_A_REQUEST) / 1024 / 1024
  hold(heap[1] < allowed, `the heap has grown from ${heap[0]} to ${heap[1]} MiB`)
  for (const [when, felt] of Object.entries({
    flood: under,
    'noisy runner': noisyRunner,
    'noisy reader': noisyReader,
  })) {
    for (const [what, values] of waitsOf(felt)) {
      const p99 = quantile(values, 0.99)
      hold(p99 < FELT_MS_MAX, `beside the ${when}, ${what}: p99 ${p99.toFixed(0)} ms of ${values.length}`)
    }
  }
  return faults
}

function waitsOf({ createToOffer, polls, heartbeats }: Felt): [what: string, waits: readonly number[]][] {
  return Object.entries({ 'offers of what was created': createToOffer, polls, heartbeats })
}
