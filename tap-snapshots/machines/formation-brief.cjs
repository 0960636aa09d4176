/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/formation-brief.test.js > TAP > every message in every state has the outcome that the table shows > formation brief 1`] = `
absent:
  create               -> draft; facts formation_brief_created
  create (other body)  -> draft; facts formation_brief_created
  create (no key)      -> draft; facts formation_brief_created
draft:
  create               repeat replay
  create (other body)  refused idempotency_key_reused
  create (no key)      refused already_exists
`
