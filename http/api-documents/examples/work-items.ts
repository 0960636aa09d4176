/** Examples of bodies and answers of work items and pacing, by route. */
import type { Example } from '../examples.ts'
import { AT, BY, ITEM_ID, PROJECT_ID, TRACE_ID } from './constants.ts'

const CHILD_ID = 'wi_b5a493827160f5e4d3c2b1a0'
const ORIGIN = 'ada-laptop'
const OTHER = 'wi_1111111111111111aaaaaaaa'

const item = {
  id: ITEM_ID,
  project: 'greeter',
  project_id: PROJECT_ID,
  objective: 'Greet in French, too',
  kind: 'task',
  lane: 'interactive',
  state: 'queued',
  reason: 'next to start',
  origin: ORIGIN,
  source: { kind: 'operator', ref: 'ada' },
  trace_id: TRACE_ID,
  submitted_by: BY,
  submitted_at: AT,
}
const waiting = {
  ...item,
  reason: `waits for ${OTHER} to land (running)`,
  waiting_because: { code: 'dependency', detail: `waits for ${OTHER} to land (running)` },
  depends_on: [OTHER],
}
const action = { origin: ORIGIN, at: AT, by: BY }
const after = (command: string, previous_state: string, previous_reason: string) => {
  const operator_action = { command, previous_state, previous_reason, ...action }
  return { operator_action, operator_actions: [operator_action] }
}
const held = { ...item, state: 'held', reason: 'held by ada', ...after('hold', 'queued', 'next to start') }
const preserved = {
  ...item,
  state: 'preserved',
  reason: 'complete, but could not land (trunk_moved_conflict): French added',
  disposition: { verdict: 'complete', preservation_ref: 'engine-task/greet-in-french' },
  started_at: AT,
  settled_at: AT,
}
const closed = {
  ...preserved,
  state: 'cancelled',
  reason: 'closed: done by hand',
  ...after('close', 'preserved', preserved.reason),
}
const pacing = {
  max_running: 2,
  running_count: 0,
  waiting_count: 1,
  paused: ['campaign'],
  lanes: [
    { lane: 'interactive', paused: false },
    { lane: 'campaign', paused: true, since: AT, origin: ORIGIN, by: BY },
    { lane: 'maintenance', paused: false },
  ],
  label_limits: [{ label: 'provider:anthropic', max_running: 5, under_way: 0, since: AT, origin: ORIGIN, by: BY }],
  weights: [{ project: 'greeter', weight: 3, since: AT, origin: ORIGIN, by: BY }],
  running: [],
  waiting: [
    {
      id: ITEM_ID,
      project: 'greeter',
      objective: item.objective,
      lane: 'interactive',
      repository: 'https://example.org/greeter.git',
      state: 'held',
      reason: 'held by ada',
      waiting_because: { code: 'held', detail: 'held by an operator' },
      since: AT,
    },
  ],
}

export const workItemExamples: Readonly<Record<string, Example>> = {
  'POST /api/work-items': {
    body: { project: 'greeter', objective: item.objective, depends_on: [OTHER], origin: ORIGIN },
    answer: waiting,
  },
  'GET /api/work-items': { answer: { items: [waiting] } },
  'GET /api/work-items/:id': { answer: waiting },
  'POST /api/work-items/:id/hold': { body: { origin: ORIGIN }, answer: held },
  'POST /api/work-items/:id/release': {
    body: { origin: ORIGIN },
    answer: { ...item, ...after('release', 'held', 'held by ada') },
  },
  'POST /api/work-items/:id/close': { body: { reason: 'done by hand', origin: ORIGIN }, answer: closed },
  'POST /api/work-items/:id/cancel': {
    body: { origin: ORIGIN },
    answer: { ...item, state: 'cancelled', reason: 'cancelled by ada', ...after('cancel', 'queued', 'next to start') },
  },
  'POST /api/work-items/:id/resume': {
    body: { origin: ORIGIN },
    answer: {
      ...item,
      id: CHILD_ID,
      source: { kind: 'work_item', ref: ITEM_ID },
      resumes: ITEM_ID,
      base_ref: 'engine-task/greet-in-french',
    },
  },
  'GET /api/pacing': { answer: pacing },
  'POST /api/pacing/pause': { body: { lanes: ['campaign'], origin: ORIGIN }, answer: pacing },
  'POST /api/pacing/resume': {
    body: { lanes: ['campaign'], origin: ORIGIN },
    answer: { ...pacing, paused: [], lanes: pacing.lanes.map(({ lane }) => ({ lane, paused: false })) },
  },
  'POST /api/pacing/limit': {
    body: { label: 'provider:anthropic', max_running: 5, origin: ORIGIN },
    answer: pacing,
  },
  'POST /api/pacing/unlimit': {
    body: { label: 'provider:anthropic', origin: ORIGIN },
    answer: { ...pacing, label_limits: [] },
  },
  'POST /api/pacing/weigh': { body: { project: 'greeter', weight: 3, origin: ORIGIN }, answer: pacing },
}
