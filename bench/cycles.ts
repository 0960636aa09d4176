/**
 * How many durable six-call cycles a second (create, poll, accepted, started, events, completed) at 1, 16, 64 and 256
 * clients, with the ceiling prototype and a bare POST in the same rounds. Posts say `Prefer: return=minimal`, as the
 * bundled runner does; the ceiling prototype's answers are as short anyway.
 */
import { Child } from './child.ts'
import type { Script } from './load-client.ts'
import { createBody } from './load-scripts.ts'
import { type Measured, measure } from './measured.ts'
import type { Context, Finding, Question } from './question.ts'
import { type RunnerAccess, Service } from './service.ts'
import { interleave, median, medianOfRatios } from './statistics.ts'
import { formatRequest, type Target, targetOf } from './wire.ts'

const CLIENTS_MAX = 256
const WARM_UP_MS = 2_000

interface Rig {
  readonly load: Child
  readonly bare: { readonly child: Child; readonly target: Target }
  readonly ceiling: { readonly child: Child; readonly target: Target }
  readonly service: Service
  readonly runners: readonly RunnerAccess[]
}

async function start(script: string, home: string): Promise<{ child: Child; target: Target }> {
  const child = new Child(script, { environment: { BENCH_HOME: home } })
  return { child, target: targetOf((await child.firstLine).listening) }
}

async function assemble(context: Context): Promise<Rig> {
  const service = await Service.start(context.scratch.home())
  await service.createProject('bench')
  return {
    load: new Child('./load-client.js'),
    bare: await start('./bare-server.js', context.scratch.home()),
    ceiling: await start('./ceiling.js', context.scratch.home()),
    service,
    runners: await service.createRunners('runner', CLIENTS_MAX),
  }
}

async function dismantle(rig: Rig): Promise<void> {
  await Promise.all([rig.load.stop(), rig.bare.child.stop(), rig.ceiling.child.stop(), rig.service.stop()])
}

interface Timing {
  readonly rounds: number
  readonly warmupMs: number
  readonly durationMs: number
}

function timing(context: Context): Timing {
  return context.quick
    ? { rounds: 2, warmupMs: 300, durationMs: 1_000 }
    : { rounds: 5, warmupMs: 500, durationMs: 2_500 }
}

function cycleScript(rig: Rig, calls: 3 | 6, token: string): Script {
  return { kind: 'cycle', calls, project: 'bench', token, runners: rig.runners }
}

/** Code that is not compiled yet says nothing about the service, so only warm code is measured. */
async function warmUp(context: Context, rig: Rig): Promise<void> {
  context.say('warming up')
  for (const { child, target } of [rig.ceiling, { child: rig.service.child, target: rig.service.target }]) {
    const script = cycleScript(rig, 6, rig.service.token)
    await measure(rig.load, child, { target, clients: 64, warmupMs: 500, durationMs: WARM_UP_MS, script })
  }
}

type Side = 'ceiling' | 'service'

async function rounds(context: Context, rig: Rig, calls: 3 | 6, clients: number): Promise<Record<Side, Measured[]>> {
  const times = timing(context)
  const on = (child: Child, target: Target): Promise<Measured> =>
    measure(rig.load, child, { target, clients, ...times, script: cycleScript(rig, calls, rig.service.token) })
  return interleave(times.rounds, {
    ceiling: () => on(rig.ceiling.child, rig.ceiling.target),
    service: () =>
      context.profiled(`cycles-${calls}-${clients}`, rig.service.child, () =>
        on(rig.service.child, rig.service.target),
      ),
  })
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function noteOf(sides: Record<Side, Measured[]>): string {
  const of = (side: Side, read: (measured: Measured) => number): number => median(sides[side].map(read))
  const empty = sides.service.reduce((sum, measured) => sum + measured.emptyPolls, 0)
  return [
    `CPU a call ${of('service', (m) => m.serverCpuUsPerCall).toFixed(0)} us, the ceiling's ${of('ceiling', (m) => m.serverCpuUsPerCall).toFixed(0)}`,
    `busy ${percent(of('service', (m) => m.serverBusy))} and ${percent(of('ceiling', (m) => m.serverBusy))}`,
    `client CPU ${percent(of('service', (m) => m.clientCpu))}, at the ceiling ${percent(of('ceiling', (m) => m.clientCpu))}`,
    `create p99 ${of('service', (m) => m.latencyMs.create!.p99).toFixed(1)} ms`,
    ...(empty > 0 ? [`${empty} empty polls`] : []),
  ].join('; ')
}

function cycleFinding(calls: 3 | 6, clients: number, sides: Record<Side, Measured[]>): Finding {
  const service = sides.service.map((measured) => measured.roundsPerSecond)
  const ceiling = sides.ceiling.map((measured) => measured.roundsPerSecond)
  return {
    measure: `${calls}-call cycles, ${clients} clients`,
    value: median(service),
    unit: 'cycles/s',
    limit: { what: 'ceiling prototype', value: median(ceiling) },
    ratio: medianOfRatios(service, ceiling),
    better: 'higher',
    ...(calls === 6 && clients === CLIENTS_MAX ? { bar: { row: 2, floor: 0.4, goal: 0.6 } } : {}),
    note: noteOf(sides),
  }
}

/** The prototype counts as a ceiling only if it comes near the bare server itself. */
async function ceilingFinding(context: Context, rig: Rig): Promise<Finding> {
  const times = timing(context)
  const request = formatRequest('POST', '/api/projects/bench/run-requests', rig.service.token, createBody(1))
  const results = await interleave(times.rounds, {
    bare: () =>
      measure(rig.load, rig.bare.child, {
        target: rig.bare.target,
        clients: CLIENTS_MAX,
        ...times,
        script: { kind: 'repeat', requests: [request], status: 201 },
      }),
    ceiling: () =>
      measure(rig.load, rig.ceiling.child, {
        target: rig.ceiling.target,
        clients: CLIENTS_MAX,
        ...times,
        script: cycleScript(rig, 6, rig.service.token),
      }),
  })
  const calls = (side: 'bare' | 'ceiling'): number[] => results[side].map((measured) => measured.callsPerSecond)
  return {
    measure: 'ceiling prototype itself, 256 clients',
    value: median(calls('ceiling')),
    unit: 'calls/s',
    limit: { what: 'bare POST', value: median(calls('bare')) },
    ratio: medianOfRatios(calls('ceiling'), calls('bare')),
    better: 'higher',
    bar: { row: 2, floor: 0.5, goal: 0.5 },
    note: `bare server busy ${percent(median(results.bare.map((m) => m.serverBusy)))}, client CPU ${percent(median(results.bare.map((m) => m.clientCpu)))}`,
  }
}

async function run(context: Context): Promise<readonly Finding[]> {
  const rig = await assemble(context)
  try {
    await warmUp(context, rig)
    const findings: Finding[] = [await ceilingFinding(context, rig)]
    for (const clients of [1, 16, 64, CLIENTS_MAX]) {
      context.say(`six calls, ${clients} clients`)
      findings.push(cycleFinding(6, clients, await rounds(context, rig, 6, clients)))
    }
    context.say('three calls, 64 clients')
    findings.push(cycleFinding(3, 64, await rounds(context, rig, 3, 64)))
    return findings
  } finally {
    await dismantle(rig)
  }
}

export const cycles: Question = {
  name: 'cycles',
  asks: 'How many durable cycles a second, beside the ceiling prototype?',
  run,
}
