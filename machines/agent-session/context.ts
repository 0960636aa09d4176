/** What an agent session remembers, and the messages it takes. */
import type { AgentSession } from '../documents/agent-session.ts'
import type { Message, MessageBody, Throttle } from '../machine.ts'
import type { Measured } from '../usage/measure.ts'

/** The session's owner: where it was reported, and what it works for. */
export interface SessionOwner {
  /** Key of the project. */
  readonly project: string
  readonly run_request_id?: string
  readonly attempt?: number
  readonly runner_id?: string
  readonly work_item_id?: string
  readonly campaign?: string
}

export interface SessionIdentity extends SessionOwner {
  readonly session_id: string
  /** When the service recorded the first event that mentioned it. */
  readonly recorded_at: string
}

/** What its `agent_session_started` said. */
export type Launch = Pick<
  AgentSession,
  'agent_type' | 'working_dir' | 'source_log_path' | 'capability' | 'access' | 'started_at'
>

/** The event that reported the beginning: an interruption has it as its cause, and its trace. */
export interface BeginEvent {
  readonly id: string
  readonly occurred_at: string
  /** Absent for sessions recorded by older versions, meaning `full`. */
  readonly throttle?: Throttle
  readonly trace_id: string | null
  readonly span_id: string | null
  readonly gather_id: string | null
}

/** How it ended. */
export interface SessionEnd {
  readonly status: NonNullable<AgentSession['status']>
  readonly ended_at: string
  readonly bytes_written: number
  readonly exit_code?: number
  readonly error?: string
  readonly measured: Measured
  /** Nobody saw the end: if its engine reports one later, that counts instead. */
  readonly presumed?: true
}

export interface AgentSessionContext extends SessionIdentity {
  readonly trace_id?: string
  readonly launch?: Launch
  readonly begin_event?: BeginEvent
  readonly end?: SessionEnd
  /** When the service learned of the end, by its own clock. */
  readonly closed_at?: string
}

interface Begin extends MessageBody {
  readonly type: 'begin'
  readonly session: SessionIdentity
  readonly trace_id?: string
  readonly launch: Launch
  readonly event: BeginEvent
}

interface End extends MessageBody {
  readonly type: 'end'
  readonly session: SessionIdentity
  readonly trace_id?: string
  readonly end: SessionEnd
}

/** From the service: the process that ran the session is gone. */
interface Interrupt extends MessageBody {
  readonly type: 'interrupt'
  readonly ended_at: string
}

export type AgentSessionBody = Begin | End | Interrupt
export type AgentSessionMessage = Message<AgentSessionBody>
export type Of<T extends AgentSessionBody['type']> = Message<Extract<AgentSessionBody, { type: T }>>
