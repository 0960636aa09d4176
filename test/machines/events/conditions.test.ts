/** Rules between the fields of a payload, one by one: what the value of one field demands of the others. */
import t from 'tap'
import { validatePayload } from '../../../machines/events/index.ts'
import { sample } from './samples.ts'

type Case = readonly [sentence: string, type: string, payload: Record<string, unknown>, refused: readonly string[]]

const task = (payload: object) => ({ ...sample('task_run_completed'), ...payload })
const steered = (payload: object) => ({ initiative: 'i', steer_id: 's', success: true, prompt: 'p', ...payload })
const session = (payload: object) => ({ ...sample('agent_session_ended'), ...payload })
const cancelled = (payload: object) => ({ ...sample('campaign_cancelled'), ...payload })
const advance = (payload: object) => ({ ...sample('campaign_advance_completed'), ...payload })
const LOST = { status: 'interrupted', error: 'daemon restarted', bytes_written: 0 }
const gate = { name: 'g', command: 'c', passed: true, required: true, output: '', exit_code: 0 }
const checked = (result: object) => ({ ...sample('preflight_completed'), results: [gate, { ...gate, ...result }] })

const cases: readonly Case[] = [
  ...['origin/intendant/x', 'bundle:/srv/my work.bundle', 'a'.repeat(40)].map(
    (ref) => [`${ref} is a ref`, 'task_run_completed', task({ preservation_ref: ref }), []] as const,
  ),
  ...['x\n\n## Decisions', 'x\u0085y', 'x\u2028y', 'x'.repeat(4_097)].map(
    (ref) =>
      [
        `a ref is one line, and short: ${encodeURIComponent(ref).slice(0, 20)}`,
        'task_run_completed',
        task({ preservation_ref: ref }),
        ['/preservation_ref'],
      ] as const,
  ),
  [
    'a validation that is ok may have gates',
    'project_validation_completed',
    { status: 'ok', has_gates: true, fast_forwarded: 0 },
    [],
  ],
  [
    'a skipped validation says nothing of gates',
    'project_validation_completed',
    { status: 'skipped', has_gates: false },
    ['/has_gates'],
  ],
  [
    'a failed validation forwards nothing',
    'project_validation_completed',
    { status: 'error', fast_forwarded: 2 },
    ['/fast_forwarded'],
  ],

  ...['', '../x', 'a:b', 'a b', '-', 'x'.repeat(129)].map(
    (session_id) =>
      [
        `no session can be called ${session_id.slice(0, 8) || 'nothing'}`,
        'agent_session_ended',
        session({ session_id }),
        ['/session_id'],
      ] as const,
  ),
  [
    'nor does one begin so',
    'agent_session_started',
    { ...sample('agent_session_started'), session_id: 'a b' },
    ['/session_id'],
  ],

  ['complete work that landed is a success', 'task_run_completed', task({ success: true, landed: true }), []],
  ['complete work with nothing to land is a success', 'task_run_completed', task({ success: true, landed: false }), []],
  [
    'a remainder may land without success',
    'task_run_completed',
    task({ verdict: 'remainder', gaps: ['g'], landed: true }),
    [],
  ],
  [
    'a remainder is no success',
    'task_run_completed',
    task({ verdict: 'remainder', gaps: ['g'], success: true }),
    ['/verdict'],
  ],
  [
    'a blocked landing is no success',
    'task_run_completed',
    task({ success: true, land_blocked: 'git_failed' }),
    ['/land_blocked'],
  ],
  [
    'what was blocked did not land',
    'task_run_completed',
    task({ landed: true, land_blocked: 'git_failed' }),
    ['/land_blocked'],
  ],
  [
    'a defect never lands',
    'task_run_completed',
    task({ verdict: 'defect', diagnosis: 'd', landed: true }),
    ['/verdict'],
  ],
  ['a blocked landing leaves the verdict complete', 'task_run_completed', task({ land_blocked: 'git_failed' }), []],
  [
    'only work fit to land can be blocked',
    'task_run_completed',
    task({ verdict: 'defect', diagnosis: 'd', land_blocked: 'git_failed' }),
    ['/verdict'],
  ],
  [
    'a refused continuation is a runner error',
    'task_run_completed',
    task({ verdict: 'runner_error', detail: 'd', land_blocked: 'continuation_conflict' }),
    [],
  ],
  [
    'a refused continuation has no other verdict',
    'task_run_completed',
    task({ land_blocked: 'continuation_conflict' }),
    ['/verdict'],
  ],
  ['a remainder names its gaps', 'task_run_completed', task({ verdict: 'remainder' }), ['/gaps']],
  ['a defect has a diagnosis', 'task_run_completed', task({ verdict: 'defect' }), ['/diagnosis']],
  [
    'a blocked decision has a finding and options',
    'task_run_completed',
    task({ verdict: 'blocked_on_decision' }),
    ['/finding', '/options'],
  ],
  ['a runner error has a detail', 'task_run_completed', task({ verdict: 'runner_error' }), ['/detail']],
  ['complete work has no gaps', 'task_run_completed', task({ gaps: [] }), ['/gaps']],
  [
    'a review without a verdict has no verdict fields',
    'task_reviewed',
    { review: 'r', diagnosis: 'd' },
    ['/diagnosis'],
  ],
  ['a review may say no more than that it was', 'task_reviewed', {}, []],
  ['a review that found a remainder names its gaps', 'task_reviewed', { verdict: 'remainder' }, ['/gaps']],

  ['an advance has an objective', 'campaign_advance_completed', advance({ decision: 'advance' }), ['/objective']],
  [
    'only an advance has an objective',
    'campaign_advance_completed',
    advance({ decision: 'done', objective: 'o' }),
    ['/objective'],
  ],
  [
    'a stand-down names the status that stopped it',
    'campaign_advance_completed',
    advance({ decision: 'stood_down' }),
    ['/campaign_status'],
  ],
  [
    'only a stand-down names a status',
    'campaign_advance_completed',
    advance({ decision: 'escalate', campaign_status: 'paused' }),
    ['/campaign_status'],
  ],
  [
    'an advance request carries a whole task result',
    'campaign_advance_requested',
    { campaign: 'c', run_result: task({ verdict: 'defect' }) },
    ['/run_result/diagnosis'],
  ],
  [
    'a graceful stop aborted nothing',
    'campaign_cancelled',
    cancelled({ aborted_event_id: 'e', aborted_trace_id: 't' }),
    ['/aborted_event_id', '/aborted_trace_id'],
  ],
  [
    'a termination may name what it aborted',
    'campaign_cancelled',
    cancelled({ terminated_now: true, aborted_event_id: 'e', aborted_trace_id: 't' }),
    [],
  ],
  [
    'only a terminated cycle has work to discard',
    'campaign_cancelled',
    cancelled({ discard_work: true }),
    ['/terminated_now'],
  ],

  [
    'a landed item has a disposition',
    'work_item_settled',
    { ...sample('work_item_settled'), state: 'landed', disposition: {} },
    [],
  ],
  [
    'an item that settled as cancelled keeps its disposition',
    'work_item_cancelled',
    { ...sample('work_item_cancelled'), state: 'cancelled', disposition: { verdict: 'defect' } },
    [],
  ],
  [
    'a running item has no disposition',
    'work_item_settled',
    { ...sample('work_item_settled'), state: 'running', disposition: {} },
    ['/disposition'],
  ],
  [
    'a started item has no disposition',
    'work_item_started',
    { ...sample('work_item_started'), disposition: {} },
    ['/disposition'],
  ],
  [
    'dependencies are omitted when there are none',
    'work_item_held',
    { ...sample('work_item_held'), depends_on: [] },
    ['/depends_on'],
  ],
  [
    'the id of an item begins with wi_',
    'work_item_held',
    { ...sample('work_item_held'), item_id: 'item_1' },
    ['/item_id'],
  ],

  ['a healed gate passed', 'preflight_completed', checked({ fix_applied: true }), []],
  [
    'a gate that failed was not healed',
    'preflight_completed',
    checked({ passed: false, fix_applied: true }),
    ['/results/1/fix_applied'],
  ],

  [
    'before maintenance the gates travel along',
    'dependency_updates_classified',
    { ...sample('dependency_updates_classified', { phase: 'before' }), gates: undefined },
    ['/gates'],
  ],
  [
    'a review belongs to no workflow',
    'dependency_updates_classified',
    { ...sample('dependency_updates_classified', { phase: 'review' }), workflow: 'maintain' },
    ['/workflow'],
  ],
  [
    'before maintenance nothing has succeeded',
    'dependency_updates_classified',
    { ...sample('dependency_updates_classified'), success: true },
    ['/success'],
  ],
  [
    'a review dispatches nothing',
    'major_upgrades_planned',
    { ...sample('major_upgrades_planned'), review: true, dispatch_enabled: true },
    ['/dispatch_enabled'],
  ],

  ['a session that went well has no error', 'agent_session_ended', session({ status: 'ok', error: 'e' }), ['/error']],
  [
    'a failed agent has no error text',
    'agent_session_ended',
    session({ status: 'agent_failed', exit_code: 1, error: 'e' }),
    ['/error'],
  ],
  ['an unavailable agent says why', 'agent_session_ended', session({ status: 'unavailable' }), ['/error']],
  [
    'an unavailable agent may have no exit code',
    'agent_session_ended',
    session({ status: 'unavailable', error: 'e' }),
    [],
  ],
  ['an interrupted session has one text', 'agent_session_ended', session({ ...LOST, error: 'gone' }), ['/error']],
  [
    'an interrupted session wrote nothing',
    'agent_session_ended',
    session({ ...LOST, bytes_written: 1 }),
    ['/bytes_written'],
  ],
  [
    'an interrupted session has no exit code',
    'agent_session_ended',
    session({ ...LOST, exit_code: 0 }),
    ['/exit_code'],
  ],
  [
    'an interrupted session cost nobody knows what',
    'agent_session_ended',
    session({ ...LOST, usage: {}, cost: {} }),
    ['/cost', '/usage'],
  ],
  ['an interrupted session is told so', 'agent_session_ended', session(LOST), []],

  [
    'an applied decision may have an action',
    'initiative_steered',
    steered({ outcome: 'applied', decision: 'dispatch', action: {} }),
    [],
  ],
  [
    'a decision that was not applied has no action',
    'initiative_steered',
    steered({ outcome: 'stale', decision: 'dispatch', error: 'e', action: {} }),
    ['/action'],
  ],
  [
    'only failed is no success',
    'initiative_steered',
    steered({ outcome: 'rejected', decision: 'ask', error: 'e', success: false }),
    ['/success'],
  ],
  ['failed is no success', 'initiative_steered', steered({ outcome: 'failed', error: 'e' }), ['/success']],
  [
    'a failure may have no prompt and no decision',
    'initiative_steered',
    { initiative: 'i', steer_id: 's', success: false, outcome: 'failed', error: 'e' },
    [],
  ],
  ['what was skipped ran no agent', 'initiative_steered', steered({ outcome: 'skipped', reason: 'r' }), ['/prompt']],
  [
    'what was skipped decided nothing',
    'initiative_steered',
    steered({ outcome: 'skipped', reason: 'r', prompt: '', decision: 'wait' }),
    ['/decision'],
  ],
  ['what was skipped says why', 'initiative_steered', steered({ outcome: 'skipped', prompt: '' }), ['/reason']],
  ['a wait says why', 'initiative_steered', steered({ outcome: 'waited', decision: 'wait' }), ['/reason']],
  [
    'a rejection has the message of the guard',
    'initiative_steered',
    steered({ outcome: 'rejected', decision: 'done' }),
    ['/error'],
  ],
  [
    'an applied decision has neither error nor reason',
    'initiative_steered',
    steered({ outcome: 'applied', decision: 'done', error: 'e', reason: 'r' }),
    ['/error', '/reason'],
  ],

  [
    'a runner event holds no credential',
    'runner_registered',
    { runner_id: 'r', state: 'registered', token: 'x', credential_hash: 'x' },
    ['/credential_hash', '/token'],
  ],
  ['a token event holds no token', 'token_created', { token_id: 't', state: 'active', hash: 'x' }, ['/hash']],
]

for (const [sentence, type, payload, refused] of cases) {
  t.test(`${type}: ${sentence}`, async (t) => {
    const stated = JSON.parse(JSON.stringify(payload))
    const pointers = validatePayload(type, stated).map(({ pointer }) => pointer)
    t.strictSame([...new Set(pointers)].sort(), refused)
  })
}
