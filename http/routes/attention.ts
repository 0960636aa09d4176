/** What needs a person: lost run requests, and those that wait for an approval. */
import { runRequestDocument } from '../../machines/documents/run-request.ts'
import type { RunRequestContext } from '../../machines/run-request-context.ts'
import { stringEnum, Type } from '../../machines/schema.ts'
import type { ListResult, SnapshotOf } from '../../runtime/api.ts'
import { maySee } from '../access.ts'
import type { Exchange } from '../exchange.ts'
import { decodeListCursor, encodeListCursor, LIST_LIMIT_DEFAULT, listAnswer, listQuery, nextLink } from '../lists.ts'
import { markCursor } from '../replies.ts'
import type { Route, ServiceContext } from '../route.ts'
import { runRequestDocumentOf } from '../run-request-answers.ts'

/** Most pressing first. */
const REASONS = ['lost', 'unapproved'] as const
type Reason = (typeof REASONS)[number]

const attentionItem = Type.Object(
  {
    kind: stringEnum(['run_request'], { description: 'What it is.' }),
    reason: stringEnum(REASONS, {
      description: '`lost`: requeue or fail it; `unapproved`: approve or cancel it.',
    }),
    project: Type.String({ description: 'Key of its project.' }),
    since: Type.String({ format: 'date-time', description: 'Since when.' }),
    run_request: runRequestDocument,
  },
  { title: 'AttentionItem' },
)

export function attentionRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/attention',
      area: 'attention',
      summary: 'What needs a person, most pressing first.',
      access: { right: 'view' },
      query: listQuery({
        reason: Type.Optional(stringEnum(REASONS, { description: 'Only these.' })),
      }),
      answers: { 200: listAnswer(attentionItem, 'What needs a person.') },
      problems: ['invalid_cursor'],
      handle: (exchange) => {
        attention(service, exchange).catch((error: unknown) => exchange.fault(error))
      },
    },
  ]
}

interface Place {
  readonly reason: Reason
  readonly after?: { readonly order: string; readonly id: string }
}

async function attention(service: ServiceContext, exchange: Exchange): Promise<void> {
  const { cursor, reason: asked, limit = LIST_LIMIT_DEFAULT } = exchange.query
  const start: Place | undefined = cursor === undefined ? { reason: asked ?? REASONS[0] } : placeOf(cursor)
  if (start === undefined || (asked !== undefined && start.reason !== asked)) {
    return exchange.problem('invalid_cursor', 'The cursor is not one that this list answered.')
  }
  const items: object[] = []
  let place: Place | undefined = start
  let sequence: number | undefined
  while (place !== undefined && items.length < limit) {
    const { reason }: Place = place
    const page: ListResult = await list(service, exchange, place, limit - items.length)
    for (const snapshot of page.snapshots) items.push(itemOf(service, reason, snapshot))
    sequence ??= page.sequence
    if (page.next !== undefined) {
      place = { reason, after: page.next }
      // A page that was cut short by the bound on rows read is answered short.
      break
    }
    const following: Reason | undefined = REASONS[REASONS.indexOf(reason) + 1]
    place = following === undefined || asked !== undefined ? undefined : { reason: following }
  }
  if (exchange.done) return
  markCursor(service, exchange, sequence)
  if (place === undefined) return exchange.answer(200, { items })
  const next_cursor = encodeListCursor({
    order: `${place.reason}|${place.after?.order ?? ''}`,
    id: place.after?.id ?? '',
  })
  exchange.setHeader('Link', nextLink(exchange, next_cursor)).answer(200, { items, next_cursor })
}

function list(
  service: ServiceContext,
  { principal }: Exchange,
  { reason, after }: Place,
  limit: number,
): Promise<ListResult> {
  const matches = ({ context }: SnapshotOf<any>): boolean => maySee(principal, context.project)
  const request = { kind: 'run_request', index: 'attention', value: reason, matches, limit } as const
  return service.runtime.list(after === undefined ? request : { ...request, after })
}

function placeOf(cursor: string): Place | undefined {
  const row = decodeListCursor(cursor)
  const [reason, order = ''] = row?.order.split('|') ?? []
  if (row === undefined || !REASONS.includes(reason as Reason)) return undefined
  return row.id === '' ? { reason: reason as Reason } : { reason: reason as Reason, after: { order, id: row.id } }
}

function itemOf(service: ServiceContext, reason: Reason, snapshot: SnapshotOf<RunRequestContext>): object {
  const { project, created_at, times }: RunRequestContext = snapshot.context
  const since = reason === 'lost' ? times.lost_at : created_at
  return { kind: 'run_request', reason, project, since, run_request: runRequestDocumentOf(service, snapshot) }
}
