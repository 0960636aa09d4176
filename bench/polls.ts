/**
 * How many empty polls a second (a registered runner with its own token, nothing queued), compared with a bare route
 * that answers 204 to the same request.
 */
import { Child } from './child.ts'
import { type Measured, measure } from './measured.ts'
import type { Context, Finding, Question } from './question.ts'
import { type RunnerAccess, Service } from './service.ts'
import { interleave, median, medianOfRatios } from './statistics.ts'
import { formatRequest, type Target, targetOf } from './wire.ts'

const CLIENTS = 64

function pollOf(runner: RunnerAccess): string {
  return formatRequest('GET', `/api/runners/${runner.id}/run-requests/next`, runner.token)
}

async function run(context: Context): Promise<readonly Finding[]> {
  const load = new Child('./load-client.js')
  const bare = new Child('./bare-server.js')
  const bareTarget = targetOf((await bare.firstLine).listening)
  const service = await Service.start(context.scratch.home())
  try {
    await service.createProject('bench')
    const requests = (await service.createRunners('runner', CLIENTS)).map(pollOf)
    const times = context.quick ? { warmupMs: 400, durationMs: 1_200 } : { warmupMs: 500, durationMs: 2_500 }
    const on = (child: Child, target: Target): Promise<Measured> =>
      measure(load, child, { target, clients: CLIENTS, ...times, script: { kind: 'repeat', requests, status: 204 } })
    const results = await interleave(context.quick ? 3 : 7, {
      bare: () => on(bare, bareTarget),
      service: () => context.profiled('polls', service.child, () => on(service.child, service.target)),
    })
    return [findingOf(results.bare, results.service)]
  } finally {
    await Promise.all([load.stop(), bare.stop(), service.stop()])
  }
}

/**
 * One load client cannot saturate either server, so calls per second of server CPU are compared, kernel included. The
 * plain quotient would flatter the service; it is in the note.
 */
function findingOf(bare: readonly Measured[], service: readonly Measured[]): Finding {
  const perCpu = (side: readonly Measured[]): number[] => side.map((measured) => measured.callsPerCpuSecond)
  const calls = (side: readonly Measured[]): number[] => side.map((measured) => measured.callsPerSecond)
  const share = (value: number): string => `${Math.round(value * 100)} %`
  return {
    measure: 'empty polls, per CPU second of the server',
    value: median(perCpu(service)),
    unit: 'polls/s',
    limit: { what: 'bare 204', value: median(perCpu(bare)) },
    ratio: medianOfRatios(perCpu(service), perCpu(bare)),
    better: 'higher',
    bar: { row: 1, floor: 0.55, goal: 0.75 },
    note:
      `on the wire ${Math.round(median(calls(service)))}/s and ${Math.round(median(calls(bare)))}/s ` +
      `(ratio ${medianOfRatios(calls(service), calls(bare)).toFixed(2)}); server busy ` +
      `${share(median(service.map((m) => m.serverBusy)))} and ${share(median(bare.map((m) => m.serverBusy)))}; CPU a poll ` +
      `${median(service.map((m) => m.serverCpuUsPerCall)).toFixed(1)} and ${median(bare.map((m) => m.serverCpuUsPerCall)).toFixed(1)} us`,
  }
}

export const polls: Question = {
  name: 'polls',
  asks: 'How many empty polls a second, beside a bare 204?',
  run,
}
