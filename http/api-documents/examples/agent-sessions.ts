/** Examples of answers about agent sessions, by route. */
import type { Example } from '../examples.ts'
import { AT, REQUEST_ID, TRACE_ID } from './constants.ts'

const session = {
  session_id: '6f1c2a34-5b7d-4e8f-9a0b-1c2d3e4f5a6b',
  project: 'greeter',
  state: 'started',
  trace_id: TRACE_ID,
  run_request_id: REQUEST_ID,
  attempt: 1,
  runner_id: 'laptop',
  agent_type: 'coding-agent',
  working_dir: '/work/greeter',
  source_log_path: '/home/ada/.engine/agent-sessions/6f1c2a34-5b7d-4e8f-9a0b-1c2d3e4f5a6b.jsonl',
  capability: 'coding',
  access: 'full',
  started_at: AT,
  recorded_at: AT,
}
const running = { ...session, bytes_written: 18_432, last_output_at: AT, heard_at: AT }
const ended = {
  ...session,
  state: 'ended',
  status: 'ok',
  exit_code: 0,
  ended_at: AT,
  bytes_written: 90_112,
  tokens: { 'model-a': { input: 120_000, output: 4_200, cache_read: 80_000 } },
  cost: { USD: 0.42 },
  cost_basis: 'list',
}

export const agentSessionExamples: Readonly<Record<string, Example>> = {
  'GET /api/agent-sessions': { answer: { items: [running, ended] } },
  'GET /api/agent-sessions/:session_id': { answer: ended },
}
