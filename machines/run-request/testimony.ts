/** What a run request's events assert: what was asked for, its state, who holds it, and that it is approved. */
import type { SnapshotOf } from '../machine.ts'
import { type Claims, members, type StatedFact, type Testimony } from '../testimony.ts'
import type { RunRequestContext } from './context.ts'

const STATED = [
  'created',
  'approved',
  'offered',
  'accepted',
  'started',
  'completed',
  'failed',
  'cancel_requested',
  'cancelled',
  'lost',
  'requeued',
  'released',
] as const

const ENVELOPE = ['project', 'throttle', 'trace_id'] as const
const ASKED = ['access', 'brief', 'entry_event', 'labels', 'lane', 'priority', 'repo', 'requested_by'] as const
const FAILURE = ['class', 'code', 'message'] as const

/** `runner_id` is the requested runner in a creation event, and the one that let go in a return to the queue. */
function stands({ payload }: StatedFact): Claims {
  const { state, attempt, runner_id } = payload
  const where = { state, attempt, offered_to: state === 'queued' ? undefined : runner_id }
  if (state === 'failed') return { ...where, failure: members(payload, ...FAILURE) }
  return state === 'completed' ? { ...where, status: payload.status } : where
}

export const runRequestTestimony: Testimony<RunRequestContext> = {
  idMember: 'run_request_id',
  types: new Set([...STATED.map((name) => `run_request_${name}`), 'engine_run_opened']),
  aspects: ({ event_type, payload }) => {
    if (event_type === 'run_request_created') return ['creation', 'state']
    if (event_type === 'engine_run_opened') return ['run']
    if (event_type === 'run_request_approved') return ['terms']
    return payload.state === 'queued' ? ['state', 'run'] : ['state']
  },
  claims(aspect, event) {
    if (aspect === 'run') return { engine_run_id: event.payload.engine_run_id }
    if (aspect === 'state') return stands(event)
    if (aspect === 'terms') return { approved: true }
    const { runner_id, ...asked } = members(event.payload, ...ASKED, 'runner_id')
    return { ...members({ ...event }, ...ENVELOPE), ...asked, only_runner: runner_id }
  },
  held: ({ value, context }: SnapshotOf<RunRequestContext>) => ({
    state: value,
    ...members(context, ...ENVELOPE, 'attempt', 'offered_to', 'engine_run_id'),
    ...members(context.asked, ...ASKED),
    only_runner: context.asked.runner_id,
    approved: context.internal.approved,
    failure: context.failure && members(context.failure as object, ...FAILURE),
    status: context.result?.status ?? 'completed',
  }),
  madeAt: ({ created_at }) => created_at,
}
