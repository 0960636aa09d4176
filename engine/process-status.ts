/** A process's status from Linux (proc(5)); undefined on other systems. */
import { readFileSync } from 'node:fs'

interface ProcessStatus {
  /** A letter; `Z` and `X` mean that it has ended. */
  readonly state: string
  readonly parent: number
  readonly group: number
}

/** Undefined if no process has that id, or nothing is known of it. */
export function statusOf(pid: number): ProcessStatus | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // After the name in parentheses, which may contain anything.
    const [state = '', parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state, parent: Number(parent), group: Number(group) }
  } catch {
    return undefined
  }
}
