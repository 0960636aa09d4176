/**
 * A run's wait for its turn to land. It is no part of the work: it is bounded by itself, told in the output and in the
 * Run Result, and ends before the run's timeout would, because work that is complete must not fail for having waited.
 */
import type { Run } from './run.ts'

/** How long a run waits at most, in milliseconds. It keeps its runner's slot meanwhile. */
const WAIT_MS = 4 * 60 * 60_000
/** What landing takes besides the gate (fetch, merge, push), in milliseconds. */
const LANDING_MS = 10_000

export class Wait {
  /** The bound in words, as the end of a sentence. */
  readonly limit: string
  readonly #run: Run
  /** When it ends at the latest, on the clock of `performance.now()`, which began with this process. */
  readonly #endMs: number
  #sinceMs: number | undefined
  #others = 0
  #waitedMs = 0
  /** It has waited for another clone since that was last told. */
  #isNews = false

  /** `gateMs`: how long the gate took, which has to pass again after a merge. */
  constructor(run: Run, gateMs: number) {
    this.#run = run
    const seconds = run.work.request.timeout_seconds ?? Number.POSITIVE_INFINITY
    const [longest, timeout] = [performance.now() + WAIT_MS, seconds * 1_000 - gateMs - LANDING_MS]
    this.#endMs = Math.min(longest, timeout)
    this.limit = timeout < longest ? `in the ${seconds} s that the run may take` : `in ${WAIT_MS / 60_000} min`
  }

  get isTooLong(): boolean {
    return performance.now() > this.#endMs
  }

  /** So many other runs land first. */
  behind(others: number): void {
    this.#sinceMs ??= performance.now()
    if (others !== this.#others) this.#run.report.note(`${others} ${others === 1 ? 'run lands' : 'runs land'} first`)
    this.#others = others
  }

  /** The wait for the other runs of this clone is over, if there was one. */
  end(): void {
    if (this.#sinceMs === undefined) return
    this.#waitedMs += performance.now() - this.#sinceMs
    this.#sinceMs = undefined
    this.#tell()
  }

  /** A part of the wait for a run of another clone; `hasToWait` resolves to whether there is one. */
  async during(hasToWait: () => Promise<boolean>): Promise<boolean> {
    const sinceMs = performance.now()
    const isLonger = await hasToWait()
    if (isLonger) this.#waitedMs += performance.now() - sinceMs
    if (isLonger ? this.isTooLong : this.#isNews) this.#tell()
    this.#isNews = isLonger
    return isLonger
  }

  #tell(): void {
    const { report } = this.#run
    report.note(`waited ${(this.#waitedMs / 1_000).toFixed(1)} s for its turn to land`)
    report.result({ landing_waited_ms: Math.round(this.#waitedMs) })
  }
}
