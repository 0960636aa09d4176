/**
 * What both transports of Watch share: the query, the filter narrowed to the token's projects, the frames' schemas
 * (from which the AsyncAPI document is made), and how the end of a stream is reported.
 */
import { recordedEventSchema } from '../../machines/events/envelope.ts'
import { isId } from '../../machines/ids.ts'
import { closedObject, Type } from '../../machines/schema.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import type { Runtime } from '../../runtime/api.ts'
import { type CursorPlace, placeOf } from '../../runtime/stream/cursor.ts'
import { FILTER_FIELDS, Filter, type FilterField, type FilterTerms } from '../../runtime/stream/filter.ts'
import { errorFrame, type Frame } from '../../runtime/stream/frame.ts'
import type { StreamEnd } from '../../runtime/stream/sink.ts'
import { problemSchema } from '../api-documents/problem-schema.ts'
import { type ProblemCode, type ProblemExtra, problemDocument, problemTable } from '../problems.ts'
import type { StaleHomeNotice } from '../stale-home-notice.ts'

/**
 * Registers a new stream of the token; `revoked` is called if the token ends. Returns a function to call when the
 * stream has ended.
 */
export type HoldToken = (principal: Principal, revoked: () => void) => () => void

/** Values in all lists of one filter together: as many as a URL can reasonably carry. */
const filterValuesMax = 500

const meanings: Readonly<Record<FilterField, string>> = {
  project: 'Keys (or ids) of projects.',
  event_type: 'Event types.',
  trace_id: 'Trace ids.',
  item_id: 'Work item ids: `item_id` of the payload.',
  run_request_id: 'Ids of the run requests that the events belong to.',
  session_id: 'Agent session ids: `session_id` of the payload.',
  campaign: 'Campaign names: `campaign` of the payload.',
  initiative: 'Initiative names: `initiative` of the payload.',
  sentinel: 'Sentinel names: `sentinel` of the payload.',
}

const listed = (field: FilterField) =>
  Type.Optional(
    Type.String({ minLength: 1, maxLength: 8_192, description: `${meanings[field]} Separate several with commas.` }),
  )

/** The filters as query parameters, the same for Watch and for the list of events. */
export const filterParameters = Object.fromEntries(FILTER_FIELDS.map((field) => [field, listed(field)])) as Record<
  FilterField,
  ReturnType<typeof listed>
>

export const cursorParameter = (description: string) => Type.String({ minLength: 1, maxLength: 128, description })

/** The query of Watch, over either transport. */
export const watchQuery = closedObject({
  since: Type.Optional(cursorParameter('A cursor, `latest` (default) or `earliest`.')),
  ...filterParameters,
})

/** A query that cannot be answered, with the problem for it. */
export interface QueryFault {
  readonly code: ProblemCode
  readonly detail: string
  readonly extra?: ProblemExtra
}

type FilterResult = { readonly ok: true; readonly filter: Filter } | { readonly ok: false; readonly fault: QueryFault }

/** The filter that a query asks for, narrowed to what the principal may see. */
export function filterOf(
  query: Readonly<Record<string, any>>,
  principal: Principal,
  runtime: Pick<Runtime, 'read'>,
): FilterResult {
  const terms: Partial<Record<FilterField, readonly string[]>> = {}
  let count = 0
  for (const field of FILTER_FIELDS) {
    const text: string | undefined = query[field]
    if (text === undefined) continue
    const values = text.split(',')
    count += values.length
    if (values.includes('')) return fault(`/${field}`, 'a list must have no empty entries')
    if (count > filterValuesMax) return fault(`/${field}`, `a filter may have at most ${filterValuesMax} values`)
    terms[field] = field === 'project' ? values.map((value) => projectKey(value, runtime)) : values
  }
  const visible = principal.projects === '*' ? undefined : principal.projects
  return { ok: true, filter: new Filter(terms as FilterTerms, visible) }
}

function fault(pointer: string, detail: string): FilterResult {
  const extra = { errors: [{ pointer, detail }] }
  return {
    ok: false,
    fault: { code: 'invalid_query', detail: 'The query parameters named in `errors` are invalid.', extra },
  }
}

/**
 * Events carry a project's key, but a filter may name its id as well. A project that does not exist matches nothing.
 */
function projectKey(name: string, runtime: Pick<Runtime, 'read'>): string {
  if (!isId('proj', name)) return name
  const key = runtime.read({ kind: 'project', id: name })?.context.key
  return typeof key === 'string' ? key : name
}

type CursorResult =
  | { readonly ok: true; readonly sequence: number }
  | { readonly ok: false; readonly fault: QueryFault }

type StartResult = { readonly ok: true; readonly after: number } | { readonly ok: false; readonly fault: QueryFault }

/** @param since a cursor, `latest` or `earliest`; absent: `latest` */
export function startOf(since: string | undefined, service: CursorReader): StartResult {
  const { journal } = service.runtime
  if (since === undefined || since === 'latest') return { ok: true, after: journal.lastSequence }
  if (since === 'earliest') return { ok: true, after: journal.oldestSequence - 1 }
  const place = placeFor(since, service)
  return place.ok ? { ok: true, after: place.sequence } : place
}

/** What reading a client's cursor needs. */
interface CursorReader {
  readonly runtime: Pick<Runtime, 'journal'>
  readonly staleHomeNotice: StaleHomeNotice
}

/**
 * The place that a client's cursor points to, or the problem with it. A cursor for events that the home has lost is
 * also reported to the operator.
 */
export function placeFor(cursor: string, { runtime, staleHomeNotice }: CursorReader): CursorResult {
  const place = placeOf(cursor, runtime.journal)
  if (place.ok) return place
  if (place.isOfLostPast) staleHomeNotice.tell(cursor)
  return { ok: false, fault: cursorFault(place) }
}

/** The problem for a cursor that cannot be used, with the oldest usable cursor if there is one. */
function cursorFault({ code, detail, oldest }: Extract<CursorPlace, { ok: false }>): QueryFault {
  return oldest === undefined ? { code, detail } : { code, detail, extra: { members: { oldest } } }
}

/** The frame that reports a problem on a stream. */
export function problemFrame(path: string, { code, detail, extra }: QueryFault): Frame {
  return errorFrame(problemDocument(code, detail, path, extra))
}

/**
 * The WebSocket close code for a problem: 4000 plus its HTTP status, in the range reserved for applications (RFC 6455
 * 7.4.2).
 */
export function closeCodeOf(code: ProblemCode): number {
  return 4_000 + problemTable[code].status
}

const STOPPING: QueryFault = {
  code: 'stopping',
  detail: 'The service is stopping: reconnect with the cursor of the last frame.',
}

/** The problem that ends a stream, if its reader is to be sent one. */
export function endFault(end: StreamEnd): QueryFault | undefined {
  if (end.code === 'quarantined' || end.code === 'overloaded')
    return { code: end.code, detail: `The stream cannot continue: ${end.detail}.` }
  if (end.code === 'stopping') return STOPPING
  if (end.code !== 'cursor_too_old') return undefined
  return { code: end.code, detail: end.detail, extra: { members: { oldest: end.oldest } } }
}

const frameCursor = Type.String({
  description: 'Resume from here: everything up to this point was sent or does not match the filter.',
})

/** The frames of Watch. */
export const frameSchemas = {
  hello: Type.Object(
    {
      type: Type.Literal('hello'),
      cursor: Type.String({ description: 'The stream starts right after this point.' }),
      oldest: Type.String({ description: 'The oldest cursor that can be resumed from now.' }),
    },
    { title: 'HelloFrame' },
  ),
  events: Type.Object(
    { type: Type.Literal('events'), cursor: frameCursor, events: Type.Array(recordedEventSchema, { minItems: 1 }) },
    { title: 'EventsFrame' },
  ),
  bookmark: Type.Object({ type: Type.Literal('bookmark'), cursor: frameCursor }, { title: 'BookmarkFrame' }),
  error: Type.Object(
    { type: Type.Literal('error'), problem: problemSchema },
    { title: 'ErrorFrame', description: 'The last frame of the stream.' },
  ),
} as const

/** Any of the frames, told apart by `type`. */
export const frameSchema = Type.Unsafe({ title: 'Frame', oneOf: Object.values(frameSchemas) })
