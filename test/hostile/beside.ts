/**
 * A well-behaved client beside the hostile ones: it sends one request after the other over one connection and measures
 * how long it waits. It must not notice what is done to the service.
 */
import { readFileSync } from 'node:fs'
import type { Service } from '../../bench/service.ts'
import { Connection } from './connection.ts'

const TIMEOUT_MS = 20_000

export interface Beside {
  /** Stops the client; resolves with the faults it met. */
  stop(): Promise<readonly string[]>
  /**
   * Whether the client hardly noticed the attack: 99 of 100 answers came within two seconds, not counting the time for
   * which the service and this process were ready to run but had no core.
   */
  wasHardlyFelt(): { readonly ok: boolean; readonly words: string }
}

const WAIT_MS_MAX = 2_000

/** @param request bytes of a request that must be answered with a 2xx each time. */
export function beside({ target, child }: Pick<Service, 'target' | 'child'>, request: string, everyMs = 10): Beside {
  const { port } = target
  const pids = [child.pid, process.pid]
  /** Milliseconds from each request to its answer, not counting those without a core. */
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

/** How long the main threads were ready to run but did not, according to the kernel; 0 if it does not say. */
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

/** The quantile of the values for the share. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
