/**
 * Loaded into every measured server with `node --import`. Answers its parent's requests about the process (CPU,
 * event-loop utilization, heap, CPU profile) over the IPC channel, so that the server itself is the shipped one.
 */
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { constants, PerformanceObserver, performance } from 'node:perf_hooks'

export interface Usage {
  /** Monotonic, milliseconds. */
  readonly atMs: number
  /** User and system time of all threads so far, milliseconds. */
  readonly cpuMs: number
  /** Time the event loop was busy (running or blocked in a call) so far, milliseconds. */
  readonly activeMs: number
  readonly rssBytes: number
  /**
   * The part of it that is not pages of files, which the kernel takes back at will; all of it if the kernel does not
   * say.
   */
  readonly privateBytes: number
}

export interface Heap {
  readonly heapUsedBytes: number
  readonly externalBytes: number
}

/** Garbage collections since the last reading, none of them forced. */
export interface Collected {
  /** Full collections. */
  readonly count: number
  /** The least heap in use after a full collection; absent if there was none. */
  readonly heapUsedBytes?: number
  /** The longest collection of any kind. */
  readonly longestMs: number
}

export interface ProbeRequest {
  readonly probe: 'usage' | 'heap' | 'collected' | 'profile_start' | 'profile_stop'
  readonly id: number
}

let session: Session | undefined

function usage(): Usage {
  const cpu = process.cpuUsage()
  return {
    atMs: performance.now(),
    cpuMs: (cpu.user + cpu.system) / 1000,
    activeMs: performance.eventLoopUtilization().active,
    rssBytes: process.memoryUsage.rss(),
    privateBytes: privateBytes() ?? process.memoryUsage.rss(),
  }
}

function privateBytes(): number | undefined {
  try {
    const kibibytes = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
  } catch {
    return undefined
  }
}

/** Heap after full collections. Needs `--expose-gc`. */
function heap(): Heap {
  const collect = (globalThis as { gc?: () => void }).gc
  if (collect === undefined) throw new Error('started without --expose-gc')
  for (let pass = 0; pass < 3; pass++) collect()
  const memory = process.memoryUsage()
  return { heapUsedBytes: memory.heapUsed, externalBytes: memory.external }
}

let collections: { -readonly [member in keyof Required<Collected>]: number } | undefined

const NOTHING = { count: 0, heapUsedBytes: Number.POSITIVE_INFINITY, longestMs: 0 }

/** The first call starts observing. Nothing is forced: a forced collection would be the longest pause there is. */
function collected(): Collected {
  if (collections === undefined) {
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { kind } = (entry as unknown as { detail: { kind: number } }).detail
        if (collections === undefined) continue
        collections.longestMs = Math.max(collections.longestMs, entry.duration)
        if (kind !== constants.NODE_PERFORMANCE_GC_MAJOR) continue
        collections.count++
        collections.heapUsedBytes = Math.min(collections.heapUsedBytes, process.memoryUsage().heapUsed)
      }
    })
    observer.observe({ entryTypes: ['gc'] })
  }
  const { heapUsedBytes, ...rest } = collections ?? NOTHING
  collections = { ...NOTHING }
  return rest.count === 0 ? rest : { ...rest, heapUsedBytes }
}

function profileStart(answer: (result: unknown) => void): void {
  session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.setSamplingInterval', { interval: 200 })
  session.post('Profiler.start', () => answer({}))
}

function profileStop(answer: (result: unknown) => void): void {
  session?.post('Profiler.stop', (failure, result) => {
    session?.disconnect()
    session = undefined
    answer(failure === null ? result.profile : {})
  })
}

if (process.send !== undefined) {
  process.on('message', (message: ProbeRequest) => {
    if (typeof message !== 'object' || message === null || !('probe' in message)) return
    const answer = (result: unknown): void => void process.send!({ id: message.id, result })
    if (message.probe === 'usage') answer(usage())
    else if (message.probe === 'heap') answer(heap())
    else if (message.probe === 'collected') answer(collected())
    else if (message.probe === 'profile_start') profileStart(answer)
    else profileStop(answer)
  })
  // The channel alone must not keep alive a server that wants to end.
  process.channel?.unref()
}
