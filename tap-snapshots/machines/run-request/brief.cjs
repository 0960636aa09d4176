/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/run-request/brief.test.js > TAP > with a brief, every message in every state sends the brief what the table shows > run request with a brief 1`] = `
queued:
  create                    repeat replay
  create (other body)       refused idempotency_key_reused
  approve                   repeat already_approved
  offer                     -> offered; facts run_request_offered
  accepted                  refused stale_attempt
  accepted (other runner)   refused stale_attempt
  accepted (other attempt)  refused stale_attempt
  accepted (names a run)    refused stale_attempt
  started                   refused stale_attempt
  heartbeat                 refused stale_attempt
  events                    refused stale_attempt
  events (too late)         refused stale_attempt
  completed                 refused stale_attempt
  completed (other body)    refused stale_attempt
  failed                    refused stale_attempt
  failed (cancelled)        refused stale_attempt
  release                   refused stale_attempt
  offer_aborted             refused illegal_move
  run_reported              repeat already_known
  cancel                    -> cancelled; facts run_request_cancelled; sends formation_brief.run_stopped
  cancel (unless begun)     -> cancelled; facts run_request_cancelled; sends formation_brief.run_stopped
  requeue                   refused illegal_move
  restored                  stays; facts run_request_requeued
  fail                      refused illegal_move
  runner_session_started    refused illegal_move
  offer_expired             refused illegal_move
  lease_expired             refused illegal_move
  not_before_reached        refused illegal_move
  expires_at_reached        -> cancelled; facts run_request_cancelled; sends formation_brief.run_stopped
  timeout_reached           refused illegal_move
  grace_ended               refused illegal_move
offered:
  create                    repeat replay
  create (other body)       refused idempotency_key_reused
  approve                   repeat already_approved
  offer                     refused illegal_move
  accepted                  -> accepted; facts run_request_accepted, engine_run_opened; sends formation_brief.run_accepted
  accepted (other runner)   refused stale_attempt
  accepted (other attempt)  refused stale_attempt
  accepted (names a run)    -> accepted; facts run_request_accepted, engine_run_opened; sends formation_brief.run_accepted
  started                   -> started; facts run_request_accepted, run_request_started, engine_run_opened; sends formation_brief.run_started
  heartbeat                 repeat renewed
  events                    -> started; facts run_request_accepted, run_request_started, engine_run_opened, task_run_started; sends formation_brief.run_started
  events (too late)         -> started; facts run_request_accepted, run_request_started, engine_run_opened, task_run_started; sends formation_brief.run_started
  completed                 -> completed; facts run_request_accepted, run_request_started, engine_run_opened, run_request_completed; sends formation_brief.run_started, formation_brief.run_completed
  completed (other body)    -> completed; facts run_request_accepted, run_request_started, engine_run_opened, run_request_completed; sends formation_brief.run_started, formation_brief.run_completed
  failed                    -> failed; facts run_request_accepted, run_request_started, engine_run_opened, run_request_failed; sends formation_brief.run_started, formation_brief.run_stopped
  failed (cancelled)        -> failed; facts run_request_accepted, run_request_started, engine_run_opened, run_request_failed; sends formation_brief.run_started, formation_brief.run_stopped
  release                   -> queued; facts run_request_released; sends formation_brief.run_queued
  offer_aborted             -> queued; facts run_request_released; sends formation_brief.run_queued
  run_reported              repeat already_known
  cancel                    -> cancelled; facts run_request_cancelled; sends formation_brief.run_stopped
  cancel (unless begun)     -> cancelled; facts run_request_cancelled; sends formation_brief.run_stopped
  requeue                   refused illegal_move
  restored                  -> queued; facts run_request_requeued; sends formation_brief.run_queued
  fail                      refused illegal_move
  runner_session_started    -> queued; facts run_request_requeued; sends formation_brief.run_queued
  offer_expired             -> queued; facts run_request_requeued; sends formation_brief.run_queued
  lease_expired             refused illegal_move
  not_before_reached        refused illegal_move
  expires_at_reached        repeat not_queued
  timeout_reached           refused illegal_move
  grace_ended               refused illegal_move
accepted:
  create                    repeat replay
  create (other body)       refused idempotency_key_reused
  approve                   repeat already_approved
  offer                     refused illegal_move
  accepted                  repeat already_accepted
  accepted (other runner)   refused stale_attempt
  accepted (other attempt)  refused stale_attempt
  accepted (names a run)    stays; facts engine_run_opened; sends engine_run.end
  started                   -> started; facts run_request_started; sends formation_brief.run_started
  heartbeat                 repeat renewed
  events                    -> started; facts run_request_started, task_run_started; sends formation_brief.run_started
  events (too late)         -> started; facts run_request_started, task_run_started; sends formation_brief.run_started
  completed                 -> completed; facts run_request_started, run_request_completed; sends formation_brief.run_started, formation_brief.run_completed
  completed (other body)    -> completed; facts run_request_started, run_request_completed; sends formation_brief.run_started, formation_brief.run_completed
  failed                    -> failed; facts run_request_started, run_request_failed; sends formation_brief.run_started, formation_brief.run_stopped
  failed (cancelled)        -> failed; facts run_request_started, run_request_failed; sends formation_brief.run_started, formation_brief.run_stopped
  release                   -> queued; facts run_request_released; sends engine_run.end, formation_brief.run_queued
  offer_aborted             refused illegal_move
  run_reported              stays
  cancel                    -> cancelling; facts run_request_cancel_requested
  cancel (unless begun)     -> cancelling; facts run_request_cancel_requested
  requeue                   refused illegal_move
  restored                  -> lost; facts run_request_lost; sends formation_brief.run_stopped
  fail                      refused illegal_move
  runner_session_started    -> queued; facts run_request_requeued; sends engine_run.end, formation_brief.run_queued
  offer_expired             refused illegal_move
  lease_expired             -> queued; facts run_request_requeued; sends engine_run.end, formation_brief.run_queued
  not_before_reached        refused illegal_move
  expires_at_reached        repeat not_queued
  timeout_reached           refused illegal_move
  grace_ended               refused illegal_move
started:
  create                    repeat replay
  create (other body)       refused idempotency_key_reused
  approve                   repeat already_approved
  offer                     refused illegal_move
  accepted                  repeat already_accepted
  accepted (other runner)   refused stale_attempt
  accepted (other attempt)  refused stale_attempt
  accepted (names a run)    repeat already_accepted
  started                   repeat already_started
  heartbeat                 repeat renewed
  events                    stays; facts task_run_started
  events (too late)         stays; facts task_run_started
  completed                 -> completed; facts run_request_completed; sends formation_brief.run_completed
  completed (other body)    -> completed; facts run_request_completed; sends formation_brief.run_completed
  failed                    -> failed; facts run_request_failed; sends formation_brief.run_stopped
  failed (cancelled)        -> failed; facts run_request_failed; sends formation_brief.run_stopped
  release                   refused illegal_move
  offer_aborted             refused illegal_move
  run_reported              stays
  cancel                    -> cancelling; facts run_request_cancel_requested
  cancel (unless begun)     refused illegal_move
  requeue                   refused illegal_move
  restored                  -> lost; facts run_request_lost; sends formation_brief.run_stopped
  fail                      refused illegal_move
  runner_session_started    -> lost; facts run_request_lost; sends formation_brief.run_stopped
  offer_expired             refused illegal_move
  lease_expired             -> lost; facts run_request_lost; sends formation_brief.run_stopped
  not_before_reached        refused illegal_move
  expires_at_reached        repeat not_queued
  timeout_reached           -> cancelling; facts run_request_cancel_requested
  grace_ended               refused illegal_move
cancelling:
  create                    repeat replay
  create (other body)       refused idempotency_key_reused
  approve                   repeat already_approved
  offer                     refused illegal_move
  accepted                  repeat already_accepted
  accepted (other runner)   refused stale_attempt
  accepted (other attempt)  refused stale_attempt
  accepted (names a run)    repeat already_accepted
  started                   repeat already_started
  heartbeat                 repeat renewed
  events                    stays; facts task_run_started
  events (too late)         stays; facts task_run_started
  completed                 -> completed; facts run_request_completed; sends formation_brief.run_completed; clears grace
  completed (other body)    -> completed; facts run_request_completed; sends formation_brief.run_completed; clears grace
  failed                    -> failed; facts run_request_failed; sends formation_brief.run_stopped; clears grace
  failed (cancelled)        -> cancelled; facts run_request_cancelled; sends formation_brief.run_stopped; clears grace
  release                   refused illegal_move
  offer_aborted             refused illegal_move
  run_reported              stays
  cancel                    repeat already_cancelling
  cancel (unless begun)     refused illegal_move
  requeue                   refused illegal_move
  restored                  -> cancelled; facts run_request_cancelled; sends formation_brief.run_stopped; clears grace
  fail                      refused illegal_move
  runner_session_started    -> cancelled; facts run_request_cancelled; sends formation_brief.run_stopped; clears grace
  offer_expired             refused illegal_move
  lease_expired             -> cancelled; facts run_request_cancelled; sends formation_brief.run_stopped; clears grace
  not_before_reached        refused illegal_move
  expires_at_reached        repeat not_queued
  timeout_reached           repeat not_running
  grace_ended               -> cancelled; facts run_request_cancelled; sends formation_brief.run_stopped; clears grace
lost:
  create                    repeat replay
  create (other body)       refused idempotency_key_reused
  approve                   repeat already_approved
  offer                     refused illegal_move
  accepted                  -> started; facts run_request_started; sends formation_brief.run_started
  accepted (other runner)   refused stale_attempt
  accepted (other attempt)  refused stale_attempt
  accepted (names a run)    -> started; facts run_request_started; sends formation_brief.run_started
  started                   -> started; facts run_request_started; sends formation_brief.run_started
  heartbeat                 -> started; facts run_request_started; sends formation_brief.run_started
  events                    -> started; facts run_request_started, task_run_started; sends formation_brief.run_started
  events (too late)         -> started; facts run_request_started, task_run_started; sends formation_brief.run_started
  completed                 -> completed; facts run_request_completed; sends formation_brief.run_completed
  completed (other body)    -> completed; facts run_request_completed; sends formation_brief.run_completed
  failed                    -> failed; facts run_request_failed; sends formation_brief.run_stopped
  failed (cancelled)        -> failed; facts run_request_failed; sends formation_brief.run_stopped
  release                   refused illegal_move
  offer_aborted             refused illegal_move
  run_reported              stays
  cancel                    -> cancelled; facts run_request_cancelled; sends formation_brief.run_stopped
  cancel (unless begun)     refused illegal_move
  requeue                   -> queued; facts run_request_requeued; sends engine_run.end, formation_brief.run_queued
  restored                  stays; facts run_request_lost; sends formation_brief.run_stopped
  fail                      -> failed; facts run_request_failed; sends formation_brief.run_stopped
  runner_session_started    refused illegal_move
  offer_expired             refused illegal_move
  lease_expired             refused illegal_move
  not_before_reached        refused illegal_move
  expires_at_reached        repeat not_queued
  timeout_reached           repeat not_running
  grace_ended               refused illegal_move
completed:
  create                    repeat replay
  create (other body)       refused idempotency_key_reused
  approve                   refused illegal_move
  offer                     refused illegal_move
  accepted                  refused illegal_move
  accepted (other runner)   refused stale_attempt
  accepted (other attempt)  refused stale_attempt
  accepted (names a run)    refused illegal_move
  started                   refused illegal_move
  heartbeat                 refused illegal_move
  events                    stays; facts task_run_started
  events (too late)         refused illegal_move
  completed                 repeat already_completed
  completed (other body)    refused result_conflict
  failed                    refused result_conflict
  failed (cancelled)        refused result_conflict
  release                   refused illegal_move
  offer_aborted             refused illegal_move
  run_reported              stays; sends engine_run.end
  cancel                    refused illegal_move
  cancel (unless begun)     refused illegal_move
  requeue                   refused illegal_move
  restored                  refused illegal_move
  fail                      refused illegal_move
  runner_session_started    refused illegal_move
  offer_expired             refused illegal_move
  lease_expired             refused illegal_move
  not_before_reached        refused illegal_move
  expires_at_reached        refused illegal_move
  timeout_reached           refused illegal_move
  grace_ended               refused illegal_move
failed:
  create                    repeat replay
  create (other body)       refused idempotency_key_reused
  approve                   refused illegal_move
  offer                     refused illegal_move
  accepted                  refused illegal_move
  accepted (other runner)   refused stale_attempt
  accepted (other attempt)  refused stale_attempt
  accepted (names a run)    refused illegal_move
  started                   refused illegal_move
  heartbeat                 refused illegal_move
  events                    stays; facts task_run_started
  events (too late)         refused illegal_move
  completed                 refused result_conflict
  completed (other body)    refused result_conflict
  failed                    repeat already_failed
  failed (cancelled)        refused result_conflict
  release                   refused illegal_move
  offer_aborted             refused illegal_move
  run_reported              stays; sends engine_run.end
  cancel                    refused illegal_move
  cancel (unless begun)     refused illegal_move
  requeue                   refused illegal_move
  restored                  refused illegal_move
  fail                      refused illegal_move
  runner_session_started    refused illegal_move
  offer_expired             refused illegal_move
  lease_expired             refused illegal_move
  not_before_reached        refused illegal_move
  expires_at_reached        refused illegal_move
  timeout_reached           refused illegal_move
  grace_ended               refused illegal_move
cancelled:
  create                    repeat replay
  create (other body)       refused idempotency_key_reused
  approve                   refused illegal_move
  offer                     refused illegal_move
  accepted                  refused illegal_move
  accepted (other runner)   refused stale_attempt
  accepted (other attempt)  refused stale_attempt
  accepted (names a run)    refused illegal_move
  started                   refused illegal_move
  heartbeat                 refused illegal_move
  events                    stays; facts task_run_started
  events (too late)         refused illegal_move
  completed                 refused result_conflict
  completed (other body)    refused result_conflict
  failed                    refused result_conflict
  failed (cancelled)        repeat already_failed
  release                   refused illegal_move
  offer_aborted             refused illegal_move
  run_reported              stays; sends engine_run.end
  cancel                    repeat already_cancelled
  cancel (unless begun)     repeat already_cancelled
  requeue                   refused illegal_move
  restored                  refused illegal_move
  fail                      refused illegal_move
  runner_session_started    refused illegal_move
  offer_expired             refused illegal_move
  lease_expired             refused illegal_move
  not_before_reached        refused illegal_move
  expires_at_reached        refused illegal_move
  timeout_reached           refused illegal_move
  grace_ended               refused illegal_move
`
