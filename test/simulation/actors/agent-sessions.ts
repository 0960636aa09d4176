/** What engines report of agent sessions, in any order: beginnings, ends, and often only one of the two. */
import type { Random } from '../random.ts'

/** So few that one is often named twice. */
const SESSIONS_OF_ONE = 2

/** An event about one of the sessions that have this prefix. */
export function sessionEvent(random: Random, name: string, occurred_at: string, is?: 'started'): object {
  const session_id = `${name}-${random.int(1, SESSIONS_OF_ONE)}`
  if (is === 'started' || random.chance(0.6))
    return { event_type: 'agent_session_started', occurred_at, payload: started(session_id, occurred_at) }
  const measured = random.chance(0.5) ? { usage: { model: { input: random.int(1, 9) } }, cost: { USD: 0.1 } } : {}
  const payload = { session_id, status: 'ok', exit_code: 0, ended_at: occurred_at, bytes_written: 1, ...measured }
  return { event_type: 'agent_session_ended', occurred_at, payload }
}

function started(session_id: string, started_at: string): object {
  const where = { working_dir: '/w', source_log_path: `/s/${session_id}.jsonl` }
  const what = { agent_type: 'agent', capability: 'coding', access: 'full', project: '', trace_id: '' }
  return { session_id, ...what, ...where, started_at }
}
