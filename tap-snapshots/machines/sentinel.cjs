/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/sentinel.test.js > TAP > every message in every state has the outcome that the table shows > sentinel 1`] = `
absent:
  create                            -> active; facts sentinel_added; arms due
  create (other body)               -> active; facts sentinel_added; arms due
  create (other key)                -> active; facts sentinel_added; arms due
  update                            refused illegal_move
  update (item)                     refused illegal_move
  update (same)                     refused illegal_move
  pause                             refused illegal_move
  resume                            refused illegal_move
  fire                              refused illegal_move
  fire (duplicate)                  refused illegal_move
  fall_due                          refused illegal_move
  fall_due (duplicate)              refused illegal_move
  fall_due (late)                   refused illegal_move
  fall_due (too late)               refused illegal_move
  fall_due (archived)               refused illegal_move
  fall_due (of an earlier pattern)  refused illegal_move
  remove                            refused illegal_move
  reckon                            refused illegal_move
active:
  create                            repeat replay
  create (other body)               refused idempotency_key_reused
  create (other key)                refused already_exists
  update                            stays; facts sentinel_updated; arms due
  update (item)                     stays; facts sentinel_updated
  update (same)                     repeat unchanged
  pause                             -> paused; facts sentinel_updated; clears due
  resume                            repeat already_active
  fire                              stays; facts sentinel_fired; sends work_item.create
  fire (duplicate)                  stays; facts sentinel_skipped
  fall_due                          stays; facts sentinel_fired; sends work_item.create; arms due
  fall_due (duplicate)              stays; facts sentinel_skipped; arms due
  fall_due (late)                   stays; facts sentinel_fired; sends work_item.create; arms due
  fall_due (too late)               stays; facts sentinel_skipped; arms due
  fall_due (archived)               stays; facts sentinel_skipped; arms due
  fall_due (of an earlier pattern)  refused illegal_move
  remove                            -> removed; facts sentinel_removed; clears due
  reckon                            repeat unchanged
active, silent:
  create                            repeat replay
  create (other body)               refused idempotency_key_reused
  create (other key)                refused already_exists
  update                            stays; facts sentinel_updated; arms due
  update (item)                     stays; facts sentinel_updated
  update (same)                     repeat unchanged
  pause                             -> paused; facts sentinel_updated; clears due
  resume                            repeat already_active
  fire                              stays; facts sentinel_fired; sends work_item.create
  fire (duplicate)                  stays; facts sentinel_skipped
  fall_due                          refused illegal_move
  fall_due (duplicate)              refused illegal_move
  fall_due (late)                   refused illegal_move
  fall_due (too late)               refused illegal_move
  fall_due (archived)               refused illegal_move
  fall_due (of an earlier pattern)  refused illegal_move
  remove                            -> removed; facts sentinel_removed; clears due
  reckon                            stays; facts sentinel_updated; arms due
paused:
  create                            repeat replay
  create (other body)               refused idempotency_key_reused
  create (other key)                refused already_exists
  update                            stays; facts sentinel_updated
  update (item)                     stays; facts sentinel_updated
  update (same)                     repeat unchanged
  pause                             repeat already_paused
  resume                            -> active; facts sentinel_updated; arms due
  fire                              stays; facts sentinel_fired; sends work_item.create
  fire (duplicate)                  stays; facts sentinel_skipped
  fall_due                          refused illegal_move
  fall_due (duplicate)              refused illegal_move
  fall_due (late)                   refused illegal_move
  fall_due (too late)               refused illegal_move
  fall_due (archived)               refused illegal_move
  fall_due (of an earlier pattern)  refused illegal_move
  remove                            -> removed; facts sentinel_removed; clears due
  reckon                            repeat unchanged
removed:
  create                            repeat replay
  create (other body)               -> active; facts sentinel_added; arms due
  create (other key)                -> active; facts sentinel_added; arms due
  update                            refused illegal_move
  update (item)                     refused illegal_move
  update (same)                     refused illegal_move
  pause                             refused illegal_move
  resume                            refused illegal_move
  fire                              refused illegal_move
  fire (duplicate)                  refused illegal_move
  fall_due                          refused illegal_move
  fall_due (duplicate)              refused illegal_move
  fall_due (late)                   refused illegal_move
  fall_due (too late)               refused illegal_move
  fall_due (archived)               refused illegal_move
  fall_due (of an earlier pattern)  refused illegal_move
  remove                            repeat already_removed
  reckon                            repeat unchanged
active, zone unknown:
  create                            repeat replay
  create (other body)               refused idempotency_key_reused
  create (other key)                refused already_exists
  update                            stays; facts sentinel_updated; clears due
  update (item)                     stays; facts sentinel_updated
  update (same)                     repeat unchanged
  pause                             -> paused; facts sentinel_updated; clears due
  resume                            repeat already_active
  fire                              stays; facts sentinel_fired; sends work_item.create
  fire (duplicate)                  stays; facts sentinel_skipped
  fall_due                          stays; facts sentinel_skipped; clears due
  fall_due (duplicate)              stays; facts sentinel_skipped; clears due
  fall_due (late)                   stays; facts sentinel_skipped; clears due
  fall_due (too late)               stays; facts sentinel_skipped; clears due
  fall_due (archived)               stays; facts sentinel_skipped; clears due
  fall_due (of an earlier pattern)  refused illegal_move
  remove                            -> removed; facts sentinel_removed; clears due
  reckon                            repeat unchanged
paused, zone unknown:
  create                            repeat replay
  create (other body)               refused idempotency_key_reused
  create (other key)                refused already_exists
  update                            stays; facts sentinel_updated
  update (item)                     stays; facts sentinel_updated
  update (same)                     repeat unchanged
  pause                             repeat already_paused
  resume                            refused illegal_move
  fire                              stays; facts sentinel_fired; sends work_item.create
  fire (duplicate)                  stays; facts sentinel_skipped
  fall_due                          refused illegal_move
  fall_due (duplicate)              refused illegal_move
  fall_due (late)                   refused illegal_move
  fall_due (too late)               refused illegal_move
  fall_due (archived)               refused illegal_move
  fall_due (of an earlier pattern)  refused illegal_move
  remove                            -> removed; facts sentinel_removed; clears due
  reckon                            repeat unchanged
`
