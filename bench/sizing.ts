/** What the measured numbers mean for sizing a fleet: arithmetic, and nothing that was not measured. */
import { markdownTable } from './markdown.ts'
import { number } from './report.ts'

/** Absent members have not been measured. */
export interface Measures {
  /** CPU of the service per call of the six-call cycle, with a small store. */
  readonly callCpuUs?: number
  /** CPU per poll that finds nothing, which is also about the cost of a heartbeat. */
  readonly pollCpuUs?: number
  /** Durable events a second, in posts of 100. */
  readonly eventsPerSecond?: number
  readonly bytesPerEvent?: number
  readonly heapPerParkedKb?: number
  readonly heapPerSubscriberKb?: number
}

/** Sustainable load of a core. */
const SHARE = 0.7
/** What a runner with an agent does: it posts output every ten seconds, and a heartbeat every twenty. */
const SECONDS_PER_POST = 10
const SECONDS_PER_HEARTBEAT = 20
const CALLS_PER_RUN = 6
const DISK_BYTES = 100e9
const DAY_SECONDS = 86_400

/** Runners per core if every one always works, on runs of that length. */
export function runnersPerCore(callCpuUs: number, pollCpuUs: number, runSeconds: number): number {
  const calls = CALLS_PER_RUN / runSeconds + 1 / SECONDS_PER_POST
  const cpuUsPerSecond = calls * callCpuUs + pollCpuUs / SECONDS_PER_HEARTBEAT
  return (SHARE * 1e6) / cpuUsPerSecond
}

export function sizingTable(measures: Measures): string {
  const { callCpuUs, pollCpuUs, eventsPerSecond, bytesPerEvent, heapPerParkedKb, heapPerSubscriberKb } = measures
  const rows: string[][] = []
  if (callCpuUs !== undefined && pollCpuUs !== undefined) {
    const cpu = `${number(callCpuUs)} us of CPU a durable call, ${number(pollCpuUs)} an empty poll or heartbeat`
    rows.push(['Durable calls a second', cpu, number((SHARE * 1e6) / callCpuUs)])
    for (const [length, seconds] of [
      ['ten seconds', 10],
      ['ten minutes', 600],
      ['an hour', 3_600],
    ] as const)
      rows.push([
        `Runners at work, runs of ${length}`,
        'the same',
        number(runnersPerCore(callCpuUs, pollCpuUs, seconds)),
      ])
  }
  if (eventsPerSecond !== undefined) {
    const rate = `${number(eventsPerSecond)} events a second, 100 a post`
    rows.push(['Events a day', rate, number(eventsPerSecond * SHARE * DAY_SECONDS)])
  }
  if (bytesPerEvent !== undefined) {
    const bytes = `${number(bytesPerEvent)} bytes an event, with its indexes`
    rows.push(['Events kept on a disk of 100 GB', bytes, number(DISK_BYTES / bytesPerEvent)])
  }
  if (heapPerParkedKb !== undefined)
    rows.push(['Memory for 10,000 parked runners', ...memoryFor10000(heapPerParkedKb, 'a parked runner')])
  if (heapPerSubscriberKb !== undefined)
    rows.push(['Memory for 10,000 subscribers', ...memoryFor10000(heapPerSubscriberKb, 'a Watch subscriber')])
  if (rows.length === 0) return 'Not measured yet.'
  return markdownTable(['On one core at 70 %', 'measured', 'so about'], rows)
}

/**
 * Heap is read after collections, and readings differ by more than a tiny amount: at or below zero it is unmeasurable.
 */
function memoryFor10000(heapKb: number, of: string): [string, string] {
  if (heapKb <= 0) return [`too little heap ${of} to be seen`, 'no memory to speak of']
  return [`${number(heapKb)} KB of heap ${of}`, `${number(heapKb * 10)} MB`]
}
