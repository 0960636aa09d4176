/** Reading recorded events: the list, with Watch's filters, and one event by its id. */

import { recordedEventSchema } from '../../machines/events/envelope.ts'
import { isId } from '../../machines/ids.ts'
import { closedObject, stringEnum, Type } from '../../machines/schema.ts'
import type { Runtime } from '../../runtime/api.ts'
import { readable } from '../../runtime/reader.ts'
import { oldestCursor, tooOld } from '../../runtime/stream/cursor.ts'
import { Filter } from '../../runtime/stream/filter.ts'
import {
  type EventQuery,
  type EventsFound,
  findEvents,
  findInTrace,
  LeftTheLog,
} from '../../runtime/stream/find-events.ts'
import type { Histories } from '../../runtime/stream/history-walk.ts'
import { NewestEvents } from '../../runtime/stream/newest-events.ts'
import { LINK_HEADER, LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, nextLink } from '../lists.ts'
import { cursorAt, markCursor, notFound } from '../replies.ts'
import type { Route, ServiceContext } from '../route.ts'
import { cursorParameter, filterOf, filterParameters, placeFor } from '../watch/watch.ts'
import type { Exchange } from '../wire/exchange.ts'

/**
 * Which history holds all events that the filter lets through. A run request has a trace to itself. One that the caller
 * may not see is handled like one that does not exist.
 */
function hintOf(filter: Filter, runtime: Pick<Runtime, 'read'>): Histories | undefined {
  const traces = filter.values('trace_id')
  if (traces !== undefined) return { of: 'trace', ids: [...traces] }
  const items = filter.values('item_id')
  if (items !== undefined) return { of: 'item', ids: [...items] }
  const requests = filter.values('run_request_id')
  if (requests === undefined) return undefined
  const ids: string[] = []
  for (const id of requests) {
    const request = isId('runreq', id) ? readable(() => runtime.read({ kind: 'run_request', id })) : undefined
    const { trace_id: traceId, project } = request?.context ?? {}
    // Events may have been imported without their request; only a scan finds those.
    if (typeof traceId !== 'string' || !filter.sees(project)) return undefined
    ids.push(traceId)
  }
  return { of: 'trace', ids }
}

/**
 * Where a list begins: after its cursor, or at the end of the log where its order starts. A cursor stands between two
 * events: a backward list begins with the event before it, a stream with the event after it.
 */
function placeToBegin(service: ServiceContext, exchange: Exchange): number | undefined {
  const { journal } = service.runtime
  const { cursor, order } = exchange.query
  if (cursor === undefined) return order === 'desc' ? journal.lastSequence + 1 : journal.oldestSequence - 1
  const place = placeFor(cursor, service)
  if (place.ok) return order === 'desc' ? place.sequence + 1 : place.sequence
  const { code, detail, extra } = place.fault
  exchange.problem(code, detail, extra)
  return undefined
}

/** Answers with the events' own texts, as the log holds them. */
function answerPage(service: ServiceContext, exchange: Exchange, found: EventsFound): void {
  markCursor(service, exchange, found.lastSequence)
  let tail = ''
  if (found.next !== undefined) {
    const cursor = cursorAt(service, exchange.query.order === 'desc' ? found.next - 1 : found.next)
    exchange.setHeader('Link', nextLink(exchange, cursor))
    tail = `,"next_cursor":"${cursor}"`
  }
  exchange.answer(200, `{"items":[${found.texts.join(',')}]${tail}}`)
}

/** The search continues after the handler has returned, so its errors are answered here. */
function guard(service: ServiceContext, exchange: Exchange, work: Promise<void>): void {
  const { journal } = service.runtime
  work.catch((error: unknown) => {
    if (!(error instanceof LeftTheLog)) return exchange.fault(error)
    exchange.problem('cursor_too_old', tooOld(journal), { members: { oldest: oldestCursor(journal) } })
  })
}

async function list(service: ServiceContext, exchange: Exchange): Promise<void> {
  const { runtime } = service
  const filtered = filterOf(exchange.query, exchange.principal, runtime)
  if (!filtered.ok) {
    exchange.problem(filtered.fault.code, filtered.fault.detail, filtered.fault.extra)
    return
  }
  const { filter } = filtered
  const from = placeToBegin(service, exchange)
  if (from === undefined) return
  const hint = hintOf(filter, runtime)
  const { order = 'asc', limit = LIST_LIMIT_DEFAULT } = exchange.query
  const query: EventQuery = { filter, order, from, limit, ...(hint === undefined ? {} : { hint }) }
  answerPage(service, exchange, await findEvents(runtime.journal, runtime.readTurns, query, () => !exchange.aborted))
}

async function one(service: ServiceContext, newest: NewestEvents, exchange: Exchange): Promise<void> {
  const { journal, readTurns } = service.runtime
  const [id = ''] = exchange.params
  const traceId: string | undefined = exchange.query.trace_id
  if (!/^evt_[0-9a-f]{1,128}$/.test(id)) return notFound(exchange, 'event', id)
  const lastSequence = journal.lastSequence
  const isWanted = (): boolean => !exchange.aborted
  const { projects } = exchange.principal
  const visible = new Filter({}, projects === '*' ? undefined : projects)
  const { text, isWhole } = await (traceId === undefined
    ? newest.find(id, visible, isWanted)
    : findInTrace(journal, readTurns, traceId, id, visible, isWanted))
  if (text === undefined) {
    const where = traceId === undefined ? 'the newest events of the log' : 'that trace'
    const advice = isWhole ? '' : '; name its `trace_id` to look further back'
    return exchange.problem('not_found', `There is no event ${id} in ${where}${advice}.`)
  }
  markCursor(service, exchange, lastSequence)
  exchange.answer(200, text)
}

export function eventRoutes(service: ServiceContext): readonly Route[] {
  const newest = new NewestEvents(service.runtime.journal, service.runtime.readTurns)
  return [
    {
      method: 'GET',
      path: '/api/events',
      operation: 'listEvents',
      area: 'events',
      summary: "List recorded events, with Watch's filters.",
      description:
        'Oldest first, or newest first with `order=desc`. Traces, items and run requests have an index; other filters ' +
        'read a bounded part of the log, and may return a short page with a cursor to continue. So may the history of an ' +
        'item or trace for a token confined to projects. Watch from `Watch-Cursor` to follow up.',
      access: { right: 'view' },
      query: closedObject({
        limit: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: LIST_LIMIT_MAX,
            description: `Maximum number of events; default ${LIST_LIMIT_DEFAULT}.`,
          }),
        ),
        cursor: Type.Optional(
          cursorParameter(
            '`next_cursor` of the previous page, or the cursor of a Watch frame: events up to it with `order=desc`, otherwise events after it.',
          ),
        ),
        order: Type.Optional(stringEnum(['asc', 'desc'], { description: 'Oldest (default) or newest first.' })),
        ...filterParameters,
      }),
      answers: {
        200: {
          description: 'A page of events.',
          schema: Type.Object(
            {
              items: Type.Array(recordedEventSchema),
              next_cursor: Type.Optional(cursorParameter('Cursor for the next page; absent on the last page.')),
            },
            { title: 'EventList' },
          ),
          optionalHeaders: LINK_HEADER,
        },
      },
      problems: ['cursor_too_old', 'cursor_of_another_log'],
      handle: (exchange) => guard(service, exchange, list(service, exchange)),
    },
    {
      method: 'GET',
      path: '/api/events/:id',
      operation: 'readEvent',
      area: 'events',
      summary: 'Read one event.',
      description: 'With `trace_id` it is found anywhere in the log; without, only among the newest 100,000 events.',
      access: { right: 'view' },
      query: closedObject({
        trace_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'The trace of the event.' })),
      }),
      answers: { 200: { description: 'The event.', schema: recordedEventSchema } },
      problems: ['not_found'],
      handle: (exchange) => guard(service, exchange, one(service, newest, exchange)),
    },
  ]
}
