/** Messages and snapshots of initiatives that the tests share. */
import type { Member } from '../../machines/documents/member.ts'
import type { CreateInitiative, InitiativeContext, MemberView, View } from '../../machines/initiative/context.ts'
import { assessmentIds } from '../../machines/initiative/facts.ts'
import { initiativeModule } from '../../machines/initiative.ts'
import type { Message, SnapshotOf } from '../../machines/machine.ts'
import { BY } from './run-request-samples.ts'
import { after, at } from './step.ts'

export const NAME = 'checkout'
export const CAMPAIGN: Member = { kind: 'campaign', ref: 'pay' }
export const ITEM: Member = { kind: 'work_item', ref: `wi_${'a'.repeat(24)}` }
export const PROJECT: Member = { kind: 'project', ref: 'shop' }
export const STRANGER: Member = { kind: 'project', ref: 'elsewhere' }
export const OWNER = { ...BY, origin: 'ann-laptop: by hand' }

export const CREATE: CreateInitiative = {
  type: 'create',
  by: OWNER,
  id: NAME,
  outcome: 'People can pay by invoice',
  projects: ['shop', 'bank'],
  intent_refs: ['ir_1'],
  members: [CAMPAIGN, ITEM, PROJECT],
  homes: { 'campaign:pay': 'bank', [`work_item:${ITEM.ref}`]: 'bank', 'project:shop': 'shop' },
  authorized_by: 'Ann',
  budget: { max_assessments: 5, max_actions: 3 },
}

const memberView = (member: Member, project: string, state: string, more: Partial<MemberView> = {}): MemberView => ({
  member,
  project,
  state,
  ...more,
})

/** Every member can advance. */
export const VIEW: View = {
  members: [
    memberView(CAMPAIGN, 'bank', 'active', { mark: '0/0' }),
    memberView(ITEM, 'bank', 'held', { held_by_us: true }),
    memberView(PROJECT, 'shop', 'active'),
  ],
  items: [],
}
export const IDLE_VIEW: View = {
  members: [
    memberView(CAMPAIGN, 'bank', 'completed'),
    memberView(ITEM, 'bank', 'landed'),
    memberView(PROJECT, 'shop', 'archived'),
  ],
  items: [],
}
export const MOVED_VIEW: View = { ...VIEW, members: [{ ...VIEW.members[0]!, mark: '1/0' }, ...VIEW.members.slice(1)] }

/** The first request's item: the seed holds the time at which the initiative was made. */
export const FIRST_ITEM = assessmentIds(NAME, `${at(0, CREATE).at}/1`).item_id

export function answer(seconds: number, decision: object, more: object = {}) {
  const result = { reason: 'it is time', agent_provider: 'claude', ...decision }
  const reported = { type: 'item_reported', role: 'assessment', run_request_id: 'runreq_1', outcome: 'completed' }
  return at(seconds, { ...reported, item_id: FIRST_ITEM, result, ...more } as { type: string }) as Message<any>
}

export function judge(seconds: number, view: View = VIEW, item_id: string = FIRST_ITEM) {
  return at(seconds, { type: 'judge', item_id, view })
}

/** The payload of a cycle's result. */
export function settled(item_id: string, state: string, more: object = {}) {
  return at(40, {
    type: 'item_settled',
    item_id,
    role: 'cycle',
    state,
    reason: state,
    started: true,
    ...more,
  }) as Message<any>
}

const owner = { by: OWNER }
const finding = { from: { kind: 'person', id: 'ann' }, to: [PROJECT], kind: 'note', text: 'The limit is 10', refs: [] }

/** One message of each kind; the labels name what is special. */
export const MESSAGES = {
  create: at(0, CREATE),
  'advance (t1)': at(1, { type: 'advance', ...owner, trigger_id: 't1' }),
  'advance (t2, pinned)': at(2, { type: 'advance', ...owner, trigger_id: 't2', member: PROJECT }),
  'advance (t4, emitted)': at(2, { type: 'advance', ...owner, trigger_id: 't4', event_id: 'evt_4' }),
  'advance (a stranger)': at(2, { type: 'advance', ...owner, trigger_id: 't3', member: STRANGER }),
  'assess (t1)': at(3, { type: 'assess', trigger_id: 't1', view: VIEW }),
  'assess (t1, nothing to do)': at(3, { type: 'assess', trigger_id: 't1', view: IDLE_VIEW }),
  'item_reported (hold)': answer(4, { decision: 'hold', member: CAMPAIGN }),
  'item_reported (no decision)': answer(4, { decision: undefined }),
  'item_reported (failed)': answer(
    4,
    {},
    {
      outcome: 'failed',
      result: undefined,
      failure: { class: 'execution', message: 'no model' },
    },
  ),
  'item_reported (never begun)': answer(
    4,
    {},
    {
      outcome: 'failed',
      result: undefined,
      failure: { class: 'dispatch', message: 'nobody took it' },
    },
  ),
  'item_reported (of another)': answer(4, { decision: 'wait' }, { item_id: 'wi_x' }),
  'item_settled (cancelled)': at(5, {
    type: 'item_settled',
    item_id: FIRST_ITEM,
    role: 'assessment',
    state: 'cancelled',
    reason: 'cancelled by ann',
    started: false,
  }),
  'item_settled (of another)': at(5, {
    type: 'item_settled',
    item_id: 'wi_x',
    role: 'cycle',
    state: 'landed',
    reason: 'x',
    started: true,
  }),
  judge: judge(6),
  'judge (moved)': judge(6, MOVED_VIEW),
  decide: at(7, { type: 'decide', ...owner, decision: 'Invoices first', applicable_members: [CAMPAIGN] }),
  'decide (a stranger)': at(7, { type: 'decide', ...owner, decision: 'x', applicable_members: [STRANGER] }),
  complete: at(8, { type: 'complete', ...owner, reason: 'paid the first invoice' }),
  'complete (other reason)': at(8, { type: 'complete', ...owner, reason: 'paid them all' }),
  cancel: at(8, { type: 'cancel', ...owner, reason: 'no longer wanted', items: ['wi_1'] }),
  'record_owner_action (hold)': at(9, {
    type: 'record_owner_action',
    ...owner,
    action_id: 'act_1',
    action: 'hold',
    member: CAMPAIGN,
    reason: 'audit week',
    fingerprint: 'a',
  }),
  'record_owner_action (another body)': at(9, {
    type: 'record_owner_action',
    ...owner,
    action_id: 'act_1',
    action: 'milestone',
    reason: 'first invoice',
    fingerprint: 'b',
  }),
  record_finding: at(10, { type: 'record_finding', ...owner, finding_id: 'find_1', ...finding, fingerprint: 'a' }),
  'record_finding (a stranger)': at(10, {
    type: 'record_finding',
    ...owner,
    finding_id: 'find_2',
    ...finding,
    to: [STRANGER],
  }),
  'member_cycle_settled (landed)': at(11, {
    type: 'member_cycle_settled',
    item_id: 'wi_9',
    member: CAMPAIGN,
    finding_ids: ['find_1'],
    state: 'landed',
    on_trunk: true,
  }),
  'member_cycle_settled (defect)': at(11, {
    type: 'member_cycle_settled',
    item_id: 'wi_9',
    member: CAMPAIGN,
    finding_ids: [],
    state: 'preserved',
    terminal: { event_id: 'evt_9', payload: { verdict: 'defect', diagnosis: 'It rounds down' } },
  }),
} as const satisfies Record<string, Message<any>>

const M = MESSAGES
type Snapshots = Readonly<Record<string, SnapshotOf<InitiativeContext>>>

export function run(...messages: readonly Message<any>[]): SnapshotOf<InitiativeContext> {
  return after(initiativeModule, messages)
}

/** Up to an answer that waits to be judged. */
export function deciding(decision: object, trigger: Message<any> = M['advance (t1)'], view: View = VIEW) {
  const assess = at(3, { type: 'assess', trigger_id: (trigger as any).trigger_id, view })
  return run(M.create, trigger, assess, answer(4, decision))
}

/** One snapshot of every state, and of variants that a state alone does not tell apart, reached by messages. */
export function states(): Snapshots {
  const asked = [M.create, M['advance (t1)']]
  const assessing = [...asked, M['assess (t1)']]
  return {
    active: run(M.create),
    'active, asked': run(...asked),
    'active, with a finding': run(M.create, M.record_finding),
    assessing: run(...assessing),
    'assessing, asked again': run(...assessing, M['advance (t2, pinned)']),
    deciding: run(...assessing, M['item_reported (hold)']),
    completed: run(M.create, M.complete),
    'completed while assessing': run(...assessing, M.complete),
    cancelled: run(M.create, M.cancel),
    'cancelled while deciding': run(...assessing, M['item_reported (hold)'], M.cancel),
  }
}
