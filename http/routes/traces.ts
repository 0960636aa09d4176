/** A trace: everything that was recorded under one trace id, also of runs that never came to their end. */
import { recordedEventSchema } from '../../machines/events/envelope.ts'
import { closedObject, Type } from '../../machines/schema.ts'
import type { Runtime } from '../../runtime/api.ts'
import { placeOf } from '../../runtime/stream/cursor.ts'
import { Filter } from '../../runtime/stream/filter.ts'
import { type EventsFound, findEvents } from '../../runtime/stream/find-events.ts'
import type { Exchange } from '../exchange.ts'
import { LIST_LIMIT_MAX, nextLink } from '../lists.ts'
import { cursorAt, markCursor, notFound } from '../replies.ts'
import type { Route, ServiceContext } from '../route.ts'
import { runsOfTrace } from '../trace-runs.ts'
import { cursorFault, cursorParameter } from '../watch.ts'

interface RunShown {
  readonly id: string
  readonly state: string
}

/** What a run leaves behind is whole only when its runner had the last word about it. */
function isWhole(state: string, failure: { readonly class?: string; readonly code?: string } | undefined): boolean {
  if (state === 'completed') return true
  return state === 'failed' && failure?.class !== 'dispatch' && failure?.code !== 'timeout'
}

/** What the reader may see of the runs whose trace this is. */
function runsOf(runtime: Runtime, traceId: string, filter: Filter): readonly (RunShown & { whole: boolean })[] {
  const runs: (RunShown & { whole: boolean })[] = []
  for (const { id, snapshot } of runsOfTrace(runtime, traceId)) {
    const { value, context } = snapshot
    if (!filter.sees(context.project)) continue
    runs.push({ id, state: value, whole: isWhole(value, context.failure) })
  }
  return runs
}

const isEmpty = ({ texts }: EventsFound): boolean => texts.length === 0

async function read(service: ServiceContext, exchange: Exchange): Promise<void> {
  const { runtime } = service
  const { journal, nature } = runtime
  const [traceId = ''] = exchange.params
  const { cursor, limit = LIST_LIMIT_MAX } = exchange.query
  const { projects } = exchange.principal
  const filter = new Filter({ trace_id: [traceId] }, projects === '*' ? undefined : projects)
  const place = cursor === undefined ? undefined : placeOf(cursor, journal)
  if (place?.ok === false) {
    const { code, detail, extra } = cursorFault(place)
    return exchange.problem(code, detail, extra)
  }
  const from = place?.sequence ?? journal.oldestSequence - 1
  const hint = { of: 'trace', ids: [traceId] } as const
  const pageAfter = (sequence: number): Promise<EventsFound> =>
    findEvents(journal, nature, { filter, order: 'asc', from: sequence, limit, hint }, () => !exchange.aborted)
  let found = await pageAfter(from)
  // What is there for the reader may stand behind much that is not: only the end of the trace says that there is nothing.
  while (isEmpty(found) && found.next !== undefined && !exchange.aborted) found = await pageAfter(found.next)
  if (exchange.aborted) return
  if (isEmpty(found) && cursor === undefined) return notFound(exchange, 'trace', traceId)
  const runs = runsOf(runtime, traceId, filter)
  const complete = runs.every((run) => run.whole)
  const run_requests = runs.map(({ id, state }) => ({ id, state }))
  let tail = ''
  if (found.next !== undefined) {
    const next = cursorAt(service, found.next)
    exchange.setHeader('Link', nextLink(exchange, next))
    tail = `,"next_cursor":"${next}"`
  }
  markCursor(service, exchange, found.lastSequence)
  const head = JSON.stringify({ trace_id: traceId, complete, run_requests }).slice(0, -1)
  exchange.answer(200, `${head},"events":[${found.texts.join(',')}]${tail}}`)
}

export function traceRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/traces/:trace_id',
      area: 'events',
      summary: 'Read a trace: its events in order, and the run requests that it belongs to.',
      description:
        '`complete` is false while a run of the trace is open, and when one ended without the last word of its ' +
        'runner (cancelled, lost, timed out, never handed out): then the events are what there was of it.',
      access: { right: 'view' },
      query: closedObject({
        limit: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: LIST_LIMIT_MAX,
            description: `Events at most; default ${LIST_LIMIT_MAX}.`,
          }),
        ),
        cursor: Type.Optional(cursorParameter('`next_cursor` of the page before.')),
      }),
      answers: {
        200: {
          description: 'The trace.',
          schema: Type.Object({
            trace_id: Type.String(),
            complete: Type.Boolean({ description: 'Every run of the trace ended by the word of its runner.' }),
            run_requests: Type.Array(Type.Object({ id: Type.String(), state: Type.String() })),
            events: Type.Array(recordedEventSchema, { description: 'Oldest first.' }),
            next_cursor: Type.Optional(cursorParameter('Goes on behind these events; absent on the last page.')),
          }),
        },
      },
      problems: ['not_found', 'invalid_cursor', 'cursor_too_old', 'cursor_of_another_log'],
      handle: (exchange) => {
        read(service, exchange).catch((error: unknown) => exchange.fault(error))
      },
    },
  ]
}
