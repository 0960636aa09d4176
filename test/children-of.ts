/** The child processes of a process, read from /proc. */
import { readdirSync, readFileSync } from 'node:fs'

/** Ids of the living children. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((one) => statusOf(one)?.parent === pid)
}

/** False also for a process that is dead but was not waited for. */
export function lives(pid: number): boolean {
  return statusOf(pid) !== undefined
}

function statusOf(pid: number): { readonly parent: number } | undefined {
  try {
    // After the name, which may contain anything: the state and the parent's id.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', parent = ''] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return /[ZX]/.test(state) ? undefined : { parent: Number(parent) }
  } catch {
    return undefined
  }
}
