/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/runner.test.js > TAP > every message in every state has the outcome that the table shows > runner 1`] = `
absent:
  create              -> registered; facts runner_registered
  create (draining)   -> draining; facts runner_registered
  update              refused illegal_move
  update (same)       refused illegal_move
  update (drains)     refused illegal_move
  update (resumes)    refused illegal_move
  update (rights)     refused illegal_move
  rotate_credential   refused illegal_move
  session             refused illegal_move
  end_session         refused illegal_move
  came_online         refused illegal_move
  went_offline        refused illegal_move
  limit (stated)      refused illegal_move
  limit (not stated)  refused illegal_move
  limit_over          refused illegal_move
  provider_answered   refused illegal_move
  update (unlimits)   refused illegal_move
  remove              refused illegal_move
registered:
  create              refused already_exists
  create (draining)   refused already_exists
  update              stays; facts runner_updated
  update (same)       repeat unchanged
  update (drains)     -> draining; facts runner_updated
  update (resumes)    stays; facts runner_updated
  update (rights)     stays; facts runner_updated
  rotate_credential   stays; facts runner_updated
  session             stays; facts runner_updated; sends run_request.runner_session_started, run_request.runner_session_started
  end_session         repeat not_its_session
  came_online         stays; facts runner_online
  went_offline        repeat already_offline
  limit (stated)      stays; facts runner_limited; arms limit
  limit (not stated)  stays; facts runner_limited; arms limit
  limit_over          repeat not_its_limit
  provider_answered   repeat already_answered
  update (unlimits)   repeat unchanged
  remove              -> removed; facts runner_removed; sends run_request.runner_session_started
connected:
  create              refused already_exists
  create (draining)   refused already_exists
  update              stays; facts runner_updated
  update (same)       repeat unchanged
  update (drains)     -> draining; facts runner_updated
  update (resumes)    stays; facts runner_updated
  update (rights)     stays; facts runner_updated
  rotate_credential   stays; facts runner_updated
  session             repeat same_session
  end_session         stays; facts runner_offline; sends run_request.runner_session_started, run_request.runner_session_started
  came_online         repeat already_online
  went_offline        stays; facts runner_offline
  limit (stated)      stays; facts runner_limited; arms limit
  limit (not stated)  stays; facts runner_limited; arms limit
  limit_over          repeat not_its_limit
  provider_answered   repeat already_answered
  update (unlimits)   repeat unchanged
  remove              -> removed; facts runner_removed; sends run_request.runner_session_started
draining:
  create              refused already_exists
  create (draining)   refused already_exists
  update              stays; facts runner_updated
  update (same)       repeat unchanged
  update (drains)     repeat unchanged
  update (resumes)    -> registered; facts runner_updated
  update (rights)     stays; facts runner_updated
  rotate_credential   stays; facts runner_updated
  session             stays; facts runner_updated; sends run_request.runner_session_started, run_request.runner_session_started
  end_session         repeat not_its_session
  came_online         stays; facts runner_online
  went_offline        repeat already_offline
  limit (stated)      stays; facts runner_limited; arms limit
  limit (not stated)  stays; facts runner_limited; arms limit
  limit_over          repeat not_its_limit
  provider_answered   repeat already_answered
  update (unlimits)   repeat unchanged
  remove              -> removed; facts runner_removed; sends run_request.runner_session_started
removed:
  create              refused runner_removed
  create (draining)   refused runner_removed
  update              refused runner_removed
  update (same)       refused runner_removed
  update (drains)     refused runner_removed
  update (resumes)    refused runner_removed
  update (rights)     refused runner_removed
  rotate_credential   refused runner_removed
  session             refused runner_removed
  end_session         refused runner_removed
  came_online         refused runner_removed
  went_offline        refused runner_removed
  limit (stated)      repeat removed
  limit (not stated)  repeat removed
  limit_over          repeat removed
  provider_answered   repeat removed
  update (unlimits)   refused runner_removed
  remove              repeat already_removed
limited:
  create              refused already_exists
  create (draining)   refused already_exists
  update              stays; facts runner_updated
  update (same)       repeat unchanged
  update (drains)     -> draining; facts runner_updated
  update (resumes)    stays; facts runner_updated
  update (rights)     stays; facts runner_updated
  rotate_credential   stays; facts runner_updated
  session             stays; facts runner_updated; sends run_request.runner_session_started, run_request.runner_session_started
  end_session         repeat not_its_session
  came_online         stays; facts runner_online
  went_offline        repeat already_offline
  limit (stated)      stays; facts runner_limited; arms limit
  limit (not stated)  stays; facts runner_limited; arms limit
  limit_over          stays; facts runner_limit_ended
  provider_answered   stays; facts runner_limit_ended; clears limit
  update (unlimits)   stays; facts runner_updated, runner_limit_ended; clears limit
  remove              -> removed; facts runner_removed; sends run_request.runner_session_started; clears limit
`
