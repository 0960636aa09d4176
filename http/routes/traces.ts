/** A trace: everything recorded under one trace id, including runs that never ended. */

import { recordedEventSchema } from '../../machines/events/envelope.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { saysNotBegun } from '../../machines/run-request/failure.ts'
import { isEndReported } from '../../machines/run-request/rules.ts'
import { RUN_REQUEST_STATES } from '../../machines/run-request/states.ts'
import { closedObject, stringEnum, Type } from '../../machines/schema.ts'
import { Filter } from '../../runtime/stream/filter.ts'
import { findEvents } from '../../runtime/stream/find-events.ts'
import { LINK_HEADER, LIST_LIMIT_MAX, nextLink } from '../lists.ts'
import { cursorAt, markCursor, notFound } from '../replies.ts'
import { type RunOfTrace, runsOfTrace } from '../resources/trace-runs.ts'
import type { Route, ServiceContext } from '../route.ts'
import { cursorParameter, placeFor } from '../watch/watch.ts'
import type { Exchange } from '../wire/exchange.ts'

const traceDocument = Type.Object(
  {
    trace_id: Type.String(),
    complete: Type.Boolean({
      description: 'Every run of the trace has ended, as reported by its runner and not by a stop.',
    }),
    run_requests: Type.Array(Type.Object({ id: Type.String(), state: stringEnum(RUN_REQUEST_STATES) })),
    events: Type.Array(recordedEventSchema, { description: 'Oldest first.' }),
    next_cursor: Type.Optional(cursorParameter('Cursor for the next page; absent on the last page.')),
  },
  { title: 'Trace' },
)

interface RunsShown {
  readonly complete: boolean
  readonly run_requests: readonly { readonly id: string; readonly state: string }[]
}

/** A run's record is complete only if its runner had the last word. */
function isWhole({ value, context }: SnapshotOf<RunRequestContext>): boolean {
  if (value === 'completed') return true
  const { failure } = context
  return value === 'failed' && isEndReported(context) && !saysNotBegun(failure?.class) && failure?.code !== 'timeout'
}

/** The runs of this trace that the reader may see. One that cannot be read may still be open. */
async function runsOf(runs: AsyncIterable<RunOfTrace>, filter: Filter): Promise<RunsShown> {
  const run_requests: { id: string; state: string }[] = []
  let complete = true
  for await (const { id, snapshot } of runs) {
    if (snapshot === 'unreadable') complete = false
    else if (filter.sees(snapshot.context.project)) {
      run_requests.push({ id, state: snapshot.value })
      complete &&= isWhole(snapshot)
    }
  }
  return { complete, run_requests }
}

async function read(service: ServiceContext, exchange: Exchange): Promise<void> {
  const { runtime } = service
  const { journal, readTurns } = runtime
  const [traceId = ''] = exchange.params
  const { cursor, limit = LIST_LIMIT_MAX } = exchange.query
  const { projects } = exchange.principal
  const filter = new Filter({ trace_id: [traceId] }, projects === '*' ? undefined : projects)
  const place = cursor === undefined ? undefined : placeFor(cursor, service)
  if (place?.ok === false) {
    const { code, detail, extra } = place.fault
    return exchange.problem(code, detail, extra)
  }
  const from = place?.sequence ?? journal.oldestSequence - 1
  const hint = { of: 'trace', ids: [traceId] } as const
  const isWanted = (): boolean => !exchange.aborted
  const found = await findEvents(journal, readTurns, { filter, order: 'asc', from, limit, hint }, isWanted)
  if (!isWanted()) return
  // The reader's events may come after many that are hidden: only the end of the trace tells that there are none.
  const isNone = found.texts.length === 0 && found.next === undefined
  if (isNone && cursor === undefined) return notFound(exchange, 'trace', traceId)
  const runs = await runsOf(runsOfTrace(runtime, traceId, isWanted), filter)
  if (!isWanted()) return
  let tail = ''
  if (found.next !== undefined) {
    const next = cursorAt(service, found.next)
    exchange.setHeader('Link', nextLink(exchange, next))
    tail = `,"next_cursor":"${next}"`
  }
  markCursor(service, exchange, found.lastSequence)
  const head = JSON.stringify({ trace_id: traceId, ...runs }).slice(0, -1)
  exchange.answer(200, `${head},"events":[${found.texts.join(',')}]${tail}}`)
}

export function traceRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/traces/:trace_id',
      operation: 'readTrace',
      area: 'events',
      summary: 'Read a trace: its events in order, and the run requests that it belongs to.',
      description:
        '`complete` is false while a run of the trace is open, and if one was stopped or ended without a final ' +
        'report of its runner (cancelled, lost, given up, timed out, never handed out): then the events are all there is.',
      access: { right: 'view' },
      query: closedObject({
        limit: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: LIST_LIMIT_MAX,
            description: `Maximum number of events; default ${LIST_LIMIT_MAX}.`,
          }),
        ),
        cursor: Type.Optional(cursorParameter('`next_cursor` of the previous page.')),
      }),
      answers: {
        200: {
          description: 'The trace.',
          schema: traceDocument,
          optionalHeaders: LINK_HEADER,
        },
      },
      problems: ['not_found', 'cursor_too_old', 'cursor_of_another_log'],
      handle: (exchange) => {
        exchange.await(read(service, exchange))
      },
    },
  ]
}
