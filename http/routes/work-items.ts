/** Work items: submitted, listed, read. The actions of owners are in work-item-moves. */

import {
  SOURCE_KINDS,
  type Source,
  WORK_ITEM_KINDS,
  WORK_ITEM_STATES,
  type WorkItemCreate,
  type WorkItemKind,
  workItemCreateBody,
  workItemDocument,
} from '../../machines/documents/work-item.ts'
import { validatePayload } from '../../machines/events/index.ts'
import { instantMs } from '../../machines/instant.ts'
import type { MessageBody } from '../../machines/machine.ts'
import { LANES } from '../../machines/run-request/lanes.ts'
import { stringEnum, Type } from '../../machines/schema.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import { entryOf } from '../../machines/work-item/entry.ts'
import { laneOf } from '../../machines/work-item/submitted.ts'
import type { ListRequest, Reply, SnapshotOf } from '../../runtime/api.ts'
import { newSpanId, newTraceId } from '../../runtime/entities/trace-ids.ts'
import { usageOf } from '../../runtime/entities/usage.ts'
import { twinKeyOf } from '../../runtime/scheduler/ledger.ts'
import { createKeyed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { KeyedMutex } from '../keyed-mutex.ts'
import { pollUntil } from '../later-turns.ts'
import { answerList, isAmong, listAnswer, listQuery, projectFilter, projectList, stateFilter } from '../lists.ts'
import { located, markCursor, onCreated, refuseBody } from '../replies.ts'
import { mayBePinned } from '../resources/pinned-runner.ts'
import { statedProject, takesWork } from '../resources/projects.ts'
import { findWorkItem, visibleWorkItem, workItemDocumentOf } from '../resources/work-item-answers.ts'
import type { Route, ServiceContext } from '../route.ts'
import { submittedTrace } from '../traceparent.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'work items'
const one = { description: 'The item.', schema: workItemDocument }

export function workItemRoutes(service: ServiceContext): readonly Route[] {
  return [createRoute(service), listRoute(service), readRoute(service)]
}

function createRoute(service: ServiceContext): Route {
  const submissions = new Submissions(service)
  return {
    method: 'POST',
    path: '/api/work-items',
    operation: 'submitWorkItem',
    area: AREA,
    summary: 'Submit a work item, which the scheduler starts when the pacing rules allow it.',
    description:
      'Submitting it approves it: items run with throttle `full`. While an unsettled item of the project, not being ' +
      'stopped, has the same objective, kind, payload, base, context, labels and runner, that item is returned unchanged ' +
      '(200), unless `allow_duplicate` is set: the lane, dependencies, times and source of the second request are ignored.',
    access: { right: 'work.submit', isClosedToRuns: true },
    body: { schema: workItemCreateBody },
    headers: [IDEMPOTENCY_HEADER, 'traceparent'],
    answers: {
      201: located({ ...one, description: 'The item, now in the ledger.' }),
      200: {
        ...one,
        description: 'The existing item with this key, or that asks for the same work.',
        headers: { 'Idempotent-Replay': '`true`' },
      },
    },
    problems: [
      'unknown_project',
      'project_archived',
      'idempotency_key_reused',
      'unknown_work_item',
      'engine_incapable',
    ],
    handle: (exchange) => submissions.submit(exchange),
  }
}

/**
 * Admits items one at a time for each objective, so that of two identical ones only one is created; what a sentinel has
 * just submitted comes first, and a sentinel that falls due meanwhile knows of the item that is being created.
 */
class Submissions {
  readonly #service: ServiceContext
  readonly #objectives = new KeyedMutex()

  constructor(service: ServiceContext) {
    this.#service = service
  }

  submit(exchange: Exchange): void {
    const { scheduler, runtime } = this.#service
    const { allow_duplicate, project: named } = exchange.body as WorkItemCreate
    const project = statedProject(this.#service, exchange, named)
    const key = readIdempotencyKey(exchange)
    if (project === undefined || !key.ok) return
    const twinKey = allow_duplicate === true ? undefined : twinKeyIn(exchange, project)
    const admit = (leave: () => void): void => this.#create(exchange, project, { key: key.key, twinKey }, leave)
    if (twinKey === undefined) {
      admit(() => {})
      return
    }
    const isKnown = (): boolean => !scheduler.isAnnounced(twinKey)
    pollUntil(runtime.platform, exchange, isKnown, () => this.#objectives.enter(twinKey, exchange, admit))
  }

  /** With a `twinKey`, an existing item that asks for the same is answered instead. */
  #create(
    exchange: Exchange,
    project: SnapshotOf<any>,
    { key, twinKey }: Readonly<Record<'key' | 'twinKey', string | undefined>>,
    leave: () => void,
  ): void {
    const service = this.#service
    const { depends_on = [] } = exchange.body as WorkItemCreate
    let arrived = (): void => {}
    let withdraw: (() => void) | undefined
    const make = (): MessageBody | undefined => {
      if (
        !takesWork(exchange, project) ||
        !isSound(service, exchange, project) ||
        !isServed(service, exchange, project)
      )
        return undefined
      const message = createMessage(service, exchange, project.context)
      arrived = service.scheduler.expect(depends_on)
      withdraw = twinKey === undefined ? undefined : service.scheduler.announce(twinKey)
      return message
    }
    const twin = (): string | undefined => (twinKey === undefined ? undefined : service.scheduler.twinOf(twinKey))
    const over = (): void => {
      arrived()
      withdraw?.()
      leave()
    }
    const keyed = { kind: 'work_item', prefix: 'wi', body: exchange.body, make, twin } as const
    createKeyed(service, exchange, key, keyed, whenMade(service, exchange), over)
  }
}

/** The key by which the ledger recognizes work that asks for the same within the project. */
function twinKeyIn({ body }: Exchange, { context }: SnapshotOf<any>): string {
  return twinKeyOf(context.id, { kind: 'task', ...(body as WorkItemCreate) })
}

function whenMade(service: ServiceContext, exchange: Exchange): Reply {
  const pathOf = ({ context }: SnapshotOf<any>): string => `/api/work-items/${context.id}`
  return onCreated(service, exchange, pathOf, (snapshot) => workItemDocumentOf(service, exchange.principal, snapshot))
}

/** What a schema cannot check: dependencies exist for the caller, times are valid, an entry event has its payload. */
function isSound(service: ServiceContext, exchange: Exchange, project: SnapshotOf<any>): boolean {
  const { payload = {}, kind = 'task' } = exchange.body as WorkItemCreate
  if (!dependenciesExist(service, exchange) || !mayBePinned(service, exchange)) return false
  if (!mayRepeat(service, exchange, project)) return false
  if (kind !== 'release' && kind !== 'remediation' && exchange.body.payload !== undefined) {
    return refuseBody(exchange, '/payload', 'only a release or a remediation has a payload: use context')
  }
  const { entry_event } = entryEventOf(kind)
  const [fault] = kind === 'remediation' || kind === 'release' ? validatePayload(entry_event, payload) : []
  if (fault === undefined) return true
  return refuseBody(exchange, `/payload${fault.pointer}`, `${fault.detail} (${entry_event})`)
}

/** An item has one source; the one that it repeats is of the same project. Answers the problem and says false. */
function mayRepeat(service: ServiceContext, exchange: Exchange, { context }: SnapshotOf<any>): boolean {
  const { repeats, sentinel } = exchange.body as WorkItemCreate
  if (repeats === undefined) return true
  if (sentinel !== undefined) return refuseBody(exchange, '/repeats', 'an item has one source: leave out sentinel')
  if (findWorkItem(service, exchange.principal, repeats)?.context.project === context.key) return true
  exchange.problem('unknown_work_item', `There is no work item ${repeats} of this project to repeat.`, {
    errors: [{ pointer: '/repeats', detail: 'must name a work item of the project' }],
  })
  return false
}

/** Work that no engine of the project can do is refused instead of left waiting. */
function isServed({ capabilities }: ServiceContext, exchange: Exchange, project: SnapshotOf<any>): boolean {
  const { kind = 'task', runner_id: runnerId } = exchange.body as WorkItemCreate
  const { entry_event: entryEvent } = entryEventOf(kind)
  const why = capabilities.incapable({ project: project.context.key, entryEvent, throttle: 'full', runnerId })
  if (why === undefined) return true
  exchange.problem('engine_incapable', why)
  return false
}

/**
 * Whether the dependencies exist for the caller and `not_before` is a valid time. Returns false if a problem was
 * answered.
 */
export function dependenciesExist(service: ServiceContext, exchange: Exchange): boolean {
  const { depends_on = [], not_before } = exchange.body as Pick<WorkItemCreate, 'depends_on' | 'not_before'>
  const unknown = depends_on.findIndex((id) => findWorkItem(service, exchange.principal, id) === undefined)
  if (unknown >= 0) {
    exchange.problem('unknown_work_item', `There is no work item ${depends_on[unknown]} to depend on.`, {
      errors: [{ pointer: `/depends_on/${unknown}`, detail: 'must name a work item' }],
    })
    return false
  }
  // RFC 3339 allows leap seconds, which no clock here shows.
  if (not_before === undefined || !Number.isNaN(instantMs(not_before))) return true
  return refuseBody(exchange, '/not_before', 'is in a leap second: give the second before or after it')
}

/** The entry event of an operator's item, which depends on its kind alone. */
function entryEventOf(kind: WorkItemKind): { readonly entry_event: string } {
  return entryOf({ id: '', project: '', asked: { kind, source: { kind: 'operator', ref: '' }, objective: '' } })
}

function createMessage(
  service: ServiceContext,
  exchange: Exchange,
  project: { readonly id: string; readonly key: string },
): MessageBody {
  const { runtime, scheduler } = service
  const { by } = exchange
  const body = exchange.body as WorkItemCreate
  const { project: _, allow_duplicate: _a, depends_on = [], kind = 'task', lane, ...rest } = body
  const { sentinel: _s, repeats: _r, ...given } = rest
  const asked = {
    ...given,
    kind,
    lane: lane ?? laneOf(kind),
    origin: by.origin!,
    source: sourceOf(body, by.name),
    submitted_by: by,
    ...submittedTrace(exchange.header('traceparent')),
  } as WorkItemContext['asked']
  const item = { id: '', project: project.key, project_id: project.id, asked, depends_on }
  return {
    type: 'create',
    by,
    ...asked,
    project: project.key,
    project_id: project.id,
    depends_on,
    reason: scheduler.reasonFor(item),
    trace_id: newTraceId(runtime.platform),
    span_id: newSpanId(runtime.platform),
  } as MessageBody
}

function sourceOf({ sentinel, repeats }: WorkItemCreate, operator: string): Source {
  if (repeats !== undefined) return { kind: 'work_item', ref: repeats }
  return sentinel === undefined ? { kind: 'operator', ref: operator } : { kind: 'sentinel', ref: sentinel }
}

function listRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/work-items',
    operation: 'listWorkItems',
    area: AREA,
    summary: 'List work items by project, state, kind, lane, source.',
    description:
      'With `state`, in the order in which they entered it (running: by start, settled: by settlement), newest ' +
      'first; otherwise by submission.',
    access: { right: 'view' },
    query: listQuery({
      project: projectFilter,
      state: stateFilter(WORK_ITEM_STATES, 'Only items in one of these states.'),
      kind: Type.Optional(stringEnum(WORK_ITEM_KINDS, { description: 'Only items of this kind.' })),
      lane: Type.Optional(stringEnum(LANES, { description: 'Only items of this lane.' })),
      source: Type.Optional(
        Type.String({
          pattern: `^(${SOURCE_KINDS.join('|')}):.+$`,
          maxLength: 256,
          description: 'Only items of this source, as `kind:ref`.',
        }),
      ),
    }),
    answers: { 200: listAnswer(workItemDocument, 'Work items, newest first.') },
    problems: ['not_found'],
    handle: (exchange) => {
      const request = filterOf(service, exchange)
      if (request === undefined) return
      answerList(service, exchange, request, (snapshot) => workItemDocumentOf(service, exchange.principal, snapshot))
    },
  }
}

function filterOf(service: ServiceContext, exchange: Exchange): Omit<ListRequest, 'limit' | 'after'> | undefined {
  const { project, state, kind, lane, source } = exchange.query
  return projectList(service, exchange, {
    kind: 'work_item',
    project,
    indexes: (key) => [
      ['source', source],
      ['state', state],
      ['project', key],
    ],
    matches: ({ value, context }: SnapshotOf<WorkItemContext>) =>
      isAmong(state, value) &&
      (kind === undefined || context.asked.kind === kind) &&
      (lane === undefined || context.asked.lane === lane),
  })
}

function readRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/work-items/:id',
    operation: 'readWorkItem',
    area: AREA,
    summary: 'Read a work item: its state, why it waits, what owners did, and what its agents used.',
    access: { right: 'view' },
    answers: { 200: one },
    problems: ['not_found'],
    handle: (exchange) => {
      const snapshot = visibleWorkItem(service, exchange)
      if (snapshot === undefined) return
      markCursor(service, exchange)
      const usage = usageOf(service.runtime, 'item', snapshot.context.id)
      const document = workItemDocumentOf(service, exchange.principal, snapshot)
      exchange.answer(200, usage === undefined ? document : { ...document, usage })
    },
  }
}
