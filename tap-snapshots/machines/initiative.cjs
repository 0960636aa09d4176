/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/initiative.test.js > TAP > each of the nine decisions does what it says, and nothing else > decisions 1`] = `
advance: campaign.advance, work_item.settle; initiative_steered, initiative_action_requested; {"questions":0,"proposals":0,"findings":0}; then nothing
dispatch: work_item.create, work_item.settle; initiative_steered, initiative_action_requested; {"questions":0,"proposals":0,"findings":0}; then nothing
hold: campaign.pause, work_item.settle; initiative_steered, initiative_action_requested, initiative_advance_requested; {"questions":0,"proposals":0,"findings":0}; then hold
relay: campaign.share_finding, work_item.settle; initiative_steered, initiative_action_requested, finding_recorded, initiative_advance_requested; {"questions":0,"proposals":0,"findings":1}; then relay
ask: work_item.settle; initiative_steered, initiative_action_requested, initiative_advance_requested; {"questions":1,"proposals":0,"findings":0}; then ask
escalate: campaign.pause, work_item.settle; initiative_steered, initiative_action_requested, initiative_advance_requested; {"questions":1,"proposals":0,"findings":0}; then escalate
stage: work_item.create, work_item.hold, work_item.settle; initiative_steered, initiative_action_requested, initiative_advance_requested; {"questions":0,"proposals":0,"findings":0}; then stage
done: work_item.settle; initiative_steered, initiative_action_requested; {"questions":0,"proposals":1,"findings":0}; then nothing
wait: work_item.settle; initiative_steered; {"questions":0,"proposals":0,"findings":0}; then nothing
`

exports[`dist/test/machines/initiative.test.js > TAP > every message in every state has the outcome that the table shows > initiative 1`] = `
absent:
  create                              -> active; facts initiative_added; sends campaign.join_initiative
  advance (t1)                        refused illegal_move
  advance (t2, pinned)                refused illegal_move
  advance (t4, emitted)               refused illegal_move
  advance (a stranger)                refused illegal_move
  assess (t1)                         refused illegal_move
  assess (t1, nothing to do)          refused illegal_move
  item_reported (hold)                refused illegal_move
  item_reported (no decision)         refused illegal_move
  item_reported (failed)              refused illegal_move
  item_reported (never begun)         refused illegal_move
  item_reported (of another)          refused illegal_move
  item_settled (cancelled)            refused illegal_move
  item_settled (of another)           refused illegal_move
  judge                               refused illegal_move
  judge (moved)                       refused illegal_move
  decide                              refused illegal_move
  decide (a stranger)                 refused illegal_move
  complete                            refused illegal_move
  complete (other reason)             refused illegal_move
  cancel                              refused illegal_move
  record_owner_action (hold)          refused illegal_move
  record_owner_action (another body)  refused illegal_move
  record_finding                      refused illegal_move
  record_finding (a stranger)         refused illegal_move
  member_cycle_settled (landed)       refused illegal_move
  member_cycle_settled (defect)       refused illegal_move
active:
  create                              refused already_exists
  advance (t1)                        stays; facts initiative_advance_requested
  advance (t2, pinned)                stays; facts initiative_advance_requested
  advance (t4, emitted)               stays
  advance (a stranger)                refused illegal_move
  assess (t1)                         repeat already_assessed
  assess (t1, nothing to do)          repeat already_assessed
  item_reported (hold)                repeat already_heard
  item_reported (no decision)         repeat already_heard
  item_reported (failed)              repeat already_heard
  item_reported (never begun)         repeat already_heard
  item_reported (of another)          repeat already_heard
  item_settled (cancelled)            repeat already_heard
  item_settled (of another)           repeat already_heard
  judge                               repeat already_judged
  judge (moved)                       repeat already_judged
  decide                              stays; facts initiative_decided
  decide (a stranger)                 refused illegal_move
  complete                            -> completed; facts initiative_completed; sends campaign.leave_initiative
  complete (other reason)             -> completed; facts initiative_completed; sends campaign.leave_initiative
  cancel                              -> cancelled; facts initiative_cancelled; sends campaign.cancel, work_item.cancel, work_item.cancel, campaign.leave_initiative
  record_owner_action (hold)          stays; facts initiative_owner_action_recorded
  record_owner_action (another body)  stays; facts initiative_owner_action_recorded
  record_finding                      stays; facts finding_recorded
  record_finding (a stranger)         refused illegal_move
  member_cycle_settled (landed)       repeat already_heard
  member_cycle_settled (defect)       stays; facts finding_recorded; sends campaign.share_finding
active, asked:
  create                              refused already_exists
  advance (t1)                        repeat already_requested
  advance (t2, pinned)                stays; facts initiative_advance_requested
  advance (t4, emitted)               stays
  advance (a stranger)                refused illegal_move
  assess (t1)                         -> assessing; sends work_item.create
  assess (t1, nothing to do)          stays; facts initiative_steered; sends work_item.create, work_item.settle
  item_reported (hold)                repeat already_heard
  item_reported (no decision)         repeat already_heard
  item_reported (failed)              repeat already_heard
  item_reported (never begun)         repeat already_heard
  item_reported (of another)          repeat already_heard
  item_settled (cancelled)            repeat already_heard
  item_settled (of another)           repeat already_heard
  judge                               repeat already_judged
  judge (moved)                       repeat already_judged
  decide                              stays; facts initiative_decided
  decide (a stranger)                 refused illegal_move
  complete                            -> completed; facts initiative_completed, initiative_steered; sends campaign.leave_initiative, work_item.create, work_item.settle
  complete (other reason)             -> completed; facts initiative_completed, initiative_steered; sends campaign.leave_initiative, work_item.create, work_item.settle
  cancel                              -> cancelled; facts initiative_cancelled, initiative_steered; sends campaign.cancel, work_item.cancel, work_item.cancel, campaign.leave_initiative, work_item.create, work_item.settle
  record_owner_action (hold)          stays; facts initiative_owner_action_recorded
  record_owner_action (another body)  stays; facts initiative_owner_action_recorded
  record_finding                      stays; facts finding_recorded
  record_finding (a stranger)         refused illegal_move
  member_cycle_settled (landed)       repeat already_heard
  member_cycle_settled (defect)       stays; facts finding_recorded; sends campaign.share_finding
active, with a finding:
  create                              refused already_exists
  advance (t1)                        stays; facts initiative_advance_requested
  advance (t2, pinned)                stays; facts initiative_advance_requested
  advance (t4, emitted)               stays
  advance (a stranger)                refused illegal_move
  assess (t1)                         repeat already_assessed
  assess (t1, nothing to do)          repeat already_assessed
  item_reported (hold)                repeat already_heard
  item_reported (no decision)         repeat already_heard
  item_reported (failed)              repeat already_heard
  item_reported (never begun)         repeat already_heard
  item_reported (of another)          repeat already_heard
  item_settled (cancelled)            repeat already_heard
  item_settled (of another)           repeat already_heard
  judge                               repeat already_judged
  judge (moved)                       repeat already_judged
  decide                              stays; facts initiative_decided
  decide (a stranger)                 refused illegal_move
  complete                            -> completed; facts initiative_completed; sends campaign.leave_initiative
  complete (other reason)             -> completed; facts initiative_completed; sends campaign.leave_initiative
  cancel                              -> cancelled; facts initiative_cancelled; sends campaign.cancel, work_item.cancel, work_item.cancel, campaign.leave_initiative
  record_owner_action (hold)          stays; facts initiative_owner_action_recorded
  record_owner_action (another body)  stays; facts initiative_owner_action_recorded
  record_finding                      repeat replay
  record_finding (a stranger)         refused illegal_move
  member_cycle_settled (landed)       stays; facts finding_consumed
  member_cycle_settled (defect)       stays; facts finding_recorded; sends campaign.share_finding
assessing:
  create                              refused already_exists
  advance (t1)                        repeat already_requested
  advance (t2, pinned)                stays; facts initiative_advance_requested
  advance (t4, emitted)               stays
  advance (a stranger)                refused illegal_move
  assess (t1)                         repeat already_assessed
  assess (t1, nothing to do)          repeat already_assessed
  item_reported (hold)                -> deciding
  item_reported (no decision)         -> deciding
  item_reported (failed)              -> active; facts initiative_steered; sends work_item.settle
  item_reported (never begun)         -> active; facts initiative_steered; sends work_item.settle
  item_reported (of another)          repeat already_heard
  item_settled (cancelled)            -> active; facts initiative_steered
  item_settled (of another)           repeat already_heard
  judge                               repeat already_judged
  judge (moved)                       repeat already_judged
  decide                              stays; facts initiative_decided
  decide (a stranger)                 refused illegal_move
  complete                            -> completed; facts initiative_completed; sends campaign.leave_initiative, work_item.cancel
  complete (other reason)             -> completed; facts initiative_completed; sends campaign.leave_initiative, work_item.cancel
  cancel                              -> cancelled; facts initiative_cancelled; sends campaign.cancel, work_item.cancel, work_item.cancel, campaign.leave_initiative, work_item.cancel
  record_owner_action (hold)          stays; facts initiative_owner_action_recorded
  record_owner_action (another body)  stays; facts initiative_owner_action_recorded
  record_finding                      stays; facts finding_recorded
  record_finding (a stranger)         refused illegal_move
  member_cycle_settled (landed)       repeat already_heard
  member_cycle_settled (defect)       stays; facts finding_recorded; sends campaign.share_finding
assessing, asked again:
  create                              refused already_exists
  advance (t1)                        repeat already_requested
  advance (t2, pinned)                repeat already_requested
  advance (t4, emitted)               stays
  advance (a stranger)                refused illegal_move
  assess (t1)                         repeat already_assessed
  assess (t1, nothing to do)          repeat already_assessed
  item_reported (hold)                -> deciding
  item_reported (no decision)         -> deciding
  item_reported (failed)              -> active; facts initiative_steered; sends work_item.settle
  item_reported (never begun)         -> active; facts initiative_steered; sends work_item.settle
  item_reported (of another)          repeat already_heard
  item_settled (cancelled)            -> active; facts initiative_steered
  item_settled (of another)           repeat already_heard
  judge                               repeat already_judged
  judge (moved)                       repeat already_judged
  decide                              stays; facts initiative_decided
  decide (a stranger)                 refused illegal_move
  complete                            -> completed; facts initiative_completed, initiative_steered; sends campaign.leave_initiative, work_item.create, work_item.settle, work_item.cancel
  complete (other reason)             -> completed; facts initiative_completed, initiative_steered; sends campaign.leave_initiative, work_item.create, work_item.settle, work_item.cancel
  cancel                              -> cancelled; facts initiative_cancelled, initiative_steered; sends campaign.cancel, work_item.cancel, work_item.cancel, campaign.leave_initiative, work_item.create, work_item.settle, work_item.cancel
  record_owner_action (hold)          stays; facts initiative_owner_action_recorded
  record_owner_action (another body)  stays; facts initiative_owner_action_recorded
  record_finding                      stays; facts finding_recorded
  record_finding (a stranger)         refused illegal_move
  member_cycle_settled (landed)       repeat already_heard
  member_cycle_settled (defect)       stays; facts finding_recorded; sends campaign.share_finding
deciding:
  create                              refused already_exists
  advance (t1)                        repeat already_requested
  advance (t2, pinned)                stays; facts initiative_advance_requested
  advance (t4, emitted)               stays
  advance (a stranger)                refused illegal_move
  assess (t1)                         repeat already_assessed
  assess (t1, nothing to do)          repeat already_assessed
  item_reported (hold)                repeat already_heard
  item_reported (no decision)         repeat already_heard
  item_reported (failed)              repeat already_heard
  item_reported (never begun)         repeat already_heard
  item_reported (of another)          repeat already_heard
  item_settled (cancelled)            -> active; facts initiative_steered
  item_settled (of another)           repeat already_heard
  judge                               -> active; facts initiative_steered, initiative_action_requested, initiative_advance_requested; sends campaign.pause, work_item.settle
  judge (moved)                       -> active; facts initiative_steered, initiative_advance_requested; sends work_item.settle
  decide                              stays; facts initiative_decided
  decide (a stranger)                 refused illegal_move
  complete                            -> completed; facts initiative_completed, initiative_steered; sends campaign.leave_initiative, work_item.settle
  complete (other reason)             -> completed; facts initiative_completed, initiative_steered; sends campaign.leave_initiative, work_item.settle
  cancel                              -> cancelled; facts initiative_cancelled, initiative_steered; sends campaign.cancel, work_item.cancel, work_item.cancel, campaign.leave_initiative, work_item.settle
  record_owner_action (hold)          stays; facts initiative_owner_action_recorded
  record_owner_action (another body)  stays; facts initiative_owner_action_recorded
  record_finding                      stays; facts finding_recorded
  record_finding (a stranger)         refused illegal_move
  member_cycle_settled (landed)       repeat already_heard
  member_cycle_settled (defect)       stays; facts finding_recorded; sends campaign.share_finding
completed:
  create                              refused already_exists
  advance (t1)                        refused illegal_move
  advance (t2, pinned)                refused illegal_move
  advance (t4, emitted)               stays; facts initiative_steered; sends work_item.create, work_item.settle
  advance (a stranger)                refused illegal_move
  assess (t1)                         repeat already_assessed
  assess (t1, nothing to do)          repeat already_assessed
  item_reported (hold)                repeat already_heard
  item_reported (no decision)         repeat already_heard
  item_reported (failed)              repeat already_heard
  item_reported (never begun)         repeat already_heard
  item_reported (of another)          repeat already_heard
  item_settled (cancelled)            repeat already_heard
  item_settled (of another)           repeat already_heard
  judge                               repeat already_judged
  judge (moved)                       repeat already_judged
  decide                              refused illegal_move
  decide (a stranger)                 refused illegal_move
  complete                            repeat already_completed
  complete (other reason)             refused illegal_move
  cancel                              refused illegal_move
  record_owner_action (hold)          refused illegal_move
  record_owner_action (another body)  refused illegal_move
  record_finding                      refused illegal_move
  record_finding (a stranger)         refused illegal_move
  member_cycle_settled (landed)       repeat already_heard
  member_cycle_settled (defect)       repeat already_heard
completed while assessing:
  create                              refused already_exists
  advance (t1)                        repeat already_requested
  advance (t2, pinned)                refused illegal_move
  advance (t4, emitted)               stays; facts initiative_steered; sends work_item.create, work_item.settle
  advance (a stranger)                refused illegal_move
  assess (t1)                         repeat already_assessed
  assess (t1, nothing to do)          repeat already_assessed
  item_reported (hold)                stays; facts initiative_steered; sends work_item.settle
  item_reported (no decision)         stays; facts initiative_steered; sends work_item.settle, work_item.close
  item_reported (failed)              stays; facts initiative_steered; sends work_item.settle, work_item.close
  item_reported (never begun)         stays; facts initiative_steered; sends work_item.settle, work_item.close
  item_reported (of another)          repeat already_heard
  item_settled (cancelled)            stays; facts initiative_steered
  item_settled (of another)           repeat already_heard
  judge                               repeat already_judged
  judge (moved)                       repeat already_judged
  decide                              refused illegal_move
  decide (a stranger)                 refused illegal_move
  complete                            repeat already_completed
  complete (other reason)             refused illegal_move
  cancel                              refused illegal_move
  record_owner_action (hold)          refused illegal_move
  record_owner_action (another body)  refused illegal_move
  record_finding                      refused illegal_move
  record_finding (a stranger)         refused illegal_move
  member_cycle_settled (landed)       repeat already_heard
  member_cycle_settled (defect)       repeat already_heard
cancelled:
  create                              refused already_exists
  advance (t1)                        refused illegal_move
  advance (t2, pinned)                refused illegal_move
  advance (t4, emitted)               stays; facts initiative_steered; sends work_item.create, work_item.settle
  advance (a stranger)                refused illegal_move
  assess (t1)                         repeat already_assessed
  assess (t1, nothing to do)          repeat already_assessed
  item_reported (hold)                repeat already_heard
  item_reported (no decision)         repeat already_heard
  item_reported (failed)              repeat already_heard
  item_reported (never begun)         repeat already_heard
  item_reported (of another)          repeat already_heard
  item_settled (cancelled)            repeat already_heard
  item_settled (of another)           repeat already_heard
  judge                               repeat already_judged
  judge (moved)                       repeat already_judged
  decide                              refused illegal_move
  decide (a stranger)                 refused illegal_move
  complete                            refused illegal_move
  complete (other reason)             refused illegal_move
  cancel                              repeat already_cancelled
  record_owner_action (hold)          refused illegal_move
  record_owner_action (another body)  refused illegal_move
  record_finding                      refused illegal_move
  record_finding (a stranger)         refused illegal_move
  member_cycle_settled (landed)       repeat already_heard
  member_cycle_settled (defect)       repeat already_heard
cancelled while deciding:
  create                              refused already_exists
  advance (t1)                        repeat already_requested
  advance (t2, pinned)                refused illegal_move
  advance (t4, emitted)               stays; facts initiative_steered; sends work_item.create, work_item.settle
  advance (a stranger)                refused illegal_move
  assess (t1)                         repeat already_assessed
  assess (t1, nothing to do)          repeat already_assessed
  item_reported (hold)                repeat already_heard
  item_reported (no decision)         repeat already_heard
  item_reported (failed)              repeat already_heard
  item_reported (never begun)         repeat already_heard
  item_reported (of another)          repeat already_heard
  item_settled (cancelled)            repeat already_heard
  item_settled (of another)           repeat already_heard
  judge                               repeat already_judged
  judge (moved)                       repeat already_judged
  decide                              refused illegal_move
  decide (a stranger)                 refused illegal_move
  complete                            refused illegal_move
  complete (other reason)             refused illegal_move
  cancel                              repeat already_cancelled
  record_owner_action (hold)          refused illegal_move
  record_owner_action (another body)  refused illegal_move
  record_finding                      refused illegal_move
  record_finding (a stranger)         refused illegal_move
  member_cycle_settled (landed)       repeat already_heard
  member_cycle_settled (defect)       repeat already_heard
`
