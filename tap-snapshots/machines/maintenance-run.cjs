/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/maintenance-run.test.js > TAP > every message in every state has the outcome that the table shows > maintenance run 1`] = `
absent:
  begin                          -> running
  begin (for another project)    -> running
  project_ended                  refused illegal_move
  project_ended (of none)        refused illegal_move
  complete                       refused illegal_move
  complete (by another project)  refused illegal_move
  interrupt                      refused illegal_move
running:
  begin                          repeat already_begun
  begin (for another project)    stays
  project_ended                  stays
  project_ended (of none)        refused illegal_move
  complete                       -> ended
  complete (by another project)  refused illegal_move
  interrupt                      -> ended; facts maintenance_run_completed
running (two):
  begin                          repeat already_begun
  begin (for another project)    repeat already_begun
  project_ended                  repeat already_ended
  project_ended (of none)        refused illegal_move
  complete                       -> ended
  complete (by another project)  refused illegal_move
  interrupt                      -> ended; facts maintenance_run_completed
ended:
  begin                          repeat already_begun
  begin (for another project)    refused illegal_move
  project_ended                  refused illegal_move
  project_ended (of none)        refused illegal_move
  complete                       repeat already_ended
  complete (by another project)  repeat already_ended
  interrupt                      repeat already_ended
`
