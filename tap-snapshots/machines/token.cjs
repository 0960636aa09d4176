/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/token.test.js > TAP > every message in every state has the outcome that the table shows > token 1`] = `
absent:
  create                -> active; facts token_created
  create (other body)   -> active; facts token_created
  create (a day later)  -> active; facts token_created
  note_use              refused illegal_move
  revoke                refused illegal_move
active:
  create                repeat replay
  create (other body)   refused idempotency_key_reused
  create (a day later)  refused settled_twin
  note_use              stays
  revoke                -> revoked; facts token_revoked
revoked:
  create                repeat replay
  create (other body)   refused idempotency_key_reused
  create (a day later)  refused settled_twin
  note_use              refused illegal_move
  revoke                repeat already_revoked
`
