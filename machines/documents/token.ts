/** The documents of a person's or a system's token. The token itself is shown once, in the answer of its create. */
import { type Static, stringEnum, Type } from '../schema.ts'
import { by, CLOSED, projects, serviceId, shownName, time } from './fields.ts'

/** What a token may do; each endpoint needs one of them. */
export const RIGHTS = [
  'view',
  'intent.write',
  'intent.accept',
  'brief.compile',
  'approve.dry_run',
  'approve.full',
  'work.submit',
  'work.operate',
  'event.emit',
  'drift.classify',
  'runner.manage',
  'token.manage',
] as const
export type Right = (typeof RIGHTS)[number]

/** Named sets of rights. */
export const ROLES = ['viewer', 'author', 'approver', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

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

/** Answer of the create: the only time the secret is shown. */
export const tokenCreatedDocument = Type.Object(
  {
    ...tokenDocument.properties,
    token: Type.String({ description: 'The secret. Shown once; only its hash is kept.' }),
  },
  { title: 'TokenCreated' },
)
