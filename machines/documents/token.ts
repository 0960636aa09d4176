/** The documents of a person's or a system's token. The token itself is shown once, in the answer of its create. */
import { RIGHTS, ROLES } from '../rights.ts'
import { type Static, stringEnum, Type } from '../schema.ts'
import { by, CLOSED, projects, serviceId, shownName, time } from './fields.ts'

const right = stringEnum(RIGHTS, { description: 'A right.' })
const role = stringEnum(ROLES, { description: 'A named set of rights.' })

export const tokenCreateBody = Type.Object(
  {
    name: shownName('Name of its holder: shown in every event it causes.'),
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
    kind: stringEnum(['token', 'runner'], { description: 'Whether it is a token of its own or a runner’s.' }),
    id: Type.String({ description: 'The token’s id, not the secret; for a runner’s token, the id of the runner.' }),
    name: Type.String({ description: 'Shown in every event it causes.' }),
    rights: Type.Array(right, {
      description: 'All rights it holds, those of its roles included. A runner’s token holds none.',
    }),
    projects: Type.Array(Type.String(), { description: 'Keys of the projects it is confined to, or `["*"]`.' }),
    expires_at: Type.Optional(time('From then on it is not accepted.')),
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
