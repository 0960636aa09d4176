/** Access tokens of people and programs. Nobody grants more than they hold; the secret is shown once. */

import {
  callerDocument,
  type TokenCreate,
  tokenCreateBody,
  tokenCreatedDocument,
  tokenDocument,
} from '../../machines/documents/token.ts'
import { isId } from '../../machines/ids.ts'
import { modules } from '../../machines/index.ts'
import { instantMs, utcOf } from '../../machines/instant.ts'
import { RIGHTS } from '../../machines/rights.ts'
import { closedObject, Type } from '../../machines/schema.ts'
import { isExpired, type Principal } from '../../runtime/access/principals.ts'
import { rightsOf } from '../../runtime/access/rights.ts'
import { newSecret } from '../../runtime/access/secrets.ts'
import type { MessageBody, SnapshotOf } from '../../runtime/api.ts'
import { maySee } from '../access.ts'
import { holding } from '../holding.ts'
import { createKeyed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { KeyedMutex } from '../keyed-mutex.ts'
import { answerList, listAnswer, listQuery } from '../lists.ts'
import { markCursor, notFound, onAccepted, UNCACHED } from '../replies.ts'
import { projectsExist } from '../resources/projects.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'access'
/** With these begin the names that the service gives to tokens of runners and of runs (runtime/access/). */
const RESERVED_PREFIXES = ['runner:', 'run:']

/** The document with the current state: expiry is no step of the actor, so it is computed here. */
function documentOf({ runtime }: ServiceContext, snapshot: SnapshotOf<any>): object {
  const document = modules.token.document(snapshot)
  const isOver = snapshot.value === 'active' && isExpired(snapshot.context, runtime.platform.wallMs())
  return isOver ? { ...document, state: 'expired' } : document
}

export function tokenRoutes(service: ServiceContext): readonly Route[] {
  return [createRoute(service), selfRoute(service), listRoute(service), revokeRoute(service)]
}

function createRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/tokens',
    operation: 'createToken',
    area: AREA,
    summary: 'Create a token. The answer contains the secret, once.',
    description:
      'A token holds roles, rights, or both, and may be confined to projects. Nobody may grant what they do not hold, or for longer than their own token lasts.',
    access: { right: 'token.manage' },
    body: { schema: tokenCreateBody },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      201: { description: 'The token, with its secret.', schema: tokenCreatedDocument, headers: UNCACHED },
      200: {
        description: 'The token created earlier with this key. Its secret is not shown again.',
        schema: tokenDocument,
        headers: { 'Idempotent-Replay': '`true`' },
      },
    },
    problems: ['grants_too_much', 'unknown_project', 'idempotency_key_reused'],
    handle: (exchange) => create(service, exchange),
  }
}

function create(service: ServiceContext, exchange: Exchange): void {
  const body = exchange.body as TokenCreate
  const roles = body.roles ?? []
  const rights = body.rights ?? []
  if (roles.length + rights.length === 0) {
    exchange.problem('invalid_body', 'A token must hold at least one role or right.', {
      errors: [{ pointer: '/roles', detail: 'is missing: give roles, rights, or both' }],
    })
    return
  }
  if (isReserved(exchange, body)) return
  const projects = body.projects ?? ['*']
  if (!mayGrant(service, exchange, rightsOf(roles, rights), projects) || outlives(exchange, body)) return
  const key = readIdempotencyKey(exchange)
  if (!key.ok) return
  const { token, hash } = newSecret()
  const message = {
    type: 'create',
    by: exchange.by,
    ...body,
    roles,
    rights,
    projects: projects.includes('*') ? '*' : projects,
    hash,
  } as MessageBody
  const made = onAccepted(service, exchange, (answer) => {
    const shown = documentOf(service, answer.snapshot)
    if (answer.repeat === 'replay') return exchange.setHeader('Idempotent-Replay', 'true').answer(200, shown)
    exchange.setHeader('Cache-Control', 'no-store').answer(201, { ...shown, token })
  })
  const make = () => (endsInFuture(service, exchange, body) ? message : undefined)
  createKeyed(service, exchange, key.key, { kind: 'token', prefix: 'tok', body, make }, made)
}

/** Events, and keys of repeated posts, would be taken for a runner's or a run's. Returns true if a problem was answered. */
function isReserved(exchange: Exchange, { name }: TokenCreate): boolean {
  const prefix = RESERVED_PREFIXES.find((one) => name.startsWith(one))
  if (prefix === undefined) return false
  exchange.problem('invalid_body', `Names beginning with ${prefix} are those of the tokens of runners and runs.`, {
    errors: [{ pointer: '/name', detail: `must not begin with ${prefix}` }],
  })
  return true
}

function endsInFuture({ runtime }: ServiceContext, exchange: Exchange, body: TokenCreate): boolean {
  // A leap second parses to no number, so it never counts as in the future.
  if (!isExpired(body, runtime.platform.wallMs())) return true
  exchange.problem('invalid_body', 'The expiry is in the past, or in a leap second.', {
    errors: [{ pointer: '/expires_at', detail: 'must be in the future, and not in a leap second' }],
  })
  return false
}

/** Whether the new token would outlive its creator's. Returns true if a problem was answered. */
function outlives(exchange: Exchange, { expires_at }: TokenCreate): boolean {
  const { expiresAtMs } = exchange.principal
  if (expiresAtMs === undefined) return false
  if (expires_at !== undefined && instantMs(expires_at) <= expiresAtMs) return false
  const last = new Date(expiresAtMs).toISOString()
  exchange.problem(
    'grants_too_much',
    `Your own token expires at ${last}: a token it creates needs an expires_at no later than that.`,
  )
  return true
}

function mayGrant(
  service: ServiceContext,
  exchange: Exchange,
  granted: ReadonlySet<string>,
  projects: readonly string[],
): boolean {
  const { principal } = exchange
  const beyond = [...granted].filter((right) => !(principal.rights as ReadonlySet<string>).has(right))
  if (beyond.length > 0) {
    exchange.problem('grants_too_much', `The token itself does not hold ${beyond.join(', ')}.`)
    return false
  }
  const unreached = projects.filter((key) => (key === '*' ? principal.projects !== '*' : !maySee(principal, key)))
  if (unreached.length > 0) {
    exchange.problem(
      'grants_too_much',
      `The token itself does not have access to ${unreached[0] === '*' ? 'all projects' : unreached.join(', ')}.`,
    )
    return false
  }
  return projectsExist(service, exchange, 'projects', projects)
}

/**
 * A confined manager of tokens sees tokens that reach no further than its own; a token without projects is visible to
 * its creator only.
 */
function isVisible(principal: Principal, { context }: SnapshotOf<any>): boolean {
  if (principal.projects === '*') return true
  const projects = context.projects as '*' | readonly string[]
  if (projects.length === 0) return context.created_by?.id === principal.id
  return projects !== '*' && projects.every((key) => maySee(principal, key))
}

function selfRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/tokens/self',
    operation: 'readCaller',
    area: AREA,
    summary: 'What the token may do that the request is sent with.',
    access: { right: 'any', runner: 'own' },
    answers: { 200: { description: 'The caller.', schema: callerDocument } },
    handle: (exchange) => {
      markCursor(service, exchange)
      exchange.answer(200, callerOf(exchange.principal))
    },
  }
}

function callerOf({ kind, id, name, rights, projects, expiresAtMs, run }: Principal): object {
  return {
    kind,
    id,
    name,
    rights: RIGHTS.filter((right) => rights.has(right)),
    projects: projects === '*' ? ['*'] : [...projects],
    ...(expiresAtMs === undefined ? {} : { expires_at: utcOf(expiresAtMs) }),
    ...(run === undefined ? {} : { attempt: run.attempt, runner_id: run.runnerId }),
  }
}

function listRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/tokens',
    operation: 'listTokens',
    area: AREA,
    summary: 'List the tokens, without their secrets.',
    access: { right: 'token.manage' },
    query: listQuery(),
    answers: { 200: listAnswer(tokenDocument, 'Tokens, newest first, including revoked ones.') },
    handle: (exchange) => {
      const { principal } = exchange
      const matches = (token: SnapshotOf<any>): boolean => isVisible(principal, token)
      answerList(service, exchange, { kind: 'token', index: 'all', value: '', matches }, (token) =>
        documentOf(service, token),
      )
    },
  }
}

function revokeRoute(service: ServiceContext): Route {
  const underWay = new KeyedMutex()
  return {
    method: 'DELETE',
    path: '/api/tokens/:id',
    operation: 'revokeToken',
    area: AREA,
    summary: 'Revoke a token: its streams and parked polls end within a second.',
    description:
      'The caller must hold all that the token holds. Revoking a revoked token is not an error. The last unrestricted token is revoked only with `last_admin`.',
    access: { right: 'token.manage' },
    query: closedObject({
      last_admin: Type.Optional(
        Type.Boolean({
          description:
            'Revoke even the last unrestricted token. After that, a new one can only be created on the machine of the service.',
        }),
      ),
    }),
    answers: { 204: { description: 'Revoked.' } },
    problems: ['not_found', 'grants_too_much', 'last_admin_token'],
    // One at a time: of the last two tokens with all rights, each could otherwise revoke the other.
    handle: (exchange) => underWay.enter('', exchange, (leave) => revoke(service, exchange, leave)),
  }
}

/** Calls `leave` once it is decided which tokens remain valid. */
function revoke(service: ServiceContext, exchange: Exchange, leave: () => void): void {
  holding(leave, (until) => {
    const token = revocable(service, exchange)
    if (token === undefined) return
    const revoked = onAccepted(service, exchange, () => {
      exchange.answer(204)
    })
    service.runtime.ask({ kind: 'token', id: token.context.id }, { type: 'revoke', by: exchange.by }, until(revoked))
  })
}

/** The token to revoke. Returns undefined if a problem was answered. */
function revocable(service: ServiceContext, exchange: Exchange): SnapshotOf<any> | undefined {
  const id = exchange.params[0]!
  const { principal } = exchange
  const token = isId('tok', id) ? service.runtime.read({ kind: 'token', id }) : undefined
  if (token === undefined || !isVisible(principal, token)) {
    notFound(exchange, 'token', id)
    return undefined
  }
  const held = rightsOf(token.context.roles, token.context.rights)
  const beyond = RIGHTS.filter((right) => held.has(right) && !principal.rights.has(right))
  if (beyond.length > 0) {
    exchange.problem('grants_too_much', `That token holds ${beyond.join(', ')}, which yours does not hold.`)
    return undefined
  }
  if (token.value === 'revoked') {
    markCursor(service, exchange)
    exchange.answer(204)
    return undefined
  }
  if (exchange.query.last_admin !== true && service.principals.isLastAdmin(id)) {
    exchange.problem(
      'last_admin_token',
      `No other active token is unrestricted: without ${id}, a new one can only be created by restoring the home on its machine.`,
    )
    return undefined
  }
  return token
}
