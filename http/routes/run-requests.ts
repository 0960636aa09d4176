/** Run requests: created, listed, read, cancelled, requeued, failed, approved. */
import {
  cancelBody,
  cancelManyBody,
  operatorFailBody,
  type RunRequestCreate,
  runRequestCreateBody,
  runRequestDocument,
  runRequestShown,
} from '../../machines/documents/run-request.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { isCancellable } from '../../machines/run-request/rules.ts'
import { isSettledRun, RUN_REQUEST_STATES } from '../../machines/run-request/states.ts'
import { Type } from '../../machines/schema.ts'
import type { ListRequest, ListResult, MessageBody, SnapshotOf, Taken } from '../../runtime/api.ts'
import { whyNotApprovable } from '../../runtime/entities/brief-runs.ts'
import { createRunRequest } from '../../runtime/entities/run-requests.ts'
import { turn } from '../../storage/platform.ts'
import { mayDo } from '../access.ts'
import { IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { answerList, isAmong, listAnswer, listQuery, projectFilter, projectList, stateFilter } from '../lists.ts'
import type { ProblemCode } from '../problems.ts'
import { askActor, located, markCursor, onCreated, refuse } from '../replies.ts'
import { redactAssessment } from '../resources/initiative-visibility.ts'
import { statedProject, visibleProject } from '../resources/projects.ts'
import { runRequestDocumentOf, runRequestTextOf, visibleRunRequest } from '../resources/run-request-answers.ts'
import type { Route, ServiceContext } from '../route.ts'
import { parseTraceparent } from '../traceparent.ts'
import { type Exchange, PREFER_HEADER } from '../wire/exchange.ts'

const stateParameter = stateFilter(RUN_REQUEST_STATES, 'Only run requests in one of these states.')
const name = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 128, description }))
const runnerFilter = name('Only run requests whose current attempt this runner holds or held.')
const labelFilter = name('Only run requests that ask for this label.')

const AREA = 'run requests'
const one = { description: 'The run request.', schema: runRequestDocument }
const page = listAnswer(runRequestDocument, 'Run requests, newest first.')

export function runRequestRoutes(service: ServiceContext): readonly Route[] {
  return [createRoute(service), ...readRoutes(service), cancelManyRoute(service), ...moveRoutes(service)]
}

function createRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/projects/:id/run-requests',
    operation: 'createRunRequest',
    area: AREA,
    summary: 'Create a run request, to be handed to one runner.',
    description:
      'With throttle `full` it waits for an approval. An idempotency key (header or field) is scoped to the ' +
      'project and kept after settlement as long as the service keeps keys (24 h unless it is set otherwise); ' +
      'without one, a key derived from the project, repository and revision, brief, entry event, payload, throttle, access, ' +
      'lane, labels, runner and caller prevents duplicates: the request under way is returned (200), and so is one at throttle ' +
      '`full` that has settled, unless `again` is set.',
    access: { right: 'work.submit' },
    body: { schema: runRequestCreateBody },
    headers: [IDEMPOTENCY_HEADER, 'traceparent', PREFER_HEADER],
    answers: {
      201: located({ description: 'Made.', schema: runRequestShown }),
      200: {
        description: 'The existing request with this key.',
        schema: runRequestShown,
        headers: { 'Idempotent-Replay': '`true`' },
      },
    },
    problems: [
      'not_found',
      'forbidden',
      'project_archived',
      'idempotency_key_reused',
      'idempotency_key_conflict',
      'unknown_brief',
      'brief_digest_mismatch',
      'brief_not_compiled',
      'brief_archived',
      'brief_busy',
      'reapproval_required',
      'brief_incomplete',
      'engine_incapable',
      'trace_in_use',
    ],
    handle: (exchange) => create(service, exchange),
  }
}

function create(service: ServiceContext, exchange: Exchange): void {
  const project = visibleProject(service, exchange, exchange.params[0]!)
  if (project === undefined) return
  const body = exchange.body as RunRequestCreate
  const { principal } = exchange
  if ((body.priority ?? 0) > 0 && !mayDo(principal, 'work.operate')) {
    exchange.problem('forbidden', 'A priority above 0 needs the right work.operate.')
    return
  }
  const key = readIdempotencyKey(exchange, body.idempotency_key)
  if (!key.ok) return
  const traceParent = parseTraceparent(exchange.header('traceparent'))
  const { capabilities } = service
  const visible = principal.projects
  const order = { project, body, idempotencyKey: key.key, by: exchange.by, traceParent, capabilities, visible }
  const pathOf = ({ context }: SnapshotOf<any>): string => `/api/run-requests/${context.id}`
  const textOf = (snapshot: SnapshotOf<any>): string => runRequestTextOf(service, exchange, snapshot)
  createRunRequest(service.runtime, order, onCreated(service, exchange, pathOf, textOf))
}

function readRoutes(service: ServiceContext): readonly Route[] {
  const documentFor =
    ({ principal }: Exchange) =>
    (snapshot: SnapshotOf<any>): object =>
      redactAssessment(service, principal, runRequestDocumentOf(service, snapshot, principal))
  return [
    {
      method: 'GET',
      path: '/api/run-requests',
      operation: 'listRunRequests',
      area: AREA,
      summary: 'List run requests by project, state, runner, label.',
      access: { right: 'view' },
      query: listQuery({ project: projectFilter, state: stateParameter, runner: runnerFilter, label: labelFilter }),
      answers: { 200: page },
      problems: ['not_found'],
      handle: (exchange) => {
        const filter = filterOf(service, exchange, exchange.query)
        if (filter !== undefined) answerList(service, exchange, filter, documentFor(exchange))
      },
    },
    {
      method: 'GET',
      path: '/api/projects/:id/run-requests',
      operation: 'listProjectRunRequests',
      area: AREA,
      summary: 'List the run requests of a project.',
      access: { right: 'view' },
      query: listQuery({ state: stateParameter, runner: runnerFilter, label: labelFilter }),
      answers: { 200: page },
      problems: ['not_found'],
      handle: (exchange) => {
        const filter = filterOf(service, exchange, { ...exchange.query, project: exchange.params[0]! })
        if (filter !== undefined) answerList(service, exchange, filter, documentFor(exchange))
      },
    },
    {
      method: 'GET',
      path: '/api/run-requests/:id',
      operation: 'readRunRequest',
      area: AREA,
      summary: 'Read a run request, including why it waits.',
      access: { right: 'view' },
      answers: { 200: one },
      problems: ['not_found'],
      handle: (exchange) => {
        const snapshot = visibleRunRequest(service, exchange)
        if (snapshot === undefined) return
        markCursor(service, exchange)
        const { principal } = exchange
        exchange.answer(200, redactAssessment(service, principal, runRequestDocumentOf(service, snapshot, principal)))
      },
    },
  ]
}

interface Filter {
  readonly project?: string
  readonly state?: readonly string[]
  readonly runner?: string
  readonly label?: string
}

function filterOf(
  service: ServiceContext,
  exchange: Exchange,
  { project, state, runner, label }: Filter,
): Omit<ListRequest, 'limit' | 'after'> | undefined {
  return projectList(service, exchange, {
    kind: 'run_request',
    project,
    indexes: (key) => [
      ['runner', runner],
      // Settled requests accumulate; those in other states are few.
      ['state', state?.some(isSettledRun) === false ? state : undefined],
      ['label', label],
      ['project', key],
      ['state', state],
    ],
    matches: ({ value, context }: SnapshotOf<RunRequestContext>) =>
      isAmong(state, value) &&
      (runner === undefined || context.offered_to === runner) &&
      (label === undefined || context.asked.labels.includes(label)),
  })
}

interface Move {
  readonly name: string
  readonly right: 'work.operate' | 'approve.full' | 'work.submit'
  readonly summary: string
  readonly description?: string
  readonly body?: Route['body']
  readonly problems?: readonly ProblemCode[]
  /** Why it cannot be done now, for conditions that its machine cannot check. */
  readonly whyNot?: typeof whyNotApprovable
}

const moves: readonly Move[] = [
  {
    name: 'cancel',
    right: 'work.operate',
    summary: 'Cancel a run request: at once while it waits; if a runner has it, the runner is told to stop.',
    body: { schema: cancelBody, optional: true },
  },
  {
    name: 'requeue',
    right: 'work.operate',
    summary:
      'Requeue a lost run request: it is handed out again as its next attempt. One that waits for its provider waits no longer.',
  },
  {
    name: 'fail',
    right: 'work.operate',
    summary: 'Give up a lost run request: it fails.',
    body: { schema: operatorFailBody },
  },
  {
    name: 'approve',
    right: 'approve.full',
    summary: 'Approve a run request with throttle `full`, so that it can be handed out.',
    description:
      'A request that follows a brief can be approved only while an approval of that brief holds, for either throttle, as for ' +
      'a new request.',
    problems: ['reapproval_required', 'brief_incomplete'],
    whyNot: whyNotApprovable,
  },
]

function moveRoutes(service: ServiceContext): readonly Route[] {
  return moves.map((move) => ({
    method: 'POST',
    path: `/api/run-requests/:id/${move.name}`,
    operation: `${move.name}RunRequest`,
    area: AREA,
    summary: move.summary,
    access: { right: move.right },
    ...(move.body === undefined ? {} : { body: move.body }),
    answers: { 200: one },
    ...(move.description === undefined ? {} : { description: move.description }),
    problems: ['not_found', 'illegal_move', ...(move.problems ?? [])] as const,
    handle: (exchange: Exchange) => {
      const snapshot = visibleRunRequest(service, exchange)
      if (snapshot === undefined) return
      const whyNot = move.whyNot?.(service.runtime, snapshot)
      if (whyNot !== undefined) return refuse(exchange, whyNot)
      const message = { type: move.name, by: exchange.by, ...exchange.body } as MessageBody
      askActor(service, exchange, { kind: 'run_request', id: snapshot.context.id }, message, (answer) => {
        const { principal } = exchange
        const shown = runRequestDocumentOf(service, answer.snapshot, principal)
        exchange.answer(200, redactAssessment(service, principal, shown))
      })
    },
  }))
}

/** States by which a filter names requests that no runner has begun. */
const UNBEGUN_STATES: ReadonlySet<unknown> = new Set(['queued', 'offered', 'accepted'])

/** Requests that one `cancel` by filter reaches; the answer's `next` says whether there are more. */
const CANCEL_PER_POST_MAX = 500

const cancelManyAnswer = Type.Object(
  {
    cancelled: Type.Array(Type.String(), {
      description: 'Ids of the run requests that were cancelled, or whose runner was told to stop.',
    }),
    refused: Type.Array(
      Type.Object(
        { id: Type.String(), code: Type.String(), detail: Type.String() },
        { description: 'A run request that was not cancelled.' },
      ),
    ),
    more: Type.Boolean({ description: 'true: post again to continue.' }),
  },
  { title: 'RunCancelManyAnswer' },
)

function cancelManyRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/run-requests/cancel',
    operation: 'cancelRunRequests',
    area: AREA,
    summary: `Cancel the unsettled run requests that match every given filter, up to ${CANCEL_PER_POST_MAX} per post.`,
    access: { right: 'work.operate' },
    body: { schema: cancelManyBody },
    answers: { 200: { description: 'The outcome of each.', schema: cancelManyAnswer } },
    problems: ['unknown_project', 'invalid_body'],
    handle: (exchange) => {
      exchange.await(cancelMany(service, exchange))
    },
  }
}

/**
 * The first page with any row: a page may consist of settled requests only, which are skipped. Other work goes on
 * between pages.
 */
async function firstOf({ runtime }: ServiceContext, exchange: Exchange, request: ListRequest): Promise<ListResult> {
  let page = await runtime.list(request)
  while (page.snapshots.length === 0 && page.next !== undefined && !exchange.done) {
    await turn(runtime.platform)
    page = await runtime.list({ ...request, after: page.next })
  }
  return page
}

async function cancelMany(service: ServiceContext, exchange: Exchange): Promise<void> {
  const { by } = exchange
  const { reason, discard_work, ...filter } = exchange.body
  if (Object.keys(filter).length === 0) {
    return exchange.problem('invalid_body', 'At least one filter is required: project, state, runner or label.', {
      errors: [{ pointer: '', detail: 'must name project, state, runner or label' }],
    })
  }
  const { state, ...rest } = filter
  if (rest.project !== undefined && statedProject(service, exchange, rest.project) === undefined) return
  const request = filterOf(service, exchange, { ...rest, ...(state === undefined ? {} : { state: [state] }) })
  if (request === undefined) return
  const details = {
    ...(reason === undefined ? {} : { reason }),
    ...(discard_work === undefined ? {} : { discard_work }),
    // One that begins after the list was made is no longer what the filter names.
    ...(UNBEGUN_STATES.has(state) ? { unless_begun: true } : {}),
  }
  const message = { type: 'cancel', by, ...details } as const
  const matches = (snapshot: SnapshotOf<any>): boolean => isCancellable(snapshot, message) && request.matches!(snapshot)
  const found = await firstOf(service, exchange, { ...request, matches, limit: CANCEL_PER_POST_MAX })
  const answers = await Promise.all(
    found.snapshots.map(async ({ context }) => ({
      id: context.id as string,
      answer: await service.runtime.askAsync({ kind: 'run_request', id: context.id }, message),
    })),
  )
  if (exchange.done) return
  const taken = answers.filter(({ answer }) => answer.ok)
  const refused = answers.flatMap(({ id, answer }) => (answer.ok ? [] : [{ id, ...answer.refusal }]))
  markCursor(service, exchange, Math.max(found.sequence, ...taken.map(({ answer }) => (answer as Taken).sequence)))
  exchange.answer(200, { cancelled: taken.map(({ id }) => id), refused, more: found.next !== undefined })
}
