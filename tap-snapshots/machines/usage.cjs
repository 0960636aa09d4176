/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/usage.test.js > TAP > every message in every state has the outcome that the table shows > usage 1`] = `
absent:
  add               -> kept
  add (unmeasured)  -> kept
  amend             -> kept
kept:
  add               stays
  add (unmeasured)  stays
  amend             stays
`
