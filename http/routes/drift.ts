/**
 * Drift: for each record that guides runs, whether the code still agrees with it. Read from the observations that the
 * records keep, most urgent first; each page comes from ranges of one index.
 */
import {
  classifyBody,
  DRIFT_SEVERITIES,
  DRIFT_STATUSES,
  type DriftSeverity,
  type DriftStatus,
  driftChangeDocument,
  driftDocument,
} from '../../machines/documents/drift.ts'
import { driftHistoryOf, driftOf } from '../../machines/drift/document.ts'
import { PROBLEMS } from '../../machines/drift/problems.ts'
import { repairBrief } from '../../machines/drift/repair-brief.ts'
import { isGuiding } from '../../machines/intent-record.ts'
import { stringEnum, Type } from '../../machines/schema.ts'
import type { MessageBody, Reply, Taken } from '../../runtime/api.ts'
import { utcNow } from '../clock.ts'
import { type HoldUntil, holding } from '../holding.ts'
import { createKeyed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { KeyedMutex } from '../keyed-mutex.ts'
import { listAnswer, listQuery } from '../lists.ts'
import { located, markCreated, markCursor, notFound, onReply } from '../replies.ts'
import { answerBrief, oneBrief } from '../resources/formation-briefs.ts'
import { findRecord, type RecordSnapshot, reviewLiesAhead, tellRecord } from '../resources/intent-records.ts'
import { activeProject, visibleProject } from '../resources/projects.ts'
import type { Route, ServiceContext } from '../route.ts'
import { answerSections, type IndexSection } from '../sections.ts'
import type { Exchange } from '../wire/exchange.ts'
import { both } from './intent-records.ts'

const AREA = 'drift'
const RECORD = '/api/projects/:id/drift/:record'
const one = { description: 'The drift of the record.', schema: driftDocument }

export function driftRoutes(service: ServiceContext): readonly Route[] {
  return [
    ...both('/projects/:id/drift').map((path) => listRoute(service, path)),
    readRoute(service),
    historyRoute(service),
    classifyRoute(service),
    repairRoute(service),
  ]
}

function listRoute(service: ServiceContext, path: string): Route {
  return {
    method: 'GET',
    path,
    operation: 'listDrift',
    area: AREA,
    summary: 'List the drift of a project: the status of each accepted or active record, most pressing first.',
    access: { right: 'view' },
    query: listQuery({
      status: Type.Optional(stringEnum(DRIFT_STATUSES, { description: 'Only these statuses.' })),
      severity: Type.Optional(stringEnum(DRIFT_SEVERITIES, { description: 'Only these severities.' })),
    }),
    answers: {
      200: listAnswer(
        driftDocument,
        'The drift of each record.',
        'Ordered by status. Contradicted, drifted and threatened records: latest start first; unobserved and holding records: latest to become stale first; the order of stale records is unspecified.',
      ),
    },
    problems: ['not_found'],
    handle: (exchange) => {
      const project = visibleProject(service, exchange, exchange.params[0]!)
      if (project === undefined) return
      const { status, severity } = exchange.query as { status?: DriftStatus; severity?: DriftSeverity }
      const asked = DRIFT_STATUSES.filter((one) => status === undefined || one === status)
      answerSections(service, exchange, (at) =>
        asked.flatMap((one) => sectionsOf(project.context.key, one, at, severity)),
      )
    },
  }
}

/**
 * The index ranges for a status. A record is indexed under its status apart from time: a quiet one counts as stale once
 * the time in its row's order has passed.
 */
function sectionsOf(project: string, status: DriftStatus, at: string, severity?: DriftSeverity): IndexSection[] {
  const list = (value: DriftStatus, bounds: Pick<IndexSection, 'below' | 'downTo'> = {}): IndexSection => ({
    name: `${status}/${value}`,
    kind: 'intent_record',
    index: 'drift',
    value: `${project}/${value}`,
    ...bounds,
    ...(severity === undefined ? {} : { matches: (snapshot) => driftOf(snapshot, at).severity === severity }),
    document: (snapshot) => driftOf(snapshot, at),
  })
  const border = new Date(Date.parse(at) + 1).toISOString()
  switch (status) {
    case 'stale':
      return [list('stale'), list('holding', { below: border }), list('unobserved', { below: border })]
    case 'unobserved':
    case 'holding':
      return [list(status, { downTo: border })]
    default:
      return [list(status)]
  }
}

/** The record that the path names, if it exists for the caller. Returns undefined if 404 was answered. */
function namedRecord(service: ServiceContext, exchange: Exchange): RecordSnapshot | undefined {
  const project = visibleProject(service, exchange, exchange.params[0]!)
  if (project === undefined) return undefined
  const named = exchange.params[1]!
  const record = findRecord(service, named, project.context.id)
  if (record === undefined) notFound(exchange, 'intent record', named)
  return record
}

/** The same, if the record guides runs. Returns undefined if a problem was answered. */
function guidingRecord(service: ServiceContext, exchange: Exchange): RecordSnapshot | undefined {
  const record = namedRecord(service, exchange)
  return record !== undefined && guidesRuns(exchange, record) ? record : undefined
}

/** Returns false if a problem was answered. */
function guidesRuns(exchange: Exchange, { value: state }: RecordSnapshot): boolean {
  if (isGuiding(state)) return true
  exchange.problem('illegal_move', `The record is ${state}: it guides no runs, so it has no drift.`, { state })
  return false
}

function readRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: RECORD,
    operation: 'readDrift',
    area: AREA,
    summary: 'Read the drift of one record.',
    access: { right: 'view' },
    answers: { 200: one },
    problems: ['not_found', 'illegal_move'],
    handle: (exchange) => {
      const record = guidingRecord(service, exchange)
      if (record === undefined) return
      markCursor(service, exchange)
      exchange.answer(200, driftOf(record, utcNow(service)))
    },
  }
}

function historyRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: `${RECORD}/history`,
    operation: 'readDriftHistory',
    area: AREA,
    summary: 'Read the history of a record’s drift, newest first: its last hundred changes.',
    access: { right: 'view' },
    answers: {
      200: {
        description: 'Changes, newest first; older ones are in the event log.',
        schema: Type.Object(
          { items: Type.Array(driftChangeDocument, { description: 'Newest first.' }) },
          { title: 'DriftHistory' },
        ),
      },
    },
    problems: ['not_found'],
    handle: (exchange) => {
      const record = namedRecord(service, exchange)
      if (record === undefined) return
      markCursor(service, exchange)
      exchange.answer(200, { items: driftHistoryOf(record, utcNow(service)) })
    },
  }
}

function classifyRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: `${RECORD}/classify`,
    operation: 'classifyDrift',
    area: AREA,
    summary: 'Classify a drift as real, an allowed exception until a date, or an obsolete intent.',
    description:
      'Kept with its reason until it is resolved: a real drift by its evidence passing again, an ' +
      'exception by the end of the drift, an obsolete intent by a new version of the record. `none` removes it.',
    access: { right: 'drift.classify' },
    body: { schema: classifyBody },
    answers: { 200: one },
    problems: ['not_found', 'illegal_move'],
    handle: (exchange) => {
      const record = guidingRecord(service, exchange)
      if (record === undefined) return
      const { review_at } = exchange.body
      const review = { what: 'an exception', review_at, pointer: '/review_at' }
      if (review_at !== undefined && !reviewLiesAhead(exchange, review, utcNow(service))) return
      tellRecord(service, exchange, record, { type: 'classify', ...exchange.body }, (taken) => {
        markCursor(service, exchange, taken.sequence)
        exchange.answer(200, driftOf(taken.snapshot, utcNow(service)))
      })
    },
  }
}

function repairRoute(service: ServiceContext): Route {
  const underWay = new KeyedMutex()
  return {
    method: 'POST',
    path: `${RECORD}/repair-brief`,
    operation: 'draftDriftRepairBrief',
    area: AREA,
    summary: 'Draft a formation brief that brings the code back in line with the record.',
    description:
      'A draft like any other: nothing runs before it is reviewed and approved. A drift has one such brief at a time; archive it to draft another.',
    access: { right: 'intent.write' },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      201: located({ ...oneBrief, description: 'The brief: a draft.' }),
      200: {
        ...oneBrief,
        description: 'The brief drafted earlier.',
        headers: { ...oneBrief.headers, 'Idempotent-Replay': '`true`' },
      },
    },
    problems: ['not_found', 'illegal_move', 'project_archived', 'idempotency_key_reused'],
    handle: (exchange) => repair(service, exchange, underWay),
  }
}

function repair(service: ServiceContext, exchange: Exchange, underWay: KeyedMutex): void {
  const record = namedRecord(service, exchange)
  const idempotency = readIdempotencyKey(exchange)
  if (record === undefined || !idempotency.ok) return
  underWay.enter(record.context.id, exchange, (leave) => {
    holding(leave, (until) => {
      const now = namedRecord(service, exchange)
      if (now !== undefined) draftRepair(service, exchange, now, idempotency.key, until)
    })
  })
}

/**
 * Drafts a repair brief, or finds the existing one. `until` holds the record until it has been told of its brief, or
 * will not be: a request let in before that would draft another.
 */
function draftRepair(
  service: ServiceContext,
  exchange: Exchange,
  record: RecordSnapshot,
  given: string | undefined,
  until: HoldUntil,
): void {
  let draft = given === undefined ? draftOf(service, exchange, record) : undefined
  if (given === undefined && draft === undefined) return
  const make = (): MessageBody | undefined => {
    draft ??= draftOf(service, exchange, record)
    return draft?.message
  }
  // After a crash before the record was told of its brief, a retry creates the same brief and tells the record.
  const key = given ?? (draft?.twin === undefined ? draft?.key : undefined)
  const create = { kind: 'formation_brief', prefix: 'brief', body: {}, make, twin: () => draft?.twin } as const
  const refused = onReply(exchange, () => {})
  const reply: Reply = (answer) => {
    if (answer.ok) noteRepair(service, exchange, record, answer, until)
    else refused(answer)
  }
  const over = until(() => {})
  createKeyed(service, exchange, key, create, reply, over)
}

interface Draft {
  readonly message: MessageBody
  /** The brief drafted for this drift before, unless it was archived: an archived one is replaced. */
  readonly twin?: string
  /** Identifies the drift. */
  readonly key: string
}

/** Returns undefined if there is nothing to repair or the project takes no work; a problem was answered. */
function draftOf(service: ServiceContext, exchange: Exchange, record: RecordSnapshot): Draft | undefined {
  const { project, project_id } = record.context
  if (!guidesRuns(exchange, record)) return undefined
  const drift = driftOf(record, utcNow(service))
  if (!PROBLEMS.has(drift.status)) {
    const { status } = drift
    exchange.problem('illegal_move', `There is nothing to repair: the drift is ${status}.`, { state: status })
    return undefined
  }
  if (activeProject(service, exchange, project) === undefined) return undefined
  const id = drift.repair_brief_id
  const known = id === undefined ? undefined : service.runtime.read({ kind: 'formation_brief', id })
  const after = known === undefined ? '' : ` after ${id}`
  const sections = repairBrief(record.context, drift)
  return {
    message: { type: 'create', by: exchange.by, project, project_id, sections } as MessageBody,
    ...(known === undefined || known.value === 'archived' ? {} : { twin: known.context.id }),
    key: `repair ${drift.status} since ${drift.since}${after}`,
  }
}

/**
 * Tells the record which brief repairs it, even if the client has gone. For a repeated request the record is told again
 * only if the first message may have been lost in a crash: not if the brief was archived, or belongs to an earlier
 * drift.
 */
function noteRepair(
  service: ServiceContext,
  exchange: Exchange,
  record: RecordSnapshot,
  taken: Taken,
  until: HoldUntil,
): void {
  const { snapshot, repeat } = taken
  const { id: formation_brief_id, created_at } = snapshot.context as {
    readonly id: string
    readonly created_at: string
  }
  const answered = (): void => {
    const status = markCreated(exchange, repeat, `/api/formation-briefs/${formation_brief_id}`)
    answerBrief(service, exchange, snapshot, undefined, status)
  }
  const isOver =
    snapshot.value === 'archived' || !isGuiding(record.value) || created_at < driftOf(record, utcNow(service)).since
  if (repeat !== undefined && isOver) exchange.later(answered)()
  else tellRecord(service, exchange, record, { type: 'repair_drafted', formation_brief_id }, answered, until)
}
