/**
 * Loaded into every measured server with `node --import`: answers its parent's questions about the process (CPU,
 * event-loop utilization, heap, CPU profile) over the IPC channel, so that the server itself stays as it is shipped.
 */
import { Session } from 'node:inspector'
import { performance } from 'node:perf_hooks'

export interface Usage {
  /** Monotonic, milliseconds. */
  readonly atMs: number
  /** User and system time of all threads so far, milliseconds. */
  readonly cpuMs: number
  /** Time the event loop was busy (running or blocked in a call) so far, milliseconds. */
  readonly activeMs: number
  readonly rssBytes: number
}

export interface Heap {
  readonly heapUsedBytes: number
  readonly externalBytes: number
}

export interface ProbeRequest {
  readonly probe: 'usage' | 'heap' | 'profile_start' | 'profile_stop'
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
    else if (message.probe === 'profile_start') profileStart(answer)
    else profileStop(answer)
  })
  // The channel alone must not keep a server alive that wants to end.
  process.channel?.unref()
}
