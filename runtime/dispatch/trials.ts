/**
 * Runners whose limit is over by its time alone: until the run that met it has gone on for a while, or has ended, nobody
 * knows whether the provider is back. A person who was called is not told that all is well only to be called again.
 */
import { instantMs } from '../../machines/instant.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { AGENT_MISSING } from '../../machines/run-request/failure.ts'
import type { Runtime, SnapshotOf } from '../api.ts'
import { committed } from '../control/committed.ts'
import type { RunnerRequirements } from './api.ts'
import { requirementsOf } from './eligibility.ts'
import type { Fleet } from './fleet.ts'
import type { Holdings } from './holdings.ts'
import type { Queue } from './queue.ts'
import type { Runner } from './runner.ts'

/** A run that goes on for this long has an answer of its provider, milliseconds: agents give up sooner. */
const trialMsMax = 600_000
/** So long may a provider be unavailable that does not say until when: then perhaps its account has run out. */
const providerMsMin = 3_600_000

/** The runners being tried, each with the run that tries it. */
export type Trials = ReadonlyMap<Runner, RunRequestContext>
export const NO_TRIALS: Trials = new Map()

interface Reading {
  readonly fleet: Fleet
  readonly queue: Queue
  readonly holdings: Holdings
}

/**
 * Reads the runs that still go on, and no others: after an outage, thousands of idle runners may name one that has ended.
 */
export function trialsOf(runtime: Runtime, { fleet, queue, holdings }: Reading): Trials {
  const trials = new Map<Runner, RunRequestContext>()
  const nowMs = runtime.platform.wallMs()
  for (const runner of fleet.all()) {
    const { outage, limit } = runner
    if (outage === undefined || outage.is_stated || limit !== undefined) continue
    if (queue.demandOfRequest(outage.run_request_id) === undefined && holdings.get(outage.run_request_id) === undefined)
      continue
    const run = committed<RunRequestContext>(runtime, { kind: 'run_request', id: outage.run_request_id })
    if (run !== undefined && nowMs - begunMs(run, outage.until) < trialMsMax) trials.set(runner, run.context)
  }
  return trials
}

/** What the runs that try ask for: thousands that tried the same provider ask for the same few things. */
export function triedFor(trials: Trials): Iterable<RunnerRequirements> {
  const wishes = new Map<string, RunnerRequirements>()
  for (const context of trials.values()) {
    const requirements = requirementsOf(context)
    wishes.set(JSON.stringify(requirements), requirements)
  }
  return wishes.values()
}

/** When the run began to try, milliseconds since the epoch: when the limit was over, until a runner starts it. */
function begunMs({ value, context }: SnapshotOf<RunRequestContext>, until: string): number {
  if (value === 'started') return instantMs(context.times.started_at!)
  return value === 'queued' || value === 'offered' || value === 'accepted' ? instantMs(until) : Number.NEGATIVE_INFINITY
}

/**
 * Since when its provider is unavailable; undefined if that ends by itself, as the provider said, or is only about to
 * begin.
 */
export function outageSince({ outage }: Runner): string | undefined {
  return outage === undefined || outage.is_stated ? undefined : outage.since
}

/** For how long before a person is called. An agent that is not there does not come by itself. */
export function outageMsMin({ outage }: Runner): number {
  return outage?.code === AGENT_MISSING ? 0 : providerMsMin
}
