/** What Linux tells of a process (proc(5)); other systems tell nothing here. */
import { readFileSync } from 'node:fs'

interface ProcessStatus {
  /** A letter: `Z` and `X` are of processes that have ended. */
  readonly state: string
  readonly parent: number
  readonly group: number
}

/** Undefined: there is none with that id, or nothing is told of it. */
export function statusOf(pid: number): ProcessStatus | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Behind the name in parentheses, which may hold anything.
    const [state = '', parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state, parent: Number(parent), group: Number(group) }
  } catch {
    return undefined
  }
}
