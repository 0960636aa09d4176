/**
 * A well-behaved client beside the hostile ones: it asks one thing after the other over one connection, and tells how
 * long it waited. What is done to the service must not be felt here.
 */
import { readFileSync } from 'node:fs'
import type { Service } from '../../bench/service.ts'
import { Connection } from './connection.ts'

const TIMEOUT_MS = 20_000

export interface Beside {
  /** Milliseconds from each request to its answer. */
  readonly waits: readonly number[]
  /** Ends it; resolves with what went wrong. */
  stop(): Promise<readonly string[]>
  /**
   * Whether what was done to the service was hardly felt: 99 of 100 answers came within two seconds, and the time for which
   * the service and this process stood ready while others had the machine's cores.
   */
  wasHardlyFelt(): { readonly ok: boolean; readonly words: string }
}

const WAIT_MS_MAX = 2_000

/** @param request bytes that must be answered with a 2xx, again and again. */
export function beside({ target, child }: Pick<Service, 'target' | 'child'>, request: string, everyMs = 10): Beside {
  const { port } = target
  const pids = [child.pid, process.pid]
  const before = coreWaitMs(pids)
  const waits: number[] = []
  const faults: string[] = []
  let isStopping = false
  const run = async (): Promise<void> => {
    let connection: Connection | undefined
    while (!isStopping) {
      if (connection?.isOpen !== true) connection = await Connection.open(port)
      const outcome = await connection.ask([Buffer.from(request)], { isHead: false, timeoutMs: TIMEOUT_MS })
      waits.push(outcome.ms)
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
    waits,
    stop: async () => {
      isStopping = true
      await done
      return faults
    },
    wasHardlyFelt: () => {
      const p99 = quantile(waits, 0.99)
      const others = coreWaitMs(pids) - before
      const words = `p99 beside: ${p99.toFixed(1)} ms, of which others had the cores for ${others.toFixed(1)} at most`
      return { ok: p99 < WAIT_MS_MAX + others, words }
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
