/**
 * What `/metrics` prints, in the format of Prometheus. Nothing is measured on the way of a request beyond one
 * counter an answer: the rest is read from the parts when somebody asks.
 */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { RUN_REQUEST_STATES } from '../machines/documents/run-request.ts'
import type { BodyReader } from './body.ts'
import type { RouteEntry } from './exchange.ts'
import type { ServiceContext } from './route.ts'

/** A part that wants a metric makes a prom-client object with `registers: [metrics.registry]`. */
export interface Metrics {
  readonly registry: Registry
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return { registry }
}

/** Answers by route and status, taken from the counters that the exchanges keep. */
export function measureRoutes({ registry }: Metrics, entries: readonly RouteEntry[], bodies: BodyReader): void {
  new Counter({
    name: 'intendant_http_answers_total',
    help: 'Answers given, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { route, answered } of entries) {
        for (const [status, count] of answered) this.inc({ method: route.method, route: route.path, status }, count)
      }
    },
  })
  gauge(registry, 'intendant_http_body_bytes_in_flight', 'Bytes of bodies being received.', () => bodies.bytesInFlight)
}

/** The log, the run requests by state, the hand-out, the tokens. */
export function measureService({ registry }: Metrics, { runtime, dispatcher, principals }: ServiceContext): void {
  const { journal } = runtime
  gauge(registry, 'intendant_log_last_sequence', 'Sequence of the newest event.', () => journal.lastSequence)
  gauge(registry, 'intendant_log_oldest_sequence', 'Sequence of the oldest event kept.', () => journal.oldestSequence)
  gauge(registry, 'intendant_writes_refused', '1 while the service takes no writes.', () =>
    journal.refuses() === undefined ? 0 : 1,
  )
  gauge(
    registry,
    'intendant_quarantined_actors',
    'Actors whose record cannot be read.',
    () => runtime.quarantined().length,
  )
  gauge(registry, 'intendant_tokens_active', 'Tokens that are let in.', () => principals.size)
  gauge(registry, 'intendant_parked_polls', 'Polls that wait for work.', () => dispatcher.counts().parkedPolls)
  gauge(registry, 'intendant_runners_online', 'Runners heard of lately.', () => dispatcher.counts().runners.online)
  gauge(
    registry,
    'intendant_runners_registered',
    'Runners that are registered.',
    () => dispatcher.counts().runners.registered,
  )
  new Gauge({
    name: 'intendant_run_requests',
    help: 'Run requests, by state.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const state of RUN_REQUEST_STATES) this.set({ state }, journal.count('run_request', 'state', state))
    },
  })
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}
