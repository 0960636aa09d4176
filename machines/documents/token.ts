/** The documents of a person's or a system's token. The token itself is shown once, in the answer of its create. */
import { RIGHTS, ROLES } from '../rights.ts'
import { type Static, stringEnum, Type } from '../schema.ts'
import { by, CLOSED, projects, serviceId, shownName, time } from './fields.ts'

const right = stringEnum(RIGHTS, { description: 'A right.' })
const role = stringEnum(ROLES, { description: 'A named set of rights.' })

export const tokenCreateBody = Type.Object(
  {
    name: shownName(
      'Name of its holder: shown in every event it causes. Not beginning with `runner:` or `run:`, as the names of their tokens do.',
    ),
    roles: Type.Optional(
      Type.Array(role, { maxItems: ROLES.length, uniqueItems: true, description: 'Roles it holds.' }),
    ),
    rights: Type.Optional(
      Type.Array(right, { maxItems: RIGHTS.length, uniqueItems: true, description: 'Individual rights it holds.' }),
    ),
    projects: Type.Optional(
      projects(
        'The projects it is confined to; `["*"]` (the default): all. Entities outside of them do not exist for it.',
      ),
    ),
    expires_at: Type.Optional(time('From then on it is not accepted.')),
  },
  { ...CLOSED, title: 'TokenCreate' },
)
export type TokenCreate = Static<typeof tokenCreateBody>

const TOKEN_STATES = ['active', 'expired', 'revoked'] as const

export const tokenDocument = Type.Object(
  {
    id: serviceId('tok', 'The token’s id, not the secret.'),
    name: Type.String({ description: 'Name of its holder.' }),
    state: stringEnum(TOKEN_STATES, {
      description: 'Only an active token is accepted; an expired one can still be revoked.',
    }),
    roles: Type.Array(role, { description: 'Roles it holds.' }),
    rights: Type.Array(right, { description: 'Individual rights it holds.' }),
    projects: Type.Array(Type.String(), { description: 'Project keys, or `["*"]` for all.' }),
    created_at: time('When it was made.'),
    created_by: Type.Optional(by),
    expires_at: Type.Optional(time('From then on it is not accepted.')),
    last_used_at: Type.Optional(time('About when it was last used.')),
    revoked_at: Type.Optional(time('When it was revoked.')),
  },
  { title: 'Token' },
)
export type Token = Static<typeof tokenDocument>

/** What a caller may do with the token that it calls with. */
export const callerDocument = Type.Object(
  {
    kind: stringEnum(['token', 'runner', 'run'], {
      description:
        '`token`: of a person or a program. `runner`: a runner’s own. `run`: of one attempt of a run request, until that ends.',
    }),
    id: Type.String({
      description:
        'The token’s id, not the secret; for a runner’s token, the id of the runner; for a run’s, of its request.',
    }),
    name: Type.String({ description: 'Shown in every event it causes.' }),
    rights: Type.Array(right, {
      description: 'All rights it holds, those of its roles included. A runner’s token holds none.',
    }),
    projects: Type.Array(Type.String(), { description: 'Keys of the projects it is confined to, or `["*"]`.' }),
    expires_at: Type.Optional(time('From then on it is not accepted.')),
    attempt: Type.Optional(Type.Integer({ description: 'Of a run’s token: the attempt that it ends with.' })),
    runner_id: Type.Optional(
      Type.String({ description: 'Of a run’s token: the runner, whose `run_rights` are what it may do.' }),
    ),
  },
  { title: 'Caller' },
)

/** Answer of the create: the only time the secret is shown. */
export const tokenCreatedDocument = Type.Object(
  {
    ...tokenDocument.properties,
    token: Type.String({ description: 'The secret. Shown once; only its hash is kept.' }),
  },
  { title: 'TokenCreated' },
)
