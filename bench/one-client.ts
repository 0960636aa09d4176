/** How long a single client waits for a durable call, in units of disk flushes measured between its rounds. */
import { Child } from './child.ts'
import type { Flushes } from './lmdb-limits.ts'
import { type Measured, measure } from './measured.ts'
import type { Context, Finding, Question } from './question.ts'
import { Service } from './service.ts'
import { interleave, median } from './statistics.ts'

/** What a call may cost besides flushes: parsing, the step, two passes through the kernel. */
const BESIDE_FLUSHES_MS = 0.3
const CALLS = ['create', 'poll', 'accepted', 'started', 'events', 'completed'] as const

async function run(context: Context): Promise<readonly Finding[]> {
  const load = new Child('./load-client.js')
  const limits = new Child('./lmdb-limits.js')
  const service = await Service.start(context.scratch.home())
  try {
    await service.createProject('bench')
    const runners = await service.createRunners('runner', 1)
    const home = context.scratch.home()
    const durationMs = context.quick ? 1_000 : 3_000
    const results = await interleave<Measured | Flushes, 'flush' | 'service'>(context.quick ? 3 : 5, {
      flush: () => limits.ask<Flushes>('flushes', { home, durationMs: durationMs / 2 }),
      service: () =>
        measure(load, service.child, {
          target: service.target,
          clients: 1,
          warmupMs: 300,
          durationMs,
          script: { kind: 'cycle', calls: 6, project: 'bench', token: service.token, runners },
        }),
    })
    return [findingOf(results.flush as Flushes[], results.service as Measured[])]
  } finally {
    await Promise.all([load.stop(), limits.stop(), service.stop()])
  }
}

function findingOf(flushes: readonly Flushes[], service: readonly Measured[]): Finding {
  const p50 = (call: string): number => median(service.map((measured) => measured.latencyMs[call]!.p50))
  const callMs = service.map((measured) => median(CALLS.map((call) => measured.latencyMs[call]!.p50)))
  const inFlushes = callMs.map((ms, round) => (ms - BESIDE_FLUSHES_MS) / flushes[round]!.p50Ms)
  return {
    measure: 'one client, a durable call (p50)',
    value: median(callMs),
    unit: 'ms',
    limit: { what: '512 B over zeros, and fdatasync (p50)', value: median(flushes.map((flush) => flush.p50Ms)) },
    ratio: median(inFlushes),
    better: 'lower',
    bar: { row: 6, floor: 4, goal: 3 },
    note: `ratio: flushes beyond ${BESIDE_FLUSHES_MS} ms; ${CALLS.map((call) => `${call} ${p50(call).toFixed(2)}`).join(', ')}`,
  }
}

export const oneClient: Question = {
  name: 'one-client',
  asks: 'How long does one client alone wait for a durable call?',
  run,
}
