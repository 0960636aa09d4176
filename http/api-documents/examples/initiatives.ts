/** Examples of initiatives' bodies and answers, by route. */
import type { Example } from '../examples.ts'
import { AT, BY, EVENT_ID, ITEM_ID } from './constants.ts'

const MEMBER = { kind: 'project', ref: 'greeter' }
const STEER_ID = 'steer_0a1b2c3d4e5f60718293a4b5'
const ACTION_ID = 'act_0a1b2c3d4e5f60718293a4b5'
const FINDING_ID = 'find_0a1b2c3d4e5f60718293a4b5'

const initiative = {
  name: 'languages',
  outcome: 'Everybody is greeted in their own language',
  status: 'active',
  projects: ['greeter'],
  intent_refs: ['intent:greeter/greet-by-name'],
  members: [MEMBER],
  authorized_by: 'ada',
  budget: { max_assessments: 40, max_actions: 20 },
  assessments_made: 0,
  actions_applied: 0,
  waiting: [],
  questions: [],
  close_proposals: [],
  owner_decisions: [],
  owner_actions: [],
  assessments: [],
  actions: [],
  findings: [],
  created_by: BY,
  created_at: AT,
}
const waiting = { ...initiative, waiting: [{ trigger_id: 'weekly-36', member: MEMBER, requested_at: AT }] }
const action = {
  action_id: ACTION_ID,
  steer_id: STEER_ID,
  decision: 'dispatch',
  reason: 'Nothing greets in French yet',
  member: MEMBER,
  objective: 'Greet in French, too',
  provider: 'claude',
  context_fingerprint: `sha256:${'0a1b2c3d'.repeat(8)}`,
  item_id: ITEM_ID,
  at: AT,
}
const steered = {
  ...initiative,
  assessments_made: 1,
  actions_applied: 1,
  assessments: [
    {
      steer_id: STEER_ID,
      item_id: 'wi_b5a493827160f5e4d3c2b1a0',
      trigger_id: 'weekly-36',
      outcome: 'applied',
      decision: 'dispatch',
      detail: 'Nothing greets in French yet',
      provider: 'claude',
      at: AT,
    },
  ],
  actions: [action],
}
const decision = { decision: 'French first', reason: 'Most of those who asked speak it' }
const decided = { ...steered, owner_decisions: [{ ...decision, by: BY, at: AT }] }
const ended = (status: string, reason: string) => ({ ...steered, status, reason, ended_at: AT })
const hold = { action: 'hold', member: MEMBER, reason: 'A release is under way' }
const ownerAction = { action_id: ACTION_ID, ...hold, operator_origin: 'ada-laptop', by: BY, at: AT }
const said = { kind: 'gap', text: 'Accents are lost in the log', refs: ['docs/encoding.md'] }
const finding = {
  id: FINDING_ID,
  finding_id: FINDING_ID,
  initiative: 'languages',
  from: { kind: 'cycle', id: ITEM_ID, event_id: EVENT_ID },
  to: [MEMBER],
  ...said,
  consumed_by: [],
  recorded_at: AT,
}

export const initiativeExamples: Readonly<Record<string, Example>> = {
  'POST /api/initiatives': {
    body: { name: 'languages', outcome: initiative.outcome, intent_refs: initiative.intent_refs, members: [MEMBER] },
    answer: initiative,
  },
  'GET /api/initiatives': { answer: { items: [steered] } },
  'GET /api/initiatives/:name': { answer: steered },
  'POST /api/initiatives/:name/advance': { body: { member: MEMBER, trigger_id: 'weekly-36' }, answer: waiting },
  'POST /api/initiatives/:name/decide': { body: decision, answer: decided },
  'POST /api/initiatives/:name/complete': {
    body: { reason: 'Nobody is greeted in a foreign language any more' },
    answer: ended('completed', 'Nobody is greeted in a foreign language any more'),
  },
  'POST /api/initiatives/:name/cancel': {
    body: { reason: 'English is enough' },
    answer: ended('cancelled', 'English is enough'),
  },
  'POST /api/initiatives/:name/owner-actions': { body: hold, answer: ownerAction },
  'POST /api/initiatives/:name/findings': { body: said, answer: finding },
}
