/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/formation-brief.test.js > TAP > every message in every state has the outcome that the table shows > formation brief 1`] = `
absent:
  create                             -> draft; facts formation_brief_created
  create (other body)                -> draft; facts formation_brief_created
  update                             refused illegal_move
  update (nothing new)               refused illegal_move
  update (of an older version)       refused illegal_move
  submit                             refused illegal_move
  submit (of an older version)       refused illegal_move
  approve                            refused illegal_move
  approve (by another)               refused illegal_move
  approve (full)                     refused illegal_move
  approve (other revision)           refused illegal_move
  approve (moved intent)             refused illegal_move
  approve (record gone)              refused illegal_move
  approve (of an older version)      refused illegal_move
  compile                            refused illegal_move
  compile (moved intent)             refused illegal_move
  compile (other revision)           refused illegal_move
  compile (record gone)              refused illegal_move
  compile (incapable)                refused illegal_move
  edit_prompt                        refused illegal_move
  edit_prompt (same text)            refused illegal_move
  edit_prompt (of an older pack)     refused illegal_move
  edit_prompt (of an older version)  refused illegal_move
  edit_prompt (no such phase)        refused illegal_move
  edit_prompt (not compiled)         refused illegal_move
  archive                            refused illegal_move
  run_queued                         refused illegal_move
  run_queued (later run)             refused illegal_move
  run_queued (earlier run)           refused illegal_move
  run_queued (clock set back)        refused illegal_move
  run_accepted                       refused illegal_move
  run_accepted (other run)           refused illegal_move
  run_started                        refused illegal_move
  run_completed                      refused illegal_move
  run_stopped (failed)               refused illegal_move
  run_stopped (lost)                 refused illegal_move
  run_observed                       refused illegal_move
  run_observed (of another record)   refused illegal_move
draft:
  create                             repeat replay
  create (other body)                refused idempotency_key_reused
  update                             stays; facts formation_brief_updated
  update (nothing new)               repeat unchanged
  update (of an older version)       refused precondition_failed
  submit                             -> reviewable; facts formation_brief_submitted
  submit (of an older version)       refused precondition_failed
  approve                            refused illegal_move
  approve (by another)               refused illegal_move
  approve (full)                     refused illegal_move
  approve (other revision)           refused illegal_move
  approve (moved intent)             refused illegal_move
  approve (record gone)              refused illegal_move
  approve (of an older version)      refused illegal_move
  compile                            refused illegal_move
  compile (moved intent)             refused illegal_move
  compile (other revision)           refused illegal_move
  compile (record gone)              refused illegal_move
  compile (incapable)                refused illegal_move
  edit_prompt                        refused illegal_move
  edit_prompt (same text)            refused illegal_move
  edit_prompt (of an older pack)     refused illegal_move
  edit_prompt (of an older version)  refused illegal_move
  edit_prompt (no such phase)        refused illegal_move
  edit_prompt (not compiled)         refused illegal_move
  archive                            -> archived; facts formation_brief_archived
  run_queued                         repeat no_news
  run_queued (later run)             repeat no_news
  run_queued (earlier run)           repeat no_news
  run_queued (clock set back)        repeat no_news
  run_accepted                       repeat no_news
  run_accepted (other run)           repeat no_news
  run_started                        repeat no_news
  run_completed                      repeat no_news
  run_stopped (failed)               repeat no_news
  run_stopped (lost)                 repeat no_news
  run_observed                       repeat no_news
  run_observed (of another record)   repeat no_news
reviewable:
  create                             repeat replay
  create (other body)                refused idempotency_key_reused
  update                             stays; facts formation_brief_updated
  update (nothing new)               repeat unchanged
  update (of an older version)       refused precondition_failed
  submit                             repeat already_reviewable
  submit (of an older version)       refused precondition_failed
  approve                            -> approved; facts formation_brief_approved
  approve (by another)               -> approved; facts formation_brief_approved
  approve (full)                     -> approved; facts formation_brief_approved
  approve (other revision)           -> approved; facts formation_brief_approved
  approve (moved intent)             -> approved; facts formation_brief_approved
  approve (record gone)              refused brief_incomplete
  approve (of an older version)      refused precondition_failed
  compile                            refused illegal_move
  compile (moved intent)             refused illegal_move
  compile (other revision)           refused illegal_move
  compile (record gone)              refused illegal_move
  compile (incapable)                refused illegal_move
  edit_prompt                        refused illegal_move
  edit_prompt (same text)            refused illegal_move
  edit_prompt (of an older pack)     refused illegal_move
  edit_prompt (of an older version)  refused illegal_move
  edit_prompt (no such phase)        refused illegal_move
  edit_prompt (not compiled)         refused illegal_move
  archive                            -> archived; facts formation_brief_archived
  run_queued                         repeat no_news
  run_queued (later run)             repeat no_news
  run_queued (earlier run)           repeat no_news
  run_queued (clock set back)        repeat no_news
  run_accepted                       repeat no_news
  run_accepted (other run)           repeat no_news
  run_started                        repeat no_news
  run_completed                      repeat no_news
  run_stopped (failed)               repeat no_news
  run_stopped (lost)                 repeat no_news
  run_observed                       repeat no_news
  run_observed (of another record)   repeat no_news
approved:
  create                             repeat replay
  create (other body)                refused idempotency_key_reused
  update                             refused illegal_move
  update (nothing new)               refused illegal_move
  update (of an older version)       refused illegal_move
  submit                             refused illegal_move
  submit (of an older version)       refused illegal_move
  approve                            repeat already_approved
  approve (by another)               stays; facts formation_brief_approved
  approve (full)                     stays; facts formation_brief_approved
  approve (other revision)           stays; facts formation_brief_approved
  approve (moved intent)             stays; facts formation_brief_approved
  approve (record gone)              refused brief_incomplete
  approve (of an older version)      refused precondition_failed
  compile                            -> compiled; facts formation_brief_compiled, prompt_pack_compiled; sends compiled_brief.create
  compile (moved intent)             refused reapproval_required
  compile (other revision)           refused reapproval_required
  compile (record gone)              refused brief_incomplete
  compile (incapable)                refused engine_incapable
  edit_prompt                        refused illegal_move
  edit_prompt (same text)            refused illegal_move
  edit_prompt (of an older pack)     refused illegal_move
  edit_prompt (of an older version)  refused illegal_move
  edit_prompt (no such phase)        refused illegal_move
  edit_prompt (not compiled)         refused illegal_move
  archive                            -> archived; facts formation_brief_archived
  run_queued                         repeat no_news
  run_queued (later run)             repeat no_news
  run_queued (earlier run)           repeat no_news
  run_queued (clock set back)        repeat no_news
  run_accepted                       repeat no_news
  run_accepted (other run)           repeat no_news
  run_started                        repeat no_news
  run_completed                      repeat no_news
  run_stopped (failed)               repeat no_news
  run_stopped (lost)                 repeat no_news
  run_observed                       repeat no_news
  run_observed (of another record)   repeat no_news
compiled:
  create                             repeat replay
  create (other body)                refused idempotency_key_reused
  update                             refused illegal_move
  update (nothing new)               refused illegal_move
  update (of an older version)       refused illegal_move
  submit                             refused illegal_move
  submit (of an older version)       refused illegal_move
  approve                            repeat already_approved
  approve (by another)               stays; facts formation_brief_approved
  approve (full)                     stays; facts formation_brief_approved
  approve (other revision)           stays; facts formation_brief_approved
  approve (moved intent)             stays; facts formation_brief_approved
  approve (record gone)              refused brief_incomplete
  approve (of an older version)      refused precondition_failed
  compile                            repeat already_compiled
  compile (moved intent)             repeat already_compiled
  compile (other revision)           repeat already_compiled
  compile (record gone)              repeat already_compiled
  compile (incapable)                repeat already_compiled
  edit_prompt                        stays; facts prompt_pack_edited, formation_brief_compiled; sends compiled_brief.create
  edit_prompt (same text)            repeat unchanged
  edit_prompt (of an older pack)     refused precondition_failed
  edit_prompt (of an older version)  refused precondition_failed
  edit_prompt (no such phase)        refused not_found
  edit_prompt (not compiled)         refused precondition_failed
  archive                            -> archived; facts formation_brief_archived
  run_queued                         -> queued; facts formation_brief_run_changed
  run_queued (later run)             -> queued; facts formation_brief_run_changed
  run_queued (earlier run)           -> queued; facts formation_brief_run_changed
  run_queued (clock set back)        -> queued; facts formation_brief_run_changed
  run_accepted                       repeat no_news
  run_accepted (other run)           repeat no_news
  run_started                        repeat no_news
  run_completed                      repeat no_news
  run_stopped (failed)               repeat no_news
  run_stopped (lost)                 repeat no_news
  run_observed                       repeat no_news
  run_observed (of another record)   repeat no_news
queued:
  create                             repeat replay
  create (other body)                refused idempotency_key_reused
  update                             refused illegal_move
  update (nothing new)               refused illegal_move
  update (of an older version)       refused illegal_move
  submit                             refused illegal_move
  submit (of an older version)       refused illegal_move
  approve                            repeat already_approved
  approve (by another)               stays; facts formation_brief_approved
  approve (full)                     stays; facts formation_brief_approved; sends run_request.approve
  approve (other revision)           stays; facts formation_brief_approved
  approve (moved intent)             stays; facts formation_brief_approved
  approve (record gone)              refused brief_incomplete
  approve (of an older version)      refused precondition_failed
  compile                            repeat already_compiled
  compile (moved intent)             repeat already_compiled
  compile (other revision)           repeat already_compiled
  compile (record gone)              repeat already_compiled
  compile (incapable)                repeat already_compiled
  edit_prompt                        refused illegal_move
  edit_prompt (same text)            repeat unchanged
  edit_prompt (of an older pack)     refused illegal_move
  edit_prompt (of an older version)  refused illegal_move
  edit_prompt (no such phase)        refused illegal_move
  edit_prompt (not compiled)         refused illegal_move
  archive                            refused illegal_move
  run_queued                         repeat no_news
  run_queued (later run)             stays; facts formation_brief_run_changed
  run_queued (earlier run)           stays
  run_queued (clock set back)        stays; facts formation_brief_run_changed
  run_accepted                       -> accepted; facts formation_brief_run_changed
  run_accepted (other run)           repeat no_news
  run_started                        -> executing; facts formation_brief_run_changed
  run_completed                      -> completed; facts formation_brief_run_changed
  run_stopped (failed)               -> compiled; facts formation_brief_run_changed
  run_stopped (lost)                 -> compiled; facts formation_brief_run_changed
  run_observed                       stays
  run_observed (of another record)   repeat no_news
accepted:
  create                             repeat replay
  create (other body)                refused idempotency_key_reused
  update                             refused illegal_move
  update (nothing new)               refused illegal_move
  update (of an older version)       refused illegal_move
  submit                             refused illegal_move
  submit (of an older version)       refused illegal_move
  approve                            repeat already_approved
  approve (by another)               stays; facts formation_brief_approved
  approve (full)                     stays; facts formation_brief_approved
  approve (other revision)           stays; facts formation_brief_approved
  approve (moved intent)             stays; facts formation_brief_approved
  approve (record gone)              refused brief_incomplete
  approve (of an older version)      refused precondition_failed
  compile                            repeat already_compiled
  compile (moved intent)             repeat already_compiled
  compile (other revision)           repeat already_compiled
  compile (record gone)              repeat already_compiled
  compile (incapable)                repeat already_compiled
  edit_prompt                        refused illegal_move
  edit_prompt (same text)            repeat unchanged
  edit_prompt (of an older pack)     refused illegal_move
  edit_prompt (of an older version)  refused illegal_move
  edit_prompt (no such phase)        refused illegal_move
  edit_prompt (not compiled)         refused illegal_move
  archive                            refused illegal_move
  run_queued                         -> queued; facts formation_brief_run_changed
  run_queued (later run)             -> queued; facts formation_brief_run_changed
  run_queued (earlier run)           stays
  run_queued (clock set back)        -> queued; facts formation_brief_run_changed
  run_accepted                       stays; facts formation_brief_run_changed
  run_accepted (other run)           repeat no_news
  run_started                        -> executing; facts formation_brief_run_changed
  run_completed                      -> completed; facts formation_brief_run_changed
  run_stopped (failed)               -> compiled; facts formation_brief_run_changed
  run_stopped (lost)                 -> compiled; facts formation_brief_run_changed
  run_observed                       stays
  run_observed (of another record)   repeat no_news
executing:
  create                             repeat replay
  create (other body)                refused idempotency_key_reused
  update                             refused illegal_move
  update (nothing new)               refused illegal_move
  update (of an older version)       refused illegal_move
  submit                             refused illegal_move
  submit (of an older version)       refused illegal_move
  approve                            repeat already_approved
  approve (by another)               stays; facts formation_brief_approved
  approve (full)                     stays; facts formation_brief_approved
  approve (other revision)           stays; facts formation_brief_approved
  approve (moved intent)             stays; facts formation_brief_approved
  approve (record gone)              refused brief_incomplete
  approve (of an older version)      refused precondition_failed
  compile                            repeat already_compiled
  compile (moved intent)             repeat already_compiled
  compile (other revision)           repeat already_compiled
  compile (record gone)              repeat already_compiled
  compile (incapable)                repeat already_compiled
  edit_prompt                        refused illegal_move
  edit_prompt (same text)            repeat unchanged
  edit_prompt (of an older pack)     refused illegal_move
  edit_prompt (of an older version)  refused illegal_move
  edit_prompt (no such phase)        refused illegal_move
  edit_prompt (not compiled)         refused illegal_move
  archive                            refused illegal_move
  run_queued                         -> queued; facts formation_brief_run_changed
  run_queued (later run)             -> queued; facts formation_brief_run_changed
  run_queued (earlier run)           stays
  run_queued (clock set back)        -> queued; facts formation_brief_run_changed
  run_accepted                       -> accepted; facts formation_brief_run_changed
  run_accepted (other run)           repeat no_news
  run_started                        stays; facts formation_brief_run_changed
  run_completed                      -> completed; facts formation_brief_run_changed
  run_stopped (failed)               -> compiled; facts formation_brief_run_changed
  run_stopped (lost)                 -> compiled; facts formation_brief_run_changed
  run_observed                       stays
  run_observed (of another record)   repeat no_news
completed:
  create                             repeat replay
  create (other body)                refused idempotency_key_reused
  update                             refused illegal_move
  update (nothing new)               refused illegal_move
  update (of an older version)       refused illegal_move
  submit                             refused illegal_move
  submit (of an older version)       refused illegal_move
  approve                            repeat already_approved
  approve (by another)               stays; facts formation_brief_approved
  approve (full)                     stays; facts formation_brief_approved
  approve (other revision)           stays; facts formation_brief_approved
  approve (moved intent)             stays; facts formation_brief_approved
  approve (record gone)              refused brief_incomplete
  approve (of an older version)      refused precondition_failed
  compile                            repeat already_compiled
  compile (moved intent)             repeat already_compiled
  compile (other revision)           repeat already_compiled
  compile (record gone)              repeat already_compiled
  compile (incapable)                repeat already_compiled
  edit_prompt                        -> compiled; facts prompt_pack_edited, formation_brief_compiled; sends compiled_brief.create
  edit_prompt (same text)            repeat unchanged
  edit_prompt (of an older pack)     refused precondition_failed
  edit_prompt (of an older version)  refused precondition_failed
  edit_prompt (no such phase)        refused not_found
  edit_prompt (not compiled)         refused precondition_failed
  archive                            -> archived; facts formation_brief_archived
  run_queued                         -> queued; facts formation_brief_run_changed
  run_queued (later run)             -> queued; facts formation_brief_run_changed
  run_queued (earlier run)           -> queued; facts formation_brief_run_changed
  run_queued (clock set back)        -> queued; facts formation_brief_run_changed
  run_accepted                       repeat no_news
  run_accepted (other run)           repeat no_news
  run_started                        repeat no_news
  run_completed                      repeat no_news
  run_stopped (failed)               repeat no_news
  run_stopped (lost)                 repeat no_news
  run_observed                       -> analyzed; facts formation_brief_run_changed
  run_observed (of another record)   repeat no_news
analyzed:
  create                             repeat replay
  create (other body)                refused idempotency_key_reused
  update                             refused illegal_move
  update (nothing new)               refused illegal_move
  update (of an older version)       refused illegal_move
  submit                             refused illegal_move
  submit (of an older version)       refused illegal_move
  approve                            repeat already_approved
  approve (by another)               stays; facts formation_brief_approved
  approve (full)                     stays; facts formation_brief_approved
  approve (other revision)           stays; facts formation_brief_approved
  approve (moved intent)             stays; facts formation_brief_approved
  approve (record gone)              refused brief_incomplete
  approve (of an older version)      refused precondition_failed
  compile                            repeat already_compiled
  compile (moved intent)             repeat already_compiled
  compile (other revision)           repeat already_compiled
  compile (record gone)              repeat already_compiled
  compile (incapable)                repeat already_compiled
  edit_prompt                        -> compiled; facts prompt_pack_edited, formation_brief_compiled; sends compiled_brief.create
  edit_prompt (same text)            repeat unchanged
  edit_prompt (of an older pack)     refused precondition_failed
  edit_prompt (of an older version)  refused precondition_failed
  edit_prompt (no such phase)        refused not_found
  edit_prompt (not compiled)         refused precondition_failed
  archive                            -> archived; facts formation_brief_archived
  run_queued                         -> queued; facts formation_brief_run_changed
  run_queued (later run)             -> queued; facts formation_brief_run_changed
  run_queued (earlier run)           -> queued; facts formation_brief_run_changed
  run_queued (clock set back)        -> queued; facts formation_brief_run_changed
  run_accepted                       repeat no_news
  run_accepted (other run)           repeat no_news
  run_started                        repeat no_news
  run_completed                      repeat no_news
  run_stopped (failed)               repeat no_news
  run_stopped (lost)                 repeat no_news
  run_observed                       stays
  run_observed (of another record)   repeat no_news
archived:
  create                             repeat replay
  create (other body)                refused idempotency_key_reused
  update                             refused illegal_move
  update (nothing new)               refused illegal_move
  update (of an older version)       refused illegal_move
  submit                             refused illegal_move
  submit (of an older version)       refused illegal_move
  approve                            refused illegal_move
  approve (by another)               refused illegal_move
  approve (full)                     refused illegal_move
  approve (other revision)           refused illegal_move
  approve (moved intent)             refused illegal_move
  approve (record gone)              refused illegal_move
  approve (of an older version)      refused illegal_move
  compile                            refused illegal_move
  compile (moved intent)             refused illegal_move
  compile (other revision)           refused illegal_move
  compile (record gone)              refused illegal_move
  compile (incapable)                refused illegal_move
  edit_prompt                        refused illegal_move
  edit_prompt (same text)            refused illegal_move
  edit_prompt (of an older pack)     refused illegal_move
  edit_prompt (of an older version)  refused illegal_move
  edit_prompt (no such phase)        refused illegal_move
  edit_prompt (not compiled)         refused illegal_move
  archive                            repeat already_archived
  run_queued                         stays; sends run_request.cancel
  run_queued (later run)             stays; sends run_request.cancel
  run_queued (earlier run)           stays; sends run_request.cancel
  run_queued (clock set back)        stays; sends run_request.cancel
  run_accepted                       repeat no_news
  run_accepted (other run)           repeat no_news
  run_started                        repeat no_news
  run_completed                      repeat no_news
  run_stopped (failed)               repeat no_news
  run_stopped (lost)                 repeat no_news
  run_observed                       repeat no_news
  run_observed (of another record)   repeat no_news
`
