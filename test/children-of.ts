/** Which processes a process has started, as /proc tells. */
import { readdirSync, readFileSync } from 'node:fs'

/** Those that live, by their ids. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((one) => statusOf(one)?.parent === pid)
}

/** False also of one that is dead and was not waited for. */
export function lives(pid: number): boolean {
  return statusOf(pid) !== undefined
}

function statusOf(pid: number): { readonly parent: number } | undefined {
  try {
    // Behind the name, which may hold anything: the state, and the parent's id.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', parent = ''] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return /[ZX]/.test(state) ? undefined : { parent: Number(parent) }
  } catch {
    return undefined
  }
}
