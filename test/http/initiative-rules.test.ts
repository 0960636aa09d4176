/** The ten rules of SPEC 6.18, each over HTTP, and what must not happen twice. */
import t from 'tap'
import { verifyHooks } from '../../runtime/offline/verify-hooks.ts'
import { verifyHome } from '../../storage/verify/verify.ts'
import { until } from '../until.ts'
import {
  advance,
  answer,
  BANK,
  events,
  item,
  NAME,
  post,
  read,
  SHOP,
  settledItem,
  steer,
  steered,
  type World,
  world,
} from './initiative-harness.ts'
import { begin, COMPLETE, finish, fleet, inState, submit, take } from './ledger-harness.ts'
import { startOnDisk, startTestService } from './service-harness.ts'

const DEFECT = { ...COMPLETE, success: false, landed: false, verdict: 'defect', diagnosis: 'It rounds down' }
const dispatch = (objective: string, member = SHOP) => ({ decision: 'dispatch', member, objective })

/** Items that the initiative opened with that role. */
async function items({ s }: World, role: 'assessment' | 'cycle'): Promise<any[]> {
  const { body } = await s.expect(200, 'GET', `/api/work-items?source=initiative:${NAME}&limit=500`)
  return body.items.filter(({ source }: any) => source.role === role)
}

t.test('rule 1: the lifecycle payloads alone suffice to render the initiative and its members', async (t) => {
  const s = await startTestService(t)
  const w = await world(s, { intent_refs: ['ir_1'] })
  await post(w, 'decide', { decision: 'x' })
  await post(w, 'complete', { reason: 'paid' })
  const shown = await read(w)
  for (const type of ['initiative_added', 'initiative_decided', 'initiative_completed']) {
    const [{ payload }] = await events(w, type)
    const { name: initiative, outcome, projects, intent_refs, members, authorized_by, budget } = shown
    t.match(payload, { initiative, outcome, projects, intent_refs, members, authorized_by, budget }, type)
  }
})

t.test(
  "rule 2: a finding names the kind and id of its source; a cycle's also its result, an audit's its audit",
  async (t) => {
    const s = await startTestService(t)
    const w = await world(s)
    const { ended } = await steer(w, 't1', dispatch('Print invoices'))
    const { item_id } = (await read(w)).actions[0]
    t.equal(ended.outcome, 'applied')
    const cycle = await take(s, w.runner)
    await finish(s, w.runner, cycle.request_id, { ...DEFECT, preservation_ref: 'task/print' })
    const [found] = await until(
      () => events(w, 'finding_recorded'),
      ({ length }) => length > 0,
    )
    const results = (await s.expect(200, 'GET', '/api/events?event_type=task_run_completed')).body.items
    t.match(found.payload, {
      initiative: NAME,
      from: { kind: 'cycle', id: item_id, event_id: results[0].id },
      kind: 'defect',
      text: 'It rounds down',
    })
    const audit = {
      intent_ref: 'ir_1',
      classification: 'drift',
      project: 'shop',
      checked_paths: ['src/tax.ts'],
      explanation: 'VAT is left out',
    }
    const said = { kind: 'audit', text: 'VAT', from: { kind: 'audit', id: 'a-7' }, audit }
    t.equal((await post(w, 'findings', said)).status, 201)
    const { audit: _, ...without } = said
    t.match(await post(w, 'findings', without), { status: 422, body: { errors: [{ pointer: '/audit' }] } })
    t.match(await post(w, 'findings', { ...said, kind: 'note' }), {
      status: 422,
      body: { errors: [{ pointer: '/audit' }] },
    })
    for (const name of Object.keys(audit)) {
      const { [name as 'project']: _left, ...rest } = audit
      const refused = await post(w, 'findings', { ...said, audit: rest })
      t.match(refused, { status: 422, body: { errors: [{ pointer: `/audit/${name}` }] } }, `${name} is required`)
    }
    const elsewhere = { ...said, audit: { ...audit, project: 'nowhere' } }
    t.match(await post(w, 'findings', elsewhere), {
      status: 422,
      body: { code: 'unknown_project', errors: [{ pointer: '/audit/project' }] },
    })
    t.match((await events(w, 'finding_recorded'))[1].payload, { from: { kind: 'audit', id: 'a-7' }, audit })
  },
)

t.test('rule 3: a finding is consumed when a cycle lands, not when it is formed or preserved', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await post(w, 'findings', { text: 'The limit is 10', to: [SHOP] })
  await steer(w, 't1', dispatch('Print invoices'))
  t.same(await events(w, 'finding_consumed'), [], 'formed')
  const cycle = await take(s, w.runner)
  const preserved = {
    ...COMPLETE,
    landed: false,
    success: false,
    land_blocked: 'git_failed',
    preservation_ref: 'task/x',
  }
  await finish(s, w.runner, cycle.request_id, preserved)
  const { item_id } = (await read(w)).actions[0]
  t.match(await settledItem(w, item_id), { state: 'preserved' })
  t.same(await events(w, 'finding_consumed'), [], 'preserved')
  await s.expect(201, 'POST', `/api/work-items/${item_id}/resume`)
  await finish(s, w.runner, (await begin(s, w.runner)).request_id)
  const consumed = await until(
    () => events(w, 'finding_consumed'),
    ({ length }) => length > 0,
  )
  t.equal(consumed.length, 1)
  t.match(consumed[0].payload, { member: SHOP, work_item_id: item_id })
  await steer(w, 't2', dispatch('Print receipts'))
  const idle = await take(s, w.runner)
  await finish(s, w.runner, idle.request_id, { ...COMPLETE, landed: false, preservation_ref: undefined })
  const { reason, state } = await settledItem(w, (await read(w)).actions[1].item_id)
  t.match({ state, reason }, { state: 'landed', reason: /nothing to land/ })
  await steer(w, 't3', { decision: 'wait' })
  t.equal((await events(w, 'finding_consumed')).length, 1, 'complete, but nothing landed')
})

t.test('rule 3: a finding is not consumed by preserved work that is resumed and has nothing to land', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await post(w, 'findings', { text: 'The limit is 10', to: [SHOP] })
  await steer(w, 't1', dispatch('Print invoices'))
  const cycle = await take(s, w.runner)
  const kept = { ...COMPLETE, landed: false, success: false, land_blocked: 'git_failed', preservation_ref: 'task/x' }
  await finish(s, w.runner, cycle.request_id, kept)
  const { item_id } = (await read(w)).actions[0]
  await settledItem(w, item_id)
  await s.expect(201, 'POST', `/api/work-items/${item_id}/resume`)
  const nothing = { ...COMPLETE, landed: false, preservation_ref: undefined }
  await finish(s, w.runner, (await begin(s, w.runner)).request_id, nothing)
  t.match(await inState(s, item_id, 'landed'), { disposition: { landed_commit: undefined } })
  await steer(w, 't2', { decision: 'wait' })
  t.same(await events(w, 'finding_consumed'), [])
})

t.test(
  'rule 4: an applied decision is followed up if a member can still advance, and a follow-up never is',
  async (t) => {
    const s = await startTestService(t)
    const w = await world(s)
    const { ended } = await steer(w, 't1', { decision: 'relay', text: 'The limit is 10' })
    await answer(w, { decision: 'relay', text: 'The limit is 20' })
    await steered(w, 2)
    await steer(w, 't2', { decision: 'done' })
    const requests = (await events(w, 'initiative_advance_requested')).map(({ payload }) => payload)
    t.equal(requests.length, 3, 'two by a person, one follow-up')
    t.match(requests[1], { follow_up_of: { steer_id: ended.steer_id, step: 'relay' } })
    t.equal('member' in requests[1], false)
    const told = (await events(w, 'initiative_steered')).map(({ payload }) => payload)
    t.same(told[1].follow_up_of, requests[1].follow_up_of)
    t.equal(told[1].outcome, 'applied')
    await post(w, 'owner-actions', { action: 'member_override', member: BANK, override: 'exclude', reason: 'sold' })
    await steer(w, 't3', { decision: 'stage', member: SHOP, objective: 'Print' })
    t.same((await read(w)).waiting, [], 'no member can advance')
    const staged = (await items(w, 'cycle'))[0]
    t.equal(staged.state, 'held', 'staged work waits for a person')
  },
)

t.test(
  'rule 5: requests are paced on the campaign lane and deduplicated, and wait while an assessment runs',
  async (t) => {
    const s = await startTestService(t)
    const w = await world(s)
    await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['campaign'] })
    await advance(w, 't1')
    await advance(w, 't1')
    await advance(w, 't2')
    const [waiting] = await until(
      () => items(w, 'assessment'),
      ([first]) => first?.waiting_because?.code === 'lane_paused',
    )
    t.match(waiting, { kind: 'campaign_cycle', lane: 'campaign', project: 'shop', state: 'queued' })
    t.equal((await items(w, 'assessment')).length, 1, 'one at a time')
    t.match((await read(w)).waiting, [{ trigger_id: 't2' }])
    await s.expect(200, 'POST', '/api/pacing/resume', {})
    await answer(w, { decision: 'wait' })
    await answer(w, { decision: 'wait' })
    t.match(await steered(w, 2), { trigger_id: 't2' })
    const again = await s.expect(200, 'POST', `/api/initiatives/${NAME}/advance`, { trigger_id: 't1' })
    t.equal(again.headers.get('idempotent-replay'), 'true', 'an assessed request is not assessed again')
    t.equal((await events(w, 'initiative_advance_requested')).length, 2)
  },
)

t.test('rule 6: a decision must be one of the nine, and only an applied one requests an action', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  for (const decision of ['wait', 'jump', ['wait', 'done'], undefined]) await steer(w, `t${decision}`, { decision })
  await steer(w, 't', { decision: 'advance', member: SHOP })
  t.same(
    (await events(w, 'initiative_steered')).map(({ payload }) => [payload.outcome, payload.decision]),
    [
      ['waited', 'wait'],
      ['failed', undefined],
      ['failed', undefined],
      ['failed', undefined],
      ['rejected', 'advance'],
    ],
  )
  t.same(await events(w, 'initiative_action_requested'), [])
  t.same(await items(w, 'cycle'), [])
  await steer(w, 'u', dispatch('Print'))
  t.equal((await events(w, 'initiative_action_requested')).length, 1)
})

t.test('rule 7: a skipped assessment succeeds, runs no agent and gives a reason', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await post(w, 'owner-actions', { action: 'hold', reason: 'holidays' })
  await advance(w, 't1')
  await steered(w, 1)
  const [{ payload }] = await events(w, 'initiative_steered')
  t.match(payload, { success: true, outcome: 'skipped', prompt: '' })
  t.match(payload.reason, /the owner holds the initiative/)
  t.notOk('error' in payload || 'decision' in payload || 'eligible_members' in payload)
  const { assessments, assessments_made } = await read(w)
  t.equal(assessments_made, 0, 'and costs nothing')
  t.match(await settledItem(w, assessments[0].item_id), { state: 'landed' })
  t.notOk('run_request_id' in (await item(w, assessments[0].item_id)), 'no run request was created')
})

t.test('rule 8: a decision on outdated state is stale, and a replayed one does not dispatch twice', async (t) => {
  const home = t.testdir()
  const s = await startOnDisk(t, home)
  const w = await world(s)
  await advance(w, 't1')
  const request = await begin(s, w.runner)
  const path = `/api/run-requests/${request.request_id}/completed`
  const result = { reason: 'it is time', ...dispatch('Print invoices') }
  await s.expect(200, 'POST', path, { result }, w.runner)
  await steered(w, 1)
  await s.expect(200, 'POST', path, { result }, w.runner)
  const [action] = await events(w, 'initiative_action_requested')
  await s.service.close()

  const next = await startOnDisk(t, home)
  const then = { s: next, runner: w.runner }
  await next.expect(200, 'POST', path, { result }, w.runner)
  const { payload, project, occurred_at } = action
  t.equal(project, 'system', 'nothing was pinned')
  const replayed = { event_type: 'initiative_action_requested', project: 'shop', occurred_at, payload }
  const refused = await next.expect(403, 'POST', '/api/events', { events: [replayed] })
  t.equal(refused.body.code, 'service_owned_type', 'no client may request an action')
  const cycle = await take(next, w.runner)
  t.equal(cycle.engine.payload.item_id, payload.item_id)
  await finish(next, w.runner, cycle.request_id)
  await settledItem(then, payload.item_id)
  t.equal((await items(then, 'cycle')).length, 1, 'dispatched once')
  t.equal((await events(then, 'initiative_steered')).length, 1)
  t.equal((await read(then)).actions_applied, 1)

  await advance(then, 't2')
  const second = await begin(next, w.runner)
  await submit(next, { project: 'shop', objective: 'Other work' })
  await post(then, 'owner-actions', { action: 'hold', member: SHOP, reason: 'wait for me' })
  const late = { reason: 'it is time', ...dispatch('Post invoices') }
  await next.expect(200, 'POST', `/api/run-requests/${second.request_id}/completed`, { result: late }, w.runner)
  t.match(await steered(then, 2), { outcome: 'stale' }, 'the owner has held the member since')
  t.equal((await items(then, 'cycle')).length, 1)
  await next.service.close()
  t.same((await verifyHome(home, verifyHooks())).findings, [], 'the log and the view agree')
})

t.test('rule 9: a decision of done only proposes to close, and the owner completes the initiative', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await steer(w, 't1', { decision: 'done', reason: 'The first invoice is paid' })
  const shown = await read(w)
  t.equal(shown.status, 'active')
  t.match(shown.close_proposals, [{ id: shown.actions[0].action_id, reason: 'The first invoice is paid' }])
  t.same(await events(w, 'initiative_completed'), [])
  t.equal((await post(w, 'complete', { reason: 'indeed' })).body.status, 'completed')
  t.match((await read(w)).close_proposals, [{ reason: 'The first invoice is paid' }])
})

t.test('rule 10: an owner action is recorded and requests no assessment', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const { body } = await post(w, 'owner-actions', { action: 'milestone', reason: 'The first invoice' })
  const [event] = await events(w, 'initiative_owner_action_recorded')
  t.equal(event.payload.action_id, body.action_id)
  t.match(event, { by: { name: 'admin', origin: 'ann-laptop' }, recorded_at: /^20/ })
  const shown = await read(w)
  t.match(shown.owner_actions, [{ action: 'milestone', reason: 'The first invoice' }])
  t.same([shown.waiting, shown.assessment], [[], undefined])
  t.same(await events(w, 'initiative_advance_requested'), [])
})

t.test('cancelling an initiative cancels the work that it started and its member items', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const waiting = await submit(s, {
    project: 'bank',
    objective: 'Open an account',
    not_before: '2999-01-01T00:00:00Z',
  })
  const members = [SHOP, { kind: 'work_item', ref: waiting.id }]
  await s.expect(201, 'POST', '/api/initiatives', { name: 'other', outcome: 'x', members })
  await steer(w, 't1', { decision: 'stage', member: SHOP, objective: 'Print' })
  const { actions } = await read(w)
  await post(w, 'cancel', { reason: 'too dear' })
  t.match(await settledItem(w, actions[0].item_id), {
    state: 'cancelled',
    reason: /initiative checkout cancelled: too dear/,
  })
  await s.expect(200, 'POST', '/api/initiatives/other/cancel', { reason: 'no' })
  t.match(await settledItem(w, waiting.id), { state: 'cancelled' })
})

t.test('an item held by steering is released when it is advanced, and one held by a person is not', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'bank')
  const { id } = await submit(s, { project: 'bank', objective: 'Open an account', not_before: '2999-01-01T00:00:00Z' })
  const member = { kind: 'work_item', ref: id }
  const w = { s, runner }
  await s.expect(201, 'POST', '/api/initiatives', { name: NAME, outcome: 'x', members: [member, SHOP] })
  await steer(w, 't1', { decision: 'hold', member })
  await until(
    () => item(w, id),
    ({ state }) => state === 'held',
  )
  t.match((await item(w, id)).operator_action, { command: 'hold', origin: `initiative ${NAME}` })
  await answer(w, { decision: 'wait' })
  await steered(w, 2)
  await steer(w, 't2', { decision: 'advance', member })
  await until(
    () => item(w, id),
    ({ state }) => state === 'queued',
  )
  await s.expect(200, 'POST', `/api/work-items/${id}/hold`, { origin: 'ann' })
  const { ended } = await steer(w, 't3', { decision: 'advance', member })
  t.match(ended, { outcome: 'rejected', detail: `work_item:${id} cannot advance: a person holds it` })
})

t.test("a person's hold on an item that steering holds is recorded, and steering does not lift it", async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'bank')
  const { id } = await submit(s, { project: 'bank', objective: 'Open an account', not_before: '2999-01-01T00:00:00Z' })
  const member = { kind: 'work_item', ref: id }
  const w = { s, runner }
  await s.expect(201, 'POST', '/api/initiatives', { name: NAME, outcome: 'x', members: [member, SHOP, BANK] })
  await steer(w, 't1', { decision: 'hold', member })
  await answer(w, { decision: 'stage', member: SHOP, objective: 'Print' })
  await steered(w, 2)
  const staged = (await read(w)).actions[1].item_id
  const attention = async () => (await s.expect(200, 'GET', '/api/attention?reason=staged')).body.items
  await until(attention, ({ length }) => length === 1)
  for (const one of [id, staged]) {
    const hold = async () => (await s.expect(200, 'POST', `/api/work-items/${one}/hold`, { origin: 'ann' })).body
    t.match(await hold(), {
      state: 'held',
      reason: 'held by admin',
      operator_action: {
        command: 'hold',
        origin: 'ann',
        previous_state: 'held',
        previous_reason: `held by initiative ${NAME}`,
      },
    })
    t.equal((await hold()).operator_actions.length, 2, 'once')
  }
  t.strictSame(await attention(), [], 'its holder decides')
  const { ended } = await steer(w, 't2', { decision: 'advance', member })
  t.match(ended, { outcome: 'rejected', detail: `work_item:${id} cannot advance: a person holds it` })
  await s.expect(200, 'POST', `/api/work-items/${id}/release`)
  t.match(await item(w, id), { state: 'queued' })
})

t.test(
  'of the failed assessments only the newest about a matter calls for a person, and none after one that ran',
  async (t) => {
    const s = await startTestService(t)
    const w = await world(s)
    const called = async () =>
      (await s.expect(200, 'GET', '/api/attention?reason=failed')).body.items.map(({ work_item }: any) => work_item.id)
    const failing = async (trigger_id: string, more: object = {}) => {
      const { ended } = await steer(w, trigger_id, { decision: 'jump' }, more)
      t.equal((await settledItem(w, ended.item_id)).state, 'failed')
      return ended
    }
    const first = await failing('t1')
    t.strictSame(await called(), [first.item_id])
    const second = await failing('t2')
    t.strictSame(await called(), [second.item_id], 'the newest')
    const pinned = await failing('t3', { member: SHOP })
    t.strictSame(pinned.member, SHOP)
    t.strictSame(await called(), [pinned.item_id, second.item_id], 'it was only about its member')
    await steer(w, 't4', { decision: 'wait' }, { member: BANK })
    t.strictSame(await called(), [pinned.item_id, second.item_id], 'and so was this')
    await steer(w, 't5', { decision: 'wait' }, { member: SHOP })
    t.strictSame(await called(), [second.item_id])
    await post(w, 'owner-actions', { action: 'hold', reason: 'holidays' })
    await advance(w, 't6')
    t.match(await steered(w, 6), { outcome: 'skipped' })
    t.strictSame(await called(), [second.item_id], 'nobody looked')
    await post(w, 'owner-actions', { action: 'hold', reason: 'back', lifted: true })
    await steer(w, 't7', { decision: 'wait' })
    t.strictSame(await called(), [])
    t.equal((await item(w, first.item_id)).state, 'failed')
  },
)

t.test('of two results for one assessment one is accepted, and the other is answered 409', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await advance(w, 't1')
  const { request_id } = await begin(s, w.runner)
  const send = (objective: string) =>
    s.call(
      'POST',
      `/api/run-requests/${request_id}/completed`,
      { result: { reason: 'so', ...dispatch(objective) } },
      w.runner,
    )
  const replies = await Promise.all([send('One'), send('Two')])
  t.same(replies.map(({ status }) => status).sort(), [200, 409])
  await steered(w, 1)
  t.equal((await items(w, 'cycle')).length, 1)
})

t.test('an initiative dispatches no more actions and assesses no more often than its budget allows', async (t) => {
  const s = await startTestService(t)
  const w = await world(s, { budget: { max_actions: 1, max_assessments: 2 } })
  await steer(w, 't1', dispatch('One'))
  await finish(s, w.runner, (await take(s, w.runner)).request_id)
  t.match((await steer(w, 't2', dispatch('Two', BANK))).ended, {
    outcome: 'rejected',
    detail: 'its budget of 1 actions is spent',
  })
  await advance(w, 't3')
  t.match(await steered(w, 3), { outcome: 'skipped', detail: 'its budget of 2 assessments is spent' })
})
