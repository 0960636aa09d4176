/**
 * What an engine's event tells the agent session that it is about (SPEC 6.16). An event whose session id cannot name an
 * actor is only recorded; texts are clipped to a readable length.
 */
import { clipped } from '../clipped.ts'
import { CAPABILITIES, SESSION_ACCESS, SESSION_ID_PATTERN } from '../documents/agent-session.ts'
import { NAME_LENGTH_MAX, REFERENCE_LENGTH_MAX, TEXT_LENGTH_MAX } from '../documents/fields.ts'
import type { PreparedEvent } from '../events/envelope.ts'
import type { SendParams } from '../machine.ts'
import { measured } from '../usage/measure.ts'
import type { AgentSessionBody, BeginEvent, Launch, SessionEnd, SessionIdentity, SessionOwner } from './context.ts'

const STARTED = 'agent_session_started'
const ENDED = 'agent_session_ended'
const SESSION_ID = new RegExp(SESSION_ID_PATTERN)

/** Hot: called for every event of a run. */
export function isSessionEvent(eventType: string): boolean {
  return eventType === STARTED || eventType === ENDED
}

/** Whether the value is a valid session id. */
export function isSessionId(id: unknown): id is string {
  return typeof id === 'string' && SESSION_ID.test(id)
}

/** The message for the session; undefined if the event names none. */
export function sessionNews(
  event: PreparedEvent,
  owner: SessionOwner,
  recorded_at: string,
): SendParams<'agent_session'> | undefined {
  const { payload } = event
  const { session_id } = payload
  if (!isSessionId(session_id)) return undefined
  const session: SessionIdentity = { ...owner, session_id, recorded_at }
  const trace = payload.trace_id === '' || payload.trace_id === undefined ? event.trace_id : String(payload.trace_id)
  const of = { session, ...(trace === null ? {} : { trace_id: clipped(trace, NAME_LENGTH_MAX) }) }
  const message: AgentSessionBody =
    event.event_type === STARTED
      ? { type: 'begin', ...of, launch: launchOf(payload), event: beginEventOf(event) }
      : { type: 'end', ...of, end: endOf(payload, event) }
  return { to: { kind: 'agent_session', id: session_id }, message }
}

type Payload = PreparedEvent['payload']

function launchOf(payload: Payload): Launch {
  const { agent_type, working_dir, source_log_path, capability, access, started_at } = payload
  return {
    ...text('agent_type', agent_type, NAME_LENGTH_MAX),
    ...text('working_dir', working_dir, REFERENCE_LENGTH_MAX),
    ...text('source_log_path', source_log_path, REFERENCE_LENGTH_MAX),
    ...(isOneOf(CAPABILITIES, capability) ? { capability } : {}),
    ...(isOneOf(SESSION_ACCESS, access) ? { access } : {}),
    started_at: String(started_at),
  }
}

function beginEventOf({ id, occurred_at, throttle, trace_id, span_id, gather_id }: PreparedEvent): BeginEvent {
  return { id, occurred_at, throttle, trace_id, span_id, gather_id }
}

function endOf({ status, exit_code, ended_at, bytes_written, error, usage, cost }: Payload, event: PreparedEvent) {
  const end: SessionEnd = {
    status: status as SessionEnd['status'],
    ended_at: typeof ended_at === 'string' ? ended_at : event.occurred_at,
    bytes_written: bytes_written as number,
    ...(typeof exit_code === 'number' ? { exit_code } : {}),
    ...text('error', error, TEXT_LENGTH_MAX),
    measured: measured(usage, cost),
  }
  return end
}

function text<Name extends string>(name: Name, value: unknown, charsMax: number): { readonly [N in Name]?: string } {
  if (typeof value !== 'string') return {}
  return { [name]: clipped(value, charsMax) } as { readonly [N in Name]: string }
}

function isOneOf<const Words extends readonly string[]>(words: Words, value: unknown): value is Words[number] {
  return words.includes(value as string)
}
