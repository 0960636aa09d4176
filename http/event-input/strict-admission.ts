/**
 * Strict admission of events stated from outside: types owned by the service are refused, known payloads must satisfy
 * their schemas, ids are checked, and each event is identified and written once. A post is taken as a whole or not at
 * all. Hot: a post holds up to 1,000 events; their envelopes have passed the body's compiled check before.
 */
import { NotJson } from '../../machines/canonical.ts'
import { type EventFields, eventId, type PreparedEvent, prepareEvent } from '../../machines/events/envelope.ts'
import { isCommand, isServiceOwned, validatePayload } from '../../machines/events/index.ts'
import type { Throttle } from '../../machines/machine.ts'
import { takesMoreThan } from '../../machines/utf8.ts'
import type { FieldProblem } from '../problems.ts'
import type { Exchange } from '../wire/exchange.ts'

/** An event as posted; what is left out follows from the route it is posted to. */
export interface StatedEvent {
  readonly id?: string
  readonly event_type: string
  readonly project?: string
  readonly occurred_at: string
  readonly throttle?: Throttle
  readonly payload?: Readonly<Record<string, unknown>>
  readonly trace_id?: string | null
  readonly span_id?: string | null
  readonly parent_span_id?: string | null
  readonly causation_id?: string | null
  readonly gather_id?: string | null
}

interface StrictRules {
  readonly project: string
  readonly traceId: string | null
  readonly throttle: Throttle
  /** The post is about one run: project, trace and throttle may be left out, but must not differ from the run's. */
  readonly isFixed: boolean
  readonly eventBytesMax: number
}

/** Faults reported for one post: enough to repair it. */
const FAULTS_MAX = 50
const TRACE_DIGITS = 32
const SPAN_DIGITS = 16
const NO_PAYLOAD = Object.freeze({})

/** The post's events, ready to be recorded. Returns undefined if a problem was answered. */
export function admitEvents(
  exchange: Exchange,
  events: readonly StatedEvent[],
  rules: StrictRules,
): PreparedEvent[] | undefined {
  const prepared: PreparedEvent[] = new Array(events.length)
  const faults: FieldProblem[] = []
  for (let i = 0; i < events.length; i++) {
    const stated = events[i]!
    if (isServiceOwned(stated.event_type)) {
      exchange.problem('service_owned_type', `Only the service may state events of type ${stated.event_type}.`, {
        errors: [{ pointer: `/events/${i}/event_type`, detail: 'may only be stated by the service' }],
      })
      return undefined
    }
    if (rules.isFixed) differences(stated, rules, i, faults)
    const payload = stated.payload ?? NO_PAYLOAD
    const payloadFaults = validatePayload(stated.event_type, payload)
    for (const { pointer, detail } of payloadFaults) faults.push({ pointer: `/events/${i}/payload${pointer}`, detail })
    if (faults.length >= FAULTS_MAX) break
    if (faults.length > 0) continue
    const event = prepare(fieldsOf(stated, payload, rules), i, faults)
    if (event === undefined) continue
    if (takesMoreThan(event.payloadText, rules.eventBytesMax)) {
      exchange.problem('event_too_large', `Event ${i} exceeds ${rules.eventBytesMax} bytes.`)
      return undefined
    }
    if (stated.id !== undefined && stated.id !== event.id) {
      exchange.problem(
        'event_id_mismatch',
        `The id of event ${i} must be ${event.id}, computed from its content; got ${stated.id}.`,
        {
          errors: [{ pointer: `/events/${i}/id`, detail: `must be ${event.id}, or left out` }],
        },
      )
      return undefined
    }
    prepared[i] = event
  }
  if (faults.length === 0) return prepared
  exchange.problem('invalid_event', 'The fields named in `errors` are invalid; nothing in the request was accepted.', {
    errors: faults.slice(0, FAULTS_MAX),
  })
  return undefined
}

function fieldsOf(stated: StatedEvent, payload: Readonly<Record<string, unknown>>, rules: StrictRules): EventFields {
  return {
    event_type: stated.event_type,
    project: rules.project,
    occurred_at: stated.occurred_at,
    throttle: stated.throttle ?? rules.throttle,
    payload,
    trace_id: stated.trace_id === undefined || rules.isFixed ? rules.traceId : stated.trace_id,
    span_id: stated.span_id,
    parent_span_id: stated.parent_span_id,
    causation_id: stated.causation_id,
    gather_id: stated.gather_id,
  }
}

function prepare(fields: EventFields, i: number, faults: FieldProblem[]): PreparedEvent | undefined {
  try {
    return prepareEvent(rooted(fields))
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    faults.push({ pointer: `/events/${i}${memberOf(fields, error)}${error.pointer}`, detail: error.detail })
    return undefined
  }
}

/** Pointer to the member of the event that JSON cannot represent. */
export function memberOf(fields: EventFields, { pointer }: NotJson): string {
  if (pointer !== '') return '/payload'
  const broken = Object.entries(fields).find(([, value]) => typeof value === 'string' && !value.isWellFormed())
  return `/${broken?.[0] ?? 'payload'}`
}

/**
 * A command without a trace begins one. Trace and span derive from its content, so that the same command, sent again,
 * is the same event.
 */
function rooted(fields: EventFields): EventFields {
  if (fields.trace_id !== null || !isCommand(fields.event_type)) return fields
  const digits = eventId(fields).slice(-TRACE_DIGITS)
  return { ...fields, trace_id: digits, span_id: fields.span_id ?? digits.slice(-SPAN_DIGITS) }
}

function differences(
  stated: StatedEvent,
  { project, traceId, throttle }: StrictRules,
  i: number,
  faults: FieldProblem[],
): void {
  if (stated.project !== undefined && stated.project !== project) {
    faults.push({ pointer: `/events/${i}/project`, detail: `must be ${project}, the run request's` })
  }
  // Null means no trace (SPEC 6.1), as if left out.
  if ((stated.trace_id ?? traceId) !== traceId) {
    faults.push({ pointer: `/events/${i}/trace_id`, detail: `must be ${traceId}, the run request's` })
  }
  if (stated.throttle !== undefined && stated.throttle !== throttle) {
    faults.push({ pointer: `/events/${i}/throttle`, detail: `must be ${throttle}, the run request's` })
  }
}
