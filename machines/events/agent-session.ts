/** Agent sessions (SPEC 6.16), and the end of a session that nobody saw end (SPEC 6.17). */
import { SESSION_ID_PATTERN } from '../documents/agent-session.ts'
import { anyObject, count, exactlyWith, never, openObject, rule, stringEnum, Type, timestamp } from '../schema.ts'
import { engineEvent } from './event-type.ts'

const sessionId = (description: string) => Type.String({ pattern: SESSION_ID_PATTERN, description })

const ended = openObject(
  {
    session_id: sessionId('matches the started event'),
    status: stringEnum(['ok', 'agent_failed', 'unavailable', 'interrupted']),
    exit_code: Type.Optional(Type.Integer({ description: 'omitted when the agent could not be invoked' })),
    ended_at: timestamp('when the session finished; for interrupted, the restart'),
    bytes_written: count('bytes streamed to the transcript'),
    error: Type.Optional(Type.String()),
    usage: Type.Optional(anyObject('tokens by model; absent is unmeasured, never zero')),
    cost: Type.Optional(anyObject('cost and its basis; absent is unmeasured, never zero')),
  },
  {
    rules: [
      exactlyWith('status', ['unavailable', 'interrupted'], 'error'),
      rule('status', ['interrupted'], {
        error: { const: 'daemon restarted', description: 'the text for an interrupted session' },
        exit_code: never('nothing saw an interrupted session end'),
        bytes_written: { const: 0, description: 'nothing saw an interrupted session end' },
        usage: never('the usage of an interrupted session is unknown'),
        cost: never('the cost of an interrupted session is unknown'),
      }),
    ],
  },
)

export const agentSessionEvents = {
  agent_session_started: engineEvent(
    '6.16',
    'an engine-launched agent session began',
    openObject({
      session_id: sessionId("UUID, or another name; the transcript file's base name"),
      agent_type: Type.String({ description: 'agent runtime' }),
      project: Type.String({ description: 'may be empty' }),
      working_dir: Type.String({ description: 'absolute working directory' }),
      source_log_path: Type.String({ description: 'absolute path of the JSONL transcript' }),
      capability: stringEnum(['reasoning', 'coding', 'quick']),
      access: stringEnum(['read_only', 'full']),
      started_at: timestamp('launch time'),
      trace_id: Type.String({ description: 'may be empty' }),
    }),
  ),
  agent_session_ended: engineEvent('6.16', 'an agent session ended', ended),
}
