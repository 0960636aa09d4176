/**
 * Detects that the runner that started this run is gone: an orphan gets another parent. The runner's shell (`/bin/sh
 * -c`) may stand between the two and outlive the runner, so its parent is watched too; where the system gives no
 * information about processes, only the direct parent is.
 */
import { readFileSync } from 'node:fs'
import { statusOf } from '../process-status.ts'

/** How often it is looked whether the runner is still there, in milliseconds. */
const LOOK_MS = 1_000

export class ParentWatch {
  readonly #parent = process.ppid
  /** Parent of the shell that is our parent; undefined if our parent is no shell. */
  readonly #shellsParent = isShell(process.ppid) ? statusOf(process.ppid)?.parent : undefined

  /** Whether the runner is gone. */
  get isGone(): boolean {
    if (process.ppid !== this.#parent) return true
    return this.#shellsParent !== undefined && statusOf(this.#parent)?.parent !== this.#shellsParent
  }

  /** Calls `act` once, when the runner is gone. Returns the timer, which does not keep the process alive. */
  whenGone(act: () => void): NodeJS.Timeout {
    const timer = setInterval(() => {
      if (!this.isGone) return
      clearInterval(timer)
      act()
    }, LOOK_MS)
    return timer.unref()
  }
}

/** Whether the process is a shell that runs a command given as an argument. */
function isShell(pid: number): boolean {
  try {
    return /^[^\0]*sh\0-c\0/.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
  } catch {
    return false
  }
}
