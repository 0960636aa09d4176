/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/intent-record.test.js > TAP > every message in every state has the outcome that the table shows > intent record 1`] = `
absent:
  create                          -> proposed; facts intent_record_created
  create (a guess)                -> hypothesized; facts intent_record_created
  create (other body)             -> proposed; facts intent_record_created
  create (other key)              -> proposed; facts intent_record_created
  make                            -> accepted; facts intent_record_created, intent_record_accepted, intent_record_drift_changed
  update                          refused illegal_move
  update (same)                   refused illegal_move
  update (old version)            refused illegal_move
  update (may not rewrite)        refused illegal_move
  update (unknown evidence)       refused illegal_move
  accept                          refused illegal_move
  accept (old version)            refused illegal_move
  activate                        refused illegal_move
  deprecate                       refused illegal_move
  deprecate (other reason)        refused illegal_move
  contradict                      refused illegal_move
  supersede                       refused illegal_move
  supersede (old version)         refused illegal_move
  supersede (by what is gone)     refused illegal_move
  supersede (by nothing)          refused illegal_move
  supersede (by itself)           refused illegal_move
  take_place                      refused illegal_move
  relate                          refused illegal_move
  relate (conflict)               refused illegal_move
  relate (conflict, no right)     refused illegal_move
  relate (conflict with a guide)  refused illegal_move
  relate (itself)                 refused illegal_move
  unrelate                        refused illegal_move
  peer_conflict (declared)        refused illegal_move
  peer_conflict (of no conflict)  refused illegal_move
  observe                         refused illegal_move
  observe (required fails)        refused illegal_move
  observe (other project)         refused illegal_move
  classify                        refused illegal_move
  classify (exception)            refused illegal_move
  classify (none)                 refused illegal_move
  repair_drafted                  refused illegal_move
hypothesized:
  create                          repeat replay
  create (a guess)                repeat replay
  create (other body)             refused idempotency_key_reused
  create (other key)              refused already_exists
  make                            stays; sends hypothesis.slug_taken
  update                          stays; facts intent_record_updated
  update (same)                   repeat unchanged
  update (old version)            refused precondition_failed
  update (may not rewrite)        stays; facts intent_record_updated
  update (unknown evidence)       refused invalid_body
  accept                          -> accepted; facts intent_record_accepted, intent_record_drift_changed
  accept (old version)            refused precondition_failed
  activate                        refused illegal_move
  deprecate                       refused illegal_move
  deprecate (other reason)        refused illegal_move
  contradict                      -> contradicted; facts intent_record_contradicted
  supersede                       -> superseded; facts intent_record_superseded; sends intent_record.take_place
  supersede (old version)         refused precondition_failed
  supersede (by what is gone)     refused illegal_move
  supersede (by nothing)          -> superseded; facts intent_record_superseded
  supersede (by itself)           refused invalid_body
  take_place                      stays; facts intent_record_related
  relate                          stays; facts intent_record_related
  relate (conflict)               stays; facts intent_record_related; sends intent_record.peer_conflict
  relate (conflict, no right)     stays; facts intent_record_related; sends intent_record.peer_conflict
  relate (conflict with a guide)  refused forbidden
  relate (itself)                 refused invalid_body
  unrelate                        refused not_found
  peer_conflict (declared)        stays; sends intent_record.peer_conflict
  peer_conflict (of no conflict)  stays
  observe                         stays
  observe (required fails)        stays
  observe (other project)         refused illegal_move
  classify                        refused illegal_move
  classify (exception)            refused illegal_move
  classify (none)                 refused illegal_move
  repair_drafted                  refused illegal_move
proposed:
  create                          repeat replay
  create (a guess)                repeat replay
  create (other body)             refused idempotency_key_reused
  create (other key)              refused already_exists
  make                            stays; sends hypothesis.slug_taken
  update                          stays; facts intent_record_updated
  update (same)                   repeat unchanged
  update (old version)            refused precondition_failed
  update (may not rewrite)        stays; facts intent_record_updated
  update (unknown evidence)       refused invalid_body
  accept                          -> accepted; facts intent_record_accepted, intent_record_drift_changed
  accept (old version)            refused precondition_failed
  activate                        refused illegal_move
  deprecate                       refused illegal_move
  deprecate (other reason)        refused illegal_move
  contradict                      -> contradicted; facts intent_record_contradicted
  supersede                       -> superseded; facts intent_record_superseded; sends intent_record.take_place
  supersede (old version)         refused precondition_failed
  supersede (by what is gone)     refused illegal_move
  supersede (by nothing)          -> superseded; facts intent_record_superseded
  supersede (by itself)           refused invalid_body
  take_place                      stays; facts intent_record_related
  relate                          stays; facts intent_record_related
  relate (conflict)               stays; facts intent_record_related; sends intent_record.peer_conflict
  relate (conflict, no right)     stays; facts intent_record_related; sends intent_record.peer_conflict
  relate (conflict with a guide)  refused forbidden
  relate (itself)                 refused invalid_body
  unrelate                        refused not_found
  peer_conflict (declared)        stays; sends intent_record.peer_conflict
  peer_conflict (of no conflict)  stays
  observe                         stays
  observe (required fails)        stays
  observe (other project)         refused illegal_move
  classify                        refused illegal_move
  classify (exception)            refused illegal_move
  classify (none)                 refused illegal_move
  repair_drafted                  refused illegal_move
accepted:
  create                          repeat replay
  create (a guess)                repeat replay
  create (other body)             refused idempotency_key_reused
  create (other key)              refused already_exists
  make                            stays; sends hypothesis.slug_taken
  update                          stays; facts intent_record_updated
  update (same)                   repeat unchanged
  update (old version)            refused precondition_failed
  update (may not rewrite)        refused forbidden
  update (unknown evidence)       refused invalid_body
  accept                          repeat already_accepted
  accept (old version)            refused precondition_failed
  activate                        -> active; facts intent_record_activated
  deprecate                       -> deprecated; facts intent_record_deprecated
  deprecate (other reason)        -> deprecated; facts intent_record_deprecated
  contradict                      -> contradicted; facts intent_record_contradicted
  supersede                       -> superseded; facts intent_record_superseded; sends intent_record.take_place
  supersede (old version)         refused precondition_failed
  supersede (by what is gone)     refused illegal_move
  supersede (by nothing)          -> superseded; facts intent_record_superseded
  supersede (by itself)           refused invalid_body
  take_place                      stays; facts intent_record_related
  relate                          stays; facts intent_record_related
  relate (conflict)               stays; facts intent_record_related; sends intent_record.peer_conflict
  relate (conflict, no right)     refused forbidden
  relate (conflict with a guide)  refused forbidden
  relate (itself)                 refused invalid_body
  unrelate                        refused not_found
  peer_conflict (declared)        stays; facts intent_record_drift_changed; sends intent_record.peer_conflict
  peer_conflict (of no conflict)  stays
  observe                         stays; facts intent_record_drift_changed
  observe (required fails)        stays; facts intent_record_drift_changed
  observe (other project)         refused illegal_move
  classify                        stays; facts drift_classified, intent_record_drift_changed
  classify (exception)            refused illegal_move
  classify (none)                 refused illegal_move
  repair_drafted                  stays
accepted (of a hypothesis):
  create                          refused already_exists
  create (a guess)                refused already_exists
  create (other body)             refused already_exists
  create (other key)              refused already_exists
  make                            repeat replay
  update                          stays; facts intent_record_updated
  update (same)                   repeat unchanged
  update (old version)            refused precondition_failed
  update (may not rewrite)        refused forbidden
  update (unknown evidence)       refused invalid_body
  accept                          refused illegal_move
  accept (old version)            refused illegal_move
  activate                        -> active; facts intent_record_activated
  deprecate                       -> deprecated; facts intent_record_deprecated
  deprecate (other reason)        -> deprecated; facts intent_record_deprecated
  contradict                      -> contradicted; facts intent_record_contradicted
  supersede                       -> superseded; facts intent_record_superseded; sends intent_record.take_place
  supersede (old version)         refused precondition_failed
  supersede (by what is gone)     refused illegal_move
  supersede (by nothing)          -> superseded; facts intent_record_superseded
  supersede (by itself)           refused invalid_body
  take_place                      stays; facts intent_record_related
  relate                          stays; facts intent_record_related
  relate (conflict)               stays; facts intent_record_related; sends intent_record.peer_conflict
  relate (conflict, no right)     refused forbidden
  relate (conflict with a guide)  refused forbidden
  relate (itself)                 refused invalid_body
  unrelate                        refused not_found
  peer_conflict (declared)        stays; facts intent_record_drift_changed; sends intent_record.peer_conflict
  peer_conflict (of no conflict)  stays
  observe                         stays; facts intent_record_drift_changed
  observe (required fails)        stays; facts intent_record_drift_changed
  observe (other project)         refused illegal_move
  classify                        stays; facts drift_classified, intent_record_drift_changed
  classify (exception)            refused illegal_move
  classify (none)                 refused illegal_move
  repair_drafted                  stays
accepted (drifted):
  create                          repeat replay
  create (a guess)                repeat replay
  create (other body)             refused idempotency_key_reused
  create (other key)              refused already_exists
  make                            stays; sends hypothesis.slug_taken
  update                          stays; facts intent_record_updated
  update (same)                   repeat unchanged
  update (old version)            refused precondition_failed
  update (may not rewrite)        refused forbidden
  update (unknown evidence)       refused invalid_body
  accept                          repeat already_accepted
  accept (old version)            refused precondition_failed
  activate                        -> active; facts intent_record_activated
  deprecate                       -> deprecated; facts intent_record_deprecated
  deprecate (other reason)        -> deprecated; facts intent_record_deprecated
  contradict                      -> contradicted; facts intent_record_contradicted
  supersede                       -> superseded; facts intent_record_superseded; sends intent_record.take_place
  supersede (old version)         refused precondition_failed
  supersede (by what is gone)     refused illegal_move
  supersede (by nothing)          -> superseded; facts intent_record_superseded
  supersede (by itself)           refused invalid_body
  take_place                      stays; facts intent_record_related
  relate                          stays; facts intent_record_related
  relate (conflict)               stays; facts intent_record_related; sends intent_record.peer_conflict
  relate (conflict, no right)     refused forbidden
  relate (conflict with a guide)  refused forbidden
  relate (itself)                 refused invalid_body
  unrelate                        refused not_found
  peer_conflict (declared)        stays; facts intent_record_drift_changed; sends intent_record.peer_conflict
  peer_conflict (of no conflict)  stays
  observe                         stays; facts intent_record_drift_changed
  observe (required fails)        repeat already_recorded
  observe (other project)         refused illegal_move
  classify                        stays; facts drift_classified
  classify (exception)            stays; facts drift_classified
  classify (none)                 refused illegal_move
  repair_drafted                  stays
active:
  create                          repeat replay
  create (a guess)                repeat replay
  create (other body)             refused idempotency_key_reused
  create (other key)              refused already_exists
  make                            stays; sends hypothesis.slug_taken
  update                          stays; facts intent_record_updated
  update (same)                   repeat unchanged
  update (old version)            refused precondition_failed
  update (may not rewrite)        refused forbidden
  update (unknown evidence)       refused invalid_body
  accept                          refused illegal_move
  accept (old version)            refused illegal_move
  activate                        repeat already_active
  deprecate                       -> deprecated; facts intent_record_deprecated
  deprecate (other reason)        -> deprecated; facts intent_record_deprecated
  contradict                      -> contradicted; facts intent_record_contradicted
  supersede                       -> superseded; facts intent_record_superseded; sends intent_record.take_place
  supersede (old version)         refused precondition_failed
  supersede (by what is gone)     refused illegal_move
  supersede (by nothing)          -> superseded; facts intent_record_superseded
  supersede (by itself)           refused invalid_body
  take_place                      stays; facts intent_record_related
  relate                          stays; facts intent_record_related
  relate (conflict)               stays; facts intent_record_related; sends intent_record.peer_conflict
  relate (conflict, no right)     refused forbidden
  relate (conflict with a guide)  refused forbidden
  relate (itself)                 refused invalid_body
  unrelate                        refused not_found
  peer_conflict (declared)        stays; facts intent_record_drift_changed; sends intent_record.peer_conflict
  peer_conflict (of no conflict)  stays
  observe                         stays; facts intent_record_drift_changed
  observe (required fails)        stays; facts intent_record_drift_changed
  observe (other project)         refused illegal_move
  classify                        stays; facts drift_classified, intent_record_drift_changed
  classify (exception)            refused illegal_move
  classify (none)                 refused illegal_move
  repair_drafted                  stays
deprecated:
  create                          repeat replay
  create (a guess)                repeat replay
  create (other body)             refused idempotency_key_reused
  create (other key)              refused already_exists
  make                            stays; sends hypothesis.slug_taken
  update                          refused illegal_move
  update (same)                   repeat unchanged
  update (old version)            refused illegal_move
  update (may not rewrite)        refused illegal_move
  update (unknown evidence)       refused illegal_move
  accept                          refused illegal_move
  accept (old version)            refused illegal_move
  activate                        refused illegal_move
  deprecate                       repeat already_deprecated
  deprecate (other reason)        refused illegal_move
  contradict                      -> contradicted; facts intent_record_contradicted
  supersede                       -> superseded; facts intent_record_superseded; sends intent_record.take_place
  supersede (old version)         refused precondition_failed
  supersede (by what is gone)     refused illegal_move
  supersede (by nothing)          -> superseded; facts intent_record_superseded
  supersede (by itself)           refused invalid_body
  take_place                      stays; facts intent_record_related
  relate                          refused illegal_move
  relate (conflict)               refused illegal_move
  relate (conflict, no right)     refused illegal_move
  relate (conflict with a guide)  refused forbidden
  relate (itself)                 refused invalid_body
  unrelate                        refused not_found
  peer_conflict (declared)        stays; sends intent_record.peer_conflict
  peer_conflict (of no conflict)  stays
  observe                         stays
  observe (required fails)        stays
  observe (other project)         refused illegal_move
  classify                        refused illegal_move
  classify (exception)            refused illegal_move
  classify (none)                 refused illegal_move
  repair_drafted                  refused illegal_move
contradicted:
  create                          repeat replay
  create (a guess)                repeat replay
  create (other body)             refused idempotency_key_reused
  create (other key)              refused already_exists
  make                            stays; sends hypothesis.slug_taken
  update                          refused illegal_move
  update (same)                   repeat unchanged
  update (old version)            refused illegal_move
  update (may not rewrite)        refused illegal_move
  update (unknown evidence)       refused illegal_move
  accept                          refused illegal_move
  accept (old version)            refused illegal_move
  activate                        refused illegal_move
  deprecate                       refused illegal_move
  deprecate (other reason)        refused illegal_move
  contradict                      repeat already_contradicted
  supersede                       refused illegal_move
  supersede (old version)         refused illegal_move
  supersede (by what is gone)     refused illegal_move
  supersede (by nothing)          refused illegal_move
  supersede (by itself)           refused invalid_body
  take_place                      stays; facts intent_record_related
  relate                          refused illegal_move
  relate (conflict)               refused illegal_move
  relate (conflict, no right)     refused illegal_move
  relate (conflict with a guide)  refused forbidden
  relate (itself)                 refused invalid_body
  unrelate                        refused not_found
  peer_conflict (declared)        stays; sends intent_record.peer_conflict
  peer_conflict (of no conflict)  stays
  observe                         stays
  observe (required fails)        stays
  observe (other project)         refused illegal_move
  classify                        refused illegal_move
  classify (exception)            refused illegal_move
  classify (none)                 refused illegal_move
  repair_drafted                  refused illegal_move
superseded:
  create                          repeat replay
  create (a guess)                repeat replay
  create (other body)             refused idempotency_key_reused
  create (other key)              refused already_exists
  make                            stays; sends hypothesis.slug_taken
  update                          refused illegal_move
  update (same)                   repeat unchanged
  update (old version)            refused illegal_move
  update (may not rewrite)        refused illegal_move
  update (unknown evidence)       refused illegal_move
  accept                          refused illegal_move
  accept (old version)            refused illegal_move
  activate                        refused illegal_move
  deprecate                       refused illegal_move
  deprecate (other reason)        refused illegal_move
  contradict                      refused illegal_move
  supersede                       repeat already_superseded
  supersede (old version)         refused precondition_failed
  supersede (by what is gone)     repeat already_superseded
  supersede (by nothing)          refused illegal_move
  supersede (by itself)           refused invalid_body
  take_place                      stays; facts intent_record_related
  relate                          refused illegal_move
  relate (conflict)               refused illegal_move
  relate (conflict, no right)     refused illegal_move
  relate (conflict with a guide)  refused forbidden
  relate (itself)                 refused invalid_body
  unrelate                        refused not_found
  peer_conflict (declared)        stays; sends intent_record.peer_conflict
  peer_conflict (of no conflict)  stays
  observe                         stays
  observe (required fails)        stays
  observe (other project)         refused illegal_move
  classify                        refused illegal_move
  classify (exception)            refused illegal_move
  classify (none)                 refused illegal_move
  repair_drafted                  refused illegal_move
`
