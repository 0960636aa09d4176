/**
 * A well-behaved client beside the hostile ones: it asks one thing after the other over one connection, and tells how
 * long it waited. What is done to the service must not be felt here.
 */
import { readFileSync } from 'node:fs'
import type { Service } from '../../bench/service.ts'
import { Connection } from './connection.ts'

const TIMEOUT_MS = 20_000

export interface Beside {
  /** Ends it; resolves with what went wrong. */
  stop(): Promise<readonly string[]>
  /**
   * Whether what was done to the service was hardly felt: 99 of 100 answers came within two seconds, without the time for which
   * it and this process stood ready meanwhile and had no core.
   */
  wasHardlyFelt(): { readonly ok: boolean; readonly words: string }
}

const WAIT_MS_MAX = 2_000

/** @param request bytes that must be answered with a 2xx, again and again. */
export function beside({ target, child }: Pick<Service, 'target' | 'child'>, request: string, everyMs = 10): Beside {
  const { port } = target
  const pids = [child.pid, process.pid]
  /** Milliseconds from each request to its answer, without those for which there was no core. */
  const waits: number[] = []
  const faults: string[] = []
  let isStopping = false
  const run = async (): Promise<void> => {
    let connection: Connection | undefined
    while (!isStopping) {
      if (connection?.isOpen !== true) connection = await Connection.open(port)
      const before = coreWaitMs(pids)
      const outcome = await connection.ask([Buffer.from(request)], { isHead: false, timeoutMs: TIMEOUT_MS })
      waits.push(Math.max(0, outcome.ms - (coreWaitMs(pids) - before)))
      if (outcome.kind !== 'answer') faults.push(`${outcome.kind} after ${Math.round(outcome.ms)} ms`)
      else if (outcome.status >= 300) faults.push(`${outcome.status} ${outcome.body.toString().slice(0, 300)}`)
      await new Promise((resolve) => setTimeout(resolve, everyMs))
    }
    connection?.close()
  }
  const done = run().catch((error: unknown) => {
    faults.push(String(error))
  })
  return {
    stop: async () => {
      isStopping = true
      await done
      return faults
    },
    wasHardlyFelt: () => {
      const p99 = quantile(waits, 0.99)
      return { ok: p99 < WAIT_MS_MAX, words: `p99 beside: ${p99.toFixed(1)} ms` }
    },
  }
}

/** How long the main threads have been ready to run and were not, by the kernel's word; 0 where it does not say. */
function coreWaitMs(pids: readonly number[]): number {
  let ns = 0
  for (const pid of pids) {
    try {
      ns += Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1])
    } catch {
      return 0
    }
  }
  return ns / 1e6
}

/** The value below which the share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
