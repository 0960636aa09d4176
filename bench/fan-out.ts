/**
 * How many events a second reach a thousand filtered Watch subscribers, with one more that never reads, compared with
 * a bare `ws.send` loop at the same number of events per frame.
 */
import { Child } from './child.ts'
import type { Context, Finding, Question } from './question.ts'
import { Service } from './service.ts'
import { interleave, median, medianOfRatios } from './statistics.ts'
import type { FanOutJob, FanOutResult } from './watch-client.ts'
import { targetOf } from './wire.ts'

const SUBSCRIBERS = 1_000
const PER_FRAME = [
  { perPost: 1, posts: 200 },
  { perPost: 10, posts: 150 },
  { perPost: 100, posts: 80 },
]

interface Run {
  readonly id: string
  readonly token: string
  readonly trace_id: string
}

/** Filters in common use: by project, type, run and trace. Each matches every posted event. */
function pathsOf(run: Run): string[] {
  const common = '/api/watch?since=latest&event_type=greeting_composed'
  return [`${common}&project=bench`, `${common}&run_request_id=${run.id}`, `${common}&trace_id=${run.trace_id}`, common]
}

async function run(context: Context): Promise<readonly Finding[]> {
  const client = new Child('./watch-client.js')
  const bare = new Child('./bare-fan-out.js')
  const bareTarget = targetOf((await bare.firstLine).listening)
  const service = await Service.start(context.scratch.home())
  try {
    await service.createProject('bench')
    const [started] = await service.startRuns('bench', await service.createRunners('runner', 1), 1)
    const rig = { client, bare, bareTarget, service, run: started! }
    const findings: Finding[] = []
    for (const size of PER_FRAME) {
      context.say(`${size.perPost} events a frame`)
      findings.push(await fanOutOf(context, rig, size.perPost, context.quick ? size.posts / 2 : size.posts))
    }
    return findings
  } finally {
    await Promise.all([client.stop(), bare.stop(), service.stop()])
  }
}

interface Rig {
  readonly client: Child
  readonly bare: Child
  readonly bareTarget: { host: string; port: number }
  readonly service: Service
  readonly run: Run
}

interface Sided extends FanOutResult {
  readonly deliveriesPerBusySecond: number
  readonly serverBusy: number
}

async function fanOutOf(context: Context, rig: Rig, perPost: number, posts: number): Promise<Finding> {
  const { service } = rig
  const common = { token: service.token, subscribers: SUBSCRIBERS, perPost, posts }
  // A reader that is a frame behind gets the next frames joined, so the bare loop sends as many events per frame as
  // were seen.
  let length = 400
  let perFrame = perPost
  const results = await interleave<Sided, 'service' | 'bare'>(context.quick ? 2 : 5, {
    service: async (round) => {
      const serial = (perPost * 100 + round) * 1_000_000
      const job: FanOutJob = {
        ...common,
        target: service.target,
        paths: pathsOf(rig.run),
        deaf: true,
        post: { kind: 'run', run: rig.run, serial },
      }
      const result = await context.profiled(`fan-out-${perPost}`, service.child, () =>
        fanOut(rig.client, service.child, job),
      )
      length = result.eventLength
      perFrame = Math.max(1, Math.round(result.eventsPerFrame))
      return result
    },
    bare: () =>
      fanOut(rig.client, rig.bare, {
        ...common,
        perPost: perFrame,
        posts: Math.ceil((posts * perPost) / perFrame),
        target: rig.bareTarget,
        paths: ['/api/watch'],
        deaf: false,
        post: { kind: 'frame', length },
      }),
  })
  return findingOf(perPost, length, results.service, results.bare)
}

async function fanOut(client: Child, server: Child, job: FanOutJob): Promise<Sided> {
  const before = await server.usage()
  const result = await client.ask<FanOutResult>('fanOut', job)
  const after = await server.usage()
  const total = job.posts * job.perPost * job.subscribers
  const activeMs = after.activeMs - before.activeMs
  return {
    ...result,
    deliveriesPerBusySecond: total / (activeMs / 1000),
    serverBusy: activeMs / ((total / result.deliveriesPerSecond) * 1000),
  }
}

function findingOf(perPost: number, length: number, service: readonly Sided[], bare: readonly Sided[]): Finding {
  const rate = (side: readonly Sided[]): number[] => side.map((result) => result.deliveriesPerSecond)
  const busy = (side: readonly Sided[]): number[] => side.map((result) => result.deliveriesPerBusySecond)
  return {
    measure: `Watch to ${SUBSCRIBERS} filtered, one deaf, ${perPost} events a post`,
    value: median(rate(service)),
    unit: 'deliveries/s',
    limit: { what: 'bare ws.send loop', value: median(rate(bare)) },
    ratio: medianOfRatios(rate(service), rate(bare)),
    better: 'higher',
    bar: { row: 8, floor: 0.35, goal: 0.6 },
    note:
      `event of ${length} bytes, ${median(service.map((s) => s.eventsPerFrame)).toFixed(1)} a frame seen, ` +
      `${median(bare.map((s) => s.eventsPerFrame)).toFixed(1)} in the bare loop; ` +
      `per busy second of the server (with connecting) ratio ${medianOfRatios(busy(service), busy(bare)).toFixed(2)}; ` +
      `client CPU ${Math.round(median(service.map((s) => s.clientCpu)) * 100)} % and ${Math.round(median(bare.map((s) => s.clientCpu)) * 100)} %`,
  }
}

export const fanOutQuestion: Question = {
  name: 'fan-out',
  asks: 'How many events a second reach a thousand Watch subscribers, beside a bare loop?',
  run,
}
