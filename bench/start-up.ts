/**
 * How long a start takes with a million run requests and ten million events in the home, until the first poll is
 * answered, and how much heap they take.
 */
import { filledHome } from './filled-home.ts'
import type { Context, Finding, Question } from './question.ts'
import { ask, Service } from './service.ts'
import { median } from './statistics.ts'
import { Connection } from './wire.ts'

async function run(context: Context): Promise<readonly Finding[]> {
  const empty = await startOnce(context.scratch.home())
  const filled = await filledHome(context)
  const starts: Start[] = []
  for (let round = 0; round < 3; round++) starts.push(await startOnce(filled.home, filled.runner))
  const heapPerEntity = (median(starts.map(({ heapBytes }) => heapBytes)) - empty.heapBytes) / filled.entities
  const ms = (value: number): string => `${Math.round(value)} ms`
  return [
    {
      measure: `start with ${filled.entities} run requests, ${filled.events} events, to the first answered poll`,
      value: median(starts.map(({ polledMs }) => polledMs)) / 1000,
      unit: 's',
      better: 'lower',
      bar: { row: 12, floor: 10, goal: 3 },
      note:
        `listening after ${ms(median(starts.map(({ listeningMs }) => listeningMs)))}; an empty home ` +
        `${ms(empty.listeningMs)}; ${filled.queued} requests queued; home of ${Math.round(filled.bytes / 1e6)} MB`,
    },
    {
      measure: 'heap per stored entity after the start',
      value: heapPerEntity / 1000,
      unit: 'KB',
      better: 'lower',
      bar: { row: 11, floor: 0.1, goal: 0.005 },
    },
  ]
}

interface Start {
  readonly listeningMs: number
  readonly polledMs: number
  readonly heapBytes: number
}

async function startOnce(home: string, runner?: { readonly id: string; readonly token: string }): Promise<Start> {
  const from = performance.now()
  const service = await Service.start(home)
  try {
    if (runner !== undefined) {
      const connection = await Connection.open(service.target)
      const path = `/api/runners/${runner.id}/run-requests/next`
      await ask(connection, 'GET', path, runner.token)
      connection.close()
    }
    const polledMs = performance.now() - from
    const heap = await service.child.heap()
    return { listeningMs: service.startMs, polledMs, heapBytes: heap.heapUsedBytes + heap.externalBytes }
  } finally {
    await service.stop()
  }
}

export const startUp: Question = {
  name: 'start-up',
  asks: 'How long does a start take with a million run requests and ten million events?',
  run,
}
