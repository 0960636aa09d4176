/** What every system is asked to do: make a job durable, take one, record that it is done. */
import type { Address } from './server.ts'

/** The job as handed over: some 446 bytes of JSON, no two alike. */
export interface Job {
  readonly [field: string]: unknown
  readonly serial: number
}

export interface Driver {
  /**
   * Runs one whole cycle of one client; resolves when each step has been acknowledged. The job it takes need not be
   * the one it made.
   */
  cycle(client: number, job: Job): Promise<void>
  close(): Promise<void>
}

/** Connects for that many concurrent clients. */
export type Open = (address: Address, clients: number) => Promise<Driver>

/** Length of the event envelope that most measurements of this kind carry. */
const JOB_BYTES = 446
const FIXED = { kind: 'execution', objective: '', repo: 'git@example.com:team/service.git', revision: 'f'.repeat(40) }
const SERIAL_FROM = 1_000_000_000
const PADDING = 'x'.repeat(JOB_BYTES - JSON.stringify({ serial: SERIAL_FROM, ...FIXED }).length)

/** @param serial from 0. */
export function jobOf(serial: number): Job {
  return { serial: SERIAL_FROM + serial, ...FIXED, objective: PADDING }
}
