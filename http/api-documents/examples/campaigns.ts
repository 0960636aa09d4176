/** Examples of the campaigns' bodies and answers, by route. */
import type { Example } from '../examples.ts'
import { AT, BY, ITEM_ID, PROJECT_ID, TRACE_ID } from './constants.ts'

const ORIGIN = 'ada-laptop'

const gate = { kind: 'gate', command: 'npm test', required: true }
const review = { kind: 'review', statement: 'Every greeting exists in French.' }

const campaign = {
  name: 'french',
  project: 'greeter',
  project_id: PROJECT_ID,
  status: 'staged',
  reason: 'added by ada',
  since: AT,
  stage: 'idle',
  needs: 'advance it: it has not begun',
  mission: 'Greet in French, too',
  done_evidence: [
    { name: 'campaign_done_1', ...gate },
    { name: 'campaign_done_2', ...review },
  ],
  budget: { max_cycles: 20, remaining: 20 },
  cycles_completed: 0,
  cycles_landed: 0,
  authorized_by: 'ada',
  added_by: BY,
  trace_id: TRACE_ID,
  created_at: AT,
}
const { needs: _, ...calm } = campaign
const forming = {
  ...calm,
  reason: 'its next step is being formed',
  stage: 'forming',
  work: {
    role: 'advance',
    item_id: ITEM_ID,
    trace_id: TRACE_ID,
    since: AT,
    state: 'queued',
    reason: 'next to start',
    waiting_because: { code: 'next', detail: 'next to start' },
  },
}
const cycle = {
  ...calm,
  status: 'active',
  reason: 'cycle 1: no greeting is in French yet',
  stage: 'cycle',
  work: {
    role: 'cycle',
    item_id: ITEM_ID,
    trace_id: TRACE_ID,
    since: AT,
    cycle: 1,
    objective: 'Translate the greeting of a single guest',
    state: 'running',
    reason: 'running on laptop',
    running_on: 'laptop',
  },
  budget: { max_cycles: 20, remaining: 19 },
  cycles_completed: 1,
  objective_history: [
    { cycle: 1, objective: 'Translate the greeting of a single guest', outcome: { item_id: ITEM_ID } },
  ],
}
const ended = { ...calm, ended_at: AT }

export const campaignExamples: Readonly<Record<string, Example>> = {
  'POST /api/campaigns': {
    body: {
      name: 'french',
      project: 'greeter',
      mission: campaign.mission,
      done_evidence: [{ kind: 'gate', command: 'npm test' }, review],
      escalation: ['A greeting would have to change its meaning.'],
      origin: ORIGIN,
    },
    answer: campaign,
  },
  'GET /api/campaigns': { answer: { items: [cycle] } },
  'GET /api/campaigns/:name': { answer: cycle },
  'POST /api/campaigns/:name/advance': { body: { origin: ORIGIN }, answer: forming },
  'POST /api/campaigns/:name/pause': {
    body: { reason: 'the fair is on', origin: ORIGIN },
    answer: { ...cycle, status: 'paused', reason: 'paused by ada: the fair is on', paused: { by: 'owner' } },
  },
  'POST /api/campaigns/:name/resume': { body: { add_cycles: 5, origin: ORIGIN }, answer: cycle },
  'POST /api/campaigns/:name/decide': {
    body: { decision: 'Use the formal address.', origin: ORIGIN },
    answer: {
      ...forming,
      status: 'active',
      owner_decisions: [{ decision: 'Use the formal address.', authorized_by: 'ada', decided_at: AT }],
    },
  },
  'POST /api/campaigns/:name/complete': {
    body: { reason: 'A French guest says so.', origin: ORIGIN },
    answer: { ...ended, status: 'completed', reason: 'completed by ada: A French guest says so.' },
  },
  'POST /api/campaigns/:name/cancel': {
    body: { reason: 'Nobody reads it.', now: true, discard_work: true, origin: ORIGIN },
    answer: {
      ...cycle,
      status: 'cancelling',
      stage: 'stopping',
      reason: 'its cycle is being stopped: Nobody reads it.',
    },
  },
}
