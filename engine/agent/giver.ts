/**
 * Whoever gave us the work, a runner: an orphan's is another's by now. Between the two there may be the shell that the runner
 * started (`/bin/sh -c`), which outlives it; where the system does not tell of processes, only who stands directly above is seen.
 */
import { readFileSync } from 'node:fs'
import { statusOf } from '../process-status.ts'

export class Giver {
  readonly #parent = process.ppid
  /** Of the shell that is our parent; undefined: that is none. */
  readonly #shellsParent = isShell(process.ppid) ? statusOf(process.ppid)?.parent : undefined

  /** Whether it is there no more. */
  get isGone(): boolean {
    if (process.ppid !== this.#parent) return true
    return this.#shellsParent !== undefined && statusOf(this.#parent)?.parent !== this.#shellsParent
  }
}

/** Whether a process is a shell that does what it was given as an argument. */
function isShell(pid: number): boolean {
  try {
    return /^[^\0]*sh\0-c\0/.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
  } catch {
    return false
  }
}
