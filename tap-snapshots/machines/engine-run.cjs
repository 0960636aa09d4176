/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/engine-run.test.js > TAP > every message in every state has the outcome that the table shows > engine run 1`] = `
absent:
  open                   -> open; facts engine_run_opened
  open (over already)    -> closed; facts engine_run_opened
  open (other request)   -> open; facts engine_run_opened
  trace_summary          refused illegal_move
  trace_summary (other)  refused illegal_move
  evidence               refused illegal_move
  close                  refused illegal_move
  close (other request)  refused illegal_move
open:
  open                   repeat already_open
  open (over already)    repeat already_open
  open (other request)   refused engine_run_taken
  trace_summary          -> summarized; facts trace_summary_recorded
  trace_summary (other)  -> summarized; facts trace_summary_recorded
  evidence               stays; facts evidence_observed, evidence_observed
  close                  -> closed
  close (other request)  refused illegal_move
summarized:
  open                   repeat already_open
  open (over already)    repeat already_open
  open (other request)   refused engine_run_taken
  trace_summary          repeat already_recorded
  trace_summary (other)  stays; facts trace_summary_recorded
  evidence               stays; facts evidence_observed, evidence_observed
  close                  -> closed
  close (other request)  refused illegal_move
closed:
  open                   repeat already_open
  open (over already)    repeat already_open
  open (other request)   refused engine_run_taken
  trace_summary          repeat already_recorded
  trace_summary (other)  stays; facts trace_summary_recorded
  evidence               stays; facts evidence_observed, evidence_observed
  close                  repeat already_closed
  close (other request)  refused illegal_move
`
