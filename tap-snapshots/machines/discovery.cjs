/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/discovery.test.js > TAP > every message in every state has the outcome that the table shows > discovery 1`] = `
absent:
  create                            -> recorded; facts discovery_recorded; sends hypothesis.open
  create (a day later)              -> recorded; facts discovery_recorded; sends hypothesis.open
  create (other body)               -> recorded; facts discovery_recorded; sends hypothesis.open
  create (with a key)               -> recorded; facts discovery_recorded; sends hypothesis.open
  create (with a key, other body)   -> recorded; facts discovery_recorded; sends hypothesis.open
  create (with a key, a day later)  -> recorded; facts discovery_recorded; sends hypothesis.open
recorded:
  create                            repeat replay
  create (a day later)              repeat replay
  create (other body)               refused already_exists
  create (with a key)               refused already_exists
  create (with a key, other body)   refused already_exists
  create (with a key, a day later)  refused already_exists
recorded (under a key):
  create                            refused already_exists
  create (a day later)              refused already_exists
  create (other body)               refused already_exists
  create (with a key)               repeat replay
  create (with a key, other body)   refused idempotency_key_reused
  create (with a key, a day later)  refused settled_twin
`
