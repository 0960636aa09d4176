/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/engine-capability.test.js > TAP > every message in every state has the outcome that the table shows > engine capability 1`] = `
absent:
  record                              -> recorded; facts engine_capabilities_recorded
  record (same manifest, other key)   -> recorded; facts engine_capabilities_recorded
  record (other manifest, same key)   -> recorded; facts engine_capabilities_recorded
  record (other manifest, other key)  -> recorded; facts engine_capabilities_recorded
  record (other manifest, no key)     -> recorded; facts engine_capabilities_recorded
  remove                              refused illegal_move
recorded:
  record                              repeat unchanged
  record (same manifest, other key)   repeat unchanged
  record (other manifest, same key)   refused idempotency_key_reused
  record (other manifest, other key)  stays; facts engine_capabilities_recorded
  record (other manifest, no key)     stays; facts engine_capabilities_recorded
  remove                              -> removed; facts engine_capabilities_removed
removed:
  record                              repeat replay
  record (same manifest, other key)   -> recorded; facts engine_capabilities_recorded
  record (other manifest, same key)   refused idempotency_key_reused
  record (other manifest, other key)  -> recorded; facts engine_capabilities_recorded
  record (other manifest, no key)     -> recorded; facts engine_capabilities_recorded
  remove                              repeat already_removed
`
