/** A process's status from Linux (proc(5)); undefined on other systems. */
import { readFileSync } from 'node:fs'

/** Place of `starttime` (22) among the fields that begin with `state` (3). */
const START_FIELD = 19

interface ProcessStatus {
  /** A letter; `Z` and `X` mean that it has ended. */
  readonly state: string
  readonly parent: number
  readonly group: number
  /** When it started, in clock ticks since the machine did: with the id it names one process. */
  readonly startedAt: string
}

/** Undefined if no process has that id, or nothing is known of it. */
export function statusOf(pid: number): ProcessStatus | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // After the name in parentheses, which may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent, group] = fields
    return { state, parent: Number(parent), group: Number(group), startedAt: fields[START_FIELD] ?? '' }
  } catch {
    return undefined
  }
}
