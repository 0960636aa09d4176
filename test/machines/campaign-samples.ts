/** Messages and snapshots of campaigns that the tests share. */
import type { CampaignContext, CreateCampaign } from '../../machines/campaign/context.ts'
import { campaignModule } from '../../machines/campaign.ts'
import type { Message, SnapshotOf } from '../../machines/machine.ts'
import { BY } from './run-request-samples.ts'
import { after, at } from './step.ts'

const ORIGIN = 'ann-laptop'
export const owner = { by: { ...BY, origin: ORIGIN } }

export const CREATE: CreateCampaign = {
  type: 'create',
  ...owner,
  name: 'pay',
  project: 'acme',
  project_id: `proj_${'b'.repeat(24)}`,
  repository: 'git@example.com:acme.git',
  mission: 'Let customers pay by invoice',
  done_evidence: [
    { kind: 'gate', command: 'npm test' },
    { kind: 'review', statement: 'A customer can choose to pay by invoice.' },
    { kind: 'gate', command: 'npm run slow', required: false },
  ],
  escalation: ['The price of anything would change.'],
  max_cycles: 2,
  authorized_by: 'ann',
}

/** The payload of a task result, as its run stated it. */
export function taskResult(verdict: string, more: object = {}): Record<string, unknown> {
  const said: Record<string, object> = {
    complete: { success: true },
    remainder: { gaps: ['the tests'] },
    defect: { diagnosis: 'it breaks' },
    blocked_on_decision: { finding: 'Net or gross?', options: ['net', 'gross'] },
    runner_error: { detail: 'out of memory' },
  }
  return { project: 'acme', success: false, landed: false, summary: 'as told', verdict, ...said[verdict], ...more }
}

export const LANDED = taskResult('complete', { landed: true, preservation_ref: 'abc1234' })
export const GREEN = [{ name: 'campaign_done_1', command: 'npm test', passed: true, required: true }]
const RED = [{ ...GREEN[0], passed: false, output: '1 test fails' }]

const workOf = ({ context }: SnapshotOf<CampaignContext>): string => context.work?.item_id ?? `wi_${'0'.repeat(24)}`

/** The run of the item under way has ended. */
export function reported(snapshot: SnapshotOf<CampaignContext>, seconds: number, more: object): Message<any> {
  const item_id = workOf(snapshot)
  const run = { item_id, role: 'advance', run_request_id: 'runreq_x', outcome: 'completed' }
  return at(seconds, { type: 'item_reported', ...run, ...more })
}

/** The item under way has settled. */
export function settled(snapshot: SnapshotOf<CampaignContext>, seconds: number, more: object): Message<any> {
  const item = { item_id: workOf(snapshot), role: 'cycle', state: 'landed', reason: 'as told', started: true }
  return at(seconds, { type: 'item_settled', ...item, ...more })
}

export const advanced = { result: { decision: { decision: 'advance', reason: 'a gap', objective: 'Add invoices' } } }
const result = (payload: object) => ({ terminal: { event_id: 'evt_1', payload } })
const failed = (code: string, more: object = {}) => ({
  outcome: 'failed',
  failure: { class: 'execution', code, message: 'no more today' },
  ...more,
})

const FINDING = { finding_id: 'find_1', initiative: 'checkout', kind: 'note', text: 'The limit is 10', refs: [] }

/** One message of each kind for a state; messages of items speak of the item under way in it. */
export function messagesFor(snapshot: SnapshotOf<CampaignContext>): Readonly<Record<string, Message<any>>> {
  const report = (more: object) => reported(snapshot, 50, more)
  const settle = (more: object) => settled(snapshot, 50, more)
  return {
    create: at(50, { ...CREATE, max_cycles: 3 }),
    advance: at(50, { type: 'advance', ...owner }),
    'advance (emitted)': at(50, { type: 'advance', ...owner, event_id: 'evt_9' }),
    pause: at(50, { type: 'pause', ...owner, reason: 'a fair' }),
    join_initiative: at(50, { type: 'join_initiative', initiative: 'checkout' }),
    leave_initiative: at(50, { type: 'leave_initiative', initiative: 'checkout' }),
    share_finding: at(50, { type: 'share_finding', finding: FINDING }),
    resume: at(50, { type: 'resume', ...owner }),
    'resume (more cycles)': at(50, { type: 'resume', ...owner, add_cycles: 2 }),
    decide: at(50, { type: 'decide', ...owner, decision: 'net' }),
    complete: at(50, { type: 'complete', ...owner, reason: 'done by hand' }),
    'complete (other reason)': at(50, { type: 'complete', ...owner, reason: 'it was done before' }),
    cancel: at(50, { type: 'cancel', ...owner, reason: 'not wanted' }),
    'cancel (now)': at(50, { type: 'cancel', ...owner, reason: 'not wanted', now: true }),
    'cancel (now, discard)': at(50, { type: 'cancel', ...owner, reason: 'it leaks', now: true, discard_work: true }),
    provider_back: at(50, { type: 'provider_back' }),
    item_started: at(50, { type: 'item_started', item_id: workOf(snapshot) }),
    'item_reported (advance)': report(advanced),
    'item_reported (done)': report({ result: { decision: 'done', reason: 'all holds', gate_results: GREEN } }),
    'item_reported (done, red)': report({ result: { decision: 'done', reason: 'all holds', gate_results: RED } }),
    'item_reported (done, unproven)': report({ result: { decision: 'done', reason: 'all holds' } }),
    'item_reported (escalate)': report({ result: { decision: 'escalate', reason: 'the price' } }),
    'item_reported (malformed)': report({ result: { decision: 'maybe' } }),
    'item_reported (blank reason)': report({ result: { decision: 'escalate', reason: ' ' } }),
    'item_reported (no decision)': report({ result: {} }),
    'item_reported (failed)': report(failed('exit_1')),
    'item_reported (no provider)': report(failed('provider_unavailable')),
    'item_reported (limit, for an hour)': report(failed('usage_limit', { result: { retry_after: 3600 } })),
    'item_settled (landed)': settle(result(LANDED)),
    'item_settled (defect)': settle({
      state: 'preserved',
      ...result(taskResult('defect', { preservation_ref: 'task/1' })),
    }),
    'item_settled (decision)': settle({ state: 'needs_decision', ...result(taskResult('blocked_on_decision')) }),
    'item_settled (runner error)': settle({ state: 'failed', ...result(taskResult('runner_error')) }),
    'item_settled (no provider)': settle({ state: 'failed', ...failed('provider_unavailable') }),
    'item_settled (no result)': settle({ state: 'failed' }),
    'item_settled (never begun)': settle({ state: 'cancelled', started: false }),
    'item_settled (stopped)': settle({ state: 'cancelled' }),
    'item_settled (another)': at(50, { ...settle(result(LANDED)), item_id: `wi_${'9'.repeat(24)}` }),
  }
}

export const run = (...messages: readonly Message<any>[]): SnapshotOf<CampaignContext> =>
  after(campaignModule, messages)

/** Takes messages one by one; each is made for the snapshot before it. */
export function walk(
  ...moves: readonly ((snapshot: SnapshotOf<CampaignContext>) => Message<any>)[]
): SnapshotOf<CampaignContext> {
  const messages: Message<any>[] = [at(0, CREATE)]
  let snapshot = run(...messages)
  for (const move of moves) {
    messages.push(move(snapshot))
    snapshot = run(...messages)
  }
  return snapshot
}

export const says =
  (type: string, more: object = {}) =>
  () =>
    at(10, { type, ...owner, ...more })
export const answers = (more: object) => (snapshot: SnapshotOf<CampaignContext>) => reported(snapshot, 20, more)
export const ends =
  (payload: object, more: object = {}) =>
  (snapshot: SnapshotOf<CampaignContext>) =>
    settled(snapshot, 30, { terminal: { event_id: `evt_${workOf(snapshot)}`, payload }, ...more })

/** A runner begins the cycle. */
export const begins = (snapshot: SnapshotOf<CampaignContext>) =>
  at(25, { type: 'item_started', item_id: workOf(snapshot) })

const toCycle = [says('advance'), answers(advanced)] as const
const asked = ends(taskResult('blocked_on_decision'), { state: 'needs_decision' })

/** One snapshot of every status, and of variants that the status alone does not tell apart. */
export function states(): Readonly<Record<string, SnapshotOf<CampaignContext>>> {
  const other = { result: { decision: { decision: 'advance', reason: 'the rest', objective: 'Add receipts' } } }
  const escalate = { result: { decision: 'escalate', reason: 'the price' } }
  return {
    staged: walk(),
    'staged, authorized by nobody': run(at(0, { ...CREATE, authorized_by: undefined })),
    'staged, forming': walk(says('advance')),
    'staged, forming for two': walk(says('advance'), says('advance', { event_id: 'evt_8' })),
    'active, cycle': walk(...toCycle),
    'active, cycle begun': walk(...toCycle, begins),
    'active, forming': walk(...toCycle, ends(LANDED)),
    'active, last cycle': walk(...toCycle, ends(LANDED), answers(other)),
    'active, forming, no budget': walk(...toCycle, ends(LANDED), answers(other), ends(LANDED)),
    'paused, idle': walk(says('pause')),
    'paused, cycle': walk(...toCycle, says('pause')),
    'paused, result kept': walk(...toCycle, says('pause'), ends(LANDED)),
    'paused, decision kept': walk(...toCycle, says('pause'), ends(taskResult('blocked_on_decision'))),
    'paused by its provider': walk(says('advance'), answers(failed('usage_limit', { result: { retry_after: 3600 } }))),
    escalated: walk(says('advance'), answers(escalate)),
    'escalated, no budget': walk(...toCycle, ends(LANDED), answers(other), ends(LANDED), answers(escalate)),
    'escalated by a cycle': walk(...toCycle, asked),
    'escalated, then paused': walk(says('advance'), answers(escalate), says('pause')),
    'escalated, no budget, then paused': walk(
      ...[...toCycle, ends(LANDED), answers(other), ends(LANDED), answers(escalate)],
      says('pause'),
    ),
    'escalated by a cycle, then paused': walk(...toCycle, asked, says('pause')),
    cancelling: walk(...toCycle, says('cancel', { reason: 'not wanted', now: true })),
    'cancelling, work thrown away': walk(
      ...toCycle,
      says('cancel', { reason: 'not wanted', now: true }),
      says('cancel', { reason: 'it leaks', now: true, discard_work: true }),
    ),
    'cancelling, was paused': walk(...toCycle, says('pause'), says('cancel', { reason: 'not wanted', now: true })),
    completed: walk(says('complete', { reason: 'done by hand' })),
    'completed, cycle': walk(...toCycle, says('complete', { reason: 'done by hand' })),
    'completed, cycle begun': walk(...toCycle, begins, says('complete', { reason: 'done by hand' })),
    cancelled: walk(says('cancel', { reason: 'not wanted' })),
    'cancelled, cycle': walk(...toCycle, says('cancel', { reason: 'not wanted' })),
    'cancelled, cycle begun': walk(...toCycle, begins, says('cancel', { reason: 'not wanted' })),
    'cancelled, cycle being stopped': walk(
      ...toCycle,
      says('cancel', { reason: 'not wanted' }),
      says('cancel', { reason: 'at once', now: true }),
    ),
  }
}
