/**
 * Whether a service under long load is at the end as it was at the beginning: compares the last third of the minutes
 * with the first, and the files' size with that of the middle third. Retention is at work before the first minute,
 * since a service that forgets nothing yet behaves differently.
 */
import { median } from '../statistics.ts'

export interface Minute {
  readonly minute: number
  readonly cyclesPerSecond: number
  readonly callP50Ms: number
  readonly callP99Ms: number
  readonly callMaxMs: number
  readonly cycleP50Ms: number
  readonly cycleP99Ms: number
  readonly refused: number
  /**
   * What blocked the whole service longest; absent in runs from before it was measured. The flush is the bound of a
   * bucket.
   */
  readonly longestFlushMs?: number
  readonly longestCollectionMs?: number
  readonly serverCpu: number
  /** Including the store's pages that the kernel holds for the process. */
  readonly rssBytes: number
  /** Without those pages. */
  readonly privateBytes: number
  /** After a full garbage collection; absent if none happened by itself in that minute. */
  readonly heapBytes?: number
  readonly logBytes: number
  readonly viewBytes: number
}

export interface Judged {
  readonly what: string
  readonly first: number
  readonly last: number
  readonly unit: string
  readonly isFlat: boolean
}

interface Measure {
  readonly what: string
  readonly unit: string
  readonly read: (minute: Minute) => number | undefined
  /** The last third may be this many times the first, plus `more`, which allows for noise at small values. */
  readonly factorMax: number
  readonly more: number
}

const MB = 1e6
const MEASURES: readonly Measure[] = [
  { what: 'p50 of a call', unit: 'ms', read: ({ callP50Ms }) => callP50Ms, factorMax: 1.25, more: 0.2 },
  { what: 'p99 of a call', unit: 'ms', read: ({ callP99Ms }) => callP99Ms, factorMax: 1.5, more: 2 },
  { what: 'private memory', unit: 'MB', read: ({ privateBytes }) => privateBytes / MB, factorMax: 1.15, more: 16 },
  {
    what: 'heap after collection',
    unit: 'MB',
    read: ({ heapBytes }) => (heapBytes === undefined ? undefined : heapBytes / MB),
    factorMax: 1.15,
    more: 8,
  },
  { what: 'server CPU', unit: 'cores', read: ({ serverCpu }) => serverCpu, factorMax: 1.2, more: 0.05 },
]

/** The rate must be what was asked for, except for the last cycles under way at a minute's end. */
const RATE_MIN = 0.98
/** By the middle, retention has been removing as much as comes in for a while, and freed pages are reused. */
const FILES_MAX = 1.1
const FILES_MORE_MB = 8

function third(minutes: readonly Minute[], which: 0 | 1 | 2): readonly Minute[] {
  const length = Math.floor(minutes.length / 3)
  return which === 2 ? minutes.slice(minutes.length - length) : minutes.slice(which * length, (which + 1) * length)
}

function medianOf(minutes: readonly Minute[], read: Measure['read']): number {
  return median(minutes.map(read).filter((value) => value !== undefined))
}

/**
 * @param minutes at least three. A measure that was not taken counts as not flat.
 * @param asked cycles a second.
 */
export function judge(minutes: readonly Minute[], asked: number): readonly Judged[] {
  const judged: Judged[] = MEASURES.map(({ what, unit, read, factorMax, more }) => {
    const first = medianOf(third(minutes, 0), read)
    const last = medianOf(third(minutes, 2), read)
    return { what, unit, first, last, isFlat: last <= first * factorMax + more }
  })
  const slowest = Math.min(...minutes.map(({ cyclesPerSecond }) => cyclesPerSecond))
  judged.push({
    what: 'cycles a second: asked, and the slowest minute',
    unit: '',
    first: asked,
    last: slowest,
    isFlat: slowest >= asked * RATE_MIN,
  })
  const files = (which: 1 | 2): number =>
    Math.max(...third(minutes, which).map(({ logBytes, viewBytes }) => (logBytes + viewBytes) / MB))
  judged.push({
    what: 'files, middle third against last',
    unit: 'MB',
    first: files(1),
    last: files(2),
    isFlat: files(2) <= files(1) * FILES_MAX + FILES_MORE_MB,
  })
  return judged
}
