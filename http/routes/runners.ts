/** Runners: who may take work. A runner's token is shown once, when it is created or rotated. */
import { digestOf } from '../../machines/digest.ts'
import { RUNNER_ID_PATTERN } from '../../machines/documents/fields.ts'
import {
  type RunnerCreate,
  type RunnerPatch,
  runnerCreateBody,
  runnerCreatedDocument,
  runnerDocument,
  runnerPatchBody,
  runnerSessionBody,
  runnerTokenDocument,
} from '../../machines/documents/runner.ts'
import { modules } from '../../machines/index.ts'
import { nameTaken } from '../../machines/repeated-create.ts'
import type { Right } from '../../machines/rights.ts'
import type { Holding, RunnerBody } from '../../machines/runner/context.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import { newSecret } from '../../runtime/access/secrets.ts'
import type { Refused, SnapshotOf, Taken } from '../../runtime/api.ts'
import { readable } from '../../runtime/reader.ts'
import { mayDo, maySee } from '../access.ts'
import { utcNow } from '../clock.ts'
import { askerOf, askNamed, createNamed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { answerList, listAnswer, listQuery } from '../lists.ts'
import { askActor, located, markCursor, notFound, onAccepted, refuse, refuseUnseen, UNCACHED } from '../replies.ts'
import { projectsExist } from '../resources/projects.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'runners'
const one = { description: 'The runner.', schema: runnerDocument }
/** Any other text names no runner, and might be too long for a storage key. */
const RUNNER_ID = new RegExp(RUNNER_ID_PATTERN)

export function runnerRoutes(service: ServiceContext): readonly Route[] {
  return [
    createRoute(service),
    ...readRoutes(service),
    ...changeRoutes(service),
    ...tokenRoutes(service),
    sessionRoute(service),
  ]
}

function documentOf(service: ServiceContext, { principal }: Exchange, snapshot: SnapshotOf<any>): object {
  const document = modules.runner.document(snapshot) as { readonly allowed_projects: readonly string[] }
  const seen = service.dispatcher.runnerSeen(snapshot.context.id)
  if (principal.projects === '*' || principal.runnerId === snapshot.context.id) return { ...document, ...seen }
  // A confined caller sees only its own projects' part of a shared runner.
  const allowed_projects = document.allowed_projects.filter((key) => key === '*' || maySee(principal, key))
  const in_flight = seen.in_flight.filter((id) => {
    const request = readable(() => service.runtime.read({ kind: 'run_request', id }))
    return request !== undefined && maySee(principal, request.context.project)
  })
  return { ...document, ...seen, allowed_projects, in_flight }
}

/** A confined token sees the runners that may work for one of its projects. */
function isVisible(principal: Principal, { context }: SnapshotOf<any>): boolean {
  const allowed = context.allowed_projects as readonly string[]
  if (principal.runnerId === context.id || principal.projects === '*' || allowed.includes('*')) return true
  return allowed.some((key) => maySee(principal, key))
}

function visibleRunner(service: ServiceContext, exchange: Exchange): SnapshotOf<any> | undefined {
  const id = exchange.params[0]!
  const runner = findRunner(service, exchange, id)
  if (runner === undefined) notFound(exchange, 'runner', id)
  return runner
}

/** The runner of that id, if it exists for the caller. */
function findRunner({ runtime }: ServiceContext, { principal }: Exchange, id: string): SnapshotOf<any> | undefined {
  const runner = RUNNER_ID.test(id) ? runtime.read({ kind: 'runner', id }) : undefined
  return runner !== undefined && isVisible(principal, runner) ? runner : undefined
}

function createRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/runners',
    operation: 'registerRunner',
    area: AREA,
    summary: 'Register a runner. The answer contains its token, once.',
    access: { right: 'runner.manage' },
    body: { schema: runnerCreateBody },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      201: located({ description: 'The runner, with its token.', schema: runnerCreatedDocument, headers: UNCACHED }),
      200: {
        description: 'The runner registered earlier with this key. Its token is not shown again.',
        schema: runnerDocument,
        headers: { 'Idempotent-Replay': '`true`' },
      },
    },
    problems: ['grants_too_much', 'unknown_project', 'already_exists', 'runner_removed', 'idempotency_key_reused'],
    handle: (exchange) => create(service, exchange),
  }
}

function create(service: ServiceContext, exchange: Exchange): void {
  const body = exchange.body as RunnerCreate
  if (!mayGrant(service, exchange, body) || isLost(exchange, body.allowed_projects ?? [])) return
  const key = readIdempotencyKey(exchange)
  if (!key.ok) return
  const { token, hash } = newSecret()
  const message = { type: 'create', by: exchange.by, ...body, credential_hash: hash }
  const named = { ref: { kind: 'runner', id: body.id }, body, make: () => message } as const
  const made = (answer: Taken): void => {
    const shown = documentOf(service, exchange, answer.snapshot)
    if (answer.repeat === 'replay') {
      exchange.setHeader('Idempotent-Replay', 'true').answer(200, shown)
      return
    }
    exchange.setHeader('Location', `/api/runners/${body.id}`).setHeader('Cache-Control', 'no-store')
    exchange.answer(201, { ...shown, token })
  }
  const refused = (_: Exchange, answer: Refused): void => {
    if (findRunner(service, exchange, body.id) !== undefined) refuse(exchange, answer)
    else refuseUnseen(exchange, { ...answer, refusal: withoutEnd(answer.refusal) })
  }
  createNamed(service, exchange, key.key, named, onAccepted(service, exchange, made, refused))
}

/** Hides that a runner with this id was removed, which would disclose its state. */
function withoutEnd(refusal: Refused['refusal']): Refused['refusal'] {
  return refusal.code === 'runner_removed' ? nameTaken('runner') : refusal
}

/** Whether the caller lacks one of these rights of a runner's runs. Returns true if a problem was answered. */
function lacks(exchange: Exchange, rights: readonly Right[]): boolean {
  const beyond = rights.filter((right) => !mayDo(exchange.principal, right))
  if (beyond.length === 0) return false
  exchange.problem('grants_too_much', `The token itself does not hold ${beyond.join(', ')}, which runs would hold.`)
  return true
}

/** Nobody grants more than they hold, in projects, in trust or in the rights of runs. Returns false if a problem was answered. */
function mayGrant(service: ServiceContext, exchange: Exchange, grants: RunnerPatch): boolean {
  const { principal } = exchange
  if (grants.trusted === true && !mayDo(principal, 'approve.full')) {
    exchange.problem('grants_too_much', 'Trusting a runner needs the right approve.full.')
    return false
  }
  if (lacks(exchange, grants.run_rights ?? [])) return false
  for (const key of grants.allowed_projects ?? []) {
    if (key === '*' ? principal.projects === '*' : maySee(principal, key)) continue
    exchange.problem(
      'grants_too_much',
      `The token itself does not have access to ${key === '*' ? 'all projects' : `project ${key}`}.`,
    )
    return false
  }
  return projectsExist(service, exchange, 'allowed_projects', grants.allowed_projects ?? [])
}

/**
 * A confined caller sees runners by their projects, so a runner without any would disappear from its view. Returns true
 * if a problem was answered.
 */
function isLost(exchange: Exchange, allowed: readonly string[]): boolean {
  if (exchange.principal.projects === '*' || allowed.length > 0) return false
  exchange.problem('invalid_body', 'The token is confined to projects, and could not see a runner of none of them.', {
    errors: [{ pointer: '/allowed_projects', detail: 'must name at least one project that the token has access to' }],
  })
  return true
}

function readRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/runners',
      operation: 'listRunners',
      area: AREA,
      summary: 'List the runners, with their presence and the run requests they hold.',
      access: { right: 'view' },
      query: listQuery(),
      answers: { 200: listAnswer(runnerDocument, 'Runners, newest first; removed ones are left out.') },
      handle: (exchange) => {
        const { principal } = exchange
        const matches = (runner: SnapshotOf<any>): boolean => runner.value !== 'removed' && isVisible(principal, runner)
        const request = { kind: 'runner', index: 'all', value: '', matches } as const
        answerList(service, exchange, request, (snapshot) => documentOf(service, exchange, snapshot))
      },
    },
    {
      method: 'GET',
      path: '/api/runners/:runner_id',
      operation: 'readRunner',
      area: AREA,
      summary: 'Read a runner, with its presence and the run requests it holds.',
      access: { right: 'view', runner: 'own' },
      answers: { 200: one },
      problems: ['not_found'],
      handle: (exchange) => {
        const runner = visibleRunner(service, exchange)
        if (runner === undefined) return
        markCursor(service, exchange)
        exchange.answer(200, documentOf(service, exchange, runner))
      },
    },
  ]
}

function changeRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'PATCH',
      path: '/api/runners/:runner_id',
      operation: 'updateRunner',
      area: AREA,
      summary: 'Change what a runner may take, or drain it.',
      access: { right: 'runner.manage' },
      body: { schema: runnerPatchBody },
      answers: { 200: one },
      problems: ['not_found', 'grants_too_much', 'unknown_project', 'runner_removed'],
      handle: (exchange) => {
        const runner = visibleRunner(service, exchange)
        if (runner === undefined || !mayManage(exchange, runner)) return
        const patch = exchange.body as RunnerPatch
        if (!mayGrant(service, exchange, patch)) return
        if (isLost(exchange, patch.allowed_projects ?? runner.context.allowed_projects)) return
        if (widens(patch, runner) && !mayHandOn(exchange, patch, runner)) return
        tell(service, exchange, runner, { type: 'update', ...exchange.body }, 200)
      },
    },
    {
      method: 'DELETE',
      path: '/api/runners/:runner_id',
      operation: 'removeRunner',
      area: AREA,
      summary: 'Remove a runner: its token is no longer accepted. Its run requests are queued again, or lost if begun.',
      access: { right: 'runner.manage' },
      answers: { 204: { description: 'Removed.' } },
      problems: ['not_found'],
      handle: (exchange) => {
        const runner = visibleRunner(service, exchange)
        if (runner === undefined || !mayManage(exchange, runner)) return
        const in_flight = service.dispatcher.heldBy(runner.context.id)
        tell(service, exchange, runner, { type: 'remove', in_flight }, 204)
      },
    },
  ]
}

/**
 * A confined caller may not change a runner that also works for other projects. Returns false if a problem was
 * answered.
 */
function mayManage(exchange: Exchange, { context }: SnapshotOf<any>): boolean {
  const { principal } = exchange
  if (principal.projects === '*' || (context.allowed_projects as string[]).every((key) => maySee(principal, key)))
    return true
  exchange.problem('forbidden', 'The runner also works for projects that the token has no access to.')
  return false
}

/** Whether the change would let a runner into projects where nobody has granted it anything yet. */
function widens({ allowed_projects = [] }: RunnerPatch, { context }: SnapshotOf<any>): boolean {
  const known = context.allowed_projects as readonly string[]
  return !known.includes('*') && allowed_projects.some((key) => !known.includes(key))
}

/**
 * Whoever holds a runner's token can use its trust and the rights of its runs, so only a caller that may grant both
 * gets that token, or may let the runner into more projects. `patch`: what it will have instead. Returns false if a
 * problem was answered.
 */
function mayHandOn(exchange: Exchange, patch: RunnerPatch, { context }: SnapshotOf<any>): boolean {
  const { trusted = context.trusted, run_rights = context.run_rights } = patch
  if (trusted && !mayDo(exchange.principal, 'approve.full')) {
    exchange.problem('grants_too_much', 'The runner is trusted: this needs the right approve.full.')
    return false
  }
  return !lacks(exchange, run_rights)
}

function tell(
  service: ServiceContext,
  exchange: Exchange,
  runner: SnapshotOf<any>,
  message: RunnerBody,
  status: 200 | 204,
): void {
  const ref = { kind: 'runner', id: runner.context.id } as const
  askActor(service, exchange, ref, { ...message, by: exchange.by }, (answer) => {
    if (status === 204) exchange.answer(204)
    else exchange.answer(200, documentOf(service, exchange, answer.snapshot))
  })
}

function tokenRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/api/runners/:runner_id/token',
      operation: 'rotateRunnerToken',
      area: AREA,
      summary:
        'Rotate a runner’s token: the answer contains the new one, once; the old one stays valid for 10 minutes.',
      description: 'A repeat under its Idempotency-Key rotates nothing: 409 `already_rotated`, without the token.',
      access: { right: 'runner.manage', runner: 'own' },
      headers: [IDEMPOTENCY_HEADER],
      answers: { 201: { description: 'The new token.', schema: runnerTokenDocument, headers: UNCACHED } },
      problems: ['not_found', 'grants_too_much', 'runner_removed', 'already_rotated'],
      handle: (exchange) => {
        const runner = visibleRunner(service, exchange)
        if (runner === undefined) return
        const { kind } = exchange.principal
        if (kind !== 'runner' && !(mayManage(exchange, runner) && mayHandOn(exchange, {}, runner))) return
        if (service.principals.isReplaced(exchange.principal)) {
          exchange.problem('forbidden', 'This token was replaced, and its successor is in use: rotate with that one.')
          return
        }
        rotate(service, exchange, runner.context.id)
      },
    },
  ]
}

function rotate(service: ServiceContext, exchange: Exchange, id: string): void {
  const key = readIdempotencyKey(exchange)
  if (!key.ok) return
  const ref = { kind: 'runner', id } as const
  const { token, hash } = newSecret()
  const message: RunnerBody = { type: 'rotate_credential', by: exchange.by, hash }
  const rotated = ({ snapshot, repeat }: Taken): void => {
    if (repeat !== undefined) {
      exchange.problem(
        'already_rotated',
        `The token of ${id} was rotated under this key, and is shown only once. If that answer was lost, rotate again ` +
          'with another key while the token before it is valid.',
      )
      return
    }
    const credentials = snapshot.context.internal.credentials as { hash: string; expires_at?: string }[]
    const previous = credentials.filter((credential) => credential.hash !== hash).at(-1)
    exchange.setHeader('Cache-Control', 'no-store')
    exchange.answer(201, { token, previous_expires_at: previous?.expires_at ?? utcNow(service) })
  }
  if (key.key === undefined) {
    askActor(service, exchange, ref, message, rotated)
    return
  }
  const place = digestOf([message.type, id, askerOf(exchange.principal), key.key])
  const named = { ref, place, fingerprint: digestOf({}), what: 'rotation', make: () => message }
  askNamed(service, exchange, named, onAccepted(service, exchange, rotated))
}

function sessionRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/runners/:runner_id/session',
    operation: 'startRunnerSession',
    area: AREA,
    summary: 'Report that a runner process starts, which ends what the previous one held, or ends (`ended`).',
    access: { right: 'runner', runner: 'own' },
    body: { schema: runnerSessionBody },
    answers: { 200: one },
    problems: ['runner_removed'],
    handle: (exchange) => {
      const runner = visibleRunner(service, exchange)
      if (runner === undefined) return
      const { id, session } = runner.context
      const { ended = false, ...body } = exchange.body
      const { dispatcher } = service
      dispatcher.touch(id)
      const isKnown = session?.instance === body.instance
      if (ended) endSession(service, exchange, runner, isKnown ? dispatcher.endSession(id) : [])
      else {
        const in_flight = isKnown ? [] : dispatcher.beginSession(id)
        tell(service, exchange, runner, { type: 'session', ...body, in_flight }, 200)
      }
    },
  }
}

function endSession(
  service: ServiceContext,
  exchange: Exchange,
  { context: { id } }: SnapshotOf<any>,
  in_flight: readonly Holding[],
): void {
  const message: RunnerBody = { type: 'end_session', by: exchange.by, instance: exchange.body.instance, in_flight }
  const taken = ({ snapshot }: Taken): void => exchange.answer(200, documentOf(service, exchange, snapshot))
  // If this cannot be written, the call still shows that the runner is there.
  const refused = (_: Exchange, answer: Refused): void => {
    service.dispatcher.touch(id)
    refuse(exchange, answer)
  }
  askActor(service, exchange, { kind: 'runner', id }, message, taken, refused)
}
