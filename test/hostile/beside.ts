/**
 * A well-behaved client beside the hostile ones: it asks one thing after the other over one connection, and tells how
 * long it waited. What is done to the service must not be felt here.
 */
import { Connection } from './connection.ts'

const TIMEOUT_MS = 20_000

export interface Beside {
  /** Milliseconds from each request to its answer. */
  readonly waits: readonly number[]
  /** Ends it; resolves with what went wrong. */
  stop(): Promise<readonly string[]>
}

/** @param request bytes that must be answered with a 2xx, again and again */
export function beside(port: number, request: string, everyMs = 10): Beside {
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
  }
}

/** The value below which the share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
