/**
 * Usage of a process tree according to Linux's /proc: the same clock for a server in any language. Reads are
 * synchronous, since they mark the edges of a measured window.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export interface ProcessStat {
  readonly pid: number
  readonly parent: number
  readonly name: string
  /** User and system time of its threads, including ended ones, in clock ticks. */
  readonly ticks: number
  /** The same for its ended children. */
  readonly endedTicks: number
}

/** Parses a line of /proc/PID/stat. The name is in parentheses, and may itself contain spaces and parentheses. */
export function parseStat(line: string): ProcessStat {
  const nameEnd = line.lastIndexOf(')')
  const fields = line.slice(nameEnd + 2).split(' ')
  const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(Number)
  return {
    pid: Number.parseInt(line, 10),
    parent: Number(fields[1]),
    name: line.slice(line.indexOf('(') + 1, nameEnd),
    ticks: utime! + stime!,
    endedTicks: cutime! + cstime!,
  }
}

function all(): ProcessStat[] {
  const found: ProcessStat[] = []
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const line = readOrNothing(`/proc/${entry}/stat`)
    if (line !== undefined) found.push(parseStat(line))
  }
  return found
}

/** Undefined if the process has ended meanwhile. */
function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** The process and all its descendants, parents first; empty if it has ended. */
export function tree(root: number): ProcessStat[] {
  const processes = all()
  const found = processes.filter(({ pid }) => pid === root)
  for (let at = 0; at < found.length; at++) found.push(...processes.filter(({ parent }) => parent === found[at]!.pid))
  return found
}

let clockTicks: number | undefined

/** Ticks per second of the kernel's CPU times. */
export function ticksPerSecond(): number {
  clockTicks ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  return clockTicks
}

/** CPU time that the process tree has used so far, milliseconds. */
export function cpuMs(root: number): number {
  const tickMs = 1000 / ticksPerSecond()
  // Ticks are rounded down for each process, which matters where many processes do little. The scheduler's own count
  // is exact, but covers only living threads. Neither overstates the use.
  return tree(root).reduce(
    (sum, { pid, ticks, endedTicks }) => sum + Math.max(ticks * tickMs, scheduledMs(pid)) + endedTicks * tickMs,
    0,
  )
}

function scheduledMs(pid: number): number {
  let nanoseconds = 0
  for (const thread of entriesOf(`/proc/${pid}/task`))
    nanoseconds += Number.parseInt(readOrNothing(`/proc/${pid}/task/${thread}/schedstat`) ?? '0', 10)
  return nanoseconds / 1e6
}

const O_DSYNC = 0o10000
const O_ACCMODE = 0o3

/**
 * Descriptors on which every write is a flush (opened with O_DSYNC or O_SYNC), for each thread id below `root`, since
 * a trace names threads.
 */
export function flushingDescriptors(root: number): Map<number, ReadonlySet<number>> {
  const found = new Map<number, ReadonlySet<number>>()
  for (const { pid } of tree(root)) {
    const descriptors = new Set<number>()
    for (const entry of entriesOf(`/proc/${pid}/fdinfo`)) {
      const flags = /^flags:\s*([0-7]+)/m.exec(readOrNothing(`/proc/${pid}/fdinfo/${entry}`) ?? '')
      const bits = flags === null ? 0 : Number.parseInt(flags[1]!, 8)
      if ((bits & O_DSYNC) !== 0 && (bits & O_ACCMODE) !== 0) descriptors.add(Number(entry))
    }
    for (const thread of entriesOf(`/proc/${pid}/task`)) found.set(Number(thread), descriptors)
  }
  return found
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** Whether /proc can be read. */
export function kernelTells(): boolean {
  try {
    return readlinkSync('/proc/self') === String(process.pid)
  } catch {
    return false
  }
}
