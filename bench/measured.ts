/** Runs a load job against a server, and measures what the server's process spent on it. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Child } from './child.ts'
import type { LoadJob, LoadResult } from './load-client.ts'
import type { Usage } from './probe.ts'

export interface Measured extends LoadResult {
  /** Share of one core that all threads of the server used. */
  readonly serverCpu: number
  /** CPU time of all threads per call, microseconds; it is the same on a busy machine. */
  readonly serverCpuUsPerCall: number
  /** Share of the time in which the server's event loop was busy; at 1 it was the bottleneck. */
  readonly serverBusy: number
  /** Calls per second of server CPU: what one core could do with a client that fills it. */
  readonly callsPerCpuSecond: number
}

/** Runs the job on the load client and reads the server's usage before and after. */
export async function measure(load: Child, server: Child, job: LoadJob): Promise<Measured> {
  // Both readings are just inside the job's measured window, so that connecting and warming up are not counted.
  const result = load.ask<LoadResult>('run', job)
  result.catch(() => {})
  await pause(job.warmupMs + CONNECT_MS)
  const before = await server.usage()
  await pause(job.durationMs - 2 * CONNECT_MS)
  const after = await server.usage()
  return { ...(await result), ...spent(await result, before, after) }
}

const CONNECT_MS = 100

function spent(result: LoadResult, before: Usage, after: Usage): Omit<Measured, keyof LoadResult> {
  const ms = after.atMs - before.atMs
  const busy = (after.activeMs - before.activeMs) / ms
  const serverCpu = (after.cpuMs - before.cpuMs) / ms
  return {
    serverCpu,
    serverCpuUsPerCall: (serverCpu / result.callsPerSecond) * 1e6,
    serverBusy: busy,
    callsPerCpuSecond: result.callsPerSecond / serverCpu,
  }
}
