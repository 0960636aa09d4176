/**
 * What the service states about its run requests, and the plain output lines of the command that a runner runs. Every
 * payload names the request and its new state; the other members are what changed.
 */
import { OUTPUT_BYTES_MAX } from '../bounds.ts'
import { LANES } from '../run-request/lanes.ts'
import { RUN_REQUEST_STATES } from '../run-request/states.ts'
import { anyObject, count, openObject, shortText, stringEnum, Type, timestamp } from '../schema.ts'
import { engineEvent, serviceEvent } from './event-type.ts'

const state = stringEnum(RUN_REQUEST_STATES)

const identity = {
  run_request_id: Type.String(),
  state,
  attempt: Type.Optional(count('the fencing token: 1, 2, ...')),
  runner_id: Type.Optional(Type.String()),
  engine_run_id: Type.Optional(Type.String()),
  reason: Type.Optional(Type.String()),
}

const failureClass = stringEnum(['validation', 'dispatch', 'execution', 'safety', 'semantic', 'cancelled'])

/** A later lifecycle post of an attempt implies the earlier ones. */
const moved = openObject({ ...identity, deadline: Type.Optional(timestamp()) })

const created = openObject({
  ...identity,
  entry_event: Type.Optional(Type.String()),
  payload: Type.Optional(anyObject()),
  throttle: Type.Optional(stringEnum(['full', 'dry_run'])),
  access: Type.Optional(stringEnum(['full', 'read_only'])),
  lane: Type.Optional(stringEnum(LANES)),
  priority: Type.Optional(Type.Integer()),
  labels: Type.Optional(Type.Array(Type.String())),
  requested_by: Type.Optional(Type.Unknown()),
})

const ended = openObject({
  ...identity,
  class: Type.Optional(failureClass),
  code: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
  result: Type.Optional(anyObject('Run Result')),
})

const cancelRequested = openObject({
  ...identity,
  discard_work: Type.Optional(Type.Boolean()),
  requested_at: Type.Optional(timestamp()),
})

export const runRequestEvents = {
  run_request_created: serviceEvent('own', 'a run request was created', created),
  run_request_approved: serviceEvent('own', 'a run request was approved to make changes', moved),
  run_request_offered: serviceEvent('own', 'the request was offered to a runner', moved),
  run_request_accepted: serviceEvent('own', 'the runner accepted the request', moved),
  run_request_started: serviceEvent('own', 'the runner began the work', moved),
  run_request_completed: serviceEvent('own', 'the work ended with a Run Result', ended),
  run_request_failed: serviceEvent('own', 'the work, or handing it out, failed', ended),
  run_request_cancel_requested: serviceEvent('own', 'a stop was requested', cancelRequested),
  run_request_cancelled: serviceEvent('own', 'the request ended without being completed', ended),
  run_request_lost: serviceEvent('own', 'the runner fell silent after work may have begun', moved),
  run_request_requeued: serviceEvent('own', 'the request was queued again for its next attempt', moved),
  run_request_released: serviceEvent('own', 'the runner released the request', moved),

  run_output: engineEvent(
    'own',
    'plain output lines of the command that a runner ran, in batches',
    openObject({
      stream: stringEnum(['stdout', 'stderr']),
      text: shortText(OUTPUT_BYTES_MAX, 'Lines as they were written.'),
    }),
  ),
}
