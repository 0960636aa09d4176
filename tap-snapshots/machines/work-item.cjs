/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/work-item.test.js > TAP > an item that resumes another tells it how it ended > work item that resumes another 1`] = `
submitted:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        -> queued; facts work_item_submitted
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel (discard)             -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resume                       refused illegal_move
  run_started                  repeat of_another_run
  run_started (another run)    repeat of_another_run
  run_lost                     repeat of_another_run
  run_requeued                 repeat of_another_run
  run_event (complete)         repeat of_another_run
  run_event (not landed)       repeat of_another_run
  run_event (defect)           repeat of_another_run
  run_event (decision)         repeat of_another_run
  run_event (runner error)     repeat of_another_run
  run_event (of a release)     repeat of_another_run
  run_ended (completed)        repeat of_another_run
  run_ended (failed)           repeat of_another_run
  run_ended (cancelled)        repeat of_another_run
  run_ended (by a person)      repeat of_another_run
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   -> cancelled; facts work_item_settled; sends work_item.resumption_settled
  settle (landed)              -> landed; facts work_item_settled; sends work_item.resumption_settled
  settle (cancelled)           -> cancelled; facts work_item_settled; sends work_item.resumption_settled
  settle (failed)              -> failed; facts work_item_settled; sends work_item.resumption_settled
queued:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     stays; sends run_request.create
  take_back                    refused illegal_move
  block                        -> needs_decision; facts work_item_settled; sends work_item.resumption_settled
  block (not waited for)       refused illegal_move
  hold                         -> held; facts work_item_held
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel (discard)             -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resume                       refused illegal_move
  run_started                  repeat of_another_run
  run_started (another run)    repeat of_another_run
  run_lost                     repeat of_another_run
  run_requeued                 repeat of_another_run
  run_event (complete)         repeat of_another_run
  run_event (not landed)       repeat of_another_run
  run_event (defect)           repeat of_another_run
  run_event (decision)         repeat of_another_run
  run_event (runner error)     repeat of_another_run
  run_event (of a release)     repeat of_another_run
  run_ended (completed)        repeat of_another_run
  run_ended (failed)           repeat of_another_run
  run_ended (cancelled)        repeat of_another_run
  run_ended (by a person)      repeat of_another_run
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   -> cancelled; facts work_item_settled; sends work_item.resumption_settled
  settle (landed)              -> landed; facts work_item_settled; sends work_item.resumption_settled
  settle (cancelled)           -> cancelled; facts work_item_settled; sends work_item.resumption_settled
  settle (failed)              -> failed; facts work_item_settled; sends work_item.resumption_settled
queued, handed out:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    stays; sends run_request.cancel
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         -> held; facts work_item_held; sends run_request.cancel
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       -> cancelled; facts work_item_cancelled; sends run_request.cancel, work_item.resumption_settled
  cancel (discard)             -> cancelled; facts work_item_cancelled; sends run_request.cancel, work_item.resumption_settled
  resume                       refused illegal_move
  run_started                  -> running; facts work_item_started
  run_started (another run)    repeat of_another_run
  run_lost                     repeat waits
  run_requeued                 repeat waits
  run_event (complete)         refused illegal_move
  run_event (not landed)       refused illegal_move
  run_event (defect)           refused illegal_move
  run_event (decision)         refused illegal_move
  run_event (runner error)     refused illegal_move
  run_event (of a release)     repeat settles_nothing
  run_ended (completed)        -> failed; facts work_item_settled; sends work_item.resumption_settled
  run_ended (failed)           -> failed; facts work_item_settled; sends work_item.resumption_settled
  run_ended (cancelled)        -> cancelled; facts work_item_settled; sends work_item.resumption_settled
  run_ended (by a person)      -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   -> cancelled; facts work_item_settled; sends run_request.cancel, work_item.resumption_settled
  settle (landed)              -> landed; facts work_item_settled; sends run_request.cancel, work_item.resumption_settled
  settle (cancelled)           -> cancelled; facts work_item_settled; sends run_request.cancel, work_item.resumption_settled
  settle (failed)              -> failed; facts work_item_settled; sends run_request.cancel, work_item.resumption_settled
held:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         repeat already_held
  release                      -> queued; facts work_item_released
  close                        refused illegal_move
  cancel                       -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel (discard)             -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resume                       refused illegal_move
  run_started                  repeat of_another_run
  run_started (another run)    repeat of_another_run
  run_lost                     repeat of_another_run
  run_requeued                 repeat of_another_run
  run_event (complete)         repeat of_another_run
  run_event (not landed)       repeat of_another_run
  run_event (defect)           repeat of_another_run
  run_event (decision)         repeat of_another_run
  run_event (runner error)     repeat of_another_run
  run_event (of a release)     repeat of_another_run
  run_ended (completed)        repeat of_another_run
  run_ended (failed)           repeat of_another_run
  run_ended (cancelled)        repeat of_another_run
  run_ended (by a person)      repeat of_another_run
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   -> cancelled; facts work_item_settled; sends work_item.resumption_settled
  settle (landed)              -> landed; facts work_item_settled; sends work_item.resumption_settled
  settle (cancelled)           -> cancelled; facts work_item_settled; sends work_item.resumption_settled
  settle (failed)              -> failed; facts work_item_settled; sends work_item.resumption_settled
held, taken back:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         repeat already_held
  release                      -> queued; facts work_item_released
  close                        refused illegal_move
  cancel                       -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel (discard)             -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resume                       refused illegal_move
  run_started                  repeat of_another_run
  run_started (another run)    repeat of_another_run
  run_lost                     repeat of_another_run
  run_requeued                 repeat of_another_run
  run_event (complete)         -> landed; facts work_item_settled; sends work_item.resumption_settled
  run_event (not landed)       repeat of_another_run
  run_event (defect)           repeat of_another_run
  run_event (decision)         repeat of_another_run
  run_event (runner error)     repeat of_another_run
  run_event (of a release)     repeat of_another_run
  run_ended (completed)        stays
  run_ended (failed)           stays
  run_ended (cancelled)        stays
  run_ended (by a person)      stays
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   -> cancelled; facts work_item_settled; sends work_item.resumption_settled
  settle (landed)              -> landed; facts work_item_settled; sends work_item.resumption_settled
  settle (cancelled)           -> cancelled; facts work_item_settled; sends work_item.resumption_settled
  settle (failed)              -> failed; facts work_item_settled; sends work_item.resumption_settled
queued, taken back:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         -> held; facts work_item_held
  release                      repeat already_released
  close                        refused illegal_move
  cancel                       -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel (discard)             -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resume                       refused illegal_move
  run_started                  repeat of_another_run
  run_started (another run)    repeat of_another_run
  run_lost                     repeat of_another_run
  run_requeued                 repeat of_another_run
  run_event (complete)         -> landed; facts work_item_settled; sends work_item.resumption_settled
  run_event (not landed)       repeat of_another_run
  run_event (defect)           repeat of_another_run
  run_event (decision)         repeat of_another_run
  run_event (runner error)     repeat of_another_run
  run_event (of a release)     repeat of_another_run
  run_ended (completed)        stays
  run_ended (failed)           stays
  run_ended (cancelled)        stays
  run_ended (by a person)      stays
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   -> cancelled; facts work_item_settled; sends work_item.resumption_settled
  settle (landed)              -> landed; facts work_item_settled; sends work_item.resumption_settled
  settle (cancelled)           -> cancelled; facts work_item_settled; sends work_item.resumption_settled
  settle (failed)              -> failed; facts work_item_settled; sends work_item.resumption_settled
running:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       stays; sends run_request.cancel
  cancel (discard)             stays; sends run_request.cancel
  resume                       refused illegal_move
  run_started                  stays
  run_started (another run)    repeat of_another_run
  run_lost                     stays
  run_requeued                 stays
  run_event (complete)         -> landed; facts work_item_settled; sends work_item.resumption_settled
  run_event (not landed)       -> preserved; facts work_item_settled; sends work_item.resumption_settled
  run_event (defect)           -> preserved; facts work_item_settled; sends work_item.resumption_settled
  run_event (decision)         -> needs_decision; facts work_item_settled; sends work_item.resumption_settled
  run_event (runner error)     -> failed; facts work_item_settled; sends work_item.resumption_settled
  run_event (of a release)     repeat settles_nothing
  run_ended (completed)        -> failed; facts work_item_settled; sends work_item.resumption_settled
  run_ended (failed)           -> failed; facts work_item_settled; sends work_item.resumption_settled
  run_ended (cancelled)        -> cancelled; facts work_item_settled; sends work_item.resumption_settled
  run_ended (by a person)      -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat runs_on
  settle (landed)              -> landed; facts work_item_settled; sends run_request.cancel, work_item.resumption_settled
  settle (cancelled)           -> cancelled; facts work_item_settled; sends run_request.cancel, work_item.resumption_settled
  settle (failed)              -> failed; facts work_item_settled; sends run_request.cancel, work_item.resumption_settled
running, stopping:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       repeat already_stopping
  cancel (discard)             stays; sends run_request.cancel
  resume                       refused illegal_move
  run_started                  stays
  run_started (another run)    repeat of_another_run
  run_lost                     stays
  run_requeued                 stays
  run_event (complete)         -> landed; facts work_item_settled; sends work_item.resumption_settled
  run_event (not landed)       stays
  run_event (defect)           stays
  run_event (decision)         stays
  run_event (runner error)     stays
  run_event (of a release)     repeat settles_nothing
  run_ended (completed)        -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  run_ended (failed)           -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  run_ended (cancelled)        -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  run_ended (by a person)      -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat runs_on
  settle (landed)              -> landed; facts work_item_settled; sends run_request.cancel, work_item.resumption_settled
  settle (cancelled)           -> cancelled; facts work_item_settled; sends run_request.cancel, work_item.resumption_settled
  settle (failed)              -> failed; facts work_item_settled; sends run_request.cancel, work_item.resumption_settled
landed:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       refused illegal_move
  cancel (discard)             refused illegal_move
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
preserved:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel                       -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel (discard)             -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resume                       stays; sends work_item.create
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  refused illegal_move
  resumption_settled (failed)  refused illegal_move
  superseded                   -> landed; facts work_item_settled; sends work_item.resumption_settled
  settle (landed)              refused illegal_move
  settle (cancelled)           refused illegal_move
  settle (failed)              refused illegal_move
preserved, resumed:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel                       -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel (discard)             -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resume                       repeat replay
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  -> landed; facts work_item_settled; sends work_item.resumption_settled
  resumption_settled (failed)  stays
  superseded                   -> landed; facts work_item_settled; sends work_item.superseded, work_item.resumption_settled
  settle (landed)              refused illegal_move
  settle (cancelled)           refused illegal_move
  settle (failed)              refused illegal_move
needs_decision:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel                       -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel (discard)             -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
needs_decision, never started:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      -> queued; facts work_item_released
  close                        -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel                       -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel (discard)             -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
failed:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel                       -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  cancel (discard)             -> cancelled; facts work_item_cancelled; sends work_item.resumption_settled
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
cancelled:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       repeat already_cancelled
  cancel (discard)             repeat already_cancelled
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
cancelled, taken back:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       repeat already_cancelled
  cancel (discard)             repeat already_cancelled
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         stays
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        stays
  run_ended (failed)           stays
  run_ended (cancelled)        stays
  run_ended (by a person)      stays
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
landed, taken back:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       refused illegal_move
  cancel (discard)             refused illegal_move
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        stays
  run_ended (failed)           stays
  run_ended (cancelled)        stays
  run_ended (by a person)      stays
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
`

exports[`dist/test/machines/work-item.test.js > TAP > every message in every state has the outcome that the table shows > work item 1`] = `
absent:
  create                       -> queued; facts work_item_submitted
  create (no reason)           -> submitted
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       refused illegal_move
  cancel (discard)             refused illegal_move
  resume                       refused illegal_move
  run_started                  refused illegal_move
  run_started (another run)    refused illegal_move
  run_lost                     refused illegal_move
  run_requeued                 refused illegal_move
  run_event (complete)         refused illegal_move
  run_event (not landed)       refused illegal_move
  run_event (defect)           refused illegal_move
  run_event (decision)         refused illegal_move
  run_event (runner error)     refused illegal_move
  run_event (of a release)     refused illegal_move
  run_ended (completed)        refused illegal_move
  run_ended (failed)           refused illegal_move
  run_ended (cancelled)        refused illegal_move
  run_ended (by a person)      refused illegal_move
  resumption_settled (landed)  refused illegal_move
  resumption_settled (failed)  refused illegal_move
  superseded                   refused illegal_move
  settle (landed)              refused illegal_move
  settle (cancelled)           refused illegal_move
  settle (failed)              refused illegal_move
submitted:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        -> queued; facts work_item_submitted
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       -> cancelled; facts work_item_cancelled
  cancel (discard)             -> cancelled; facts work_item_cancelled
  resume                       refused illegal_move
  run_started                  repeat of_another_run
  run_started (another run)    repeat of_another_run
  run_lost                     repeat of_another_run
  run_requeued                 repeat of_another_run
  run_event (complete)         repeat of_another_run
  run_event (not landed)       repeat of_another_run
  run_event (defect)           repeat of_another_run
  run_event (decision)         repeat of_another_run
  run_event (runner error)     repeat of_another_run
  run_event (of a release)     repeat of_another_run
  run_ended (completed)        repeat of_another_run
  run_ended (failed)           repeat of_another_run
  run_ended (cancelled)        repeat of_another_run
  run_ended (by a person)      repeat of_another_run
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   -> cancelled; facts work_item_settled
  settle (landed)              -> landed; facts work_item_settled
  settle (cancelled)           -> cancelled; facts work_item_settled
  settle (failed)              -> failed; facts work_item_settled
queued:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     stays; sends run_request.create
  take_back                    refused illegal_move
  block                        -> needs_decision; facts work_item_settled
  block (not waited for)       refused illegal_move
  hold                         -> held; facts work_item_held
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       -> cancelled; facts work_item_cancelled
  cancel (discard)             -> cancelled; facts work_item_cancelled
  resume                       refused illegal_move
  run_started                  repeat of_another_run
  run_started (another run)    repeat of_another_run
  run_lost                     repeat of_another_run
  run_requeued                 repeat of_another_run
  run_event (complete)         repeat of_another_run
  run_event (not landed)       repeat of_another_run
  run_event (defect)           repeat of_another_run
  run_event (decision)         repeat of_another_run
  run_event (runner error)     repeat of_another_run
  run_event (of a release)     repeat of_another_run
  run_ended (completed)        repeat of_another_run
  run_ended (failed)           repeat of_another_run
  run_ended (cancelled)        repeat of_another_run
  run_ended (by a person)      repeat of_another_run
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   -> cancelled; facts work_item_settled
  settle (landed)              -> landed; facts work_item_settled
  settle (cancelled)           -> cancelled; facts work_item_settled
  settle (failed)              -> failed; facts work_item_settled
queued, handed out:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    stays; sends run_request.cancel
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         -> held; facts work_item_held; sends run_request.cancel
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       -> cancelled; facts work_item_cancelled; sends run_request.cancel
  cancel (discard)             -> cancelled; facts work_item_cancelled; sends run_request.cancel
  resume                       refused illegal_move
  run_started                  -> running; facts work_item_started
  run_started (another run)    repeat of_another_run
  run_lost                     repeat waits
  run_requeued                 repeat waits
  run_event (complete)         refused illegal_move
  run_event (not landed)       refused illegal_move
  run_event (defect)           refused illegal_move
  run_event (decision)         refused illegal_move
  run_event (runner error)     refused illegal_move
  run_event (of a release)     repeat settles_nothing
  run_ended (completed)        -> failed; facts work_item_settled
  run_ended (failed)           -> failed; facts work_item_settled
  run_ended (cancelled)        -> cancelled; facts work_item_settled
  run_ended (by a person)      -> cancelled; facts work_item_cancelled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   -> cancelled; facts work_item_settled; sends run_request.cancel
  settle (landed)              -> landed; facts work_item_settled; sends run_request.cancel
  settle (cancelled)           -> cancelled; facts work_item_settled; sends run_request.cancel
  settle (failed)              -> failed; facts work_item_settled; sends run_request.cancel
held:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         repeat already_held
  release                      -> queued; facts work_item_released
  close                        refused illegal_move
  cancel                       -> cancelled; facts work_item_cancelled
  cancel (discard)             -> cancelled; facts work_item_cancelled
  resume                       refused illegal_move
  run_started                  repeat of_another_run
  run_started (another run)    repeat of_another_run
  run_lost                     repeat of_another_run
  run_requeued                 repeat of_another_run
  run_event (complete)         repeat of_another_run
  run_event (not landed)       repeat of_another_run
  run_event (defect)           repeat of_another_run
  run_event (decision)         repeat of_another_run
  run_event (runner error)     repeat of_another_run
  run_event (of a release)     repeat of_another_run
  run_ended (completed)        repeat of_another_run
  run_ended (failed)           repeat of_another_run
  run_ended (cancelled)        repeat of_another_run
  run_ended (by a person)      repeat of_another_run
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   -> cancelled; facts work_item_settled
  settle (landed)              -> landed; facts work_item_settled
  settle (cancelled)           -> cancelled; facts work_item_settled
  settle (failed)              -> failed; facts work_item_settled
held, taken back:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         repeat already_held
  release                      -> queued; facts work_item_released
  close                        refused illegal_move
  cancel                       -> cancelled; facts work_item_cancelled
  cancel (discard)             -> cancelled; facts work_item_cancelled
  resume                       refused illegal_move
  run_started                  repeat of_another_run
  run_started (another run)    repeat of_another_run
  run_lost                     repeat of_another_run
  run_requeued                 repeat of_another_run
  run_event (complete)         -> landed; facts work_item_settled
  run_event (not landed)       repeat of_another_run
  run_event (defect)           repeat of_another_run
  run_event (decision)         repeat of_another_run
  run_event (runner error)     repeat of_another_run
  run_event (of a release)     repeat of_another_run
  run_ended (completed)        stays
  run_ended (failed)           stays
  run_ended (cancelled)        stays
  run_ended (by a person)      stays
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   -> cancelled; facts work_item_settled
  settle (landed)              -> landed; facts work_item_settled
  settle (cancelled)           -> cancelled; facts work_item_settled
  settle (failed)              -> failed; facts work_item_settled
queued, taken back:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         -> held; facts work_item_held
  release                      repeat already_released
  close                        refused illegal_move
  cancel                       -> cancelled; facts work_item_cancelled
  cancel (discard)             -> cancelled; facts work_item_cancelled
  resume                       refused illegal_move
  run_started                  repeat of_another_run
  run_started (another run)    repeat of_another_run
  run_lost                     repeat of_another_run
  run_requeued                 repeat of_another_run
  run_event (complete)         -> landed; facts work_item_settled
  run_event (not landed)       repeat of_another_run
  run_event (defect)           repeat of_another_run
  run_event (decision)         repeat of_another_run
  run_event (runner error)     repeat of_another_run
  run_event (of a release)     repeat of_another_run
  run_ended (completed)        stays
  run_ended (failed)           stays
  run_ended (cancelled)        stays
  run_ended (by a person)      stays
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   -> cancelled; facts work_item_settled
  settle (landed)              -> landed; facts work_item_settled
  settle (cancelled)           -> cancelled; facts work_item_settled
  settle (failed)              -> failed; facts work_item_settled
running:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       stays; sends run_request.cancel
  cancel (discard)             stays; sends run_request.cancel
  resume                       refused illegal_move
  run_started                  stays
  run_started (another run)    repeat of_another_run
  run_lost                     stays
  run_requeued                 stays
  run_event (complete)         -> landed; facts work_item_settled
  run_event (not landed)       -> preserved; facts work_item_settled
  run_event (defect)           -> preserved; facts work_item_settled
  run_event (decision)         -> needs_decision; facts work_item_settled
  run_event (runner error)     -> failed; facts work_item_settled
  run_event (of a release)     repeat settles_nothing
  run_ended (completed)        -> failed; facts work_item_settled
  run_ended (failed)           -> failed; facts work_item_settled
  run_ended (cancelled)        -> cancelled; facts work_item_settled
  run_ended (by a person)      -> cancelled; facts work_item_cancelled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat runs_on
  settle (landed)              -> landed; facts work_item_settled; sends run_request.cancel
  settle (cancelled)           -> cancelled; facts work_item_settled; sends run_request.cancel
  settle (failed)              -> failed; facts work_item_settled; sends run_request.cancel
running, stopping:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       repeat already_stopping
  cancel (discard)             stays; sends run_request.cancel
  resume                       refused illegal_move
  run_started                  stays
  run_started (another run)    repeat of_another_run
  run_lost                     stays
  run_requeued                 stays
  run_event (complete)         -> landed; facts work_item_settled
  run_event (not landed)       stays
  run_event (defect)           stays
  run_event (decision)         stays
  run_event (runner error)     stays
  run_event (of a release)     repeat settles_nothing
  run_ended (completed)        -> cancelled; facts work_item_cancelled
  run_ended (failed)           -> cancelled; facts work_item_cancelled
  run_ended (cancelled)        -> cancelled; facts work_item_cancelled
  run_ended (by a person)      -> cancelled; facts work_item_cancelled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat runs_on
  settle (landed)              -> landed; facts work_item_settled; sends run_request.cancel
  settle (cancelled)           -> cancelled; facts work_item_settled; sends run_request.cancel
  settle (failed)              -> failed; facts work_item_settled; sends run_request.cancel
landed:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       refused illegal_move
  cancel (discard)             refused illegal_move
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
preserved:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        -> cancelled; facts work_item_cancelled
  cancel                       -> cancelled; facts work_item_cancelled
  cancel (discard)             -> cancelled; facts work_item_cancelled
  resume                       stays; sends work_item.create
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  refused illegal_move
  resumption_settled (failed)  refused illegal_move
  superseded                   -> landed; facts work_item_settled
  settle (landed)              refused illegal_move
  settle (cancelled)           refused illegal_move
  settle (failed)              refused illegal_move
preserved, resumed:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        -> cancelled; facts work_item_cancelled
  cancel                       -> cancelled; facts work_item_cancelled
  cancel (discard)             -> cancelled; facts work_item_cancelled
  resume                       repeat replay
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  -> landed; facts work_item_settled
  resumption_settled (failed)  stays
  superseded                   -> landed; facts work_item_settled; sends work_item.superseded
  settle (landed)              refused illegal_move
  settle (cancelled)           refused illegal_move
  settle (failed)              refused illegal_move
needs_decision:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        -> cancelled; facts work_item_cancelled
  cancel                       -> cancelled; facts work_item_cancelled
  cancel (discard)             -> cancelled; facts work_item_cancelled
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
needs_decision, never started:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      -> queued; facts work_item_released
  close                        -> cancelled; facts work_item_cancelled
  cancel                       -> cancelled; facts work_item_cancelled
  cancel (discard)             -> cancelled; facts work_item_cancelled
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
failed:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        -> cancelled; facts work_item_cancelled
  cancel                       -> cancelled; facts work_item_cancelled
  cancel (discard)             -> cancelled; facts work_item_cancelled
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
cancelled:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       repeat already_cancelled
  cancel (discard)             repeat already_cancelled
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        repeat already_settled
  run_ended (failed)           repeat already_settled
  run_ended (cancelled)        repeat already_settled
  run_ended (by a person)      repeat already_settled
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
cancelled, taken back:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       repeat already_cancelled
  cancel (discard)             repeat already_cancelled
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         stays
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        stays
  run_ended (failed)           stays
  run_ended (cancelled)        stays
  run_ended (by a person)      stays
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
landed, taken back:
  create                       refused already_exists
  create (no reason)           refused already_exists
  admit                        refused illegal_move
  hand_out                     refused illegal_move
  take_back                    refused illegal_move
  block                        refused illegal_move
  block (not waited for)       refused illegal_move
  hold                         refused illegal_move
  release                      refused illegal_move
  close                        refused illegal_move
  cancel                       refused illegal_move
  cancel (discard)             refused illegal_move
  resume                       refused illegal_move
  run_started                  repeat already_settled
  run_started (another run)    repeat already_settled
  run_lost                     repeat already_settled
  run_requeued                 repeat already_settled
  run_event (complete)         repeat already_settled
  run_event (not landed)       repeat already_settled
  run_event (defect)           repeat already_settled
  run_event (decision)         repeat already_settled
  run_event (runner error)     repeat already_settled
  run_event (of a release)     repeat already_settled
  run_ended (completed)        stays
  run_ended (failed)           stays
  run_ended (cancelled)        stays
  run_ended (by a person)      stays
  resumption_settled (landed)  repeat already_settled
  resumption_settled (failed)  repeat already_settled
  superseded                   repeat already_settled
  settle (landed)              repeat already_settled
  settle (cancelled)           repeat already_settled
  settle (failed)              repeat already_settled
`
