/** Each event type of SPEC 6.18, recorded by a real path through the service, with its exact payload. */
import t from 'tap'
import { until } from '../until.ts'
import { answer, events, NAME, post, read, SHOP, settledItem, steer, steered, world } from './initiative-harness.ts'
import { COMPLETE, finish, take } from './ledger-harness.ts'
import { startTestService } from './service-harness.ts'
import { toTheLetter } from './to-the-letter.ts'

const ORIGIN = 'ann-laptop'

t.test('each event type of SPEC 6.18 is recorded with exactly the members of its table', async (t) => {
  const s = await startTestService(t)
  const w = await world(s, { intent_refs: ['ir_1'], authorized_by: 'Ann', budget: { max_actions: 5 } })
  const only = async (type: string, n = 0) => (await events(w, type))[n]
  const lifecycle = {
    initiative: NAME,
    outcome: 'People can pay by invoice',
    projects: ['shop', 'bank'],
    intent_refs: ['ir_1'],
    members: [SHOP, { kind: 'project', ref: 'bank' }],
    status: 'active',
    authorized_by: 'Ann',
    budget: { max_assessments: 40, max_actions: 5 },
  }
  const added = await only('initiative_added')
  t.same(added.payload, lifecycle)
  t.match(added, { project: 'system', throttle: 'full', trace_id: null, by: { name: 'admin', origin: ORIGIN } })

  const found = (await post(w, 'findings', { kind: 'note', text: 'The limit is 10', to: [SHOP], refs: ['limits.md'] }))
    .body
  t.same((await only('finding_recorded')).payload, {
    id: found.id,
    finding_id: found.id,
    initiative: NAME,
    from: { kind: 'person', id: 'admin' },
    to: [SHOP],
    kind: 'note',
    text: 'The limit is 10',
    refs: ['limits.md'],
    consumed_by: [],
    recorded_at: found.recorded_at,
  })

  const hold = { action: 'hold', member: { kind: 'project', ref: 'bank' }, reason: 'audit week' }
  const owned = (await post(w, 'owner-actions', hold)).body
  t.same((await only('initiative_owner_action_recorded')).payload, {
    initiative: NAME,
    action_id: owned.action_id,
    operator_origin: ORIGIN,
    action: 'hold',
  })

  await post(w, 'decide', { decision: 'Invoices first', reason: 'asked for', applicable_members: [SHOP] })
  t.same((await only('initiative_decided')).payload, {
    ...lifecycle,
    decision: 'Invoices first',
    reason: 'asked for',
    applicable_members: [SHOP],
  })

  const dispatch = { decision: 'dispatch', member: SHOP, objective: 'Print invoices', prompt: 'as it was shown' }
  const { request, ended } = await steer(w, 't1', dispatch, { member: SHOP })
  const requested = await only('initiative_advance_requested')
  t.same(requested.payload, { initiative: NAME, member: SHOP, operator_origin: ORIGIN, trigger_id: 't1' })
  t.equal(requested.project, 'shop', 'the pinned member’s project')
  t.equal(request.trace.trace_id, requested.trace_id, 'the request opens the workflow')
  const { actions } = await read(w)
  const { at: _at, ...action } = actions[0]
  const steered1 = await only('initiative_steered')
  t.same(steered1.payload, {
    success: true,
    outcome: 'applied',
    initiative: NAME,
    steer_id: ended.steer_id,
    prompt: 'as it was shown',
    decision: 'dispatch',
    provider: 'claude',
    action: { initiative: NAME, ...action },
    eligible_members: [SHOP],
  })
  const asked = await only('initiative_action_requested')
  t.same(asked.payload, steered1.payload.action)
  t.match(asked.payload, {
    action_id: /^act_/,
    decision: 'dispatch',
    provider: 'claude',
    context_fingerprint: /^sha256:/,
    member: SHOP,
  })
  for (const event of [steered1, asked]) {
    t.match(event, { project: 'shop', trace_id: requested.trace_id, causation_id: requested.id })
  }

  const cycle = await take(s, w.runner)
  t.equal(cycle.engine.payload.item_id, actions[0].item_id)
  t.match(cycle.engine.payload, {
    objective: 'Print invoices',
    context: { initiative: NAME, findings: [{ finding_id: found.id, text: 'The limit is 10' }] },
  })
  await finish(s, w.runner, cycle.request_id, COMPLETE)
  t.match(await settledItem(w, actions[0].item_id), { state: 'landed' })
  const consumed = await until(
    () => only('finding_consumed'),
    (event) => event !== undefined,
  )
  const by = { member: SHOP, work_item_id: actions[0].item_id }
  t.same(consumed.payload, {
    initiative: NAME,
    finding_id: found.id,
    ...by,
    finding: { ...found, consumed_by: [{ ...by, at: consumed.payload.finding.consumed_by[0].at }] },
  })

  await post(w, 'complete', { reason: 'paid' })
  t.same((await only('initiative_completed')).payload, { ...lifecycle, status: 'completed', reason: 'paid' })
  await s.expect(201, 'POST', '/api/initiatives', {
    name: 'other',
    outcome: 'x',
    members: [SHOP],
    authorized_by: 'Ann',
  })
  await s.expect(200, 'POST', '/api/initiatives/other/cancel', { reason: 'no' })
  const [cancelled] = await events(w, 'initiative_cancelled', 'other')
  t.match(cancelled.payload, { initiative: 'other', status: 'cancelled', reason: 'no' })

  await toTheLetter(t, s, 'initiative-events')
})

t.test('each outcome of an assessment settles its item with its reason', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const settled = async (ended: any) => {
    const { state, reason } = await settledItem(w, ended.item_id)
    return [ended.outcome, state, reason]
  }
  t.same(await settled((await steer(w, 't1', { decision: 'done' })).ended), [
    'applied',
    'landed',
    'steering applied: done: it is time',
  ])
  t.same(await settled((await steer(w, 't2', { decision: 'wait' })).ended), [
    'waited',
    'landed',
    'steering waited: it is time',
  ])
  t.same(await settled((await steer(w, 't3', { decision: 'done' })).ended), [
    'no_op',
    'landed',
    'steering decision already in force: its completion is already proposed',
  ])
  t.same(await settled((await steer(w, 't4', { decision: 'dispatch' })).ended), [
    'rejected',
    'cancelled',
    'steering rejected: dispatch names no member',
  ])
  t.same(await settled((await steer(w, 't5', { decision: 'jump' })).ended), [
    'failed',
    'failed',
    'steering failed: the run’s result has no valid steering decision: /decision must be one of advance, dispatch, hold, relay, ask, escalate, stage, done, wait; got "jump"',
  ])
  const before = (await read(w)).assessments.length
  await s.expect(200, 'POST', `/api/initiatives/${NAME}/advance`, { trigger_id: 't6' })
  const request = await take(s, w.runner)
  await post(w, 'decide', { decision: 'Bank first', applicable_members: [SHOP] })
  const result = { decision: 'wait', reason: 'not yet' }
  await s.expect(200, 'POST', `/api/run-requests/${request.request_id}/completed`, { result }, w.runner)
  const [outcome, state, reason] = await settled(await steered(w, before + 1))
  t.same([outcome, state], ['stale', 'landed'])
  t.match(reason, /^steering stale: /)
  await answer(w, { decision: 'wait' })
  t.match(await steered(w, before + 2), { outcome: 'waited', trigger_id: /^fresh:steer_/ })
  await post(w, 'owner-actions', { action: 'hold', reason: 'holidays' })
  await s.expect(200, 'POST', `/api/initiatives/${NAME}/advance`, { trigger_id: 't7' })
  t.match(await settled(await steered(w, before + 3)), [
    'skipped',
    'landed',
    /^steering skipped: no member can advance \(project:shop: the owner holds the initiative; /,
  ])
  const failing = (await read(w)).assessments.length
  await post(w, 'owner-actions', { action: 'hold', reason: 'back', lifted: true })
  await s.expect(200, 'POST', `/api/initiatives/${NAME}/advance`, { trigger_id: 't8' })
  const lost = await take(s, w.runner)
  const failed = { class: 'execution', code: 'usage_limit', message: 'no tokens left' }
  await s.expect(200, 'POST', `/api/run-requests/${lost.request_id}/failed`, failed, w.runner)
  t.same(await settled(await steered(w, failing + 1)), [
    'failed',
    'failed',
    'steering failed: no tokens left (execution, usage_limit)',
  ])
  const told = await events(w, 'initiative_steered')
  t.same(
    told.map(({ payload }) => payload.outcome),
    ['applied', 'waited', 'no_op', 'rejected', 'failed', 'stale', 'waited', 'skipped', 'failed'],
  )
})
