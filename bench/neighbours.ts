/**
 * How much of the machine others used during a benchmark: the CPU of all processes without the benchmark's own tree. A
 * number taken beside busy neighbours says little, and is marked as such.
 */
import { readFileSync } from 'node:fs'
import { cpuMs, ticksPerSecond } from './processes.ts'

/** Non-idle ticks, from the first line of /proc/stat. Steal was taken by the host, so it counts as use by others. */
export function busyTicks(stat: string): number {
  const [user, nice, system, , , irq, softirq, steal] = stat.split('\n')[0]!.trim().split(/\s+/).slice(1).map(Number)
  return user! + nice! + system! + irq! + softirq! + (steal ?? 0)
}

interface Reading {
  readonly atMs: number
  readonly busyMs: number
  readonly ownMs: number
}

function read(): Reading {
  const stat = readFileSync('/proc/stat', 'utf8')
  return {
    atMs: performance.now(),
    busyMs: (busyTicks(stat) * 1000) / ticksPerSecond(),
    ownMs: cpuMs(process.pid),
  }
}

/** @returns a function that tells how many cores others have used since; nothing if the kernel does not say. */
export function watchNeighbours(): () => { readonly othersCores?: number } {
  try {
    const before = read()
    return () => {
      const after = read()
      const busy = after.busyMs - before.busyMs
      const own = after.ownMs - before.ownMs
      return { othersCores: Number((Math.max(0, busy - own) / (after.atMs - before.atMs)).toFixed(2)) }
    }
  } catch {
    return () => ({})
  }
}
