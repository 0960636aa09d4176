/** Actions of owners on a work item: hold, release, close, cancel, resume. Each is one message to the item. */

import { digestOf } from '../../machines/digest.ts'
import {
  cancelItemBody,
  closeItemBody,
  operateBody,
  type ResumeItem,
  resumeItemBody,
  workItemDocument,
} from '../../machines/documents/work-item.ts'
import type { MessageBody, SnapshotOf } from '../../machines/machine.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import { lastingOf } from '../../machines/work-item/moves.ts'
import type { Taken } from '../../runtime/api.ts'
import { newSpanId, newTraceId } from '../../runtime/entities/trace-ids.ts'
import { holding } from '../holding.ts'
import { IDEMPOTENCY_HEADER, keyedPlace, readIdempotencyKey } from '../idempotency.ts'
import { located, markCursor, onReply } from '../replies.ts'
import { type Move, type Moved, moveRoute } from '../resources/moves.ts'
import { activeProject } from '../resources/projects.ts'
import { builtUponBy, visibleWorkItem, workItemDocumentOf } from '../resources/work-item-answers.ts'
import type { Route, ServiceContext } from '../route.ts'
import { submittedTrace } from '../traceparent.ts'
import type { Exchange } from '../wire/exchange.ts'
import { dependenciesExist } from './work-items.ts'

const AREA = 'work items'
const one = { description: 'The item.', schema: workItemDocument }

type Item = SnapshotOf<WorkItemContext>

const items: Moved<Item> = {
  path: '/api/work-items/:id',
  noun: 'WorkItem',
  area: AREA,
  answer: one,
  find: visibleWorkItem,
  refOf: ({ context }) => ({ kind: 'work_item', id: context.id }),
  documentOf: (service, { principal }, item) => workItemDocumentOf(service, principal, item),
}

const moves: readonly Move<Item>[] = [
  {
    name: 'hold',
    summary: 'Hold a queued item: the scheduler leaves it alone until it is released.',
    body: { schema: operateBody, optional: true },
  },
  {
    name: 'release',
    summary: 'Release a held item, or one blocked by a dependency, back to the queue.',
    body: { schema: operateBody, optional: true },
    more: releaseOf,
  },
  {
    name: 'close',
    summary: 'Close a preserved, failed or undecided item: nothing more is owed.',
    body: { schema: closeItemBody },
  },
  {
    name: 'cancel',
    summary: 'Cancel an item: at once while it waits; a running one once its run has ended.',
    body: { schema: cancelItemBody, optional: true },
  },
]

/** By the scheduler's rules, why the item will wait once released, and which dependencies it need not wait for. */
function releaseOf({ scheduler }: ServiceContext, { context }: Item): object {
  const unlandable = scheduler.unlandable(context.depends_on)
  const depends_on = context.depends_on.filter((id) => !unlandable.includes(id))
  return { unlandable, reason: scheduler.reasonFor({ ...context, depends_on }) }
}

export function workItemMoveRoutes(service: ServiceContext): readonly Route[] {
  return [...moves.map((move) => moveRoute(service, items, move)), resumeRoute(service)]
}

function resumeRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/work-items/:id/resume',
    operation: 'resumeWorkItem',
    area: AREA,
    summary: 'Resume preserved work with a new item that starts from its ref. When that lands, this one has landed.',
    description: 'Refused for work that a campaign builds upon (`built_upon_by`): it would be done twice.',
    access: { right: 'work.operate' },
    body: { schema: resumeItemBody, optional: true },
    headers: [IDEMPOTENCY_HEADER, 'traceparent'],
    answers: {
      201: located({ ...one, description: 'The new item, which continues the work.' }),
      200: {
        ...one,
        description: 'The item created earlier with this key.',
        headers: { 'Idempotent-Replay': '`true`' },
      },
    },
    problems: ['not_found', 'illegal_move', 'unknown_work_item', 'project_archived', 'idempotency_key_reused'],
    handle: (exchange) => resume(service, exchange),
  }
}

/**
 * The preserved item's own step creates the child, so that it is created exactly once. The same message is then sent to
 * the child only to get its answer.
 */
function resume(service: ServiceContext, exchange: Exchange): void {
  const { runtime, scheduler } = service
  const item = visibleWorkItem(service, exchange)
  const key = readIdempotencyKey(exchange)
  if (item === undefined || !key.ok) return
  const { id, isMade, ...kept } = keyedPlace(runtime, exchange, key.key, 'work_item', 'wi')
  if (!isMade && !mayGoOn(service, exchange, item)) return
  const child = { ...childOf(service, exchange, item.context, id), ...kept }
  const message = { type: 'resume', by: exchange.by, child } as MessageBody
  holding(scheduler.expect((exchange.body as ResumeItem).depends_on ?? []), (until) => {
    const resumed = onReply(exchange, ({ repeat }) => {
      const made = onReply(exchange, (taken) => {
        if (repeat === undefined) answerResumed(service, exchange, taken)
        else answerReplay(service, exchange, taken.snapshot)
      })
      runtime.ask({ kind: 'work_item', id }, { ...child }, until(made))
    })
    runtime.ask({ kind: 'work_item', id: item.context.id }, message, until(resumed))
  })
}

/** Conditions that only a new item must meet. Returns false if a problem was answered. */
function mayGoOn(service: ServiceContext, exchange: Exchange, item: Item): boolean {
  const { context, value: state } = item
  const campaign = builtUponBy(service, item)
  if (campaign !== undefined) {
    const ways =
      'Close it if its work is not wanted; to continue by hand, resume the campaign with `from_trunk`, or cancel it.'
    exchange.problem(
      'illegal_move',
      `The campaign ${campaign} builds upon it, and the work would be done twice. ${ways}`,
      {
        state,
      },
    )
    return false
  }
  return activeProject(service, exchange, context.project_id) !== undefined && dependenciesExist(service, exchange)
}

function answerReplay(service: ServiceContext, exchange: Exchange, snapshot: SnapshotOf<any>): void {
  markCursor(service, exchange)
  exchange.setHeader('Idempotent-Replay', 'true')
  exchange.answer(200, workItemDocumentOf(service, exchange.principal, snapshot))
}

function answerResumed(service: ServiceContext, exchange: Exchange, { snapshot, sequence }: Taken): void {
  markCursor(service, exchange, sequence)
  exchange.setHeader('Location', `/api/work-items/${snapshot.context.id}`)
  exchange.answer(201, workItemDocumentOf(service, exchange.principal, snapshot))
}

function childOf(
  { runtime, scheduler }: ServiceContext,
  exchange: Exchange,
  { id: parent, project, project_id, asked, disposition }: WorkItemContext,
  id: string,
): MessageBody {
  const { objective = asked.objective, depends_on = [], not_before } = exchange.body as ResumeItem
  const { by } = exchange
  const base_ref = disposition?.preservation_ref
  const wanted = {
    ...lastingOf(asked),
    objective,
    kind: 'task',
    lane: 'interactive',
    origin: by.origin!,
    source: { kind: 'work_item', ref: parent },
    resumes: parent,
    submitted_by: by,
    ...submittedTrace(exchange.header('traceparent')),
    ...(base_ref === undefined ? {} : { base_ref }),
    ...(not_before === undefined ? {} : { not_before }),
  } as WorkItemContext['asked']
  return {
    type: 'create',
    by,
    ...wanted,
    id,
    project,
    project_id,
    depends_on,
    reason: scheduler.reasonFor({ id, project, project_id, asked: wanted, depends_on }),
    trace_id: newTraceId(runtime.platform),
    span_id: newSpanId(runtime.platform),
    fingerprint: digestOf(exchange.body),
  } as MessageBody
}
