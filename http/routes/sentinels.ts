/** Sentinels: named cron triggers, each of which submits a work item when it falls due. */

import { digestOf } from '../../machines/digest.ts'
import {
  SENTINEL_STATES,
  type SentinelCreate,
  type SentinelPatch,
  sentinelCreateBody,
  sentinelDocument,
  sentinelMoveBody,
  sentinelPatchBody,
} from '../../machines/documents/sentinel.ts'
import type { MessageBody, SnapshotOf } from '../../machines/machine.ts'
import { knowsZone, nextDue, unknownZone } from '../../machines/sentinel/calendar.ts'
import type { SentinelBody, SentinelContext } from '../../machines/sentinel/context.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import type { Reply, Taken } from '../../runtime/api.ts'
import { failureOf } from '../../runtime/entities/failing-sentinels.ts'
import { leaveToSubmit } from '../../runtime/scheduler/sentinels.ts'
import { maySee } from '../access.ts'
import { askerOf, askNamed, createNamed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { answerList, isAmong, listAnswer, listQuery, projectFilter, projectList, stateFilter } from '../lists.ts'
import { located, markCursor, notFound, onAccepted, onNamed, refuseBody } from '../replies.ts'
import { type Move, type Moved, moveRoute, tellMoved } from '../resources/moves.ts'
import { mayBePinned } from '../resources/pinned-runner.ts'
import { activeProject, statedProject, takesWork } from '../resources/projects.ts'
import { sentinelDocumentOf } from '../resources/sentinel-answers.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

type Sentinel = SnapshotOf<SentinelContext>

const AREA = 'sentinels'
const PATH = '/api/sentinels/:name'
const one = { description: 'The sentinel.', schema: sentinelDocument }

const sentinels: Moved<Sentinel> = {
  path: PATH,
  noun: 'Sentinel',
  area: AREA,
  answer: one,
  find: visibleSentinel,
  refOf: ({ context }) => ({ kind: 'sentinel', id: context.name }),
  documentOf: (service, _exchange, sentinel) => sentinelDocumentOf(service, sentinel),
}

const body = { schema: sentinelMoveBody, optional: true } as const
const moves: readonly Move<Sentinel>[] = [
  { name: 'pause', summary: 'Pause a sentinel: it no longer falls due. Items that it has submitted stay.', body },
  {
    name: 'resume',
    summary: 'Resume a paused sentinel, from the next time that its pattern matches.',
    description:
      'If the clock was set back, a time at which it has fallen due, and that lies ahead now, comes again. ' +
      'Refused (`illegal_move`) while the Node.js of the service does not know its time zone: change that first.',
    body,
  },
  { name: 'remove', summary: 'Remove a sentinel. It stays readable, and its name may be used again.', body },
]

export function sentinelRoutes(service: ServiceContext): readonly Route[] {
  const moved = moves.map((move) => moveRoute(service, sentinels, move))
  return [
    createRoute(service),
    listRoute(service),
    readRoute(service),
    patchRoute(service),
    ...moved,
    fireRoute(service),
  ]
}

function createRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/sentinels',
    operation: 'createSentinel',
    area: AREA,
    summary: 'Add a sentinel: each time that its cron pattern matches, it submits a work item.',
    description:
      'Whoever adds it, or changes it last, is the submitter of its items. It submits nothing while an unsettled item of ' +
      'the project asks for the same, while its project is archived, for a time that passed more than ten minutes ago ' +
      'because the service was not running, or if its Node.js does not know the time zone (a newer one did): what was ' +
      'skipped is not made up for.',
    access: { right: 'work.submit', isClosedToRuns: true },
    body: { schema: sentinelCreateBody },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      201: located({ ...one, description: 'Active.' }),
      200: {
        ...one,
        description: 'The sentinel added earlier with this key.',
        headers: { 'Idempotent-Replay': '`true`' },
      },
    },
    problems: ['unknown_project', 'project_archived', 'already_exists', 'idempotency_key_reused'],
    handle: (exchange) => create(service, exchange),
  }
}

function create(service: ServiceContext, exchange: Exchange): void {
  const body = exchange.body as SentinelCreate
  const project = statedProject(service, exchange, body.project)
  if (project === undefined) return
  const key = readIdempotencyKey(exchange)
  if (!key.ok) return
  const { name, cron, time_zone = 'UTC', item } = body
  const { id: project_id, key: projectKey } = project.context
  const make = (): MessageBody | undefined => {
    if (!takesWork(exchange, project) || !isSound(service, exchange, { cron, time_zone, item })) return undefined
    const said = { type: 'create', by: exchange.by, name, project: projectKey, project_id, cron, time_zone, item }
    return said as MessageBody
  }
  const named = { ref: { kind: 'sentinel', id: name }, body, make } as const
  const reply = onNamed(service, exchange, {
    kind: 'sentinel',
    path: `/api/sentinels/${name}`,
    documentOf: (snapshot) => sentinelDocumentOf(service, snapshot),
    isSeen: () => findSentinel(service, exchange.principal, name) !== undefined,
  })
  createNamed(service, exchange, key.key, named, reply)
}

/** What it is to submit; undefined if that stays as it is. */
interface Asked {
  readonly item?: SentinelPatch['item'] | undefined
}

/** What a schema cannot check. Answers the problem and says false. */
function isSound(
  service: ServiceContext,
  exchange: Exchange,
  { cron, time_zone, item }: Pick<SentinelContext, 'cron' | 'time_zone'> & Asked,
): boolean {
  const fault = calendarFault(cron, time_zone, service.runtime.platform.wallMs())
  if (fault !== undefined) return refuseBody(exchange, fault.pointer, fault.detail)
  return isRunnerSound(service, exchange, { item })
}

function isRunnerSound(service: ServiceContext, exchange: Exchange, { item }: Asked): boolean {
  return mayBePinned(service, exchange, item?.runner_id, '/item/runner_id')
}

/** Its times are looked at if they change: what it submits may also be changed where its time zone is unknown. */
function isPatchSound(
  service: ServiceContext,
  exchange: Exchange,
  { context }: Sentinel,
  patch: SentinelPatch,
): boolean {
  const { cron, time_zone, item } = patch
  if (cron === undefined && time_zone === undefined) return isRunnerSound(service, exchange, patch)
  if (time_zone === undefined && !knowsZone(context.time_zone))
    return refuseBody(exchange, '/time_zone', `must be given, since ${unknownZone(context.time_zone)}`)
  return isSound(service, exchange, { cron: cron ?? context.cron, time_zone: time_zone ?? context.time_zone, item })
}

/**
 * An offset is no zone, although newer versions of Node.js take it for one: it does not know when clocks change, and
 * the sentinel could not fall due after a move back to an older one.
 */
const OFFSET = /^[+-]/

function calendarFault(cron: string, timeZone: string, nowMs: number) {
  const zoneFault = (detail: string) => ({ pointer: '/time_zone', detail })
  if (OFFSET.test(timeZone))
    return zoneFault(
      'must be the name of an IANA time zone, such as Europe/Berlin or Etc/GMT-2, not an offset from UTC',
    )
  if (!knowsZone(timeZone)) return zoneFault('must be the name of an IANA time zone, such as Europe/Berlin')
  try {
    if (nextDue(cron, timeZone, nowMs) !== undefined) return undefined
    return { pointer: '/cron', detail: 'never matches: no such day is coming' }
  } catch (error) {
    return { pointer: '/cron', detail: `is not a cron pattern: ${(error as Error).message}` }
  }
}

function listRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/sentinels',
    operation: 'listSentinels',
    area: AREA,
    summary: 'List sentinels, by project and state.',
    access: { right: 'view' },
    query: listQuery({
      project: projectFilter,
      state: stateFilter(SENTINEL_STATES, 'Only sentinels in one of these states.'),
    }),
    answers: { 200: listAnswer(sentinelDocument, 'Sentinels, newest first.') },
    problems: ['not_found'],
    handle: (exchange) => {
      const { project, state } = exchange.query
      const request = projectList(service, exchange, {
        kind: 'sentinel',
        project,
        indexes: (key) => [['project', key]],
        matches: ({ value }) => isAmong(state, value),
      })
      if (request === undefined) return
      answerList(service, exchange, request, (snapshot) => sentinelDocumentOf(service, snapshot))
    },
  }
}

function readRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: PATH,
    operation: 'readSentinel',
    area: AREA,
    summary: 'Read a sentinel: when it falls due next, and what came of the last times.',
    access: { right: 'view' },
    answers: { 200: one },
    problems: ['not_found'],
    handle: (exchange) => {
      const sentinel = visibleSentinel(service, exchange)
      if (sentinel === undefined) return
      markCursor(service, exchange)
      exchange.answer(200, sentinelDocumentOf(service, sentinel, failureOf(service.runtime, sentinel)))
    },
  }
}

function patchRoute(service: ServiceContext): Route {
  return {
    method: 'PATCH',
    path: PATH,
    operation: 'updateSentinel',
    area: AREA,
    summary: 'Change when a sentinel falls due, or the item that it submits, which is replaced as a whole.',
    description: 'Its items are from then on submitted in the name of the caller.',
    access: { right: 'work.submit', isClosedToRuns: true },
    body: { schema: sentinelPatchBody },
    answers: { 200: one },
    problems: ['not_found', 'illegal_move'],
    handle: (exchange) => {
      const sentinel = visibleSentinel(service, exchange)
      if (sentinel === undefined) return
      const patch = exchange.body as SentinelPatch
      if (!isPatchSound(service, exchange, sentinel, patch)) return
      tellMoved(service, exchange, sentinels, sentinel, { type: 'update', ...patch })
    },
  }
}

function fireRoute(service: ServiceContext): Route {
  const fire: Move<Sentinel> = {
    name: 'fire',
    summary: 'Have a sentinel submit its item now, active or paused.',
    description:
      'If an unsettled item of its project asks for the same, it submits nothing: `last` says so and names it.',
    body,
    makesWork: true,
  }
  const route = moveRoute(service, sentinels, fire)
  return {
    ...route,
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      200: { ...one, optionalHeaders: { 'Idempotent-Replay': '`true` if it was fired with this key before.' } },
    },
    problems: [...(route.problems ?? []), 'idempotency_key_reused'],
    handle: (exchange) => {
      const sentinel = visibleSentinel(service, exchange)
      if (sentinel === undefined) return
      if (activeProject(service, exchange, sentinel.context.project_id) === undefined) return
      const key = readIdempotencyKey(exchange)
      if (key.ok) fireOnce(service, exchange, sentinel, key.key)
    },
  }
}

/** A firing whose answer was lost can be repeated under its key: it submits nothing further. */
function fireOnce(service: ServiceContext, exchange: Exchange, { context }: Sentinel, key: string | undefined): void {
  const { runtime, scheduler } = service
  const ref = { kind: 'sentinel', id: context.name } as const
  let withdraw = (): void => {}
  const make = (): SentinelBody => {
    const leave = leaveToSubmit(runtime, scheduler, context)
    if ('whyNot' in leave) return { type: 'fire', by: exchange.by, why_not: leave.whyNot }
    withdraw = leave.withdraw
    return { type: 'fire', by: exchange.by }
  }
  const taken = ({ snapshot, repeat }: Taken): void => {
    if (repeat !== undefined) exchange.setHeader('Idempotent-Replay', 'true')
    exchange.answer(200, sentinelDocumentOf(service, snapshot))
  }
  const answered = onAccepted(service, exchange, taken)
  const reply: Reply = (answer) => {
    // Refused for want of room, it is sent again in a moment: its own item must not stand in its way then.
    if (!answer.ok) withdraw()
    answered(answer)
  }
  if (key === undefined) {
    runtime.ask(ref, make(), reply)
    return
  }
  const place = digestOf(['fire', context.name, context.created_at, askerOf(exchange.principal), key])
  const named = { ref, place, fingerprint: digestOf({}), what: 'firing', make }
  askNamed(service, exchange, named, reply)
}

function findSentinel({ runtime }: ServiceContext, principal: Principal, name: string): Sentinel | undefined {
  const sentinel = runtime.read({ kind: 'sentinel', id: name }) as Sentinel | undefined
  return sentinel !== undefined && maySee(principal, sentinel.context.project) ? sentinel : undefined
}

function visibleSentinel(service: ServiceContext, exchange: Exchange): Sentinel | undefined {
  const name = exchange.params[0]!
  const sentinel = findSentinel(service, exchange.principal, name)
  if (sentinel === undefined) notFound(exchange, 'sentinel', name)
  return sentinel
}
