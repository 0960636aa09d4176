/**
 * The run request's documents: what a caller asks for, what is posted about it, and what readers see. Request bodies
 * are closed; a runner's posts carry the fencing token.
 */
import { postedEventSchema } from '../events/envelope.ts'
import { LANES } from '../run-request/lanes.ts'
import { RUN_REQUEST_STATES } from '../run-request/states.ts'
import { anyObject, type Static, stringEnum, Type } from '../schema.ts'
import {
  by,
  byDefault,
  CLOSED,
  digest,
  EVENTS_A_POST_MAX,
  IDEMPOTENCY_KEY_LENGTH_MAX,
  labels,
  NAME_LENGTH_MAX,
  name,
  reference,
  runnerId,
  serviceId,
  TEXT_LENGTH_MAX,
  text,
  throttle,
  time,
  traceId,
} from './fields.ts'
import { runResult } from './run-result.ts'
import { waitingBecause } from './waiting-because.ts'

const PRIORITY_MIN = -100
const PRIORITY_MAX = 100
/** Longest timeout of a run, seconds: a week. */
export const TIMEOUT_SECONDS_MAX = 604_800
/** Longest pause before a retry, seconds: a day. */
const BACKOFF_SECONDS_MAX = 86_400
const RETRY_ATTEMPTS_MAX = 20
/** Longest wait of a poll, seconds. */
export const POLL_WAIT_SECONDS_MAX = 60

export const FAILURE_CLASSES = ['validation', 'dispatch', 'execution', 'safety', 'semantic', 'cancelled'] as const
export type FailureClass = (typeof FAILURE_CLASSES)[number]
export const ACCESSES = ['full', 'read_only'] as const
export type Access = (typeof ACCESSES)[number]

const failureClass = stringEnum(FAILURE_CLASSES, {
  description:
    'Where to act: `validation`: the brief; `dispatch`: the fleet; `execution`: the code; `safety`: a person decides; `semantic`: the intent; `cancelled`: nowhere.',
})
const access = stringEnum(ACCESSES, { description: '`read_only` work neither holds nor waits for a repository.' })
const lane = stringEnum(LANES, { description: 'While a lane is paused, nothing in it is offered.' })
const eventTypeName = (description: string) =>
  Type.String({ pattern: '^[a-z][a-z0-9_]*$', maxLength: NAME_LENGTH_MAX, description })

const briefReference = Type.Object(
  {
    id: serviceId('brief', 'The formation brief.'),
    digest: digest('The approved digest: a runner refuses a brief with another digest.'),
  },
  { ...CLOSED, title: 'BriefReference', description: 'The formation brief that the run follows.' },
)

const repoReference = Type.Object(
  {
    path: Type.Optional(reference('Path or URL, as the runner understands it.')),
    revision: Type.Optional(reference('The revision to work on.')),
    branch: Type.Optional(reference('The branch to work on.')),
  },
  { ...CLOSED, title: 'RunRepository', description: 'The repository and the revision that the run works on.' },
)

const retryPolicy = Type.Object(
  {
    max_attempts: Type.Integer({
      minimum: 1,
      maximum: RETRY_ATTEMPTS_MAX,
      description: 'Maximum number of runs, including the first.',
    }),
    on: Type.Array(failureClass, {
      minItems: 1,
      maxItems: FAILURE_CLASSES.length,
      uniqueItems: true,
      description:
        'Failure classes after which it runs again, except with code `provider_unavailable`, `usage_limit` or `agent_missing`: see `wait_for_provider`.',
    }),
    backoff_seconds: Type.Number({
      minimum: 0,
      maximum: BACKOFF_SECONDS_MAX,
      description: 'Pause before the second run; doubled before each later run, up to an hour.',
    }),
    wait_for_provider: Type.Optional(
      Type.Boolean({
        description:
          'After a run that failed with code `provider_unavailable` or `usage_limit` it is queued again for when `retry_after` of the Run Result says, else after a pause of a minute, doubled each time up to half an hour; after `agent_missing`, at once. Such runs do not count as attempts; the hundredth fails it. Default false.',
      }),
    ),
  },
  {
    ...CLOSED,
    title: 'RetryPolicy',
    description:
      'When a failed run is queued again automatically. For `full` work it must be part of what was approved.',
  },
)

const reporting = Type.Object(
  {
    trace_summary_required: Type.Optional(
      Type.Boolean({
        description: 'Ask the runner for a trace summary; a run without one is still accepted. Default false.',
      }),
    ),
    evidence_observations_required: Type.Optional(
      Type.Boolean({
        description: 'Ask the runner for evidence observations; a run without any is still accepted. Default false.',
      }),
    ),
  },
  { ...CLOSED, title: 'Reporting', description: 'What the run should report besides its result.' },
)

const runRequestFields = {
  entry_event: eventTypeName('Type of the event that starts the engine’s work.'),
  payload: Type.Optional(anyObject('Payload of the entry event; must match its type if that is known. Default {}.')),
  throttle: Type.Optional(byDefault(throttle, 'dry_run')),
  access: Type.Optional(byDefault(access, 'full')),
  lane: Type.Optional(byDefault(lane, 'interactive')),
  brief: Type.Optional(briefReference),
  repo: Type.Optional(repoReference),
  labels: Type.Optional(labels('A runner must carry all of them.')),
  runner_id: Type.Optional(runnerId('Only this runner may take it.')),
  priority: Type.Optional(
    Type.Integer({
      minimum: PRIORITY_MIN,
      maximum: PRIORITY_MAX,
      description: 'Higher goes first within the project. Default 0; above 0 needs `work.operate`.',
    }),
  ),
  idempotency_key: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: IDEMPOTENCY_KEY_LENGTH_MAX,
      description:
        'Same as the header Idempotency-Key. Without either, a key is derived from the content of the request.',
    }),
  ),
  again: Type.Optional(
    Type.Boolean({ description: 'Run again even though an identical settled `full` request exists.' }),
  ),
  timeout_seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: TIMEOUT_SECONDS_MAX,
      description: 'Maximum duration of the run, from `started`.',
    }),
  ),
  expires_at: Type.Optional(time('Cancelled if still queued then; `retry` starts no new run after it.')),
  not_before: Type.Optional(time('Not to be offered before this time.')),
  retry: Type.Optional(retryPolicy),
  reporting: Type.Optional(reporting),
  trace_id: Type.Optional(
    traceId('Trace of the run; must be unused in its project. Generated by the service if absent.'),
  ),
}

export const runRequestCreateBody = Type.Object(runRequestFields, { ...CLOSED, title: 'RunRequestCreate' })
export type RunRequestCreate = Static<typeof runRequestCreateBody>

export const failure = Type.Object(
  {
    class: failureClass,
    code: Type.Optional(Type.String({ description: 'Short code for the cause.' })),
    message: Type.String({ description: 'Description of the cause.' }),
  },
  { title: 'RunFailure', description: 'Why it failed.' },
)
export type Failure = Static<typeof failure>

const cancellation = Type.Object(
  {
    requested_at: time('When the stop was requested.'),
    requested_by: Type.Optional(by),
    reason: Type.Optional(Type.String({ description: 'Why.' })),
    code: Type.Optional(Type.String({ description: '`timeout` or `expired` if the service itself stopped it.' })),
    discard_work: Type.Boolean({ description: 'The runner throws uncommitted work away.' }),
  },
  { title: 'RunCancellation', description: 'Present if a stop was requested: when, by whom and why.' },
)
export type Cancellation = Static<typeof cancellation>

export const runRequestDocument = Type.Object(
  {
    id: serviceId('runreq', 'The request’s id.'),
    project: Type.String({ description: 'Key of the project.' }),
    project_id: Type.String({ description: 'Id of the project.' }),
    state: stringEnum(RUN_REQUEST_STATES, { description: 'Its state.' }),
    attempt: Type.Integer({
      description: 'The fencing token: 1 for the first offer, one more each time it is queued again.',
    }),
    entry_event: Type.String({ description: 'Type of the event that starts the engine’s work.' }),
    payload: anyObject('Payload of the entry event.'),
    throttle,
    access,
    lane,
    brief: Type.Optional(briefReference),
    repo: Type.Optional(repoReference),
    labels: Type.Array(Type.String(), { description: 'A runner must carry all of them.' }),
    runner_id: Type.Optional(Type.String({ description: 'Only this runner may take it.' })),
    priority: Type.Integer({ description: 'Higher goes first within its project.' }),
    idempotency_key: Type.String({ description: 'The given or derived key.' }),
    again: Type.Optional(Type.Boolean({ description: 'Requested although an identical settled request exists.' })),
    timeout_seconds: Type.Optional(Type.Integer({ description: 'Maximum duration of the run, from `started`.' })),
    expires_at: Type.Optional(time('Cancelled if still queued then; `retry` starts no new run after it.')),
    not_before: Type.Optional(time('Not to be offered before this time. A retry sets it to the end of its pause.')),
    retry: Type.Optional(retryPolicy),
    reporting: Type.Optional(reporting),
    trace_id: Type.String({ description: 'Trace of the run.' }),
    offered_to: Type.Optional(Type.String({ description: 'The runner that holds or held the current attempt.' })),
    lease_expires_at: Type.Optional(time('When it is taken from its runner unless the runner calls before.')),
    engine_run_id: Type.Optional(Type.String({ description: 'The engine’s run of the current attempt.' })),
    result: Type.Optional(runResult),
    failure: Type.Optional(failure),
    waiting_because: Type.Optional(waitingBecause),
    cancel: Type.Optional(cancellation),
    requested_by: by,
    approved_by: Type.Optional(by),
    work_item_id: Type.Optional(Type.String({ description: 'The work item it was created for.' })),
    created_at: time('When it was made.'),
    approved_at: Type.Optional(time('When it was approved.')),
    offered_at: Type.Optional(time('Of the current attempt.')),
    accepted_at: Type.Optional(time('Of the current attempt.')),
    started_at: Type.Optional(time('Of the current attempt.')),
    completed_at: Type.Optional(time('When it was completed.')),
    failed_at: Type.Optional(time('When it failed.')),
    cancelled_at: Type.Optional(time('When it was cancelled.')),
    lost_at: Type.Optional(time('When it was last declared lost.')),
  },
  { title: 'RunRequest' },
)
export type RunRequest = Static<typeof runRequestDocument>

/** Highest attempt that a post may name. */
const ATTEMPT_MAX = 1_000_000_000
/** Most agent sessions that one heartbeat reports. */
const SESSIONS_A_HEARTBEAT_MAX = 100

const attempt = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: ATTEMPT_MAX,
    description: 'The fencing token from the Execution Request; required whenever it is above 1.',
  }),
)
const engineRunId = Type.Optional(
  serviceId('run', 'Id of the engine’s run; generated by the service if absent. The latest one given applies.'),
)

/** Body of `accepted` and of `started`. */
export const acceptedBody = Type.Object({ attempt, engine_run_id: engineRunId }, { ...CLOSED, title: 'RunAccepted' })
export const startedBody = Type.Object({ attempt, engine_run_id: engineRunId }, { ...CLOSED, title: 'RunStarted' })

export const heartbeatBody = Type.Object(
  {
    attempt,
    sessions: Type.Optional(
      Type.Array(
        Type.Object(
          {
            session_id: name('The agent session.'),
            bytes_written: Type.Optional(Type.Integer({ minimum: 0, description: 'Bytes of its transcript.' })),
            last_output_at: Type.Optional(time('When it last wrote.')),
          },
          CLOSED,
        ),
        { maxItems: SESSIONS_A_HEARTBEAT_MAX, description: 'Agent sessions running now; kept in memory only.' },
      ),
    ),
  },
  { ...CLOSED, title: 'RunHeartbeat' },
)
export type HeartbeatBody = Static<typeof heartbeatBody>

export const releaseBody = Type.Object({ attempt }, { ...CLOSED, title: 'RunRelease' })

export const eventsBody = Type.Object(
  {
    attempt,
    events: Type.Array(postedEventSchema, {
      minItems: 1,
      maxItems: EVENTS_A_POST_MAX,
      description: 'The events to record, all or none. An event already recorded counts as a duplicate.',
    }),
  },
  { ...CLOSED, title: 'RunEvents' },
)

export const completedBody = Type.Object({ attempt, result: runResult }, { ...CLOSED, title: 'RunCompleted' })

export const failedBody = Type.Object(
  {
    attempt,
    class: failureClass,
    code: Type.Optional(name('Short code for the cause, such as `provider_unavailable`.')),
    message: Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX, description: 'Description of the cause.' }),
    result: Type.Optional(runResult),
  },
  { ...CLOSED, title: 'RunFailed' },
)

/** Operator: stops a run request. */
export const cancelBody = Type.Object(
  {
    reason: Type.Optional(text('The reason, shown to the runner’s owner.')),
    discard_work: Type.Optional(Type.Boolean({ description: 'The runner discards uncommitted work. Default false.' })),
    unless_begun: Type.Optional(
      Type.Boolean({
        description: 'Refused (`illegal_move`) if its run has begun in the meantime: it then goes on. Default false.',
      }),
    ),
  },
  { ...CLOSED, title: 'RunCancel' },
)

/** Operator: cancels every unsettled request that matches; at least one filter is required. */
export const cancelManyBody = Type.Object(
  {
    project: Type.Optional(name('Key or id of the project.')),
    state: Type.Optional(
      stringEnum(['queued', 'offered', 'accepted', 'started', 'lost'], { description: 'State they are in.' }),
    ),
    runner: Type.Optional(runnerId('The runner that holds them.')),
    label: Type.Optional(name('A label they ask for.')),
    reason: Type.Optional(text('Why.')),
    discard_work: Type.Optional(Type.Boolean({ description: 'The runners discard uncommitted work. Default false.' })),
  },
  { ...CLOSED, minProperties: 1, title: 'RunCancelMany' },
)

/** Operator: fails a lost request. */
export const operatorFailBody = Type.Object(
  {
    class: Type.Optional(failureClass),
    message: Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX, description: 'Why it has failed.' }),
  },
  { ...CLOSED, title: 'RunFailByOperator' },
)

/** What a runner cannot do without: the answer to `Prefer: return=minimal`. */
const runRequestStandingDocument = Type.Object(
  {
    id: runRequestDocument.properties.id,
    state: runRequestDocument.properties.state,
    attempt: runRequestDocument.properties.attempt,
    engine_run_id: runRequestDocument.properties.engine_run_id,
  },
  {
    ...CLOSED,
    title: 'RunRequestStanding',
    description: 'The status of a run request: the answer to `Prefer: return=minimal`.',
  },
)

/** The whole document, or only the state. */
export const runRequestShown = Type.Unsafe<RunRequest>({ anyOf: [runRequestDocument, runRequestStandingDocument] })

export { access, briefReference, eventTypeName, lane, repoReference }
