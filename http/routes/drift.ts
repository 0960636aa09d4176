/**
 * Drift: for each record that guides runs, whether the code still is what it says. Read from what the records keep of
 * their observations, most pressing first, each page from ranges of one index.
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
import { formationBriefDocument } from '../../machines/documents/formation-brief.ts'
import { driftHistoryOf, driftOf } from '../../machines/drift/document.ts'
import { repairBrief } from '../../machines/drift/repair-brief.ts'
import { utc } from '../../machines/drift/state.ts'
import { PROBLEMS } from '../../machines/drift/status.ts'
import { modules } from '../../machines/index.ts'
import { isGuiding } from '../../machines/intent-record.ts'
import { stringEnum, Type } from '../../machines/schema.ts'
import type { MessageBody, Taken } from '../../runtime/api.ts'
import { utcNow } from '../clock.ts'
import type { Exchange } from '../exchange.ts'
import { createKeyed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { findRecord, type RecordSnapshot, tellRecord } from '../intent-records.ts'
import { listAnswer, listQuery } from '../lists.ts'
import { located, markCursor, notFound, visibleProject, whenHeard } from '../replies.ts'
import type { Route, ServiceContext } from '../route.ts'
import { answerSections, type IndexSection } from '../sections.ts'
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
    area: AREA,
    summary: 'Read the drift of a project: each accepted or active record in a word, most pressing first.',
    access: { right: 'view' },
    query: listQuery({
      status: Type.Optional(stringEnum(DRIFT_STATUSES, { description: 'Only these.' })),
      severity: Type.Optional(stringEnum(DRIFT_SEVERITIES, { description: 'Only these.' })),
    }),
    answers: { 200: listAnswer(driftDocument, 'In the order of the statuses; within one, the newest first.') },
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

/** A record stands under its status but for time: what is quiet becomes stale when the order of its row has passed. */
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

/** The record that the path names, if it exists for the asker; else 404 is answered. */
function namedRecord(service: ServiceContext, exchange: Exchange): RecordSnapshot | undefined {
  const project = visibleProject(service, exchange, exchange.params[0]!)
  if (project === undefined) return undefined
  const named = exchange.params[1]!
  const record = findRecord(service, named, project.context.id)
  if (record === undefined) notFound(exchange, 'intent record', named)
  return record
}

/** The same, if it guides runs; else 409 is answered. */
function guidingRecord(service: ServiceContext, exchange: Exchange): RecordSnapshot | undefined {
  const record = namedRecord(service, exchange)
  if (record === undefined || isGuiding(record.value)) return record
  const { value: state } = record
  exchange.problem('illegal_move', `A record that is ${state} guides no runs: it has no drift.`, { state })
  return undefined
}

function readRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: RECORD,
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
    area: AREA,
    summary: 'Read what has become of the drift of a record, newest first: its last hundred changes.',
    access: { right: 'view' },
    answers: {
      200: {
        description: 'Changes, newest first; older ones are events of the log.',
        schema: Type.Object({ items: Type.Array(driftChangeDocument, { description: 'Newest first.' }) }),
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
    area: AREA,
    summary: 'Say what a drift is: real, an allowed exception until a date, or an obsolete intent.',
    description:
      'Kept with its reason, and ended by what it waits for: a real drift by the evidence that showed it passing anew, an ' +
      'exception by the end of the drift, an obsolete intent by a new version of the record. `none` takes it back.',
    access: { right: 'drift.classify' },
    body: { schema: classifyBody },
    answers: { 200: one },
    problems: ['not_found', 'illegal_move'],
    handle: (exchange) => {
      const record = guidingRecord(service, exchange)
      if (record === undefined) return
      const { review_at } = exchange.body
      if (review_at !== undefined && (utc(review_at) ?? '') <= utcNow(service)) {
        exchange.problem('invalid_body', 'The review of an exception lies ahead.', {
          errors: [{ pointer: '/review_at', detail: `must be a time to come, got ${review_at}` }],
        })
        return
      }
      tellRecord(service, exchange, record, { type: 'classify', ...exchange.body }, (taken) => {
        markCursor(service, exchange, taken.sequence)
        exchange.answer(200, driftOf(taken.snapshot, utcNow(service)))
      })
    },
  }
}

function repairRoute(service: ServiceContext): Route {
  const brief = { description: 'The brief: a draft.', schema: formationBriefDocument }
  return {
    method: 'POST',
    path: `${RECORD}/repair-brief`,
    area: AREA,
    summary: 'Draft a formation brief that brings the code back to what the record says.',
    description:
      'A draft like any other: nothing runs before it is reviewed and approved. One drift has one of them, and another once that is archived.',
    access: { right: 'intent.write' },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      201: located(brief),
      200: { ...brief, description: 'The brief that was drafted before.', headers: { 'Idempotent-Replay': '`true`' } },
    },
    problems: ['not_found', 'illegal_move', 'project_archived', 'idempotency_key_reused'],
    handle: (exchange) => repair(service, exchange),
  }
}

function repair(service: ServiceContext, exchange: Exchange): void {
  const record = guidingRecord(service, exchange)
  if (record === undefined) return
  const { project, project_id } = record.context
  const drift = driftOf(record, utcNow(service))
  if (!PROBLEMS.has(drift.status)) {
    exchange.problem('illegal_move', `There is nothing to repair: it is ${drift.status}.`, {
      state: drift.status,
    })
    return
  }
  if (service.runtime.read({ kind: 'project', id: project_id })?.value !== 'active') {
    exchange.problem('project_archived', `The project ${project} is archived.`)
    return
  }
  const id = drift.repair_brief_id
  const known = id === undefined ? undefined : service.runtime.read({ kind: 'formation_brief', id })
  // One that was given up stands in nobody's way.
  if (known !== undefined && known.value !== 'archived') {
    answerBrief(service, exchange, known, 200)
    return
  }
  const idempotency = readIdempotencyKey(exchange)
  if (!idempotency.ok) return
  const sections = repairBrief(record.context, drift)
  const message = { type: 'create', by: exchange.by, project, project_id, sections } as MessageBody
  // A crash before the record hears of its brief: asked again, the same brief is made, and the record told.
  const after = known === undefined ? '' : ` after ${id}`
  const key = idempotency.key ?? `repair ${drift.status} since ${drift.since}${after}`
  const create = { kind: 'formation_brief', prefix: 'brief', message, body: {} } as const
  const drafted = whenHeard(exchange, (taken) => {
    const told = { type: 'repair_drafted', formation_brief_id: taken.snapshot.context.id }
    tellRecord(service, exchange, record, told, () => answerDrafted(service, exchange, taken))
  })
  createKeyed(service.runtime, exchange, key, create, drafted)
}

function answerDrafted(service: ServiceContext, exchange: Exchange, { snapshot, repeat }: Taken): void {
  answerBrief(service, exchange, snapshot, repeat === 'replay' ? 200 : 201)
}

function answerBrief(service: ServiceContext, exchange: Exchange, brief: Taken['snapshot'], status: 200 | 201): void {
  markCursor(service, exchange)
  if (status === 200) exchange.setHeader('Idempotent-Replay', 'true')
  else exchange.setHeader('Location', `/api/formation-briefs/${brief.context.id}`)
  exchange.answer(status, modules.formation_brief.document(brief))
}
