/** How much memory an entity takes while a runner works on it, and after it has settled and been unloaded. */
import { Child } from './child.ts'
import type { LoadResult } from './load-client.ts'
import type { Heap } from './probe.ts'
import type { Context, Finding, Question } from './question.ts'
import { Service } from './service.ts'

const RUNNERS = 64
/** Runs settled before the first reading: more than the service keeps resident. */
const CYCLES_BEFORE = 15_000

function bytesOf(heap: Heap): number {
  return heap.heapUsedBytes + heap.externalBytes
}

async function run(context: Context): Promise<readonly Finding[]> {
  const load = new Child('./load-client.js')
  const service = await Service.start(context.scratch.home())
  try {
    await service.createProject('bench')
    return [await activeFinding(context, service), await idleFinding(context, service, load)]
  } finally {
    await Promise.all([load.stop(), service.stop()])
  }
}

async function activeFinding(context: Context, service: Service): Promise<Finding> {
  const runs = context.quick ? 2_000 : 5_000
  const runners = await service.createRunners('holder', RUNNERS, Math.ceil(runs / RUNNERS) + 1)
  // The first few load code and fill caches that do not grow with the number of entities.
  await service.startRuns('bench', runners, 500)
  const before = await service.child.heap()
  context.say(`starting ${runs} runs`)
  await service.startRuns('bench', runners, runs - 500)
  const after = await service.child.heap()
  const perRun = (bytesOf(after) - bytesOf(before)) / (runs - 500)
  return {
    measure: 'heap per active entity',
    value: perRun / 1_000,
    unit: 'KB',
    better: 'lower',
    bar: { row: 11, floor: 6, goal: 4.5 },
    note: 'a started run request, with its lease and its place with its runner',
  }
}

async function idleFinding(context: Context, service: Service, load: Child): Promise<Finding> {
  const runners = await service.createRunners('runner', RUNNERS)
  const cycles = async (count: number): Promise<number> => {
    let done = 0
    while (done < count) {
      const result = await load.ask<LoadResult>('run', {
        target: service.target,
        clients: RUNNERS,
        warmupMs: 0,
        durationMs: 1_000,
        script: { kind: 'cycle', calls: 6, project: 'bench', token: service.token, runners },
      })
      done += result.roundsPerSecond
    }
    return Math.round(done)
  }
  context.say('settling runs until none of the first is resident')
  await cycles(CYCLES_BEFORE)
  const before = await service.child.heap()
  const done = await cycles(context.quick ? 8_000 : 30_000)
  const after = await service.child.heap()
  const perEntity = (bytesOf(after) - bytesOf(before)) / done
  return {
    measure: 'heap per idle entity',
    value: perEntity / 1_000,
    unit: 'KB',
    better: 'lower',
    bar: { row: 11, floor: 0.1, goal: 0.005 },
    note: `growth over ${done} more settled runs; heap ${Math.round(bytesOf(after) / 1e6)} MB`,
  }
}

export const memory: Question = {
  name: 'memory',
  asks: 'What does an active and an idle entity cost in heap?',
  run,
}
