/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/work-item/owner.test.js > TAP > a cycle’s item settles by its result, and its owner is sent the whole result > a cycle 1`] = `
queued:
  cancel                   -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  cancel_waiting           -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  run_event (complete)     repeat of_another_run
  run_event (defect)       repeat of_another_run
  run_event (outage)       repeat of_another_run
  run_ended (completed)    repeat of_another_run
  run_ended (failed)       repeat of_another_run
  run_ended (cancelled)    repeat of_another_run
  run_ended (by a person)  repeat of_another_run
  settle (landed)          -> landed; facts work_item_settled
  settle (failed)          -> failed; facts work_item_settled
queued, handed out:
  cancel                   -> cancelled; facts work_item_cancelled; sends run_request.cancel, campaign.item_settled
  cancel_waiting           -> cancelled; facts work_item_cancelled; sends run_request.cancel, campaign.item_settled
  run_event (complete)     refused illegal_move
  run_event (defect)       refused illegal_move
  run_event (outage)       repeat settles_nothing
  run_ended (completed)    -> failed; facts work_item_settled; sends campaign.item_settled
  run_ended (failed)       -> failed; facts work_item_settled; sends campaign.item_settled
  run_ended (cancelled)    -> cancelled; facts work_item_settled; sends campaign.item_settled
  run_ended (by a person)  -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  settle (landed)          -> landed; facts work_item_settled; sends run_request.cancel
  settle (failed)          -> failed; facts work_item_settled; sends run_request.cancel
held:
  cancel                   -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  cancel_waiting           -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  run_event (complete)     repeat of_another_run
  run_event (defect)       repeat of_another_run
  run_event (outage)       repeat of_another_run
  run_ended (completed)    repeat of_another_run
  run_ended (failed)       repeat of_another_run
  run_ended (cancelled)    repeat of_another_run
  run_ended (by a person)  repeat of_another_run
  settle (landed)          -> landed; facts work_item_settled
  settle (failed)          -> failed; facts work_item_settled
running:
  cancel                   stays; sends run_request.cancel
  cancel_waiting           repeat runs_on
  run_event (complete)     -> landed; facts work_item_settled; sends campaign.item_settled
  run_event (defect)       -> preserved; facts work_item_settled; sends campaign.item_settled
  run_event (outage)       repeat settles_nothing
  run_ended (completed)    -> failed; facts work_item_settled; sends campaign.item_settled
  run_ended (failed)       -> failed; facts work_item_settled; sends campaign.item_settled
  run_ended (cancelled)    -> cancelled; facts work_item_settled; sends campaign.item_settled
  run_ended (by a person)  -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  settle (landed)          -> landed; facts work_item_settled; sends run_request.cancel
  settle (failed)          -> failed; facts work_item_settled; sends run_request.cancel
running, stopping:
  cancel                   repeat already_stopping
  cancel_waiting           repeat runs_on
  run_event (complete)     -> landed; facts work_item_settled; sends campaign.item_settled
  run_event (defect)       stays
  run_event (outage)       repeat settles_nothing
  run_ended (completed)    -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  run_ended (failed)       -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  run_ended (cancelled)    -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  run_ended (by a person)  -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  settle (landed)          -> landed; facts work_item_settled; sends run_request.cancel
  settle (failed)          -> failed; facts work_item_settled; sends run_request.cancel
failed:
  cancel                   -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  cancel_waiting           repeat already_settled
  run_event (complete)     repeat already_settled
  run_event (defect)       repeat already_settled
  run_event (outage)       repeat already_settled
  run_ended (completed)    repeat already_settled
  run_ended (failed)       repeat already_settled
  run_ended (cancelled)    repeat already_settled
  run_ended (by a person)  repeat already_settled
  settle (landed)          repeat already_settled
  settle (failed)          repeat already_settled
`

exports[`dist/test/machines/work-item/owner.test.js > TAP > an advance’s item waits for its owner’s decision once its run has ended > an advance 1`] = `
queued:
  cancel                   -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  cancel_waiting           -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  run_event (complete)     repeat of_another_run
  run_event (defect)       repeat of_another_run
  run_event (outage)       repeat of_another_run
  run_ended (completed)    repeat of_another_run
  run_ended (failed)       repeat of_another_run
  run_ended (cancelled)    repeat of_another_run
  run_ended (by a person)  repeat of_another_run
  settle (landed)          -> landed; facts work_item_settled
  settle (failed)          -> failed; facts work_item_settled
queued, handed out:
  cancel                   -> cancelled; facts work_item_cancelled; sends run_request.cancel, campaign.item_settled
  cancel_waiting           -> cancelled; facts work_item_cancelled; sends run_request.cancel, campaign.item_settled
  run_event (complete)     repeat settles_nothing
  run_event (defect)       repeat settles_nothing
  run_event (outage)       refused illegal_move
  run_ended (completed)    stays; sends campaign.item_reported
  run_ended (failed)       stays; sends campaign.item_reported
  run_ended (cancelled)    stays; sends campaign.item_reported
  run_ended (by a person)  -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  settle (landed)          -> landed; facts work_item_settled; sends run_request.cancel
  settle (failed)          -> failed; facts work_item_settled; sends run_request.cancel
held:
  cancel                   -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  cancel_waiting           -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  run_event (complete)     repeat of_another_run
  run_event (defect)       repeat of_another_run
  run_event (outage)       repeat of_another_run
  run_ended (completed)    repeat of_another_run
  run_ended (failed)       repeat of_another_run
  run_ended (cancelled)    repeat of_another_run
  run_ended (by a person)  repeat of_another_run
  settle (landed)          -> landed; facts work_item_settled
  settle (failed)          -> failed; facts work_item_settled
running:
  cancel                   stays; sends run_request.cancel
  cancel_waiting           repeat runs_on
  run_event (complete)     repeat settles_nothing
  run_event (defect)       repeat settles_nothing
  run_event (outage)       stays
  run_ended (completed)    stays; sends campaign.item_reported
  run_ended (failed)       stays; sends campaign.item_reported
  run_ended (cancelled)    stays; sends campaign.item_reported
  run_ended (by a person)  -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  settle (landed)          -> landed; facts work_item_settled; sends run_request.cancel
  settle (failed)          -> failed; facts work_item_settled; sends run_request.cancel
running, stopping:
  cancel                   repeat already_stopping
  cancel_waiting           repeat runs_on
  run_event (complete)     repeat settles_nothing
  run_event (defect)       repeat settles_nothing
  run_event (outage)       stays
  run_ended (completed)    -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  run_ended (failed)       -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  run_ended (cancelled)    -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  run_ended (by a person)  -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  settle (landed)          -> landed; facts work_item_settled; sends run_request.cancel
  settle (failed)          -> failed; facts work_item_settled; sends run_request.cancel
running, reported:
  cancel                   stays
  cancel_waiting           repeat runs_on
  run_event (complete)     repeat settles_nothing
  run_event (defect)       repeat settles_nothing
  run_event (outage)       stays
  run_ended (completed)    repeat already_reported
  run_ended (failed)       repeat already_reported
  run_ended (cancelled)    repeat already_reported
  run_ended (by a person)  repeat already_reported
  settle (landed)          -> landed; facts work_item_settled
  settle (failed)          -> failed; facts work_item_settled
failed:
  cancel                   -> cancelled; facts work_item_cancelled; sends campaign.item_settled
  cancel_waiting           repeat already_settled
  run_event (complete)     repeat already_settled
  run_event (defect)       repeat already_settled
  run_event (outage)       repeat already_settled
  run_ended (completed)    repeat already_settled
  run_ended (failed)       repeat already_settled
  run_ended (cancelled)    repeat already_settled
  run_ended (by a person)  repeat already_settled
  settle (landed)          repeat already_settled
  settle (failed)          repeat already_settled
`
