/**
 * What `/metrics` prints, in the Prometheus format. A request updates nothing but one counter per answer; everything
 * else is read from the parts when the metrics are scraped.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { SENTINEL_STATES, SKIP_CODES } from '../machines/documents/sentinel.ts'
import { WORK_ITEM_STATES } from '../machines/documents/work-item.ts'
import { LANES } from '../machines/run-request/lanes.ts'
import { RUN_REQUEST_STATES } from '../machines/run-request/states.ts'
import type { SentinelContext } from '../machines/sentinel/context.ts'
import type { SnapshotOf } from '../runtime/api.ts'
import type { DispatchCounts } from '../runtime/dispatch/api.ts'
import type { LabelUse } from '../runtime/dispatch/label-limits.ts'
import type { Admission } from './admission.ts'
import type { BodyReader } from './bodies/body.ts'
import { measureOpenFiles, measureStore } from './file-metrics.ts'
import { backlog, counter, gauge, inStates } from './meters.ts'
import { PROBLEM_CODES, problemTable } from './problems.ts'
import { BACKGROUND_FAILURES, backgroundParts } from './resources/background-parts.ts'
import type { ServiceContext } from './route.ts'
import type { RouteEntry } from './wire/route-entry.ts'
import type { UnsentAnswers } from './wire/unsent-answers.ts'

/** A part that wants a metric creates a prom-client object with `registers: [metrics.registry]`. */
export interface Metrics {
  readonly registry: Registry
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  measureOpenFiles(registry)
  return { registry }
}

/**
 * Problems that are the service's fault. Their series exist from the start, since `rate` misses the first increment of
 * a new series.
 */
const OURS = PROBLEM_CODES.filter((code) => problemTable[code].status >= 500)

/** Answers by route and status, and problems by code, read from the counters that the exchanges update. */
export function measureRoutes(
  { registry }: Metrics,
  { entries, unsent }: { readonly entries: readonly RouteEntry[]; readonly unsent: UnsentAnswers },
  bodies: BodyReader,
  admission: Admission,
): void {
  new Counter({
    name: 'intendant_http_answers_total',
    help: 'Responses sent, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { route, answered } of entries) {
        for (const [status, count] of answered) this.inc({ method: route.method, route: route.path, status }, count)
      }
    },
  })
  new Counter({
    name: 'intendant_http_problems_total',
    help: 'Requests refused, by reason (the code of the problem).',
    labelNames: ['code'],
    registers: [registry],
    collect() {
      this.reset()
      for (const code of OURS) this.inc({ code }, 0)
      for (const { problems } of entries) for (const [code, count] of problems) this.inc({ code }, count)
    },
  })
  gauge(
    registry,
    'intendant_http_body_bytes_in_flight',
    'Bytes of request bodies being received.',
    () => bodies.bytesInFlight,
  )
  gauge(registry, 'intendant_http_unsent_bytes', 'Bytes of answers that clients have not read yet.', () => unsent.bytes)
  counter(
    registry,
    'intendant_http_unsent_closed_total',
    'Connections closed because they left too many bytes of answers unread.',
    () => unsent.closed,
  )
  gauge(
    registry,
    'intendant_http_changes_in_flight',
    'Admitted changes that are not answered yet.',
    () => admission.inFlight,
  )
}

/** The log, run requests by state, the dispatcher, the tokens, and when the certificate that is served expires. */
export function measureService(metrics: Metrics, service: ServiceContext): void {
  const { registry } = metrics
  const { runtime, principals } = service
  const { journal } = runtime
  gauge(registry, 'intendant_log_last_sequence', 'Sequence of the newest event.', () => journal.lastSequence)
  gauge(registry, 'intendant_log_oldest_sequence', 'Sequence of the oldest event kept.', () => journal.oldestSequence)
  gauge(registry, 'intendant_writes_refused', '1 while the service accepts no writes.', () =>
    journal.refuses() === undefined ? 0 : 1,
  )
  gauge(
    registry,
    'intendant_quarantined_actors',
    'Actors whose record cannot be read.',
    () => runtime.quarantined().length,
  )
  gauge(
    registry,
    'intendant_messages_set_aside',
    'Internal messages whose step failed; retried with growing delays.',
    () => runtime.setAside.count,
  )
  measureCaretakers(metrics, service)
  gauge(registry, 'intendant_tokens_active', 'Active tokens.', () => principals.size)
  gauge(
    registry,
    'intendant_token_expiry_timestamp_seconds',
    'When the next active token expires, not counting runners’ tokens; +Inf if none does.',
    () => principals.nextExpiryMs / 1_000,
  )
  gauge(
    registry,
    'intendant_certificate_expiry_timestamp_seconds',
    'When the served certificate expires; +Inf without TLS.',
    () => service.certificateEndMs / 1_000,
  )
  inStates(registry, runtime, 'run_request', RUN_REQUEST_STATES, ['intendant_run_requests', 'Run requests, by state.'])
  measureLedger(metrics, service)
  measureSentinels(metrics, service)
  measureCommits(metrics, service)
  measureLoad(metrics, service)
  measureStore(registry, service)
  measureDispatch(metrics, service)
}

/** Entities at which the background parts (scheduler, steward, dispatcher and so on) fail. */
function measureCaretakers({ registry }: Metrics, service: ServiceContext): void {
  const background = backgroundParts(service)
  new Gauge({
    name: 'intendant_entities_passed_over',
    help: `Entities on which ${BACKGROUND_FAILURES}; retried with growing delays.`,
    labelNames: ['by'],
    registers: [registry],
    collect() {
      for (const [by, { health }] of background) this.set({ by }, health.passedOverCount)
    },
  })
  new Counter({
    name: 'intendant_ticks_failed_total',
    help: 'Failures of a whole background part (`by`), each followed by a pause.',
    labelNames: ['by'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [by, { health }] of background) this.inc({ by }, health.ticksFailed)
    },
  })
}

/** Work items by state, and those that the scheduler is concerned with. */
function measureLedger({ registry }: Metrics, { runtime, scheduler }: ServiceContext): void {
  inStates(registry, runtime, 'work_item', WORK_ITEM_STATES, ['intendant_work_items', 'Work items, by state.'])
  gauge(registry, 'intendant_work_items_running_max', 'Work items that may run at the same time.', () => {
    return scheduler.view().maxRunning
  })
  backlog(registry, () => scheduler.waiting.backlog(), {
    count: ['intendant_work_items_waiting', 'Queued work items that are not handed out yet, by project.'],
    age: ['intendant_work_items_waiting_oldest_age_seconds', 'Age of the oldest of them, by project.'],
  })
  new Gauge({
    name: 'intendant_lane_paused',
    help: '1 while the lane is paused.',
    labelNames: ['lane'],
    registers: [registry],
    collect() {
      const { paused } = scheduler.view()
      for (const lane of LANES) this.set({ lane }, paused.includes(lane) ? 1 : 0)
    },
  })
  const limited = (name: string, help: string, of: (use: LabelUse) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: ['label'],
      registers: [registry],
      collect() {
        this.reset()
        for (const use of scheduler.view().labelLimits()) this.set({ label: use.label }, of(use))
      },
    })
  }
  new Gauge({
    name: 'intendant_project_weight',
    help: 'Turns that a project gets while others get one each, of projects that have a weight other than 1.',
    labelNames: ['project'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [project, weight] of scheduler.view().weights) this.set({ project }, weight)
    },
  })
  limited(
    'intendant_label_runs_max',
    'Runs that may be under way at the same time, by limited label.',
    ({ maxRunning }) => maxRunning,
  )
  limited(
    'intendant_label_runs',
    'Runs under way that require the label, and items handed out with it, by limited label.',
    ({ underWay }) => underWay,
  )
}

/** Sentinels, and what came of each time that one fell due or was fired. */
function measureSentinels({ registry }: Metrics, { runtime }: ServiceContext): void {
  inStates(registry, runtime, 'sentinel', SENTINEL_STATES, ['intendant_sentinels', 'Sentinels, by state.'])
  gauge(
    registry,
    'intendant_sentinels_skipping',
    'Active sentinels that submitted nothing the last three times that they fell due.',
    () => runtime.journal.count('sentinel', 'attention', 'skipping'),
  )
  let fired = 0
  const skipped = new Map<string, number>(SKIP_CODES.map((code) => [code, 0]))
  runtime.onCommit((steps) => {
    for (const { ref, before, after } of steps) {
      if (ref.kind !== 'sentinel') continue
      const { last } = (after as SnapshotOf<SentinelContext>).context
      if (last === undefined || last === before?.context.last) continue
      if (last.skipped === undefined) fired += 1
      else skipped.set(last.skipped, skipped.get(last.skipped)! + 1)
    }
  })
  counter(registry, 'intendant_sentinels_fired_total', 'Items that sentinels submitted.', () => fired)
  new Counter({
    name: 'intendant_sentinels_skipped_total',
    help: 'Times at which a sentinel fell due, or was fired, and submitted nothing, by reason.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [reason, count] of skipped) this.inc({ reason }, count)
    },
  })
}

/** Bucket bounds, up to the most steps that a commit holds. */
const BATCH_STEPS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
/** From a disk with a durable cache to one that is failing. */
const FLUSH_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5]

/** Size and duration of commits. Each turn is one commit, so steps divided by commits tells how many share a flush. */
function measureCommits({ registry }: Metrics, { runtime }: ServiceContext): void {
  const totals = { commits: 0, steps: 0, events: 0, lost: 0 }
  const sizes = new Histogram({
    name: 'intendant_commit_batch_size',
    help: 'Actor steps that shared one flushed commit.',
    buckets: BATCH_STEPS,
    registers: [registry],
  })
  const flushes = new Histogram({
    name: 'intendant_fsync_seconds',
    help: 'Time to write a commit until it was on disk.',
    buckets: FLUSH_SECONDS,
    registers: [registry],
  })
  runtime.journal.onFlush?.((ms) => flushes.observe(ms / 1_000))
  runtime.onCommit((steps, events) => {
    totals.commits += 1
    sizes.observe(steps.length)
    totals.steps += steps.length
    totals.events += events.length
    for (const { ref, before, after } of steps) {
      if (ref.kind === 'run_request' && after.value === 'lost' && before?.value !== 'lost') totals.lost += 1
    }
  })
  counter(registry, 'intendant_commits_total', 'Flushed commits.', () => totals.commits)
  counter(registry, 'intendant_commit_steps_total', 'Actor steps in flushed commits.', () => totals.steps)
  counter(registry, 'intendant_commit_events_total', 'Events in flushed commits.', () => totals.events)
  counter(registry, 'intendant_run_requests_lost_total', 'Started run requests given up as lost.', () => totals.lost)
}

/** What is waiting: for an actor, for an answer, for the view, for a runner's next post. */
function measureLoad({ registry }: Metrics, { runtime }: ServiceContext): void {
  const { load, journal } = runtime
  gauge(
    registry,
    'intendant_messages_in_flight',
    'Messages accepted and not yet answered.',
    () => load.messagesInFlight,
  )
  gauge(
    registry,
    'intendant_work_wait_seconds',
    'How long a change arriving now would wait.',
    () => load.waitMs() / 1_000,
  )
  gauge(registry, 'intendant_mailbox_depth', 'Most messages waiting for one actor since the last scrape.', () =>
    load.takeDeepest(),
  )
  gauge(registry, 'intendant_view_backlog_batches', 'Commits that lists do not show yet.', () => journal.backlogBatches)
  counter(registry, 'intendant_lease_expired_total', 'Leases that expired without a call from their runner.', () =>
    runtime.deadlinesPassed('lease'),
  )
  counter(registry, 'intendant_offer_expired_total', 'Offers that were not accepted in time.', () =>
    runtime.deadlinesPassed('offer'),
  )
}

/** Polls, offers, runners, and each project's backlog. */
function measureDispatch({ registry }: Metrics, { dispatcher }: ServiceContext): void {
  const read = (value: (counts: DispatchCounts) => number) => () => value(dispatcher.counts())
  gauge(
    registry,
    'intendant_parked_polls',
    'Polls waiting for work.',
    read(({ parkedPolls }) => parkedPolls),
  )
  gauge(
    registry,
    'intendant_runners_online',
    'Runners that are online.',
    read(({ runners }) => runners.online),
  )
  gauge(
    registry,
    'intendant_runners_registered',
    'Runners registered.',
    read(({ runners }) => runners.registered),
  )
  gauge(
    registry,
    'intendant_runners_limited',
    'Runners that are offered nothing since the provider of their agents is unavailable.',
    read(({ runners }) => runners.limited),
  )
  counter(
    registry,
    'intendant_poll_wakeups_total',
    'Parked polls ended early.',
    read(({ wakeups }) => wakeups),
  )
  counter(
    registry,
    'intendant_offers_total',
    'Offers made.',
    read(({ offers }) => offers),
  )
  counter(
    registry,
    'intendant_offers_refused_total',
    'Offers that the run request refused.',
    read((c) => c.offersRefused),
  )
  counter(
    registry,
    'intendant_offers_returned_total',
    'Offers whose poll had ended before they were sent.',
    read((c) => c.offersReturned),
  )
  backlog(registry, () => dispatcher.backlog(), {
    count: ['intendant_backlog_count', 'Queued run requests, by project.'],
    age: ['intendant_backlog_oldest_age_seconds', 'Age of the oldest queued run request, by project.'],
  })
}
