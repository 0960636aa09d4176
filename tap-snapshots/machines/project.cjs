/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/project.test.js > TAP > every message in every state has the outcome that the table shows > project 1`] = `
absent:
  create               -> active; facts project_created
  create (other body)  -> active; facts project_created
  create (other key)   -> active; facts project_created
  update               refused illegal_move
  update (same)        refused illegal_move
  update (archives)    refused illegal_move
  update (unarchives)  refused illegal_move
  archive              refused illegal_move
  unarchive            refused illegal_move
  set_charter          refused illegal_move
  record               refused illegal_move
  record (commands)    refused illegal_move
  record (advances)    refused illegal_move
active:
  create               repeat replay
  create (other body)  refused idempotency_key_reused
  create (other key)   refused already_exists
  update               stays; facts project_updated
  update (same)        repeat unchanged
  update (archives)    -> archived; facts project_updated
  update (unarchives)  repeat unchanged
  archive              -> archived; facts project_updated
  unarchive            repeat already_active
  set_charter          stays; facts project_updated
  record               stays; facts task_run_started
  record (commands)    stays; facts task_run_started; sends run_request.create
  record (advances)    stays; facts task_run_started; sends campaign.advance
archived:
  create               repeat replay
  create (other body)  refused idempotency_key_reused
  create (other key)   refused already_exists
  update               refused project_archived
  update (same)        repeat unchanged
  update (archives)    refused project_archived
  update (unarchives)  -> active; facts project_updated
  archive              repeat already_archived
  unarchive            -> active; facts project_updated
  set_charter          refused project_archived
  record               stays; facts task_run_started
  record (commands)    refused project_archived
  record (advances)    refused project_archived
`
