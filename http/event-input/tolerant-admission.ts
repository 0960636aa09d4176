/**
 * Tolerant admission of events from another log: a valid envelope is enough, and a given id is kept, since other
 * engines hash differently. An event whose payload violates its type's schema is recorded all the same, and marked.
 */
import { NotJson } from '../../machines/canonical.ts'
import { ingestedTraceEventSchema, type PreparedEvent, prepareEvent } from '../../machines/events/envelope.ts'
import { isServiceOwned, validatePayload } from '../../machines/events/index.ts'
import type { Throttle } from '../../machines/machine.ts'
import { compile, type Fault } from '../../machines/schema.ts'
import { takesMoreThan } from '../../machines/utf8.ts'
import type { FieldProblem } from '../problems.ts'
import { memberOf } from './strict-admission.ts'

/** The defaults for events of the trace, and which projects they may belong to. */
export interface TolerantRules {
  readonly traceId: string
  readonly project: string | undefined
  readonly throttle: Throttle
  readonly eventBytesMax: number
  /** Why an event may not belong to this project; undefined if it may. */
  whyNotProject(key: string): string | undefined
}

type Admission =
  | { readonly ok: true; readonly event: PreparedEvent; readonly marks: readonly Fault[] }
  | { readonly ok: false; readonly errors: readonly FieldProblem[] }

const check = compile(ingestedTraceEventSchema)

interface GivenEvent {
  readonly id?: string
  readonly event_type: string
  readonly project?: string
  readonly occurred_at: string
  readonly throttle?: Throttle
  readonly payload: Readonly<Record<string, unknown>>
  readonly trace_id?: string | null
  readonly span_id?: string | null
  readonly parent_span_id?: string | null
  readonly causation_id?: string | null
  readonly gather_id?: string | null
}

/** The event, ready to be recorded, with the faults of its payload; or why it is refused. */
export function admitTraceEvent(value: unknown, rules: TolerantRules): Admission {
  const faults = check(value)
  if (faults.length > 0) return { ok: false, errors: faults }
  const given = value as GivenEvent
  const { event_type, trace_id, project = rules.project } = given
  if (isServiceOwned(event_type)) return refused('/event_type', 'may only be stated by the service')
  // Null means no trace (SPEC 6.1), as if left out.
  if ((trace_id ?? rules.traceId) !== rules.traceId) return refused('/trace_id', `must be ${rules.traceId}, the path's`)
  if (project === undefined)
    return refused('/project', 'is missing: the trace belongs to no run, and the query gives no default')
  const whyNot = rules.whyNotProject(project)
  if (whyNot !== undefined) return refused('/project', whyNot)
  return prepared(given, project, rules)
}

function prepared(given: GivenEvent, project: string, rules: TolerantRules): Admission {
  const { event_type, occurred_at, payload, span_id, parent_span_id, causation_id, gather_id } = given
  const { traceId: trace_id, throttle } = rules
  const linked = { trace_id, span_id, parent_span_id, causation_id, gather_id }
  const fields = { event_type, project, occurred_at, throttle: given.throttle ?? throttle, payload, ...linked }
  let event: PreparedEvent
  try {
    event = prepareEvent(fields, given.id)
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    return refused(`${memberOf(fields, error)}${error.pointer}`, error.detail)
  }
  if (takesMoreThan(event.payloadText, rules.eventBytesMax)) {
    return refused('/payload', `exceeds ${rules.eventBytesMax} bytes`)
  }
  return { ok: true, event, marks: validatePayload(event_type, payload) }
}

function refused(pointer: string, detail: string): Admission {
  return { ok: false, errors: [{ pointer, detail }] }
}
