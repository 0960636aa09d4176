/**
 * How soon a parked poll is answered when work arrives, with ten thousand runners parked, and what those cost while
 * nothing happens.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Child } from './child.ts'
import { connectionsMax } from './open-files.ts'
import type { Context, Finding, Question } from './question.ts'
import { Service } from './service.ts'
import type { WakeResult } from './wake-client.ts'

const PARKED = 10_000
const WAIT_SECONDS = 60
const IDLE_MS = 8_000

async function run(context: Context): Promise<readonly Finding[]> {
  const client = new Child('./wake-client.js')
  const service = await Service.start(context.scratch.home())
  try {
    await service.createProject('bench')
    const count = Math.min(PARKED, connectionsMax())
    context.say(`registering ${count} runners`)
    const runners = await service.createRunners('runner', count)
    context.say('parking')
    await client.ask('park', { target: service.target, runners, waitSeconds: WAIT_SECONDS })
    await pause(2_000)
    const before = await service.child.usage()
    await pause(context.quick ? IDLE_MS / 2 : IDLE_MS)
    const after = await service.child.usage()
    context.say('waking')
    const wakes = context.quick ? 500 : 2_000
    const job = { project: 'bench', token: service.token, wakes, everyMs: 10 }
    const result = await client.ask<WakeResult>('wake', job)
    const idleCpu = ((after.cpuMs - before.cpuMs) / (after.atMs - before.atMs)) * 100
    return findingsOf(count, result, idleCpu, after.rssBytes)
  } finally {
    await Promise.all([client.stop(), service.stop()])
  }
}

function findingsOf(count: number, result: WakeResult, idleCpu: number, rssBytes: number): Finding[] {
  const ms = (value: number): string => value.toFixed(2)
  return [
    {
      measure: `wake of one of ${count} parked polls, p99`,
      value: result.fromPostMs.p99,
      unit: 'ms',
      better: 'lower',
      bar: { row: 10, floor: 20, goal: 5 },
      note:
        `from the create's first byte to the poll's answer: p50 ${ms(result.fromPostMs.p50)}, max ${ms(result.fromPostMs.max)}; ` +
        `from the create's answer: p50 ${ms(result.fromAnswerMs.p50)}, p99 ${ms(result.fromAnswerMs.p99)}; ` +
        `${result.wakes} creates woke ${result.wakes} polls, each once`,
    },
    {
      measure: `idle CPU with ${count} parked polls`,
      value: idleCpu,
      unit: '% of a core',
      better: 'lower',
      bar: { row: 10, floor: 3, goal: 1 },
      note: `resident ${Math.round(rssBytes / 1e6)} MB`,
    },
  ]
}

export const wake: Question = {
  name: 'wake',
  asks: 'How soon is one of 10,000 parked polls woken, and what do they cost idle?',
  run,
}
