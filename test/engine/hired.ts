/** The bundled runner working for a stand-in of the service. */
import type { Test } from 'tap'
import { type Runner, type RunnerOptions, startRunner } from '../../engine/runner.ts'
import { type StandIn, standIn } from './stand-in.ts'

const BACKOFF = { firstMs: 5, longestMs: 40 }

export interface Hired {
  readonly service: StandIn
  readonly runner: Runner
  readonly logs: string[]
}

/** A stand-in and a runner for it, for one run unless told otherwise; the runner is stopped at the end of the test. */
export async function hired(test: Test, command: string, more: Partial<RunnerOptions> = {}): Promise<Hired> {
  const service = await standIn()
  const logs: string[] = []
  const runner = startRunner({
    client: service.client,
    id: 'r1',
    command,
    environment: { PATH: process.env.PATH, ENGINE_TOKEN: 't0ken-of-laptop', ENGINE_URL: 'http://x' },
    version: '0.0.0',
    once: true,
    drainMs: 5_000,
    stopGraceMs: 300,
    backoff: BACKOFF,
    log: (text) => logs.push(text),
    ...more,
  })
  test.teardown(async () => {
    runner.stop()
    await runner.finished.catch(() => {})
    await service.stop()
  })
  return { service, runner, logs }
}
