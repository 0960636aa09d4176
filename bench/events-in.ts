/**
 * How many durable events a second come in, in posts of one and of 100, compared with LMDB appending the same texts,
 * 256 per commit, with nothing around it.
 */
import { Child } from './child.ts'
import type { Commits } from './lmdb-limits.ts'
import { type Measured, measure } from './measured.ts'
import type { Context, Finding, Question } from './question.ts'
import { Service } from './service.ts'
import { interleave, median, medianOfRatios } from './statistics.ts'

const BATCH = 256
const SIZES = [
  { perPost: 1, clients: 64 },
  { perPost: 100, clients: 16 },
]

async function run(context: Context): Promise<readonly Finding[]> {
  const load = new Child('./load-client.js')
  const limits = new Child('./lmdb-limits.js')
  const service = await Service.start(context.scratch.home())
  try {
    await service.createProject('bench')
    const runners = await service.createRunners('runner', 64)
    const runs = await service.startRuns('bench', runners, runners.length)
    const findings: Finding[] = []
    for (const { perPost, clients } of SIZES) {
      context.say(`${perPost} a post, ${clients} clients`)
      findings.push(await eventsOf(context, { load, limits, service, runs, perPost, clients }))
    }
    return findings
  } finally {
    await Promise.all([load.stop(), limits.stop(), service.stop()])
  }
}

interface Rig {
  readonly load: Child
  readonly limits: Child
  readonly service: Service
  readonly runs: Awaited<ReturnType<Service['startRuns']>>
  readonly perPost: number
  readonly clients: number
}

async function eventsOf(context: Context, rig: Rig): Promise<Finding> {
  const { service, perPost, clients } = rig
  const durationMs = context.quick ? 1_500 : 3_000
  const home = context.scratch.home()
  const job = {
    target: service.target,
    clients,
    warmupMs: 400,
    durationMs,
    script: { kind: 'events', perPost, runs: rig.runs },
  } as const
  await measure(rig.load, service.child, { ...job, durationMs: 1_500 })
  const text = await service.sampleEvent('greeting_composed')
  const results = await interleave<Measured | Commits, 'raw' | 'service'>(context.quick ? 3 : 5, {
    raw: () => rig.limits.ask<Commits>('commits', { home, text, batch: BATCH, durationMs: durationMs / 2 }),
    service: () => context.profiled(`events-${perPost}`, service.child, () => measure(rig.load, service.child, job)),
  })
  const raw = (results.raw as Commits[]).map((commits) => commits.eventsPerSecond)
  const measured = results.service as Measured[]
  const events = measured.map((round) => round.callsPerSecond * perPost)
  return {
    measure: `events in, ${perPost} a post, ${clients} clients`,
    value: median(events),
    unit: 'events/s',
    limit: { what: `LMDB append of the same texts, ${BATCH} a commit`, value: median(raw) },
    ratio: medianOfRatios(events, raw),
    better: 'higher',
    ...(perPost === 100 ? { bar: { row: 7, floor: 0.2, goal: 0.35 } } : {}),
    note:
      `text of ${text.length} bytes; post p99 ${median(measured.map((m) => m.latencyMs.events!.p99)).toFixed(1)} ms; ` +
      `server busy ${Math.round(median(measured.map((m) => m.serverBusy)) * 100)} %, ` +
      `CPU an event ${(median(measured.map((m) => m.serverCpuUsPerCall)) / perPost).toFixed(1)} us, ` +
      `client CPU ${Math.round(median(measured.map((m) => m.clientCpu)) * 100)} %`,
  }
}

export const eventsIn: Question = {
  name: 'events-in',
  asks: 'How many durable events a second come in, beside LMDB alone?',
  run,
}
