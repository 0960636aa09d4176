/**
 * What handing work to a parked runner costs against the number of parked runners: all alike, and each with a label of
 * its own.
 */
import { Child } from '../child.ts'
import { connectionsMax } from '../open-files.ts'
import type { Context } from '../question.ts'
import { type RunnerAccess, Service } from '../service.ts'
import type { WakeJob, WakeResult } from '../wake-client.ts'
import type { Curve, Fact, Point } from './curve.ts'

const SIZES = [1, 10, 100, 1_000, 10_000, 20_000]
const WAIT_SECONDS = 60
/** Calls per wake: the create, the poll's answer, the completion. */
const CALLS = 3
/** A single runner can keep this pace, so that work does not wait even when there are few. */
const EVERY_MS = 10

export async function parked(context: Context): Promise<Curve> {
  const sizes = (context.quick ? SIZES.slice(0, -2) : SIZES).map((size) => Math.min(size, connectionsMax()))
  const alike = await wakes(context, 'alike', sizes, () => ({}))
  const distinct = await wakes(context, 'distinct', sizes, (index) => ({ labels: [`host-${index}`] }))
  return {
    name: 'parked',
    title: 'Cost of waking a runner against the parked runners',
    xLabel: 'parked runners',
    unit: 'server CPU, us a call',
    series: [
      { name: 'create, woken poll, completed; all runners alike', points: alike.points },
      { name: 'the same, each runner with a label of its own', points: distinct.points },
    ],
    notes: [],
    facts: alike.facts,
  }
}

interface Wakes {
  readonly points: readonly Point[]
  readonly facts: readonly Fact[]
}

async function wakes(
  context: Context,
  name: string,
  sizes: readonly number[],
  more: (index: number) => object,
): Promise<Wakes> {
  const client = new Child('./wake-client.js')
  const service = await Service.start(context.scratch.home())
  const points: Point[] = []
  let facts: readonly Fact[] = []
  try {
    await service.createProject('bench')
    const runners = await service.createRunnersLike('runner', sizes.at(-1)!, more)
    const before = await service.child.heap()
    let count = 0
    for (const size of sizes) {
      context.say(`${size} parked`)
      await park(client, service, runners.slice(count, size))
      count = size
      points.push(await woken(context, `scale-parked-${name}-${size}`, client, service, size))
    }
    const after = await service.child.heap()
    const bytes = after.heapUsedBytes + after.externalBytes - before.heapUsedBytes - before.externalBytes
    const rss = (await service.child.usage()).rssBytes
    facts = [
      { what: `heap of each of ${count} parked runners`, value: bytes / count / 1_000, unit: 'KB' },
      { what: `resident memory of the service with ${count} parked runners`, value: rss / 1e6, unit: 'MB' },
    ]
  } finally {
    await Promise.all([client.stop(), service.stop()])
  }
  return { points, facts }
}

async function park(client: Child, service: Service, runners: readonly RunnerAccess[]): Promise<void> {
  await client.ask('park', { target: service.target, runners, waitSeconds: WAIT_SECONDS })
  // Wait, so that the writes of runners coming online are not measured.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
}

async function woken(context: Context, name: string, client: Child, service: Service, size: number): Promise<Point> {
  const count = context.quick ? 200 : 600
  const job: WakeJob = { project: 'bench', token: service.token, wakes: count, everyMs: EVERY_MS }
  // Code that is not compiled yet says nothing about the effect of size.
  await client.ask('wake', { ...job, wakes: 200 })
  const before = await service.child.usage()
  const result = await context.profiled(name, service.child, () => client.ask<WakeResult>('wake', job))
  const after = await service.child.usage()
  return {
    size,
    value: ((after.cpuMs - before.cpuMs) * 1_000) / (count * CALLS),
    beside: { 'p99 ms': result.fromPostMs.p99 },
  }
}
