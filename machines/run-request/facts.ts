/**
 * What a run request states about itself for the event log: identity, new state, reason, what changed; never the
 * payload or the result, which may exceed an event's size. On hot paths members are in alphabetical order, so that
 * their canonical text needs no sorting.
 */
import type { PreparedEvent } from '../events/envelope.ts'
import type { OwnFact, RecordedFact } from '../machine.ts'
import type { Of, RunRequestContext, RunRequestMessage } from './context.ts'
import { AGENT_MISSING } from './failure.ts'
import { lossOf } from './item.ts'
import { retry } from './moves.ts'
import { failureOf, isOutage } from './rules.ts'

/** `attempt` is the current one from `offered` to `lost`, and the next one in `requeued` and `released`. */
export const facts = {
  created: ({ id, asked }: RunRequestContext): OwnFact => ({
    type: 'run_request_created',
    payload: {
      access: asked.access,
      attempt: 1,
      ...(asked.brief === undefined ? {} : { brief: asked.brief }),
      entry_event: asked.entry_event,
      labels: asked.labels,
      lane: asked.lane,
      priority: asked.priority,
      ...(asked.repo === undefined ? {} : { repo: asked.repo }),
      requested_by: asked.requested_by,
      run_request_id: id,
      ...(asked.runner_id === undefined ? {} : { runner_id: asked.runner_id }),
      state: 'queued',
    },
  }),
  approved: (c: RunRequestContext): OwnFact => ({
    type: 'run_request_approved',
    payload: { attempt: c.attempt, run_request_id: c.id, state: 'queued' },
  }),
  offered: (c: RunRequestContext): OwnFact => ({
    type: 'run_request_offered',
    payload: { attempt: c.attempt, run_request_id: c.id, runner_id: c.offered_to, state: 'offered' },
  }),
  accepted: (c: RunRequestContext): OwnFact => ({
    type: 'run_request_accepted',
    payload: held(c, 'accepted'),
  }),
  started: (c: RunRequestContext): OwnFact => ({
    type: 'run_request_started',
    payload: held(c, 'started'),
  }),
  runOpened: (c: RunRequestContext): OwnFact => ({
    type: 'engine_run_opened',
    payload: { engine_run_id: c.engine_run_id, run_request_id: c.id, runner_id: c.offered_to, state: 'open' },
  }),
  revived: (c: RunRequestContext): OwnFact => ({
    type: 'run_request_started',
    payload: {
      attempt: c.attempt,
      engine_run_id: c.engine_run_id,
      reason: 'its runner called again',
      run_request_id: c.id,
      runner_id: c.offered_to,
      state: 'started',
    },
  }),
  completed: (c: RunRequestContext): OwnFact => ({
    type: 'run_request_completed',
    payload: {
      attempt: c.attempt,
      engine_run_id: c.engine_run_id,
      run_request_id: c.id,
      runner_id: c.offered_to,
      state: 'completed',
      status: c.result?.status ?? 'completed',
    },
  }),
  failed: (c: RunRequestContext): OwnFact => ({
    type: 'run_request_failed',
    payload: { ...settled(c, 'failed'), ...c.failure },
  }),
  cancelRequested: (c: RunRequestContext): OwnFact => ({
    type: 'run_request_cancel_requested',
    payload: { ...settled(c, 'cancelling'), ...stopOf(c) },
  }),
  cancelled: (c: RunRequestContext): OwnFact => ({
    type: 'run_request_cancelled',
    payload: { ...settled(c, 'cancelled'), ...stopOf(c) },
  }),
  lost: (c: RunRequestContext, message: RunRequestMessage): OwnFact => ({
    type: 'run_request_lost',
    payload: { ...settled(c, 'lost'), reason: reasonOf(message) },
  }),
  requeued: (c: RunRequestContext, message: RunRequestMessage): OwnFact => ({
    type: 'run_request_requeued',
    payload: { attempt: c.attempt, reason: reasonOf(message), run_request_id: c.id, state: 'queued' },
  }),
  /** Emitted before the move, which discards the failure that is stated here. */
  retried: (c: RunRequestContext, message: RunRequestMessage): OwnFact => {
    const { attempt, not_before } = retry(c, message)
    return {
      type: 'run_request_requeued',
      payload: {
        attempt,
        ...failureOf(c, message),
        not_before,
        reason: retryReason(message),
        run_request_id: c.id,
        state: 'queued',
      },
    }
  },
  released: (c: RunRequestContext, message: RunRequestMessage): OwnFact => ({
    type: 'run_request_released',
    payload: {
      attempt: c.attempt,
      reason: reasonOf(message),
      run_request_id: c.id,
      runner_id: (message as Of<'release'>).runner_id,
      state: 'queued',
    },
  }),
}

function held(c: RunRequestContext, state: string): object {
  return { attempt: c.attempt, engine_run_id: c.engine_run_id, run_request_id: c.id, runner_id: c.offered_to, state }
}

function settled(c: RunRequestContext, state: string): object {
  const holder = c.offered_to === undefined ? {} : { runner_id: c.offered_to }
  return { attempt: c.attempt, run_request_id: c.id, ...holder, state }
}

function stopOf({ cancel }: RunRequestContext): object {
  return { ...cancel, reason: cancel?.reason ?? 'a stop was requested' }
}

function reasonOf(message: RunRequestMessage): string {
  switch (message.type) {
    case 'runner_session_started':
    case 'restored':
      return lossOf(message)
    case 'offer_expired':
      return 'the offer was not accepted in time'
    case 'offer_aborted':
      if (message.why === 'project_archived') return 'its project was archived before it was accepted'
      if (message.why === 'lane_paused') return 'its lane was paused before it was accepted'
      if (message.why === 'label_limit') return 'a label that it requires was limited before it was accepted'
      if (message.why === 'runner_changed') return 'its runner was no longer eligible before it accepted'
      return 'the poll ended before the offer reached its runner'
    case 'lease_expired':
      return 'its runner made no call for the length of the lease'
    case 'release':
      return 'its runner released it'
    default:
      return 'an operator requested it'
  }
}

/** An event stated by a runner, recorded unchanged. */
export function recorded(prepared: PreparedEvent): RecordedFact {
  return { type: prepared.event_type, recorded: prepared }
}

function retryReason(message: RunRequestMessage): string {
  if (!isOutage(message)) return 'it failed, and its retry policy requeues it'
  return message.code === AGENT_MISSING
    ? 'its runner has no agent: it is queued again for another'
    : 'its provider is unavailable: it is queued again for when that is back'
}
