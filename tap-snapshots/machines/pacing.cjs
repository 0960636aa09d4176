/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/pacing.test.js > TAP > every message in every state has the outcome that the table shows > pacing 1`] = `
absent:
  pause (campaign)   -> paused; facts pacing_paused
  pause (all)        -> paused; facts pacing_paused
  resume (campaign)  -> open; facts pacing_resumed
  resume (all)       -> open; facts pacing_resumed
open:
  pause (campaign)   -> paused; facts pacing_paused
  pause (all)        -> paused; facts pacing_paused
  resume (campaign)  stays; facts pacing_resumed
  resume (all)       stays; facts pacing_resumed
paused (campaign):
  pause (campaign)   stays; facts pacing_paused
  pause (all)        stays; facts pacing_paused
  resume (campaign)  -> open; facts pacing_resumed
  resume (all)       -> open; facts pacing_resumed
paused (all):
  pause (campaign)   stays; facts pacing_paused
  pause (all)        stays; facts pacing_paused
  resume (campaign)  stays; facts pacing_resumed
  resume (all)       -> open; facts pacing_resumed
`
