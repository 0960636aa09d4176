/**
 * What a posted event costs against the number of Watch subscribers: those whose filters it does not match, each with
 * a filter of its own, and those to whom it is delivered.
 */
import { Child } from '../child.ts'
import type { Script } from '../load-client.ts'
import type { Context } from '../question.ts'
import { Service } from '../service.ts'
import { median } from '../statistics.ts'
import type { FanOutResult, HoldJob } from '../watch-client.ts'
import { costPoint, type Setup } from './costs.ts'
import type { Curve, Fact, Point } from './curve.ts'

const SIZES = [1, 10, 100, 1_000, 10_000]
const POSTERS = 8
const PER_POST = 10

type Run = Awaited<ReturnType<Service['startRuns']>>[number]

interface Watched extends Setup {
  readonly runs: readonly Run[]
}

async function setupOf(context: Context): Promise<Watched> {
  const service = await Service.start(context.scratch.home())
  await service.createProject('bench')
  const runners = await service.createRunners('runner', POSTERS)
  const runs = await service.startRuns('bench', runners, POSTERS)
  return { service, runners, project: 'bench', samples: [], runs }
}

const posting = ({ runs }: Watched): Script => ({ kind: 'events', perPost: PER_POST, runs })

export async function watchers(context: Context): Promise<Curve> {
  const [setup, control] = [await setupOf(context), await setupOf(context)]
  const load = new Child('./load-client.js')
  const unconcerned: Point[] = []
  const delivered: Point[] = []
  const facts: Fact[] = []
  try {
    const measured = (size: number): Promise<Point> =>
      costPoint(context, load, 'watchers', size, setup, control, (side) => posting(side as Watched))
    await measured(0)
    for (const size of context.quick ? SIZES.slice(0, -2) : SIZES) {
      context.say(`${size} subscribers`)
      const { result, bytesEach } = await withUnconcerned(setup.service, size, () => measured(size))
      unconcerned.push(result)
      facts.push({ what: `heap of each of ${size} subscribers`, value: bytesEach / 1_000, unit: 'KB' })
      delivered.push(await delivering(context, setup, size))
    }
  } finally {
    await Promise.all([load.stop(), setup.service.stop(), control.service.stop()])
  }
  return {
    name: 'watchers',
    title: 'Cost of an event against the Watch subscribers',
    xLabel: 'Watch subscribers',
    unit: 'server CPU, us',
    series: [
      { name: `a post of ${PER_POST} events, nobody of them concerned`, points: unconcerned },
      { name: 'an event delivered to one of them', points: delivered },
    ],
    notes: ['Those not concerned each watch a trace of their own.'],
    // With few subscribers, their heap is lost in other changes.
    facts: facts.slice(-1),
  }
}

/** Measures while this many subscribers are connected, and how much heap each takes. */
async function withUnconcerned<R>(
  service: Service,
  size: number,
  measured: () => Promise<R>,
): Promise<{ result: R; bytesEach: number }> {
  const client = new Child('./watch-client.js')
  try {
    const before = await service.child.heap()
    const job: HoldJob = { target: service.target, token: service.token, count: size }
    await client.ask('hold', job)
    const after = await service.child.heap()
    const bytes = after.heapUsedBytes + after.externalBytes - before.heapUsedBytes - before.externalBytes
    return { result: await measured(), bytesEach: bytes / size }
  } finally {
    await client.stop()
  }
}

/** CPU per event and subscriber, without connecting. */
async function delivering(context: Context, { service, runs }: Watched, size: number): Promise<Point> {
  const client = new Child('./watch-client.js')
  const posts = Math.max(10, Math.round((context.quick ? 20_000 : 200_000) / PER_POST / size))
  const path = '/api/watch?since=latest&event_type=greeting_composed&project=bench'
  try {
    const results = []
    for (let round = 0; round < (context.quick ? 1 : 3); round++) {
      const serial = (size * 10 + round) * 1_000_000 + 500_000
      const common = { target: service.target, token: service.token, paths: [path], deaf: false, perPost: PER_POST }
      const job = { ...common, subscribers: size, posts, post: { kind: 'run', run: runs[0]!, serial } }
      await client.ask('connectFanOut', job)
      const before = await service.child.usage()
      await client.ask<FanOutResult>('runFanOut')
      const after = await service.child.usage()
      results.push(((after.cpuMs - before.cpuMs) * 1_000) / (posts * PER_POST * size))
    }
    return { size, value: median(results) }
  } finally {
    await client.stop()
  }
}
