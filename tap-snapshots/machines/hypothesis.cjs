/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/hypothesis.test.js > TAP > every message in every state has the outcome that the table shows > hypothesis 1`] = `
absent:
  open                    -> open; facts hypothesis_opened
  open (other discovery)  -> open; facts hypothesis_opened
  accept                  refused illegal_move
  accept (otherwise)      refused illegal_move
  reject                  refused illegal_move
  reject (other reason)   refused illegal_move
  slug_taken              refused illegal_move
  slug_taken (of no try)  refused illegal_move
open:
  open                    repeat already_seen
  open (other discovery)  stays; facts hypothesis_seen_again
  accept                  -> accepted; facts hypothesis_accepted; sends intent_record.make
  accept (otherwise)      -> accepted; facts hypothesis_accepted; sends intent_record.make
  reject                  -> rejected; facts hypothesis_rejected
  reject (other reason)   -> rejected; facts hypothesis_rejected
  slug_taken              refused illegal_move
  slug_taken (of no try)  refused illegal_move
accepted:
  open                    repeat already_seen
  open (other discovery)  stays; facts hypothesis_seen_again
  accept                  repeat already_accepted
  accept (otherwise)      refused illegal_move
  reject                  refused illegal_move
  reject (other reason)   refused illegal_move
  slug_taken              stays; facts hypothesis_relinked; sends intent_record.make
  slug_taken (of no try)  refused illegal_move
rejected:
  open                    repeat already_seen
  open (other discovery)  stays; facts hypothesis_seen_again
  accept                  refused illegal_move
  accept (otherwise)      refused illegal_move
  reject                  repeat already_rejected
  reject (other reason)   refused illegal_move
  slug_taken              refused illegal_move
  slug_taken (of no try)  refused illegal_move
`
