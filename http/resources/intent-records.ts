/** What the routes of intent records share: how a record is named, found and sent messages. */
import { recordIdOfSlug } from '../../machines/ids.ts'
import { utc } from '../../machines/instant.ts'
import type { IntentRecordContext, RecordContent } from '../../machines/intent-record/context.ts'
import { pathFaults } from '../../machines/intent-record/places.ts'
import { document } from '../../machines/intent-record/view.ts'
import { isSlug, recordIdOf } from '../../machines/record-key.ts'
import type { MessageBody, SnapshotOf, Taken } from '../../runtime/api.ts'
import { maySee } from '../access.ts'
import { type HoldUntil, holdNothing } from '../holding.ts'
import { setEntityTag } from '../preconditions.ts'
import { markCursor, notFound, onReply } from '../replies.ts'
import type { ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'
import { projectId } from './projects.ts'

export type RecordSnapshot = SnapshotOf<IntentRecordContext>
export type RecordMessage = MessageBody & Record<string, unknown>

/** The id of the record with this id or key or, within a project, this slug; undefined if the text is none of these. */
export function recordIdOfName(named: string, project_id?: string): string | undefined {
  const id = recordIdOf(named, projectId)
  if (id !== undefined) return id
  return project_id !== undefined && isSlug(named) ? recordIdOfSlug(project_id, named) : undefined
}

/** The record of that name, if it exists and belongs to the given project, if any. */
export function findRecord(service: ServiceContext, named: string, project_id?: string): RecordSnapshot | undefined {
  const id = recordIdOfName(named, project_id)
  const record = id === undefined ? undefined : service.runtime.read({ kind: 'intent_record', id })
  return project_id === undefined || record?.context.project_id === project_id ? record : undefined
}

/** The record that the path names, if it exists for the caller. Returns undefined if 404 was answered. */
export function visibleRecord(service: ServiceContext, exchange: Exchange): RecordSnapshot | undefined {
  const named = exchange.params[0]!
  const record = findRecord(service, named)
  if (record !== undefined && maySee(exchange.principal, record.context.project)) return record
  notFound(exchange, 'intent record', named)
  return undefined
}

/** Whether the scope stays within the repository. Returns false if a problem was answered. */
export function staysWithin(exchange: Exchange, scope: RecordContent['scope'], pointer: string): boolean {
  const errors = pathFaults(scope, pointer)
  if (errors.length > 0) exchange.problem('invalid_body', 'The fields named in `errors` are invalid.', { errors })
  return errors.length === 0
}

/**
 * Whether `review_at` is later than `from` (UTC), as every excuse needs a review in the future. Returns false if a
 * problem was answered.
 */
export function reviewLiesAhead(
  exchange: Exchange,
  { what, review_at, pointer }: { readonly what: string; readonly review_at: string; readonly pointer: string },
  from: string,
): boolean {
  if ((utc(review_at) ?? '') > from) return true
  exchange.problem('invalid_body', `The review_at of ${what} is too early.`, {
    errors: [{ pointer, detail: `must be later than ${from}, got ${review_at}` }],
  })
  return false
}

/**
 * Sends the record a message, and answers with the resulting record. What `until` holds is released after the record's
 * reply, even if the client has gone.
 */
export function tellRecord(
  service: ServiceContext,
  exchange: Exchange,
  { context }: RecordSnapshot,
  message: RecordMessage,
  answered: (taken: Taken) => void = (taken) => answerRecord(service, exchange, 200, taken),
  until: HoldUntil = holdNothing,
): void {
  const ref = { kind: 'intent_record', id: context.id } as const
  service.runtime.ask(ref, { ...message, by: exchange.by }, until(onReply(exchange, answered)))
}

export function answerRecord(service: ServiceContext, exchange: Exchange, status: number, taken: Taken): void {
  markCursor(service, exchange, taken.sequence)
  setEntityTag(exchange, taken.snapshot.context.version).answer(status, document(taken.snapshot))
}
