/**
 * A whole fuzzing run: the real service in a process of its own, the fuzzer, and what must hold afterwards: still the
 * same process, no error in its log, no growing memory, and a home in which `verify` finds no fault.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Service } from '../../bench/service.ts'
import { BINARY } from '../binary.ts'
import { Fuzzer, type FuzzReport } from './fuzzer.ts'

export interface CampaignOptions {
  readonly requests: number
  readonly seed: number
  readonly connections: number
  readonly log: (line: string) => void
}

export interface CampaignResult extends FuzzReport {
  readonly table: string
  /** Bytes of the heap after a collection, measured from time to time. */
  readonly heaps: readonly number[]
}

const WORLD_REQUESTS = 40_000
const MEASURES = 10
/** How much the collected heap may grow over the last half of a long run. */
const GROWTH_BYTES_MAX = 24 * 1024 * 1024
/** Shorter runs end before the caches are full, so that their growth means nothing. */
const MEASURED_REQUESTS_MIN = 400_000

export async function campaign(options: CampaignOptions): Promise<CampaignResult> {
  const home = mkdtempSync(join(tmpdir(), 'intendant-hostile-'))
  const service = await Service.start(home)
  const { pid } = service.child
  const heaps: number[] = []
  try {
    const { port } = service.target
    const openApi = await (await fetch(`http://127.0.0.1:${port}/openapi.json`)).json()
    const folder = join(tmpdir(), `intendant-hostile-bodies-${process.pid}`)
    const measure = async (done: number): Promise<void> => {
      const { heapUsedBytes, externalBytes } = await service.child.heap()
      const { rssBytes } = await service.child.usage()
      heaps.push(heapUsedBytes + externalBytes)
      options.log(
        `${done} requests: heap ${mib(heapUsedBytes)}, external ${mib(externalBytes)}, resident ${mib(rssBytes)} MiB`,
      )
    }
    const fuzzer = new Fuzzer(
      {
        ...options,
        port,
        adminToken: service.token,
        worldRequests: WORLD_REQUESTS,
        folder,
        onProgress: measure,
        progressEvery: Math.ceil(options.requests / MEASURES),
      },
      openApi,
    )
    const report = await fuzzer.run()
    const faults = [...report.faults]
    faults.push(...(await lastChecks(service, pid, port)))
    if (report.requests >= MEASURED_REQUESTS_MIN) faults.push(...growth(heaps))
    await service.stop()
    faults.push(...logFaults(home), ...verifyFaults(home))
    return { ...report, faults, heaps, table: tableOf(report) }
  } finally {
    await service.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

async function lastChecks(service: Service, pid: number, port: number): Promise<string[]> {
  const faults: string[] = []
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`)
  const { quarantined } = (await ready.json()) as { quarantined?: number }
  if (ready.status !== 200) faults.push(`afterwards /readyz answers ${ready.status}`)
  if (quarantined !== 0) faults.push(`${quarantined} records cannot be read`)
  if (service.child.pid !== pid || (await service.child.usage()).rssBytes === 0)
    faults.push('the process is another one')
  return faults
}

function growth(heaps: readonly number[]): string[] {
  const middle = heaps[Math.floor(heaps.length / 2)]!
  const last = heaps.at(-1)!
  return last - middle > GROWTH_BYTES_MAX
    ? [`the heap has grown from ${mib(middle)} to ${mib(last)} MiB over the last half`]
    : []
}

/** Lines that the service logged as errors while it ran. */
function logFaults(home: string): string[] {
  const text = readFileSync(join(home, 'bench-stderr.log'), 'utf8')
  const faults = text.split('\n').filter((line) => line !== '' && !/"level":(10|20|30|40),/.test(line))
  if (/i(td|rt)_/.test(text)) faults.push('a token is in the log')
  return faults.slice(0, 5).map((line) => `logged: ${line.slice(0, 2_000)}`)
}

function verifyFaults(home: string): string[] {
  const verified = spawnSync(process.execPath, [BINARY, 'verify'], {
    env: { ...process.env, ENGINE_HOME: home },
    encoding: 'utf8',
  })
  return verified.status === 0 ? [] : [`verify: ${verified.stdout.slice(-2_000)}${verified.stderr.slice(-2_000)}`]
}

function tableOf({ answered, requests, seconds, slowestMs, closed }: FuzzReport): string {
  const rows = [...answered]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, byStatus]) => {
      const counts = [...byStatus].sort(([a], [b]) => a - b).map(([status, count]) => `${status}:${count}`)
      return `${name.padEnd(60)} ${counts.join(' ')}`
    })
  const rate = Math.round(requests / seconds)
  rows.push(
    `${requests} requests in ${seconds.toFixed(1)} s (${rate} a second), slowest ${slowestMs.toFixed(0)} ms, ${closed} connections ended`,
  )
  return rows.join('\n')
}

function mib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1)
}
