/**
 * The runner's documents: who may take work, and what it may take. A runner's credential is shown once, in the
 * answer that made it, and is never part of the document.
 */
import { RUN_RIGHTS } from '../rights.ts'
import { type Static, stringEnum, Type } from '../schema.ts'
import { CLOSED, labels, NAME_LENGTH_MAX, projects, runnerId, shownName, time } from './fields.ts'

/** Most run requests that one runner may hold at once: its document lists them. */
const CAPACITY_MAX = 1_000

const runRight = stringEnum(RUN_RIGHTS, { description: 'A right that runs may hold.' })

const settable = {
  name: Type.Optional(shownName('Display name.')),
  allowed_projects: Type.Optional(
    projects(
      'Keys of the projects whose work it may take. Empty: none; `["*"]`: all. Default: none; a token confined to projects must name at least one.',
    ),
  ),
  labels: Type.Optional(
    labels('Labels it carries; it is eligible for a request if it carries all of the request’s labels.'),
  ),
  capacity: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: CAPACITY_MAX,
      description: 'Maximum number of run requests it holds at once. Default 1.',
    }),
  ),
  trusted: Type.Optional(
    Type.Boolean({
      description: 'May take `throttle: full` work with `access: full`. Granting it needs `approve.full`.',
    }),
  ),
  run_rights: Type.Optional(
    Type.Array(runRight, {
      maxItems: RUN_RIGHTS.length,
      uniqueItems: true,
      description:
        'Rights of the tokens that its runs get, each for its own project and no longer than it runs. Granting them ' +
        'needs them. Default: none, and no run gets a token.',
    }),
  ),
}

const limited = Type.Object(
  {
    code: Type.String({ description: '`usage_limit`, `provider_unavailable` or `agent_missing`.' }),
    message: Type.String({ description: 'What the run reported.' }),
    since: time('When a run first reported it; through all pauses that the service chose, until a run completes.'),
    until: time('When it is offered work again.'),
    is_stated: Type.Boolean({ description: 'The provider said so. If false, the service chose the pause.' }),
    run_request_id: Type.String({ description: 'The run that reported it.' }),
  },
  {
    title: 'LimitedRunner',
    description:
      'The provider of its agents is unavailable: it is offered nothing until then, or until a run of it completes or an operator ends the limit.',
  },
)
export type LimitedRunner = Static<typeof limited>

const draining = Type.Optional(
  Type.Boolean({ description: 'true: it finishes what it holds and gets nothing new. Default false.' }),
)

export const runnerCreateBody = Type.Object(
  { id: runnerId('Chosen by the caller; part of the runner’s poll path.'), ...settable, draining },
  { ...CLOSED, title: 'RunnerCreate' },
)
export type RunnerCreate = Static<typeof runnerCreateBody>

export const runnerPatchBody = Type.Object(
  {
    ...settable,
    draining,
    limited: Type.Optional(
      Type.Literal(false, { description: 'It is offered work again, whatever its provider said.' }),
    ),
  },
  { ...CLOSED, minProperties: 1, title: 'RunnerPatch' },
)
export type RunnerPatch = Static<typeof runnerPatchBody>

export const runnerSessionBody = Type.Object(
  {
    instance: shownName('Identity of this runner process. A new one ends what the previous one held.'),
    version: shownName('The runner’s version.'),
    ended: Type.Optional(
      Type.Boolean({
        description:
          'true: this process is ending. The runner is offline at once, and what it holds ends; ignored unless the process is the runner’s newest.',
      }),
    ),
  },
  {
    ...CLOSED,
    title: 'RunnerSession',
    description: 'Posted by a runner when it starts, and with `ended` as its last call.',
  },
)

const PRESENCES = ['online', 'offline', 'never_seen'] as const
const RUNNER_STATES = ['registered', 'draining', 'removed'] as const

/** The part of a runner that is stored. */
export const runnerKept = Type.Object({
  id: Type.String({ description: 'Chosen by the caller.' }),
  name: Type.Optional(Type.String({ description: 'Display name.' })),
  state: stringEnum(RUNNER_STATES, {
    description: 'A draining runner gets nothing new; a removed one may do nothing.',
  }),
  allowed_projects: Type.Array(Type.String(), { description: 'Project keys; `["*"]`: all; empty: none.' }),
  labels: Type.Array(Type.String(), { description: 'Labels it carries.' }),
  capacity: Type.Integer({ description: 'Maximum number of run requests it holds at once.' }),
  trusted: Type.Boolean({ description: 'May take `throttle: full` work with `access: full`.' }),
  run_rights: Type.Array(runRight, { description: 'Rights of the tokens that its runs get; empty: they get none.' }),
  draining: Type.Boolean({ description: 'It finishes what it holds and gets nothing new.' }),
  session: Type.Optional(
    Type.Object(
      {
        instance: Type.String({ maxLength: NAME_LENGTH_MAX, description: 'Identity of the process.' }),
        version: Type.String({ maxLength: NAME_LENGTH_MAX, description: 'The runner’s version.' }),
        started_at: time('When the service learned of it.'),
      },
      { title: 'RunnerProcess', description: 'The runner’s newest process; absent if it reported that it ended.' },
    ),
  ),
  limited: Type.Optional(limited),
  created_at: time('When it was registered.'),
  updated_at: Type.Optional(time('When it last changed.')),
  removed_at: Type.Optional(time('When it was removed.')),
})
export type Runner = Static<typeof runnerKept>

/** A runner as served: with what is known only while the service runs. */
export const runnerDocument = Type.Object(
  {
    ...runnerKept.properties,
    presence: stringEnum(PRESENCES, {
      description: 'Offline once it has reported that it is ending, or after three minutes without a call.',
    }),
    last_seen_at: Type.Optional(time('Its last call, as far as known; absent if it has never called.')),
    in_flight: Type.Array(Type.String(), { description: 'Ids of the run requests that occupy one of its slots.' }),
  },
  { title: 'Runner' },
)

/** Answer of the create: the only time the credential is shown. */
export const runnerCreatedDocument = Type.Object(
  {
    ...runnerDocument.properties,
    token: Type.String({ description: 'The runner’s bearer token. Shown once; only its hash is kept.' }),
  },
  { title: 'RunnerCreated' },
)

export const runnerTokenDocument = Type.Object(
  {
    token: Type.String({ description: 'The new bearer token. Shown once.' }),
    previous_expires_at: time('Until then the old token is accepted too.'),
  },
  { title: 'RunnerToken' },
)
