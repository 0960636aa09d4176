/** Messages and snapshots of run requests that the tests share. */
import type { PreparedEvent } from '../../machines/events/envelope.ts'
import { prepareEvent } from '../../machines/events/envelope.ts'
import type { Message, SnapshotOf } from '../../machines/machine.ts'
import type { CreateRunRequest, RunRequestContext } from '../../machines/run-request/context.ts'
import { runRequestModule } from '../../machines/run-request.ts'
import { after, at } from './step.ts'

export const BY = { id: `tok_${'1'.repeat(24)}`, name: 'ann' }
export const RUNNER = 'runner-1'

export const CREATE: CreateRunRequest = {
  type: 'create',
  by: BY,
  id: `runreq_${'a'.repeat(24)}`,
  project: 'acme',
  project_id: `proj_${'b'.repeat(24)}`,
  entry_event: 'execution_requested',
  payload: { objective: 'tidy up' },
  labels: ['linux'],
  idempotency_key: 'key-1',
  key_given: true,
  fingerprint: 'fingerprint-1',
  repository: 'git@example.com:acme.git',
  requested_by: BY,
  trace_id: 'c'.repeat(32),
  span_id: 'd'.repeat(16),
  limits: { grace_ms: 60_000, late_events_ms: 600_000, idempotency_ms: 86_400_000 },
}

export const EVENT: PreparedEvent = prepareEvent({
  event_type: 'task_run_started',
  project: 'acme',
  occurred_at: '2026-01-01T00:00:05Z',
  throttle: 'dry_run',
  payload: {},
  trace_id: 'c'.repeat(32),
})

const post = { runner_id: RUNNER, attempt: 1 }

/** One message of each kind, from the holder of attempt 1, one second apart; the labels name what is special. */
export const MESSAGES = {
  create: at(0, CREATE),
  'create (other body)': at(20, { ...CREATE, fingerprint: 'fingerprint-2' }),
  approve: at(20, { type: 'approve', by: BY }),
  offer: at(1, { type: 'offer', runner_id: RUNNER }),
  accepted: at(2, { type: 'accepted', ...post }),
  'accepted (other runner)': at(2, { type: 'accepted', runner_id: 'runner-2', attempt: 1 }),
  'accepted (other attempt)': at(2, { type: 'accepted', runner_id: RUNNER, attempt: 7 }),
  'accepted (names a run)': at(2, { type: 'accepted', ...post, engine_run_id: `run_${'e'.repeat(24)}` }),
  started: at(3, { type: 'started', ...post }),
  heartbeat: at(4, { type: 'heartbeat', ...post }),
  events: at(5, { type: 'events', ...post, events: [EVENT] }),
  'events (too late)': at(5000, { type: 'events', ...post, events: [EVENT] }),
  completed: at(6, { type: 'completed', ...post, result: { status: 'completed' }, digest: 'digest-1' }),
  'completed (other body)': at(7, { type: 'completed', ...post, result: { note: 'other' }, digest: 'digest-2' }),
  failed: at(6, { type: 'failed', ...post, class: 'execution', message: 'tests failed', digest: 'digest-3' }),
  'failed (cancelled)': at(6, { type: 'failed', ...post, class: 'cancelled', message: 'stopped', digest: 'digest-4' }),
  release: at(6, { type: 'release', ...post }),
  offer_aborted: at(6, { type: 'offer_aborted', ...post }),
  run_reported: at(7, { type: 'run_reported', engine_run_id: `run_${'a'.repeat(24)}` }),
  cancel: at(8, { type: 'cancel', by: BY, reason: 'not needed' }),
  'cancel (unless begun)': at(8, { type: 'cancel', by: BY, discard_work: true, unless_begun: true }),
  requeue: at(9, { type: 'requeue', by: BY }),
  restored: at(9, { type: 'restored', by: BY }),
  fail: at(9, { type: 'fail', by: BY, message: 'the machine burnt down' }),
  runner_session_started: at(9, { type: 'runner_session_started', runner_id: RUNNER }),
  offer_expired: at(31, { type: 'offer_expired', ...post, counted: true }),
  lease_expired: at(70, { type: 'lease_expired', attempt: 1 }),
  not_before_reached: at(10, { type: 'not_before_reached' }),
  expires_at_reached: at(99, { type: 'expires_at_reached' }),
  timeout_reached: at(99, { type: 'timeout_reached', attempt: 1 }),
  grace_ended: at(99, { type: 'grace_ended', attempt: 1 }),
} as const satisfies Record<string, Message<any>>

const M = MESSAGES
type Snapshots = Readonly<Record<string, SnapshotOf<RunRequestContext>>>

/** One snapshot of every state, reached by messages; `variants` add to the create. */
export function states(variant: Partial<CreateRunRequest> = {}): Snapshots {
  const created = [at(0, { ...CREATE, ...variant })]
  const offered = [...created, M.offer]
  const accepted = [...offered, M.accepted]
  const started = [...accepted, M.started]
  return {
    queued: after(runRequestModule, created),
    offered: after(runRequestModule, offered),
    accepted: after(runRequestModule, accepted),
    started: after(runRequestModule, started),
    cancelling: after(runRequestModule, [...started, M.cancel]),
    lost: after(runRequestModule, [...started, M.lease_expired]),
    completed: after(runRequestModule, [...started, M.completed]),
    failed: after(runRequestModule, [...started, M.failed]),
    cancelled: after(runRequestModule, [...started, M.cancel, M['failed (cancelled)']]),
  }
}
