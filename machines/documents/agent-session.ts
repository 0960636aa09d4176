/** An agent session as it is served (SPEC 3.3, 6.16): one launch of a coding agent by an engine. */
import { type Static, stringEnum, Type } from '../schema.ts'
import { time } from './fields.ts'
import { amounts, tokensByModel } from './usage.ts'

export const AGENT_SESSION_STATES = ['started', 'ended'] as const
export const AGENT_SESSION_STATUSES = ['ok', 'agent_failed', 'unavailable', 'interrupted'] as const
/** Pattern of session ids. `:` and `/` are excluded because they separate the parts of paths and index keys. */
export const SESSION_ID_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'
export const CAPABILITIES = ['reasoning', 'coding', 'quick'] as const
export const SESSION_ACCESS = ['read_only', 'full'] as const

export const agentSessionDocument = Type.Object(
  {
    session_id: Type.String({ description: 'The id given by its engine: the base name of its transcript.' }),
    project: Type.String({ description: 'Key of the project.' }),
    state: stringEnum(AGENT_SESSION_STATES, { description: 'Its state.' }),
    trace_id: Type.Optional(Type.String({ description: 'Trace of the work that it is part of.' })),
    run_request_id: Type.Optional(Type.String({ description: 'The run request on which it was reported.' })),
    attempt: Type.Optional(Type.Integer({ description: 'The attempt of that run request.' })),
    runner_id: Type.Optional(Type.String({ description: 'The runner that reported it; absent if none did.' })),
    work_item_id: Type.Optional(Type.String({ description: 'The work item that it works for.' })),
    campaign: Type.Optional(Type.String({ description: 'The campaign that it works for.' })),
    agent_type: Type.Optional(Type.String({ description: 'The agent runtime.' })),
    working_dir: Type.Optional(Type.String({ description: 'Its working directory, on its engine’s machine.' })),
    source_log_path: Type.Optional(Type.String({ description: 'Path of its transcript, on its engine’s machine.' })),
    capability: Type.Optional(stringEnum(CAPABILITIES, { description: 'The purpose it was launched for.' })),
    access: Type.Optional(stringEnum(SESSION_ACCESS, { description: 'The access it was given.' })),
    started_at: Type.Optional(
      time('When it was launched, by its engine’s clock; absent if only its end was reported.'),
    ),
    recorded_at: time('When the service first learned of it.'),
    bytes_written: Type.Optional(
      Type.Integer({ description: 'Bytes of its transcript at its end, or as of the last heartbeat.' }),
    ),
    last_output_at: Type.Optional(time('When it last wrote, as of the last heartbeat. Not kept across a restart.')),
    heard_at: Type.Optional(time('When that heartbeat arrived.')),
    status: Type.Optional(
      stringEnum(AGENT_SESSION_STATUSES, { description: 'How it ended; `interrupted`: nobody saw its end.' }),
    ),
    exit_code: Type.Optional(Type.Integer({ description: 'Exit code of its process.' })),
    ended_at: Type.Optional(time('When it ended; for an interrupted session, when that was found.')),
    error: Type.Optional(Type.String({ description: 'Why it could not be run, or was cut off.' })),
    tokens: Type.Optional(tokensByModel),
    cost: Type.Optional(amounts),
    cost_basis: Type.Optional(Type.String({ description: 'What the cost was calculated from, such as `list`.' })),
  },
  { title: 'AgentSession' },
)
export type AgentSession = Static<typeof agentSessionDocument>
