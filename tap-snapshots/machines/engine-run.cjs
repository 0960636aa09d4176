/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/engine-run.test.js > TAP > every message in every state has the outcome that the table shows > engine run 1`] = `
absent:
  trace_summary                        -> summarized; facts trace_summary_recorded; sends run_request.run_reported
  trace_summary (other)                -> summarized; facts trace_summary_recorded; sends run_request.run_reported
  evidence                             -> open; facts evidence_observed, evidence_observed; sends run_request.run_reported
  trace_summary (of one that is over)  -> closed; facts trace_summary_recorded
  evidence (of one that is over)       -> closed; facts evidence_observed
  end                                  -> closed
open:
  trace_summary                        -> summarized; facts trace_summary_recorded
  trace_summary (other)                -> summarized; facts trace_summary_recorded
  evidence                             repeat already_recorded
  trace_summary (of one that is over)  -> summarized; facts trace_summary_recorded
  evidence (of one that is over)       stays; facts evidence_observed
  end                                  -> closed
summarized:
  trace_summary                        repeat already_recorded
  trace_summary (other)                stays; facts trace_summary_recorded
  evidence                             stays; facts evidence_observed, evidence_observed
  trace_summary (of one that is over)  stays; facts trace_summary_recorded
  evidence (of one that is over)       stays; facts evidence_observed
  end                                  -> closed
closed:
  trace_summary                        repeat already_recorded
  trace_summary (other)                stays; facts trace_summary_recorded
  evidence                             stays; facts evidence_observed, evidence_observed
  trace_summary (of one that is over)  stays; facts trace_summary_recorded
  evidence (of one that is over)       stays; facts evidence_observed
  end                                  repeat already_closed
closed, unreported:
  trace_summary                        stays; facts trace_summary_recorded
  trace_summary (other)                stays; facts trace_summary_recorded
  evidence                             stays; facts evidence_observed, evidence_observed
  trace_summary (of one that is over)  stays; facts trace_summary_recorded
  evidence (of one that is over)       stays; facts evidence_observed
  end                                  repeat already_closed
`
