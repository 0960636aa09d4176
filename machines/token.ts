/**
 * The token: what its bearer may do, and until when. Only the secret's hash is stored here, and no fact or document
 * shows even that.
 */
import { assign, emit, setup } from 'xstate'
import type { Token } from './documents/token.ts'
import { SYSTEM_ENVELOPE } from './envelope.ts'
import {
  type By,
  declaredActions,
  type Fact,
  type MachineModule,
  type Message,
  type MessageBody,
  type Refusal,
  type SnapshotOf,
  type Term,
} from './machine.ts'
import {
  type CreateBody,
  type CreationRecord,
  creationRecord,
  creationRefusal,
  creationRepeat,
} from './repeated-create.ts'
import type { Right, Role } from './rights.ts'
import { members, type Testimony } from './testimony.ts'

interface TokenContext {
  readonly id: string
  readonly name: string
  /** Lower-case hex of the token's SHA-256. */
  readonly hash: string
  readonly roles: readonly Role[]
  readonly rights: readonly Right[]
  /** Keys of the projects that it is confined to, or `*` for all. */
  readonly projects: '*' | readonly string[]
  readonly expires_at?: string
  readonly created_at: string
  readonly created_by?: By
  readonly last_used_at?: string
  readonly revoked_at?: string
  readonly internal: { readonly creation: CreationRecord }
}

interface CreateToken extends CreateBody {
  readonly id: string
  readonly name: string
  readonly hash: string
  readonly roles?: readonly Role[]
  readonly rights?: readonly Right[]
  readonly projects?: '*' | readonly string[]
  readonly expires_at?: string
}

interface RevokeToken extends MessageBody {
  readonly type: 'revoke'
}

/** Its last use, noted lazily. */
interface NoteUse extends MessageBody {
  readonly type: 'note_use'
}

export type TokenBody = CreateToken | RevokeToken | NoteUse
type TokenMessage = Message<TokenBody>
type Of<T extends TokenBody['type']> = Message<Extract<TokenBody, { type: T }>>

function created(message: Of<'create'>): TokenContext {
  const { id, name, hash, roles = [], rights = [], projects = '*', expires_at, at, by } = message
  return {
    id,
    name,
    hash,
    roles,
    rights,
    projects: projects === '*' || projects.includes('*') ? '*' : projects,
    ...(expires_at === undefined ? {} : { expires_at }),
    created_at: at,
    ...(by === undefined ? {} : { created_by: by }),
    internal: { creation: creationRecord(message) },
  }
}

const machineSetup = setup({
  types: { context: {} as TokenContext, events: {} as TokenMessage, emitted: {} as Fact },
  actions: {
    ...declaredActions,
    create: assign(({ event }) => created(event as Of<'create'>)),
    revoke: assign(({ event }) => ({ revoked_at: event.at })),
    noteUse: assign(({ event }) => ({ last_used_at: event.at })),
    emitCreated: emit(({ context: { id, name, roles, rights, projects, expires_at } }) => ({
      type: 'token_created',
      payload: {
        token_id: id,
        state: 'active',
        name,
        roles,
        rights,
        projects,
        ...(expires_at === undefined ? {} : { expires_at }),
      },
    })),
    emitRevoked: emit(({ context: { id, name } }) => ({
      type: 'token_revoked',
      payload: { token_id: id, state: 'revoked', name },
    })),
  },
})

const tokenMachine = machineSetup.createMachine({
  id: 'token',
  initial: 'absent',
  context: {} as TokenContext,
  states: {
    absent: {
      on: { create: { target: 'active', actions: ['create', 'emitCreated'] } },
    },
    active: {
      on: {
        revoke: { target: 'revoked', actions: ['revoke', 'emitRevoked'] },
        note_use: { actions: 'noteUse' },
      },
    },
    revoked: {},
  },
})

function repeats({ value, context }: SnapshotOf<TokenContext>, message: TokenMessage): string | undefined {
  if (message.type === 'create' && value !== 'absent') return creationRepeat(context.internal.creation, message)
  return message.type === 'revoke' && value === 'revoked' ? 'already_revoked' : undefined
}

function refusal({ value, context }: SnapshotOf<TokenContext>, message: TokenMessage): Refusal | undefined {
  if (value === 'absent' || message.type !== 'create') return undefined
  return creationRefusal(context.internal.creation, message, { what: 'token', isIdFromKey: true })
}

function terms({ value, context: { created_at: order } }: SnapshotOf<TokenContext>): readonly Term[] {
  return [
    { index: 'all', value: '', order },
    { index: 'state', value, order },
  ]
}

function document({ value, context }: SnapshotOf<TokenContext>): Token {
  const { id, name, roles, rights, projects, expires_at, created_at, created_by, last_used_at, revoked_at } = context
  return {
    id,
    name,
    state: value as Token['state'],
    roles: [...roles],
    rights: [...rights],
    projects: projects === '*' ? ['*'] : [...projects],
    created_at,
    ...(created_by === undefined ? {} : { created_by: { ...created_by } }),
    ...(expires_at === undefined ? {} : { expires_at }),
    ...(last_used_at === undefined ? {} : { last_used_at }),
    ...(revoked_at === undefined ? {} : { revoked_at }),
  }
}

const GIVEN = ['name', 'roles', 'rights', 'projects', 'expires_at'] as const

const testimony: Testimony<TokenContext> = {
  idMember: 'token_id',
  types: new Set(['token_created', 'token_revoked']),
  aspects: ({ event_type }) => (event_type === 'token_created' ? ['creation', 'state'] : ['state']),
  claims: (aspect, { payload }) =>
    aspect === 'creation' ? members(payload, ...GIVEN) : members(payload, 'state', 'name'),
  held: ({ value, context }) => ({ state: value, ...members(context, ...GIVEN) }),
  madeAt: ({ created_at }) => created_at,
}

export const tokenModule: MachineModule<TokenContext, TokenBody> = {
  kind: 'token',
  version: 1,
  machine: tokenMachine,
  migrations: {},
  internal: ['note_use'],
  repeats,
  refusal,
  envelope: () => SYSTEM_ENVELOPE,
  terms,
  deadlineStates: [],
  deadlines: () => [],
  testimony,
  document,
}
