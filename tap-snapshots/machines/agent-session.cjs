/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/machines/agent-session.test.js > TAP > every message in every state has the outcome that the table shows > agent session 1`] = `
absent:
  begin                     -> started
  begin (of another run)    -> started
  end                       -> ended; sends usage.add, usage.add, usage.add
  end (told by a person)    -> ended; sends usage.add
  end (of another run)      -> ended; sends usage.add, usage.add, usage.add
  end (of another project)  -> ended; sends usage.add
  interrupt                 refused illegal_move
started:
  begin                     repeat already_started
  begin (of another run)    refused illegal_move
  end                       -> ended; sends usage.add, usage.add, usage.add
  end (told by a person)    -> ended; sends usage.add, usage.add, usage.add
  end (of another run)      refused illegal_move
  end (of another project)  refused illegal_move
  interrupt                 -> ended; facts agent_session_ended; sends usage.add, usage.add, usage.add
ended:
  begin                     repeat already_started
  begin (of another run)    refused illegal_move
  end                       repeat already_ended
  end (told by a person)    repeat already_ended
  end (of another run)      refused illegal_move
  end (of another project)  refused illegal_move
  interrupt                 repeat already_ended
ended (interrupted):
  begin                     repeat already_started
  begin (of another run)    refused illegal_move
  end                       stays; sends usage.amend, usage.amend, usage.amend
  end (told by a person)    stays; sends usage.amend, usage.amend, usage.amend
  end (of another run)      refused illegal_move
  end (of another project)  refused illegal_move
  interrupt                 repeat already_ended
ended (unseen):
  begin                     stays
  begin (of another run)    refused illegal_move
  end                       repeat already_ended
  end (told by a person)    repeat already_ended
  end (of another run)      refused illegal_move
  end (of another project)  refused illegal_move
  interrupt                 repeat already_ended
`
