/** Engine runs: what one attempt did inside the engine. Summaries and evidence are accepted in every state. */

import { digestOf } from '../../machines/digest.ts'
import {
  type EvidenceObservationsBody,
  engineRunDocument,
  evidenceObservationsBody,
  traceSummaryBody,
} from '../../machines/documents/engine-run.ts'
import { evidenceNumberOf, intentRecordIdOf, namesTwoRecords } from '../../machines/documents/observation.ts'
import type { EngineRunIdentity } from '../../machines/engine-run.ts'
import { deriveId, isId } from '../../machines/ids.ts'
import { modules } from '../../machines/index.ts'
import { utc } from '../../machines/instant.ts'
import type { IntentRecordContext } from '../../machines/intent-record/context.ts'
import type { MessageBody } from '../../runtime/api.ts'
import { engineRunAtHand, findEngineRun, type KnownEngineRun } from '../../runtime/entities/engine-runs.ts'
import { maySee } from '../access.ts'
import { utcNow } from '../clock.ts'
import { askActor, markCursor, notFound } from '../replies.ts'
import { reviewLiesAhead } from '../resources/intent-records.ts'
import { hasHeld } from '../resources/run-request-answers.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'engine runs'
const one = { description: 'The engine run, with its summary and its evidence.', schema: engineRunDocument }

export function engineRunRoutes(service: ServiceContext): readonly Route[] {
  return [readRoute(service), traceSummaryRoute(service), evidenceRoute(service)]
}

/** An observation as posted, with its id. */
type Identified = EvidenceObservationsBody['observations'][number] & { readonly id: string }

/** Calls `found` with the run that the path names, if it exists for the caller; else answers 404. */
function withEngineRun(service: ServiceContext, exchange: Exchange, found: (run: KnownEngineRun) => void): void {
  const id = exchange.params[0]!
  const go = (run: KnownEngineRun | undefined): void => {
    if (run !== undefined && mayReach(service, exchange, run.identity)) found(run)
    else notFound(exchange, 'engine run', id)
  }
  const isOne = isId('run', id)
  const atHand = isOne ? engineRunAtHand(service.runtime, id) : undefined
  if (!isOne || atHand !== undefined) {
    go(atHand)
    return
  }
  exchange.await(findEngineRun(service.runtime, id), go)
}

function mayReach(service: ServiceContext, { principal }: Exchange, run: EngineRunIdentity): boolean {
  if (principal.runnerId === undefined) return maySee(principal, run.project)
  if (run.runner_id === principal.runnerId) return true
  const request = service.runtime.read({ kind: 'run_request', id: run.run_request_id })
  return request !== undefined && hasHeld(request.context, principal.runnerId)
}

function readRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/engine-runs/:id',
    operation: 'readEngineRun',
    area: AREA,
    summary: 'Read an engine run, with its trace summary and evidence.',
    access: { right: 'view' },
    answers: { 200: one },
    problems: ['not_found'],
    handle: (exchange) =>
      withEngineRun(service, exchange, (run) => {
        markCursor(service, exchange)
        exchange.answer(200, run.document)
      }),
  }
}

function traceSummaryRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/engine-runs/:id/trace-summary',
    operation: 'recordTraceSummary',
    area: AREA,
    summary: 'Post the trace summary of an engine run; a later one replaces it.',
    description: 'It does not keep the lease of the run: send heartbeats beside it.',
    access: { right: 'runner', runner: 'holder' },
    body: { schema: traceSummaryBody },
    answers: { 200: one },
    problems: ['not_found'],
    handle: (exchange) => {
      const summary = exchange.body
      tell(service, exchange, { type: 'trace_summary', summary, digest: digestOf(summary) } as MessageBody)
    },
  }
}

function evidenceRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/engine-runs/:id/evidence-observations',
    operation: 'recordEvidenceObservations',
    area: AREA,
    summary: 'Post 1 to 100 evidence observations, all or nothing. One already recorded is not recorded twice.',
    description:
      'An observation may name evidence that the record has or had; for evidence it no longer has, it is recorded but says nothing about the current version. ' +
      'The review_at of a waiver must be later than its observation. Observations do not keep the lease of the run: send heartbeats beside them.',
    access: { right: 'runner', runner: 'holder' },
    body: { schema: evidenceObservationsBody },
    answers: { 200: one },
    problems: ['not_found', 'illegal_move', 'invalid_body'],
    handle: (exchange) => {
      const { observations } = exchange.body as EvidenceObservationsBody
      if (!nameOneRecordEach(exchange, observations)) return
      // The same observation of the same run is one: its id derives from its content.
      const identified = observations.map((seen) => ({
        id: deriveId('obs', 'observation', exchange.params[0]!, digestOf(seen)),
        ...seen,
      }))
      tell(service, exchange, { type: 'evidence', observations: identified } as MessageBody, (run) =>
        areTakeable(service, exchange, run, identified),
      )
    },
  }
}

/** Whether each observation names one record only. Returns false if a problem was answered. */
function nameOneRecordEach(exchange: Exchange, observations: EvidenceObservationsBody['observations']): boolean {
  const odd = observations.findIndex(namesTwoRecords)
  if (odd < 0) return true
  exchange.problem('invalid_body', 'An observation names two intent records.', {
    errors: [
      { pointer: `/observations/${odd}/evidence_id`, detail: 'must belong to the record that intent_record_id names' },
    ],
  })
  return false
}

/**
 * Checks each observation that is new to the run: it must be about a record of the run's project and about evidence
 * that the record has or had, and the review of a waiver must be later than the observation. Returns false if a problem
 * was answered.
 */
function areTakeable(
  service: ServiceContext,
  exchange: Exchange,
  { identity, document }: KnownEngineRun,
  seen: readonly Identified[],
): boolean {
  const known = new Set(document.evidence.map(({ id }) => id))
  return seen.every(
    (one, i) =>
      // Observations already recorded are answered as before: time has passed, and the record has changed, since then.
      known.has(one.id) ||
      (isOfProject(service, exchange, one, `/observations/${i}`, identity.project) &&
        waivesAhead(service, exchange, one, `/observations/${i}`)),
  )
}

/**
 * Whether it names a record of the project, and no evidence that the record never had. Returns false if a problem was
 * answered.
 */
function isOfProject(
  { runtime }: ServiceContext,
  exchange: Exchange,
  seen: Identified,
  at: string,
  project: string,
): boolean {
  const id = intentRecordIdOf(seen)
  if (id === undefined) return true
  const record: IntentRecordContext | undefined = runtime.read({ kind: 'intent_record', id })?.context
  if (record?.project !== project) {
    const member = seen.intent_record_id === undefined ? 'evidence_id' : 'intent_record_id'
    exchange.problem('invalid_body', 'An observation names no intent record of the project.', {
      errors: [{ pointer: `${at}/${member}`, detail: `must name an intent record of ${project}` }],
    })
    return false
  }
  const { evidence_count } = record.internal
  if ((evidenceNumberOf(seen) ?? 0) <= evidence_count) return true
  exchange.problem('invalid_body', 'An observation names evidence that its intent record never had.', {
    errors: [{ pointer: `${at}/evidence_id`, detail: expectedEvidence(id, evidence_count) }],
  })
  return false
}

function expectedEvidence(recordId: string, count: number): string {
  if (count === 0) return `must be left out: ${recordId} has no evidence of its own`
  return count === 1 ? `must be ${recordId}.e1` : `must be one of ${recordId}.e1 to .e${count}`
}

/**
 * A waiver may be reported late: its review must only be later than the observation. Returns false if a problem was
 * answered.
 */
function waivesAhead(
  service: ServiceContext,
  exchange: Exchange,
  { waiver, observed_at }: Identified,
  at: string,
): boolean {
  if (waiver === undefined) return true
  const now = utcNow(service)
  const seenAt = utc(observed_at) ?? now
  const review = { what: 'a waiver', review_at: waiver.review_at, pointer: `${at}/waiver/review_at` }
  return reviewLiesAhead(exchange, review, seenAt < now ? seenAt : now)
}

function tell(
  service: ServiceContext,
  exchange: Exchange,
  message: MessageBody,
  isTakeable: (run: KnownEngineRun) => boolean = () => true,
): void {
  withEngineRun(service, exchange, (known) => {
    const { identity: run } = known
    const { runnerId } = exchange.principal
    if (runnerId !== undefined) service.dispatcher.touch(runnerId)
    // A runner that held the request in another attempt may not report on this one.
    if (runnerId !== undefined && run.runner_id !== runnerId) {
      exchange.problem(
        'not_the_runner',
        `The engine run belongs to attempt ${run.attempt}, which another runner holds.`,
      )
      return
    }
    if (!isTakeable(known)) return
    const ref = { kind: 'engine_run', id: run.id } as const
    askActor(service, exchange, ref, { ...message, run, by: exchange.by } as MessageBody, (answer) => {
      exchange.answer(200, modules.engine_run.document(answer.snapshot))
    })
  })
}
