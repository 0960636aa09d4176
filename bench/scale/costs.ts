/**
 * What a call costs the service: CPU time of the whole process per call, kernel included, and how long the caller
 * waits. CPU is what is judged, since it is the same on a busy machine.
 */
import type { Child } from '../child.ts'
import type { LoadJob, Script } from '../load-client.ts'
import { type Measured, measure } from '../measured.ts'
import type { Context } from '../question.ts'
import type { RunnerAccess, Service } from '../service.ts'
import { interleave, median, medianOfRatios } from '../statistics.ts'
import { formatRequest } from '../wire.ts'
import type { Point } from './curve.ts'

/** Enough to keep the service busy, few enough that latency is work and not queueing. */
const CLIENTS = 8

/** A service under test, and what its calls refer to. */
export interface Setup {
  readonly service: Service
  readonly runners: readonly RunnerAccess[]
  readonly project: string
  /** Entities spread over everything stored. */
  readonly samples: readonly Sample[]
}

export interface Sample {
  readonly run: string
  readonly trace: string
  readonly event: string
}

export type Operation = (setup: Setup) => Script

const get = (setup: Setup, path: string): string => formatRequest('GET', path, setup.service.token)

export const operations = {
  'a call of the six-call cycle': ({ runners, project, service }) => ({
    kind: 'cycle',
    calls: 6,
    project,
    token: service.token,
    runners,
  }),
  'empty poll': ({ runners }) => ({
    kind: 'repeat',
    requests: runners.map(({ id, token }) => formatRequest('GET', `/api/runners/${id}/run-requests/next`, token)),
    status: 204,
  }),
  'read one run request': (setup) => ({
    kind: 'repeat',
    requests: setup.samples.map(({ run }) => get(setup, `/api/run-requests/${run}`)),
    status: 200,
  }),
  'list 50 of a state': (setup) => ({
    kind: 'repeat',
    requests: [get(setup, '/api/run-requests?state=completed&limit=50')],
    status: 200,
  }),
  'newest 50 events': (setup) => ({ kind: 'repeat', requests: [get(setup, '/api/events?limit=50')], status: 200 }),
  'first 50 events of a trace': (setup) => ({
    kind: 'repeat',
    requests: setup.samples.map(({ trace }) => get(setup, `/api/events?trace_id=${trace}&limit=50`)),
    status: 200,
  }),
  'read one event': (setup) => ({
    kind: 'repeat',
    requests: setup.samples.map(({ event, trace }) => get(setup, `/api/events/${event}?trace_id=${trace}`)),
    status: 200,
  }),
} satisfies Record<string, Operation>

export type OperationName = keyof typeof operations

const WARM_UP_MS = 1_500

/** Code that is not compiled yet says nothing about the effect of size. */
export async function warmUp(load: Child, setup: Setup, names: readonly OperationName[]): Promise<void> {
  for (const name of names) await load.ask('run', jobOf(setup, operations[name](setup), 0, WARM_UP_MS / names.length))
}

function jobOf({ service, runners }: Setup, script: Script, warmupMs: number, durationMs: number): LoadJob {
  const clients = Math.min(CLIENTS, runners.length)
  return { target: service.target, clients, warmupMs, durationMs, script }
}

/**
 * Makes the same calls on a service of the given size and on a small one, round by round; the point is the median of
 * the rounds.
 */
export async function costPoint(
  context: Context,
  load: Child,
  name: string,
  size: number,
  setup: Setup,
  control: Setup,
  operation: Operation,
): Promise<Point> {
  const durationMs = context.quick ? 600 : 1_500
  const on = (side: Setup): Promise<Measured> =>
    measure(load, side.service.child, jobOf(side, operation(side), 200, durationMs))
  const results = await interleave(context.quick ? 3 : 5, {
    setup: () => context.profiled(`scale-${name.replaceAll(' ', '-')}-${size}`, setup.service.child, () => on(setup)),
    control: () => on(control),
  })
  const cpu = (side: readonly Measured[]): number[] => side.map(({ serverCpuUsPerCall }) => serverCpuUsPerCall)
  const p99 = results.setup.map(({ latencyMs }) => Math.max(...Object.values(latencyMs).map((latency) => latency.p99)))
  return {
    size,
    value: median(cpu(results.setup)),
    ratio: medianOfRatios(cpu(results.setup), cpu(results.control)),
    beside: { 'p99 ms': median(p99) },
  }
}
