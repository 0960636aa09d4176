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
  limit (gpu, 2)     -> open; facts pacing_label_limited
  limit (ci, 0)      -> open; facts pacing_label_limited
  unlimit (gpu)      -> open; facts pacing_label_unlimited
  weigh (shop, 3)    -> open; facts pacing_project_weighed
  weigh (shop, 1)    -> open; facts pacing_project_weighed
open:
  pause (campaign)   -> paused; facts pacing_paused
  pause (all)        -> paused; facts pacing_paused
  resume (campaign)  stays; facts pacing_resumed
  resume (all)       stays; facts pacing_resumed
  limit (gpu, 2)     stays; facts pacing_label_limited
  limit (ci, 0)      stays; facts pacing_label_limited
  unlimit (gpu)      stays; facts pacing_label_unlimited
  weigh (shop, 3)    stays; facts pacing_project_weighed
  weigh (shop, 1)    stays; facts pacing_project_weighed
paused (campaign):
  pause (campaign)   stays; facts pacing_paused
  pause (all)        stays; facts pacing_paused
  resume (campaign)  -> open; facts pacing_resumed
  resume (all)       -> open; facts pacing_resumed
  limit (gpu, 2)     stays; facts pacing_label_limited
  limit (ci, 0)      stays; facts pacing_label_limited
  unlimit (gpu)      stays; facts pacing_label_unlimited
  weigh (shop, 3)    stays; facts pacing_project_weighed
  weigh (shop, 1)    stays; facts pacing_project_weighed
paused (all):
  pause (campaign)   stays; facts pacing_paused
  pause (all)        stays; facts pacing_paused
  resume (campaign)  stays; facts pacing_resumed
  resume (all)       -> open; facts pacing_resumed
  limit (gpu, 2)     stays; facts pacing_label_limited
  limit (ci, 0)      stays; facts pacing_label_limited
  unlimit (gpu)      stays; facts pacing_label_unlimited
  weigh (shop, 3)    stays; facts pacing_project_weighed
  weigh (shop, 1)    stays; facts pacing_project_weighed
paused (campaign), gpu limited:
  pause (campaign)   stays; facts pacing_paused
  pause (all)        stays; facts pacing_paused
  resume (campaign)  -> open; facts pacing_resumed
  resume (all)       -> open; facts pacing_resumed
  limit (gpu, 2)     stays; facts pacing_label_limited
  limit (ci, 0)      stays; facts pacing_label_limited
  unlimit (gpu)      stays; facts pacing_label_unlimited
  weigh (shop, 3)    stays; facts pacing_project_weighed
  weigh (shop, 1)    stays; facts pacing_project_weighed
`
