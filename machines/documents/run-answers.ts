/** What a runner is answered to its posts about a run. */
import { Type } from '../schema.ts'
import { time } from './fields.ts'
import { runRequestShown } from './run-request.ts'

const answerFields = {
  run_request: runRequestShown,
  cancel_requested: Type.Boolean({ description: 'true: stop the work and post `failed`, class `cancelled`.' }),
  cancel: Type.Optional(
    Type.Object(
      {
        requested_at: time('When the stop was requested.'),
        discard_work: Type.Boolean({ description: 'Discard uncommitted work.' }),
        reason: Type.Optional(Type.String({ description: 'Why.' })),
      },
      { title: 'RunStop', description: 'How to stop.' },
    ),
  ),
  lease_expires_at: Type.Optional(time('The next post or heartbeat must arrive before this time.')),
  already_accepted: Type.Optional(Type.Boolean({ description: 'True if the same was reported before.' })),
  already_started: Type.Optional(Type.Boolean({ description: 'True if the same was reported before.' })),
}

/** Answer to `accepted` and `started`. */
export const runBeginningAnswer = Type.Object(
  {
    ...answerFields,
    run_token: Type.Optional(
      Type.String({
        description:
          'For the run’s command: a bearer token that holds the `run_rights` of the runner in the run’s project, until ' +
          'the attempt ends or is asked to stop. The same each time. Absent if the runner’s runs have no rights.',
      }),
    ),
  },
  { title: 'RunBeginningAnswer' },
)

/** Answer to every other post of a runner about a run request. */
export const runAnswer = Type.Object(answerFields, { title: 'RunAnswer' })

export const runEventsAnswer = Type.Object(
  {
    ...answerFields,
    accepted: Type.Integer({ description: 'Events recorded now.' }),
    duplicates: Type.Integer({
      description: 'Events that the log already held: not recorded again, but they still count for the run.',
    }),
    cursor: Type.String({ description: 'Watch from here to see what follows them.' }),
  },
  { title: 'RunEventsAnswer' },
)
