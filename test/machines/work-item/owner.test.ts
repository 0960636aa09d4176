import t from 'tap'
import { campaignModule as campaigns } from '../../../machines/campaign.ts'
import { initiativeModule as initiatives } from '../../../machines/initiative.ts'
import type { CreateWorkItem } from '../../../machines/work-item/context.ts'
import { type OwnedOrder, openItem, ownedIds, settleItem } from '../../../machines/work-item/owner.ts'
import { workItemModule as module } from '../../../machines/work-item.ts'
import { states as campaignStates } from '../campaign-samples.ts'
import {
  deciding,
  FIRST_ITEM,
  MESSAGES as INITIATIVE,
  run as initiative,
  judge,
  ITEM as MEMBER,
  PROJECT,
} from '../initiative-samples.ts'
import { BY } from '../run-request-samples.ts'
import { after, at, snapshotFile, step, table } from '../step.ts'
import { CREATE, ITEM, MESSAGES as M, RUN, result, runEvent } from '../work-item-samples.ts'

t.snapshotFile = snapshotFile('work-item/owner')

const owned = (role: 'advance' | 'cycle') =>
  ({ kind: 'campaign_cycle', lane: 'campaign', source: { kind: 'campaign', ref: 'pay', role } }) as const
const created = (role: 'advance' | 'cycle') => at(0, { ...CREATE, ...owned(role), depends_on: [] } as CreateWorkItem)
const outage = runEvent(
  7,
  { session_id: 'x', status: 'unavailable', error: 'limit\nreached', ended_at: '2026-01-01T00:00:00Z' },
  'agent_session_ended',
)
const MESSAGES = {
  cancel: M.cancel,
  cancel_waiting: at(6, { type: 'cancel_waiting', by: BY, reason: 'campaign cancelled' }),
  'run_event (complete)': M['run_event (complete)'],
  'run_event (defect)': M['run_event (defect)'],
  'run_event (outage)': outage,
  'run_ended (completed)': M['run_ended (completed)'],
  'run_ended (failed)': M['run_ended (failed)'],
  'run_ended (cancelled)': M['run_ended (cancelled)'],
  'run_ended (by a person)': M['run_ended (by a person)'],
  'settle (landed)': M['settle (landed)'],
  'settle (failed)': M['settle (failed)'],
}

function statesOf(role: 'advance' | 'cycle') {
  const create = created(role)
  const handedOut = [create, M.hand_out]
  const running = [...handedOut, M.run_started]
  return {
    queued: after(module, [create]),
    'queued, handed out': after(module, handedOut),
    held: after(module, [create, M.hold]),
    running: after(module, running),
    'running, stopping': after(module, [...running, M.cancel]),
    ...(role === 'advance' ? { 'running, reported': after(module, [...running, M['run_ended (completed)']]) } : {}),
    failed: after(module, [create, M['settle (failed)']]),
  }
}

t.test('an advance’s item waits for its owner’s decision once its run has ended', (t) => {
  t.matchSnapshot(table(module, statesOf('advance'), MESSAGES), 'an advance')
  const running = after(module, [created('advance'), M.hand_out, M.run_started])
  const ended = { ...M['run_ended (completed)'], result: { decision: 'done', reason: 'all holds' } }
  const { snapshot, facts, sends } = step(module, running, ended)
  t.equal(snapshot.value, 'running')
  t.strictSame(facts, [])
  t.strictSame(sends, [
    {
      to: { kind: 'campaign', id: 'pay' },
      message: {
        type: 'item_reported',
        item_id: ITEM,
        role: 'advance',
        run_request_id: RUN,
        outcome: 'completed',
        result: { decision: 'done', reason: 'all holds' },
      },
    },
  ])
  const { message } = settleItem(ITEM, 'landed', 'the mission is done')
  const settled = step(module, snapshot, at(12, message))
  t.equal(settled.snapshot.value, 'landed')
  t.strictSame(settled.sends, [], 'the ended run is not stopped, and the owner is not sent its own decision')
  t.end()
})

t.test('a campaign is told once that a runner has begun its cycle, and no other owner is', (t) => {
  const toldBy = (create: ReturnType<typeof created>) =>
    step(module, after(module, [create, M.hand_out]), M.run_started).sends
  t.match(toldBy(created('cycle')), [
    { to: { kind: 'campaign', id: 'pay' }, message: { type: 'item_started', item_id: ITEM } },
  ])
  t.strictSame(toldBy(created('advance')), [])
  const source = { kind: 'initiative', ref: 'checkout', role: 'cycle' } as const
  t.strictSame(toldBy({ ...created('cycle'), source } as never), [])
  const running = after(module, [created('cycle'), M.hand_out, M.run_started])
  t.strictSame(step(module, running, { ...M.run_started, attempt: 2 } as never).sends, [])
  t.end()
})

t.test('a cycle’s item settles by its result, and its owner is sent the whole result', (t) => {
  t.matchSnapshot(table(module, statesOf('cycle'), MESSAGES), 'a cycle')
  const running = after(module, [created('cycle'), M.hand_out, M.run_started])
  const payload = result('defect', { diagnosis: 'it breaks', preservation_ref: 'task/tidy-up' })
  const { sends } = step(module, running, runEvent(8, payload))
  t.strictSame(sends, [
    {
      to: { kind: 'campaign', id: 'pay' },
      message: {
        type: 'item_settled',
        item_id: ITEM,
        role: 'cycle',
        state: 'preserved',
        reason: 'defect: it breaks',
        started: true,
        disposition: { verdict: 'defect', preservation_ref: 'task/tidy-up' },
        terminal: { event_id: 'evt_1', payload },
      },
    },
  ])
  t.end()
})

t.test('a cycle with a runner error settles when its run has ended or is lost, with that run’s failure', (t) => {
  const running = after(module, [created('cycle'), M.hand_out, M.run_started])
  const payload = result('runner_error', { detail: 'out of reach', preservation_ref: 'task/half' })
  const stated = step(module, running, runEvent(8, payload))
  t.equal(stated.snapshot.value, 'running')
  t.strictSame([stated.facts, stated.sends], [[], []])
  t.match(module.document(stated.snapshot), { reason: /^runner error: out of reach \(its run has not ended\)$/ })
  const failure = { class: 'execution', code: 'usage_limit', message: 'five hours' } as const
  const disposition = { verdict: 'runner_error', preservation_ref: 'task/half' }
  const told = { state: 'failed', reason: 'runner error: out of reach', disposition, failure: undefined }
  const terminal = { event_id: 'evt_1', payload }
  const ends = [
    [
      { ...M['run_ended (failed)'], failure, result: { retry_after: 60 } },
      { failure, retry_after: 60 },
    ],
    [M['run_ended (completed)'], {}],
    [M['run_ended (by a person)'], {}],
    [M.run_lost, {}],
  ] as const
  for (const [end, more] of ends) {
    const { snapshot, sends } = step(module, stated.snapshot, end)
    t.equal(snapshot.value, 'failed', end.type)
    t.match(sends, [{ to: { kind: 'campaign' }, message: { type: 'item_settled', ...told, terminal, ...more } }])
    t.equal(step(module, snapshot, M['run_ended (failed)']).repeat, 'already_settled')
    t.notOk('terminal' in step(module, snapshot, M.close).sends[0]!.message, 'told once')
  }
  const landed = step(module, stated.snapshot, M['run_event (complete)'])
  t.equal(landed.snapshot.value, 'landed', 'work on trunk has landed')
  const stopped = step(module, step(module, stated.snapshot, M.cancel).snapshot, M['run_ended (cancelled)'])
  t.match(stopped.snapshot, { value: 'cancelled', context: { disposition } })
  t.notOk('terminal' in stopped.sends[0]!.message, 'nor is the result of an item that a person stopped')
  const task = after(module, [at(0, CREATE), M.hand_out, M.run_started])
  t.equal(step(module, task, runEvent(8, payload)).snapshot.value, 'failed', 'another task’s failure needs no cause')
  t.end()
})

t.test('the owner is told with the end of the run that the agent’s provider could not be reached', (t) => {
  const running = after(module, [created('advance'), M.hand_out, M.run_started, outage])
  t.match(step(module, running, M['run_ended (failed)']).sends, [{ message: { outage: 'limit reached' } }])
  t.end()
})

const wellEnded = runEvent(
  8,
  { session_id: 'y', status: 'ok', exit_code: 0, ended_at: '2026-01-01T00:00:00Z' },
  'agent_session_ended',
)

t.test('a later session that works, or another attempt, clears an outage', (t) => {
  const running = after(module, [created('advance'), M.hand_out, M.run_started, outage])
  const ended = (...messages: readonly any[]) => {
    const at_ = messages.reduce((snapshot, message) => step(module, snapshot, message).snapshot, running)
    return step(module, at_, { ...M['run_ended (failed)'], attempt: 2 } as never).sends[0]!.message
  }
  t.match(ended(outage), { type: 'item_reported', outage: 'limit reached' })
  t.notOk('outage' in ended(wellEnded))
  t.match(ended(wellEnded, outage), { outage: 'limit reached' }, 'the last report counts')
  t.notOk('outage' in ended(M.run_requeued), 'the provider may be back by then')
  t.equal(
    step(module, after(module, [created('advance'), M.hand_out, M.run_started]), wellEnded).repeat,
    'settles_nothing',
  )
  t.end()
})

t.test('sessions of a cycle do not report an outage: its run’s failure does', (t) => {
  const running = after(module, [created('cycle'), M.hand_out, M.run_started])
  t.equal(step(module, running, outage).repeat, 'settles_nothing')
  const stored = (role: 'advance' | 'cycle', more: object) => {
    const { context, ...snapshot } = after(module, [created(role), M.hand_out, M.run_started])
    const run = { ...context.run, outage: 'limit reached', ...more }
    const old = { ...snapshot, context: { ...context, run } }
    return (module.migrations[7]!(old) as typeof old).context.run.outage
  }
  t.equal(stored('cycle', {}), undefined, 'nor does one stored by an earlier version')
  t.equal(stored('advance', { waits: true, attempt: 2 }), undefined)
  t.equal(stored('advance', { attempt: 2 }), undefined, 'nor does an attempt before the present one')
  t.equal(stored('advance', {}), 'limit reached')
  t.end()
})

t.test('an owner is told when a person gives up kept work in any state, and not of its own discharge', (t) => {
  const running = [created('cycle'), M.hand_out, M.run_started]
  const kept = { preservation_ref: 'task/half' }
  const failed = [runEvent(8, result('runner_error', { detail: 'x', ...kept })), M['run_ended (failed)']]
  const asks = runEvent(8, result('blocked_on_decision', { finding: 'which?', options: ['a', 'b'], ...kept }))
  for (const ends of [failed, [asks], [M['run_event (defect)']]]) {
    const item = after(module, [...running, ...ends])
    const toldBy = (message: object) => step(module, item, message as never).sends[0]!.message
    t.match(toldBy(M.close), { type: 'item_settled', state: 'cancelled', given_up: true }, String(item.value))
    t.match(toldBy(M.cancel), { given_up: true })
    t.notOk('given_up' in toldBy({ ...M.close, discharges: true }))
  }
  const nothing = after(module, [...running, M['run_ended (failed)']])
  t.notOk('given_up' in step(module, nothing, M.close).sends[0]!.message)
  const { snapshot } = step(module, nothing, M.close)
  t.equal(
    step(module, snapshot, { ...M.close, discharges: true, reason: 'resumed' } as never).repeat,
    'already_settled',
  )
  t.end()
})

t.test('an item is opened once per seed, on a trace of its own', (t) => {
  const order: OwnedOrder = {
    owner: { kind: 'campaign', ref: 'pay', role: 'cycle' },
    seed: '2026-01-01T00:00:00.000000Z/1',
    project: 'acme',
    project_id: CREATE.project_id,
    objective: 'Pay by invoice',
    submitted_by: BY,
    cycle: 1,
    base_ref: 'task/tidy-up',
  }
  const { to, message } = openItem(order)
  const snapshot = after(module, [at(0, message as unknown as CreateWorkItem)])
  t.equal(snapshot.value, 'submitted')
  t.match(module.document(snapshot), {
    id: to.id,
    kind: 'campaign_cycle',
    lane: 'campaign',
    source: { kind: 'campaign', ref: 'pay', role: 'cycle', cycle: 1 },
    base_ref: 'task/tidy-up',
  })
  t.equal(step(module, snapshot, at(1, message as unknown as CreateWorkItem)).repeat, 'replay')
  const ids = ownedIds(order.owner, order.seed)
  t.match(message, { id: ids.item_id, trace_id: ids.trace_id, span_id: ids.span_id })
  t.match(ids.trace_id, /^[0-9a-f]{32}$/)
  t.match(ids.span_id, /^[0-9a-f]{16}$/)
  const others = [
    ownedIds(order.owner, '2026-01-01T00:00:00.000000Z/2'),
    ownedIds({ ...order.owner, ref: 'x' }, order.seed),
  ]
  for (const other of others) {
    t.not(other.item_id, ids.item_id)
    t.not(other.trace_id, ids.trace_id)
  }
  t.end()
})

t.test('a stop by an owner leaves an item that has just settled alone, and a person’s cancel gives it up', (t) => {
  const campaign = campaignStates()['active, cycle begun']!
  const now = at(50, { type: 'cancel', by: BY, reason: 'not wanted', now: true })
  const stopping = step(campaigns, campaign, now)
  const discarding = step(campaigns, stopping.snapshot, { ...now, discard_work: true })
  const dispatched = step(initiatives, deciding({ decision: 'dispatch', member: PROJECT, objective: 'x' }), judge(6))
  const started = dispatched.snapshot.context.actions[0].item_id
  const assessing = initiative(INITIATIVE.create, INITIATIVE['advance (t1)'], INITIATIVE['assess (t1)'])
  const stops = {
    'a campaign’s': [stopping, campaign.context.work!.item_id],
    'and discards': [discarding, campaign.context.work!.item_id],
    'an initiative’s, of its work': [
      step(initiatives, dispatched.snapshot, { ...INITIATIVE.cancel, items: [started] }),
      started,
    ],
    'and of its assessment': [step(initiatives, assessing, INITIATIVE.complete), FIRST_ITEM],
  } as const
  const running = [created('cycle'), M.hand_out, M.run_started]
  const ends = {
    complete: [M['run_event (complete)']],
    defect: [M['run_event (defect)']],
    decision: [M['run_event (decision)']],
    'runner error': [M['run_event (runner error)'], M['run_ended (failed)']],
  }
  for (const [whose, [{ sends }, id]] of Object.entries(stops)) {
    const { message } = sends.find(({ to, message: { type } }) => to.id === id && type === 'cancel')!
    for (const [end, said] of Object.entries(ends))
      t.equal(
        step(module, after(module, [...running, ...said]), at(60, message)).repeat,
        'already_settled',
        `${whose}: ${end}`,
      )
    t.match(step(module, after(module, running), at(60, message)).snapshot.context, { reason: 'stopping' })
    t.equal(step(module, after(module, running.slice(0, 2)), at(60, message)).snapshot.value, 'cancelled')
  }
  const preserved = after(module, [...running, M['run_event (defect)']])
  t.equal(step(module, preserved, M.cancel).snapshot.value, 'cancelled', 'a person’s cancel gives the work up')
  const cancelled = step(initiatives, assessing, INITIATIVE.cancel)
  const member = cancelled.sends.find(({ to }) => to.kind === 'work_item' && to.id === MEMBER.ref)!
  t.equal(
    step(module, preserved, at(60, member.message)).snapshot.value,
    'cancelled',
    'and so does the cancel of a member item',
  )
  t.end()
})
