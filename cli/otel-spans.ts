/**
 * Spans (OpenTelemetry) of what has ended: a run request with the times it waited and was worked on, a work item, an
 * agent session. Their ids are those that the service gave, so that a run's span is the parent of whatever its command
 * reports under its TRACEPARENT; all other ids are derived, so that a span made again is the same span.
 */
import { createHash } from 'node:crypto'
import type { Document } from './document.ts'

/** Absent values are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

export interface Span {
  /** 32 and 16 lower-case hexadecimal digits, as in all ids here (W3C Trace Context). */
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string | undefined
  /** A span of another trace that belongs to it. */
  readonly link?: SpanId
  readonly name: string
  /** Times as the service states them (RFC 3339, up to microseconds). */
  readonly startAt: string
  readonly endAt: string
  readonly attributes: Attributes
  readonly moments: readonly Moment[]
  /** What went wrong; absent: nothing. */
  readonly error?: string | undefined
}

interface SpanId {
  readonly traceId: string
  readonly spanId: string
}

/** Something that happened within a span. */
interface Moment {
  readonly name: string
  readonly at: string
}

/** The events after which a span can be made, by what has ended. */
export const RUN_ENDS = ['run_request_completed', 'run_request_failed', 'run_request_cancelled']
export const ITEM_ENDS = ['work_item_settled', 'work_item_cancelled']
export const SESSION_ENDS = ['agent_session_ended']

/** The events of which a run request's spans are made. */
export const RUN_EVENTS = [
  'run_request_created',
  'run_request_accepted',
  'run_request_started',
  'run_request_lost',
  'run_request_cancel_requested',
  'run_request_released',
  'run_request_requeued',
  ...RUN_ENDS,
]

/** How an engine's counts of tokens are named by the semantic conventions for generative AI. */
const TOKEN_ATTRIBUTES: Readonly<Record<string, string>> = {
  input: 'gen_ai.usage.input_tokens',
  output: 'gen_ai.usage.output_tokens',
}

/**
 * The span of a run request, those of its waiting, and one for each attempt on a runner.
 * @param request its document
 * @param events its events of RUN_EVENTS, in their order; the last is its end. The oldest may be gone.
 */
export function runSpans(request: Document, events: readonly Document[]): readonly Span[] {
  const [first, last] = [events[0], events.at(-1)]
  if (first === undefined || last === undefined || !isTraceId(last.trace_id)) return []
  const { id, entry_event, labels = [] } = request
  const { trace_id: traceId, payload } = last
  const spanId = runSpanId(last)
  const parts: Span[] = []
  const made = (name: string, from: Document, to: Document, attempt: number, more: Partial<Span> = {}): Span => ({
    traceId,
    spanId: derivedId(id, name, parts.length),
    parentSpanId: spanId,
    name,
    startAt: from.occurred_at,
    endAt: to.occurred_at,
    moments: [],
    ...more,
    attributes: { 'intendant.run_request.id': id, 'intendant.attempt': attempt, ...more.attributes },
  })

  let waiting: Document | undefined = first
  let work: { readonly begin: Document; readonly moments: Moment[] } | undefined
  for (const event of events) {
    const { event_type: type, payload } = event
    const isEnd = event === last
    const isGivenBack = type === 'run_request_requeued' || type === 'run_request_released'
    const isTaken = type === 'run_request_accepted' || type === 'run_request_started'
    if (isTaken && work === undefined) {
      if (waiting !== undefined) parts.push(made('queue', waiting, event, attemptOf(event)))
      waiting = undefined
      work = { begin: event, moments: [] }
    } else if (work !== undefined && (isEnd || isGivenBack)) {
      const { begin, moments } = work
      const attributes = { 'intendant.runner.id': begin.payload.runner_id, 'error.type': errorType(event) }
      const error = isEnd ? failureOf(event) : (payload.message ?? payload.code)
      parts.push(made('attempt', begin, event, attemptOf(begin), { moments, attributes, error }))
      work = undefined
      waiting = event
    } else if (work !== undefined && type === 'run_request_lost') {
      work.moments.push({ name: 'lost', at: event.occurred_at })
    } else if (isEnd && waiting !== undefined) {
      parts.push(made('queue', waiting, event, attemptOf(event)))
    }
  }

  const whole: Span = {
    traceId,
    spanId,
    parentSpanId: last.parent_span_id ?? undefined,
    name: `run_request ${entry_event}`,
    startAt: request.created_at,
    endAt: last.occurred_at,
    attributes: {
      'intendant.project': request.project,
      'intendant.run_request.id': id,
      'intendant.state': payload.state,
      'intendant.attempts': attemptOf(last),
      'intendant.entry_event': entry_event,
      'intendant.throttle': request.throttle,
      'intendant.lane': request.lane,
      'intendant.labels': labels.length > 0 ? labels : undefined,
      'intendant.work_item.id': request.work_item_id,
      'error.type': errorType(last),
    },
    moments: events
      .filter(({ event_type }) => event_type === 'run_request_cancel_requested')
      .map(({ occurred_at }) => ({ name: 'cancel_requested', at: occurred_at })),
    error: failureOf(last),
  }
  return [whole, ...parts]
}

/** The span that the service gave to the run request that the event is of. */
function runSpanId({ span_id, trace_id }: Document): string {
  return span_id ?? trace_id.slice(0, 16)
}

/**
 * The span of a work item, from its submission to its settlement.
 * @param event the one that settled it
 * @param item its document
 */
export function itemSpan({ trace_id, span_id, payload }: Document, item: Document): Span {
  return {
    traceId: trace_id,
    spanId: span_id,
    name: `work_item ${item.kind}`,
    startAt: item.submitted_at,
    endAt: item.settled_at,
    attributes: {
      'intendant.project': item.project,
      'intendant.work_item.id': item.id,
      'intendant.state': payload.state,
      'intendant.verdict': payload.disposition?.verdict,
      'intendant.lane': item.lane,
      'intendant.run_request.id': item.run_request_id,
      'intendant.source.kind': item.source?.kind,
      'intendant.source.ref': item.source?.ref,
      'intendant.submitted_trace_id': item.submitted_trace_id,
    },
    moments: item.started_at === undefined ? [] : [{ name: 'started', at: item.started_at }],
    error: payload.state === 'failed' ? payload.reason : undefined,
  }
}

/**
 * The span of an agent session, below that of its run. Undefined if neither has a trace id that OpenTelemetry knows.
 * @param session its document
 * @param run an event of its run request; absent if it has none
 */
export function sessionSpan(session: Document, run: Document | undefined): Span | undefined {
  const traceId = isTraceId(session.trace_id) ? session.trace_id : run?.trace_id
  if (!isTraceId(traceId)) return undefined
  const { session_id: id, started_at = session.recorded_at, ended_at = started_at } = session
  const above = run === undefined ? undefined : { traceId: run.trace_id, spanId: runSpanId(run) }
  const isWithin = above?.traceId === traceId
  return {
    traceId,
    spanId: derivedId(session.project, id, 0),
    ...(above === undefined ? {} : isWithin ? { parentSpanId: above.spanId } : { link: above }),
    name: session.agent_type === undefined ? 'agent_session' : `agent_session ${session.agent_type}`,
    startAt: started_at,
    endAt: ended_at,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': session.agent_type,
      'intendant.project': session.project,
      'intendant.session.id': id,
      'intendant.run_request.id': session.run_request_id,
      'intendant.work_item.id': session.work_item_id,
      'intendant.campaign': session.campaign,
      'intendant.runner.id': session.runner_id,
      'intendant.capability': session.capability,
      'process.exit.code': session.exit_code,
      ...usageOf(session),
      'error.type': session.status === 'ok' ? undefined : session.status,
    },
    moments: [],
    error: session.status === 'ok' ? undefined : (session.error ?? session.status),
  }
}

/** Tokens by kind over all models, the models, and the cost by currency. */
function usageOf({ tokens = {}, cost = {} }: Document): Attributes {
  const models = Object.keys(tokens)
  const attributes: Record<string, number | string> = models.length === 1 ? { 'gen_ai.request.model': models[0]! } : {}
  for (const counts of Object.values<Record<string, number>>(tokens)) {
    for (const [kind, count] of Object.entries(counts)) {
      const name = TOKEN_ATTRIBUTES[kind] ?? `intendant.tokens.${kind}`
      attributes[name] = ((attributes[name] as number | undefined) ?? 0) + count
    }
  }
  for (const [currency, amount] of Object.entries<number>(cost)) attributes[`intendant.cost.${currency}`] = amount
  return attributes
}

function attemptOf({ payload }: Document): number {
  return payload.attempt ?? 1
}

function failureOf({ event_type, payload }: Document): string | undefined {
  if (event_type !== 'run_request_failed') return undefined
  return payload.message ?? payload.reason ?? payload.code ?? 'failed'
}

function errorType({ event_type, payload }: Document): string | undefined {
  return event_type === 'run_request_cancelled' ? undefined : (payload.code ?? payload.class)
}

function isTraceId(text: unknown): text is string {
  return typeof text === 'string' && /^(?!0{32})[0-9a-f]{32}$/.test(text)
}

function derivedId(owner: string, name: string, number: number): string {
  return createHash('sha256')
    .update(JSON.stringify([owner, name, number]))
    .digest('hex')
    .slice(0, 16)
}
