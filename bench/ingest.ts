/**
 * How fast one long trace comes in through the ingest endpoint, with posts of 100 events in the same rounds, and how
 * much of it the service's heap holds meanwhile.
 */
import { request } from 'node:http'
import { Child } from './child.ts'
import { type Measured, measure } from './measured.ts'
import type { Context, Finding, Question } from './question.ts'
import { Service } from './service.ts'
import { interleave, median, medianOfRatios } from './statistics.ts'

const PER_POST = 100
const CLIENTS = 16
const CHUNK_EVENTS = 500
/** Makes an event as long as those that the load client posts. */
const PADDING = 'x'.repeat(340)
/** Pause between two heap readings, each of which stops the service for a full garbage collection. */
const HEAP_EVERY_MS = 500

interface Ingested {
  readonly eventsPerSecond: number
}

async function run(context: Context): Promise<readonly Finding[]> {
  const load = new Child('./load-client.js')
  const service = await Service.start(context.scratch.home())
  try {
    await service.createProject('bench')
    const runners = await service.createRunners('runner', 64)
    const runs = await service.startRuns('bench', runners, runners.length)
    return [await rate(context, service, load, runs), await heapHeld(context, service)]
  } finally {
    await Promise.all([load.stop(), service.stop()])
  }
}

async function rate(
  context: Context,
  service: Service,
  load: Child,
  runs: Awaited<ReturnType<Service['startRuns']>>,
): Promise<Finding> {
  const events = 100_000
  const durationMs = context.quick ? 1_500 : 3_000
  const script = { kind: 'events', perPost: PER_POST, runs } as const
  const job = { target: service.target, clients: CLIENTS, warmupMs: 400, durationMs, script }
  await measure(load, service.child, job)
  await ingest(service, traceId(), 20_000)
  const results = await interleave<Measured | Ingested, 'posts' | 'ingest'>(context.quick ? 3 : 5, {
    posts: () => measure(load, service.child, job),
    ingest: () => context.profiled('ingest', service.child, () => ingest(service, traceId(), events)),
  })
  const posts = (results.posts as Measured[]).map((round) => round.callsPerSecond * PER_POST)
  const ingested = (results.ingest as Ingested[]).map((round) => round.eventsPerSecond)
  return {
    measure: `one trace of ${events} events through ingest`,
    value: median(ingested),
    unit: 'events/s',
    limit: { what: `posts of ${PER_POST} events, ${CLIENTS} clients`, value: median(posts) },
    ratio: medianOfRatios(ingested, posts),
    better: 'higher',
    note: `JSON lines of ${lineOf(0).length} bytes on one connection`,
  }
}

/** Heap growth while a long trace comes in, which must be the same for any length. */
async function heapHeld(context: Context, service: Service): Promise<Finding> {
  const events = context.quick ? 200_000 : 1_000_000
  const before = await heapOf(service)
  let most = before
  let looks = 0
  const going = ingest(service, traceId(), events)
  let isGoing = true
  const end = going.finally(() => {
    isGoing = false
  })
  while (isGoing) {
    await Promise.race([end, new Promise((resolve) => setTimeout(resolve, HEAP_EVERY_MS))])
    if (!isGoing) break
    most = Math.max(most, await heapOf(service))
    looks++
  }
  await end
  return {
    measure: `heap held while ${events} events are ingested`,
    value: (most - before) / 1e6,
    unit: 'MB',
    better: 'lower',
    note: `the highest of ${looks} looks, each behind a full collection; the trace is ${Math.round((events * lineOf(0).length) / 1e6)} MB`,
  }
}

async function heapOf(service: Service): Promise<number> {
  const { heapUsedBytes, externalBytes } = await service.child.heap()
  return heapUsedBytes + externalBytes
}

let traces = 0

function traceId(): string {
  return (++traces).toString(16).padStart(32, 'f')
}

function lineOf(serial: number): string {
  const digits = String(serial).padStart(16, '0')
  return `{"event_type":"greeting_composed","id":"evt_${digits}","occurred_at":"2026-01-31T12:00:00Z","payload":{"greeting":"${PADDING}${digits}"},"project":"bench","throttle":"dry_run"}\n`
}

/** Sends one trace as JSON lines, no faster than the service accepts it. */
function ingest({ target, token }: Service, trace: string, events: number): Promise<Ingested> {
  return new Promise((resolve, reject) => {
    const from = performance.now()
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' }
    const path = `/engine/traces/${trace}/ingest`
    const upload = request({ ...target, path, method: 'POST', headers }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.on('end', () => {
        const { accepted } = answer.statusCode === 200 ? JSON.parse(text) : { accepted: 0 }
        if (accepted !== events) reject(new Error(`ingest: ${answer.statusCode} ${text.slice(0, 500)}`))
        else resolve({ eventsPerSecond: events / ((performance.now() - from) / 1000) })
      })
    })
    upload.on('error', reject)
    let serial = 0
    const send = (): void => {
      while (serial < events) {
        let chunk = ''
        for (const end = Math.min(serial + CHUNK_EVENTS, events); serial < end; serial++) chunk += lineOf(serial)
        if (!upload.write(chunk)) {
          upload.once('drain', send)
          return
        }
      }
      upload.end()
    }
    send()
  })
}

export const ingestion: Question = {
  name: 'ingest',
  asks: 'How fast does one long trace come in, and what is held of it meanwhile?',
  run,
}
