/** Campaigns through the running service: each event of SPEC 6.8 with its exact payload, and the commands of owners. */
import t from 'tap'
import { until } from '../until.ts'
import {
  addCampaign,
  advanced,
  comesTo,
  done,
  events,
  fail,
  form,
  GATE,
  GREEN,
  inFirstCycle,
  item,
  move,
  reading,
  step,
  verdict,
  work,
} from './campaign-harness.ts'
import { AT, begin, COMPLETE, finish, fleet, inState, take } from './ledger-harness.ts'
import { startTestService } from './service-harness.ts'
import { toTheLetter } from './to-the-letter.ts'

const counts = { cycles_completed: 1, cycles_landed: 1 }

t.test('a campaign forms a step, works it, forms again and completes, with the payloads of SPEC 6.8', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const added = await addCampaign(s, { origin: 'ann-laptop' })
  t.match(added, { status: 'staged', stage: 'idle', needs: /advance it/, authorized_by: 'admin' })
  const forming = await move(s, 'advance')
  t.match(forming, { status: 'staged', stage: 'forming', work: { role: 'advance', item_id: /^wi_/ } })
  const request = await form(s, runner, step('Add invoices'))
  t.match(request.engine, {
    throttle: 'full',
    access: 'read_only',
    payload: { campaign: 'pay', prompt: /Let customers pay/ },
  })
  t.same(request.engine.payload.gates, [{ name: 'campaign_done_1', command: 'npm test', required: true }])
  const active = await comesTo(s, 'active', 'cycle')
  t.match(active, {
    cycles_completed: 1,
    cycles_landed: 0,
    work: { role: 'cycle', cycle: 1, objective: 'Add invoices' },
  })

  const cycle = await work(s, runner)
  t.match(cycle.engine.payload, { campaign: 'pay', campaign_cycle: 1, objective: 'Add invoices' })
  const again = await until(reading(s), ({ stage }) => stage === 'forming')
  t.match(again, { cycles_completed: 1, cycles_landed: 1, status: 'active' })
  await form(s, runner, done)
  const completed = await comesTo(s, 'completed')
  t.match(completed, { reason: 'done: all of it holds', ended_at: /^2/, stage: 'idle' })
  t.notOk('needs' in completed)

  const requested = await events(s, 'campaign_advance_requested')
  const [result] = (await s.expect(200, 'GET', '/api/events?event_type=task_run_completed')).body.items
  t.same(
    requested.map(({ payload }) => payload),
    [{ campaign: 'pay' }, { campaign: 'pay', run_event_id: result.id, run_result: COMPLETE }],
  )
  const decided = await events(s, 'campaign_advance_completed')
  t.same(
    decided.map(({ payload }) => payload),
    [
      {
        campaign: 'pay',
        project: 'shop',
        cycles_completed: 1,
        cycles_landed: 0,
        success: true,
        decision: 'advance',
        objective: 'Add invoices',
        reason: 'Add invoices is missing',
        prompt: 'as shown',
        agent_provider: 'acme-ai',
        gate_results: [],
      },
      {
        campaign: 'pay',
        project: 'shop',
        ...counts,
        success: true,
        decision: 'done',
        reason: 'all of it holds',
        prompt: decided[1].payload.prompt,
        gate_results: GREEN,
      },
    ],
  )
  t.match(decided[1].payload.prompt, /Verdict complete, landed/)
  for (const [i, { trace_id, throttle, project }] of decided.entries()) {
    t.equal(trace_id, requested[i].trace_id, 'on the trace of the advance’s own item')
    t.same({ throttle, project }, { throttle: 'full', project: 'shop' })
  }
  t.same(
    (await events(s, 'campaign_completed')).map(({ payload }) => payload),
    [{ campaign: 'pay', project: 'shop', ...counts, reason: 'all of it holds' }],
  )
  const items = (await s.expect(200, 'GET', '/api/work-items?source=campaign:pay')).body.items
  t.same(
    items.map(({ source, state, kind, lane }: any) => [source.role, state, kind, lane]),
    [
      ['advance', 'landed', 'campaign_cycle', 'campaign'],
      ['cycle', 'landed', 'campaign_cycle', 'campaign'],
      ['advance', 'landed', 'campaign_cycle', 'campaign'],
    ],
  )
})

t.test('the agent provider of a campaign is passed to its formations and its tasks', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await addCampaign(s, { agent_provider: 'acme-ai' })
  await move(s, 'advance')
  t.equal((await form(s, runner, step('Add invoices'))).engine.payload.agent_provider, 'acme-ai')
  await comesTo(s, 'active', 'cycle')
  const { context } = (await work(s, runner)).engine.payload
  t.match(context, { agent_provider: 'acme-ai', mission: 'Let customers pay by invoice' })
})

t.test('an unavailable provider pauses the campaign and costs no cycle', async (t) => {
  const s = await startTestService(t)
  const runner = await advanced(s)
  const { request_id } = await begin(s, runner)
  await fail(s, runner, request_id, { code: 'provider_unavailable', message: 'no answer' })
  const paused = await comesTo(s, 'paused')
  t.match(paused, { paused: { by: 'provider' }, needs: /resume it/, cycles_completed: 0 })
  const [{ payload }] = await events(s, 'campaign_paused')
  t.same(payload, {
    campaign: 'pay',
    project: 'shop',
    cycles_completed: 0,
    cycles_landed: 0,
    reason: 'provider_unavailable: no answer',
  })
  const [{ payload: ended }] = await events(s, 'campaign_advance_completed')
  t.match(ended, { success: true, decision: 'stood_down', campaign_status: 'paused', gate_results: [] }, 'SPEC 6.8')
  await addCampaign(s, { name: 'meant' })
  await move(s, 'pause', { reason: 'not now' }, 'meant')
  const waking = await s.expect(200, 'GET', '/api/attention?reason=paused')
  t.equal(waking.body.items.length, 1, 'a campaign paused by its owner needs nobody')
  t.match(waking.body.items[0], { kind: 'campaign', reason: 'paused', project: 'shop', campaign: { name: 'pay' } })
  await move(s, 'resume')
  t.same((await s.expect(200, 'GET', '/api/attention?reason=paused')).body.items, [])
  await form(s, runner, done)
  await comesTo(s, 'completed')
})

t.test(
  "a task that needs a decision escalates the campaign, and the owner's decision reaches the next formation",
  async (t) => {
    const s = await startTestService(t)
    const runner = await inFirstCycle(s)
    const asking = verdict('blocked_on_decision', { finding: 'Net or gross?', options: ['net', 'gross'] })
    const { engine } = await work(s, runner, asking)
    const escalated = await comesTo(s, 'escalated')
    t.match(escalated, {
      question: { finding: 'Net or gross?', options: ['net', 'gross'] },
      needs: /answer the question of its last cycle/,
    })
    const [{ payload }] = await events(s, 'campaign_escalated')
    const reason = 'its task needs a decision: Net or gross? (net; gross)'
    t.same(payload, { campaign: 'pay', project: 'shop', cycles_completed: 1, cycles_landed: 0, reason })
    const { items } = (await s.expect(200, 'GET', '/api/attention?reason=escalated')).body
    t.match(items, [{ kind: 'campaign', reason: 'escalated', project: 'shop', campaign: { name: 'pay' } }])
    t.match(await item(s, engine.payload.item_id), { state: 'needs_decision' })
    t.match(await move(s, 'decide', { decision: 'Gross.' }), { status: 'active', stage: 'forming' })
    t.match(await inState(s, engine.payload.item_id, 'cancelled'), { reason: 'closed: decided: Gross.' })
    const request = await form(s, runner, step('Add gross invoices'))
    t.match(request.engine.payload, { prompt: /Gross\. \(admin/, run_result: asking })
    t.match(await comesTo(s, 'active', 'cycle'), { owner_decisions: [{ decision: 'Gross.', authorized_by: 'admin' }] })
  },
)

t.test(
  'a task result that arrives while its campaign is paused is kept, and counted once when it resumes',
  async (t) => {
    const s = await startTestService(t)
    const runner = await inFirstCycle(s)
    const { request_id } = await begin(s, runner)
    t.match(await move(s, 'pause', { reason: 'a fair' }), { status: 'paused', stage: 'cycle', paused: { by: 'owner' } })
    await finish(s, runner, request_id)
    const kept = await until(reading(s), (one) => one.pending_run_result !== undefined)
    t.match(kept, { status: 'paused', cycles_landed: 0, stage: 'idle', pending_run_result: COMPLETE })
    const down = (await events(s, 'campaign_advance_completed')).at(-1)
    t.same(down.payload, {
      campaign: 'pay',
      project: 'shop',
      cycles_completed: 1,
      cycles_landed: 0,
      success: true,
      decision: 'stood_down',
      campaign_status: 'paused',
      reason: 'stood down: the campaign is paused',
      gate_results: [],
    })
    const advance = (await s.expect(200, 'GET', '/api/work-items?source=campaign:pay')).body.items[0]
    await inState(s, advance.id, 'landed')
    t.equal(down.trace_id, advance.trace_id)
    t.match(await move(s, 'resume'), { status: 'active', stage: 'forming', cycles_landed: 1 })
    await form(s, runner, done)
    t.match(await comesTo(s, 'completed'), { cycles_completed: 1, cycles_landed: 1 })
  },
)

t.test('pausing a campaign cancels the run of its formation', async (t) => {
  const s = await startTestService(t)
  const runner = await advanced(s)
  const { request_id } = await begin(s, runner)
  await move(s, 'pause')
  await until(
    async () => (await s.expect(200, 'GET', `/api/run-requests/${request_id}`)).body,
    ({ state }) => state === 'cancelling',
  )
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/completed`, { result: step('Too late') }, runner)
  t.match(await reading(s)(), { status: 'paused', stage: 'idle', cycles_completed: 0 })
  t.match((await events(s, 'campaign_advance_completed')).at(-1).payload, {
    decision: 'stood_down',
    campaign_status: 'paused',
  })
})

t.test('a formation after pause and resume waits until the run of the first formation has ended', async (t) => {
  const s = await startTestService(t)
  const runner = await advanced(s)
  const { request_id } = await begin(s, runner)
  await move(s, 'pause')
  const { work } = await move(s, 'resume')
  const waiting = await until(
    async () => (await s.expect(200, 'GET', `/api/work-items/${work.item_id}`)).body.waiting_because,
    (because) => because?.code === 'stopping',
  )
  t.match(waiting.detail, new RegExp(`^${request_id}, which forms or assesses for campaign pay`))
  await s.expect(204, 'GET', '/api/runners/r1/run-requests/next', undefined, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/completed`, { result: step('Too late') }, runner)
  const again = await form(s, runner, done)
  t.not(again.request_id, request_id)
  t.match(await comesTo(s, 'completed'), { cycles_completed: 0 }, 'the answer of the first formation is ignored')
  const ends = (await events(s, 'campaign_advance_completed')).map(({ payload }) => payload.decision)
  t.same(ends, ['stood_down', 'done'])
})

t.test('a formation that is held and released is not run by two runners at once', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await addCampaign(s)
  const { item_id } = (await move(s, 'advance')).work
  const { request_id } = await take(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/accepted`, {}, runner)
  await s.expect(200, 'POST', `/api/work-items/${item_id}/hold`)
  const released = (await s.expect(200, 'POST', `/api/work-items/${item_id}/release`)).body
  t.match(released.waiting_because, { code: 'stopping', detail: new RegExp(request_id) })
  await s.expect(204, 'GET', '/api/runners/r1/run-requests/next', undefined, runner)
  await fail(s, runner, request_id, { class: 'cancelled', message: 'stopped' })
  const again = await form(s, runner, done)
  t.not(again.request_id, request_id)
  await comesTo(s, 'completed')
})

t.test('a graceful cancel lets the cycle finish, forms no further step and reports nothing as aborted', async (t) => {
  const s = await startTestService(t)
  const runner = await inFirstCycle(s)
  const { request_id } = await begin(s, runner)
  t.equal((await s.call('POST', '/api/campaigns/pay/cancel', {})).status, 422, 'a reason is required')
  t.match(await move(s, 'cancel', { reason: 'not wanted' }), { status: 'cancelled', stage: 'cycle' })
  t.same((await events(s, 'campaign_cancelled'))[0].payload, {
    campaign: 'pay',
    project: 'shop',
    reason: 'not wanted',
    cycles_completed: 1,
    cycles_landed: 0,
    terminated_now: false,
    discard_work: false,
  })
  await finish(s, runner, request_id)
  t.match(await comesTo(s, 'cancelled', 'idle'), { cycles_landed: 0 })
  const down = (await events(s, 'campaign_advance_completed')).at(-1)
  t.match(down.payload, { decision: 'stood_down', campaign_status: 'cancelled', success: true })
  t.equal((await s.call('POST', '/api/campaigns/pay/resume')).status, 409)
  t.equal((await s.call('POST', '/api/campaigns/pay/pause')).status, 409, 'a cancelled campaign cannot be paused')
  t.equal((await s.call('POST', '/api/campaigns/pay/complete', { reason: 'x' })).status, 409)
  t.match(await move(s, 'cancel', { reason: 'again' }), { reason: 'cancelled by admin: not wanted' })
})

for (const discard_work of [false, true]) {
  t.test(
    `a cancel with now${discard_work ? ' and discard_work' : ''} stops the running cycle before campaign_cancelled is recorded`,
    async (t) => {
      const s = await startTestService(t)
      const runner = await advanced(s)
      await form(s, runner, step('Add invoices'))
      const { work } = await comesTo(s, 'active', 'cycle')
      const { request_id } = await begin(s, runner)
      const ask = { reason: 'not wanted', now: true, ...(discard_work ? { discard_work } : {}) }
      t.match(await move(s, 'cancel', ask), { status: 'cancelling', stage: 'stopping' })
      const beat = await until(
        async () => (await s.expect(200, 'POST', `/api/run-requests/${request_id}/heartbeat`, {}, runner)).body,
        ({ cancel_requested }) => cancel_requested,
      )
      t.equal(beat.cancel.discard_work, discard_work)
      t.same(await events(s, 'campaign_cancelled'), [], 'not recorded before the run has ended')
      const asked = { event_type: 'campaign_advance_requested', project: 'shop', occurred_at: AT, throttle: 'full' }
      const late = await s.call('POST', '/api/events', { events: [{ ...asked, payload: { campaign: 'pay' } }] })
      t.match(late.body, { status: 409, code: 'illegal_move', detail: /nothing follows/ }, 'nothing would answer it')
      t.match((await s.call('POST', '/api/campaigns/pay/advance')).body, { status: 409, detail: /nothing follows/ })
      await fail(s, runner, request_id, { class: 'cancelled' })
      await comesTo(s, 'cancelled')
      const [root] = (
        await s.expect(200, 'GET', `/api/events?trace_id=${work.trace_id}&event_type=run_request_created`)
      ).body.items
      t.same((await events(s, 'campaign_cancelled'))[0].payload, {
        campaign: 'pay',
        project: 'shop',
        reason: 'not wanted',
        cycles_completed: 1,
        cycles_landed: 0,
        terminated_now: true,
        discard_work,
        aborted_event_id: root.id,
        aborted_trace_id: work.trace_id,
      })
      const stopped = await item(s, work.item_id)
      t.match(stopped, { state: 'cancelled', operator_action: { command: 'cancel', previous_state: 'running' } })
      const told = (await s.expect(200, 'GET', `/api/events?trace_id=${work.trace_id}&event_type=work_item_cancelled`))
        .body.items
      t.equal(told.length, 1, 'on the aborted cycle’s trace')
      t.equal((await s.expect(200, 'GET', `/api/traces/${work.trace_id}`)).body.complete, false)
    },
  )
}

t.test(
  'a graceful cancel can be followed by one with now, which stops the cycle and reports it as aborted',
  async (t) => {
    const s = await startTestService(t)
    const runner = await advanced(s)
    await form(s, runner, step('Add invoices'))
    const { request_id } = await begin(s, runner)
    t.match(await move(s, 'cancel', { reason: 'not wanted' }), { status: 'cancelled', stage: 'cycle' })
    const now = { reason: 'it costs too much', now: true, discard_work: true }
    const { work } = await move(s, 'cancel', now)
    t.match(await move(s, 'cancel', now), { status: 'cancelled', stage: 'stopping' }, 'repeated: unchanged')
    const heartbeat = await s.expect(200, 'POST', `/api/run-requests/${request_id}/heartbeat`, {}, runner)
    t.match(heartbeat.body, { cancel_requested: true, cancel: { discard_work: true } })
    await fail(s, runner, request_id, { class: 'cancelled', message: 'stopped' })
    await inState(s, work.item_id, 'cancelled')
    const ends = await until(
      () => events(s, 'campaign_cancelled'),
      ({ length }) => length === 2,
    )
    const root = (await s.expect(200, 'GET', `/api/events?trace_id=${work.trace_id}&event_type=run_request_created`))
      .body
    t.match(ends[0].payload, { terminated_now: false, reason: 'not wanted' })
    t.match(ends[1].payload, {
      terminated_now: true,
      discard_work: true,
      reason: 'it costs too much',
      aborted_event_id: root.items[0].id,
      aborted_trace_id: work.trace_id,
    })
    t.match(await reading(s)(), { status: 'cancelled', stage: 'idle', reason: /it costs too much/ })
    t.match((await move(s, 'cancel', now)).stage, 'idle', 'repeated again: nothing is left to stop')
  },
)

t.test('a cancel that keeps the work of a cycle can be followed by one that discards it', async (t) => {
  const s = await startTestService(t)
  const runner = await inFirstCycle(s)
  const { request_id } = await begin(s, runner)
  t.match(await move(s, 'cancel', { reason: 'not wanted', now: true }), { status: 'cancelling' })
  const asked = { reason: 'it leaks', now: true, discard_work: true }
  t.match(await move(s, 'cancel', asked), { status: 'cancelling', reason: /it leaks/ })
  const beat = await until(
    async () => (await s.expect(200, 'POST', `/api/run-requests/${request_id}/heartbeat`, {}, runner)).body,
    ({ cancel }) => cancel?.discard_work,
  )
  t.match(beat.cancel.reason, /it leaks/)
  await fail(s, runner, request_id, { class: 'cancelled', message: 'stopped' })
  await comesTo(s, 'cancelled')
  const root = (await s.expect(200, 'GET', `/api/events?event_type=run_request_created`)).body.items.at(-1)
  const told = { terminated_now: true, discard_work: true, reason: 'it leaks', aborted_event_id: root.id }
  t.match(
    (await events(s, 'campaign_cancelled')).map(({ payload }) => payload),
    [told],
  )
})

t.test('a cancel with now during a formation reports it as terminated only if a runner had started it', async (t) => {
  for (const isBegun of [false, true]) {
    const s = await startTestService(t)
    const runner = await advanced(s)
    const { work } = await reading(s)()
    const { request_id } = await take(s, runner)
    if (isBegun) {
      await s.expect(200, 'POST', `/api/run-requests/${request_id}/started`, {}, runner)
      await inState(s, work.item_id, 'running')
    }
    t.match(await move(s, 'cancel', { reason: 'not wanted', now: true }), { status: 'cancelled', stage: 'idle' })
    const [root] = (await s.expect(200, 'GET', `/api/events?trace_id=${work.trace_id}&event_type=run_request_created`))
      .body.items
    const aborted = { aborted_event_id: root.id, aborted_trace_id: work.trace_id }
    t.same((await events(s, 'campaign_cancelled'))[0].payload, {
      campaign: 'pay',
      project: 'shop',
      reason: 'not wanted',
      cycles_completed: 0,
      cycles_landed: 0,
      terminated_now: isBegun,
      discard_work: false,
      ...(isBegun ? aborted : {}),
    })
    t.match((await item(s, work.item_id)).state, 'landed')
  }
})

t.test("resume refuses add_cycles that would raise the campaign's total budget above the maximum", async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  await addCampaign(s, { budget: { max_cycles: 1_000 } })
  for (let n = 1; n <= 9; n++) {
    await move(s, 'pause')
    await move(s, 'resume', { add_cycles: 1_000 })
  }
  await move(s, 'pause')
  const { status, body } = await s.call('POST', '/api/campaigns/pay/resume', { add_cycles: 1 })
  t.match({ status, ...body }, { status: 422, code: 'invalid_body', errors: [{ pointer: '/add_cycles' }] })
  t.match(body.errors[0].detail, /must not raise its budget above 10000 cycles: it has 10000/)
  t.match(await move(s, 'resume'), { status: 'active', budget: { max_cycles: 10_000 } })
})

t.test('discard_work without now is refused', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  await addCampaign(s)
  const { status, body } = await s.call('POST', '/api/campaigns/pay/cancel', { reason: 'x', discard_work: true })
  t.equal(status, 422)
  t.ok(body.errors[0].pointer === '' || body.errors[0].pointer === '/now', body.errors[0].pointer)
})

t.test('a waiting cycle ends with its cancelled campaign and is not reported as aborted', async (t) => {
  const s = await startTestService(t)
  const runner = await advanced(s)
  await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['interactive'] })
  await form(s, runner, step('Add invoices'))
  await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['campaign'] })
  const waiting = await until(reading(s), ({ work }) => work?.waiting_because?.code === 'lane_paused')
  t.equal(waiting.work.state, 'queued')
  await move(s, 'cancel', { reason: 'not wanted', now: true })
  await inState(s, waiting.work.item_id, 'cancelled')
  await comesTo(s, 'cancelled')
  t.match((await events(s, 'campaign_cancelled'))[0].payload, { terminated_now: false, discard_work: false })
  t.notOk('aborted_trace_id' in (await events(s, 'campaign_cancelled'))[0].payload)
})

t.test(
  "an owner's pause, resume and completion are recorded as events, and a repeated completion only once",
  async (t) => {
    const s = await startTestService(t)
    await fleet(s, 'shop')
    await addCampaign(s)
    await move(s, 'pause')
    await move(s, 'resume')
    await move(s, 'complete', { reason: 'done by hand' })
    t.same((await events(s, 'campaign_completed'))[0].payload, {
      campaign: 'pay',
      project: 'shop',
      reason: 'done by hand',
      cycles_completed: 0,
      cycles_landed: 0,
    })
    const { owner_decisions } = await move(s, 'complete', { reason: 'done by hand' })
    t.match(owner_decisions, [{ decision: 'complete: done by hand' }], 'repeated: unchanged')
    t.equal(
      (await s.call('POST', '/api/campaigns/pay/complete', { reason: 'again' })).status,
      409,
      'with another reason',
    )
    for (const type of ['campaign_added', 'campaign_owner_paused', 'campaign_resumed']) {
      t.equal((await events(s, type)).length, 1, type)
    }
    t.equal((await s.call('POST', '/api/campaigns/pay/cancel', { reason: 'x' })).status, 409)
  },
)

t.test('campaign events carry the mission and the budget, so that a follower need not read the campaign', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  const { mission, budget } = await addCampaign(s)
  const { max_cycles } = budget
  await move(s, 'pause')
  await move(s, 'resume', { add_cycles: 3 })
  t.match((await events(s, 'campaign_added'))[0].payload, { mission, budget: { max_cycles } })
  t.match((await events(s, 'campaign_owner_paused'))[0].payload, { budget: { max_cycles } })
  t.match((await events(s, 'campaign_resumed'))[0].payload, { budget: { max_cycles: max_cycles + 3 } })
})

t.test(
  'each emitted campaign_advance_requested is recorded once and answered by one campaign_advance_completed',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop', 'till')
    await addCampaign(s)
    const event = {
      event_type: 'campaign_advance_requested',
      project: 'shop',
      occurred_at: AT,
      throttle: 'full',
      payload: { campaign: 'pay' },
    }
    const emit = (more: object = {}, options: object = {}) =>
      s.call('POST', '/api/events', { events: [{ ...event, ...more }] }, options)
    t.match((await emit({ throttle: 'dry_run' })).body, { status: 422, errors: [{ pointer: '/events/0/throttle' }] })
    t.match((await emit({ payload: { campaign: 'nobody' } })).body, {
      status: 422,
      errors: [{ pointer: '/events/0/payload/campaign' }],
    })
    t.equal((await emit({ project: 'till' })).status, 422, 'from another project')
    const weak = await s.token('weak', { rights: ['event.emit', 'work.submit', 'view'] })
    t.equal((await emit({}, { token: weak })).status, 403)
    const first = await emit()
    t.match(first.body, { accepted: 1, run_requests: [] })
    t.match((await emit()).body, { accepted: 0, duplicates: 1 })
    await until(reading(s), ({ stage }) => stage === 'forming')
    const second = await emit({ occurred_at: '2026-01-31T00:00:00Z' })
    t.match(second.body, { accepted: 1 }, 'while it forms')
    t.match((await emit({ occurred_at: '2026-01-31T00:00:00Z' })).body, { accepted: 0, duplicates: 1 })
    await form(s, runner, step('Add invoices'))
    await comesTo(s, 'active', 'cycle')
    const both = (await events(s, 'campaign_advance_completed')).map(({ causation_id }) => causation_id)
    t.same(both, [...first.body.events, ...second.body.events], 'each is answered')
    t.equal((await events(s, 'campaign_advance_requested')).length, 2, 'the request is recorded once')
    t.equal((await emit({ occurred_at: '2026-02-01T00:00:00Z' })).status, 409, 'a cycle is in progress')
    t.match((await emit()).body, { accepted: 0, duplicates: 1 }, 'and an earlier request is still recognized')
    await work(s, runner)
    await until(reading(s), ({ stage }) => stage === 'forming')
    await move(s, 'pause')
    await emit({ occurred_at: '2026-02-02T00:00:00Z' })
    const ends = await until(
      () => events(s, 'campaign_advance_completed'),
      ({ length }) => length === 4,
    )
    t.match(ends.at(-1).payload, { decision: 'stood_down', campaign_status: 'paused' })
    t.equal(ends.at(-1).causation_id, (await events(s, 'campaign_advance_requested')).at(-1).id)
    await move(s, 'resume')
    const many = Array.from({ length: 33 }, (_, n) => ({ ...event, occurred_at: `2026-03-01T00:00:00.${100 + n}Z` }))
    const refused = await s.call('POST', '/api/events', { events: many })
    t.match(refused.body, { status: 409, code: 'illegal_move', detail: /32 requests are already waiting/ })
    t.equal((await s.call('POST', '/api/events', { events: many.slice(1) })).status, 200)
    await until(
      async () => emit({ occurred_at: '2026-03-02T00:00:00Z' }),
      ({ status }) => status === 409,
    )
  },
)

t.test(
  'an emitted request is carried out once, even when more requests followed than the campaign remembers',
  async (t) => {
    const s = await startTestService(t)
    await fleet(s, 'shop')
    await addCampaign(s)
    await move(s, 'pause')
    const asked = {
      event_type: 'campaign_advance_requested',
      project: 'shop',
      throttle: 'full',
      payload: { campaign: 'pay' },
    }
    const emit = async (first: number, count = 1) => {
      const events = Array.from({ length: count }, (_, n) => ({
        ...asked,
        occurred_at: `2026-01-01T00:00:00.${100 + first + n}Z`,
      }))
      return (await s.expect(200, 'POST', '/api/events', { events })).body
    }
    const ends = () => events(s, 'campaign_advance_completed')
    await emit(0)
    // More requests than a campaign remembers.
    for (const first of [1, 26, 51]) await emit(first, 25)
    await until(ends, ({ length }) => length === 76)
    t.match(await emit(0), { accepted: 0, duplicates: 1 })
    await emit(80)
    t.equal(
      (await until(ends, ({ length }) => length > 76)).length,
      77,
      'the last request is answered, and none is answered twice',
    )
    await move(s, 'resume')
    await until(reading(s), ({ stage }) => stage === 'forming')
    await move(s, 'complete', { reason: 'done' })
    t.match(await emit(0), { accepted: 0, duplicates: 1 }, 'an ended campaign is not asked')
  },
)

t.test('a run result in an emitted advance request is shown to the formation, and changes no count', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await addCampaign(s)
  const run_event_id = `evt_${'a'.repeat(32)}`
  const emit = (more: object) => {
    const payload = { campaign: 'pay', run_event_id, ...more }
    const event = {
      event_type: 'campaign_advance_requested',
      project: 'shop',
      occurred_at: AT,
      throttle: 'full',
      payload,
    }
    return s.call('POST', '/api/events', { events: [event] })
  }
  t.match((await emit({ run_result: { verdict: 'superb' } })).body.errors, [
    { pointer: /^\/events\/0\/payload\/run_result/ },
  ])
  t.equal((await emit({ run_result: COMPLETE })).status, 200)
  await until(reading(s), ({ stage }) => stage === 'forming')
  const { engine } = await form(s, runner, step('Add invoices'))
  t.match(engine.payload, { run_event_id, run_result: COMPLETE, prompt: /Verdict complete, landed\./ })
  const active = await comesTo(s, 'active', 'cycle')
  t.match(active, { cycles_landed: 0, last_run_event_id: undefined, pending_run_result: undefined })
  await work(s, runner)
  await until(reading(s), ({ stage }) => stage === 'forming')
  const next = await form(s, runner, done)
  t.not(next.engine.payload.run_event_id, run_event_id)
  t.match(await comesTo(s, 'completed'), { cycles_landed: 1 })
})

t.test('a campaign in an archived project refuses advance, resume and decide, and can be cancelled', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  await addCampaign(s)
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: true })
  const asked = async (name: string, body: object = {}) =>
    (await s.call('POST', `/api/campaigns/pay/${name}`, body)).body
  t.match(await asked('advance'), { status: 409, code: 'project_archived' })
  await move(s, 'pause')
  t.match(await asked('resume'), { status: 409, code: 'project_archived' })
  t.match(await asked('decide', { decision: 'Go on.' }), { status: 409, code: 'project_archived' })
  t.match(await move(s, 'cancel', { reason: 'over' }), { status: 'cancelled' })
  t.strictSame((await s.expect(200, 'GET', '/api/work-items')).body.items, [])
})

t.test('a campaign definition is refused with a pointer to its fault', async (t) => {
  const s = await startTestService(t)
  await s.expect(201, 'POST', '/api/projects', {
    key: 'shop',
    name: 'shop',
    repository: 'https://example.org/shop.git',
  })
  const wrong = [
    [{ name: 'Pay' }, '/name'],
    [{ mission: ' ' }, '/mission'],
    [{ done_evidence: [] }, '/done_evidence'],
    [{ done_evidence: [{ kind: 'gate' }] }, '/done_evidence/0'],
    [{ done_evidence: [{ kind: 'review', statement: 'x', required: true }] }, '/done_evidence/0/required'],
    [{ done_evidence: [{ kind: 'gate', command: 'npm test && ssh host true' }] }, '/done_evidence/0/command'],
    [{ context_paths: ['/etc/passwd'] }, '/context_paths/0'],
    [{ context_paths: ['a/../../b'] }, '/context_paths/0'],
    [{ writable_repositories: ['https://example.org/other.git'] }, '/writable_repositories/0'],
    [{ budget: { max_cycles: 0 } }, '/budget/max_cycles'],
    [{ colour: 'red' }, '/colour'],
  ] as const
  const body = { name: 'pay', project: 'shop', mission: 'x', done_evidence: [GATE] }
  for (const [more, pointer] of wrong) {
    const reply = await s.call('POST', '/api/campaigns', { ...body, ...more })
    t.equal(reply.status, 422, pointer)
    t.ok(reply.body.errors[0].pointer.startsWith(pointer), `${reply.body.errors[0].pointer} of ${pointer}`)
  }
  t.equal((await s.call('POST', '/api/campaigns', { ...body, project: 'nowhere' })).status, 422)
  const right = { writable_repositories: ['https://example.org/shop.git'], context_paths: ['docs/a..b.md'] }
  const key = { headers: { 'idempotency-key': 'one' } }
  await s.expect(201, 'POST', '/api/campaigns', { ...body, ...right }, key)
  const replay = await s.expect(200, 'POST', '/api/campaigns', { ...body, ...right }, key)
  t.equal(replay.headers.get('idempotent-replay'), 'true')
  t.equal((await s.call('POST', '/api/campaigns', body, key)).status, 422, 'another body')
  t.equal((await s.call('POST', '/api/campaigns', body)).body.code, 'already_exists')
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: true })
  t.equal((await s.call('POST', '/api/campaigns', { ...body, name: 'more' })).body.code, 'project_archived')
})

t.test(
  'campaigns are listed by project and status, and are hidden from tokens that may not see their project',
  async (t) => {
    const s = await startTestService(t)
    await fleet(s, 'shop', 'till')
    await addCampaign(s)
    await addCampaign(s, { name: 'tills', project: 'till' })
    await addCampaign(s, { name: 'later' })
    await move(s, 'pause', {}, 'later')
    const names = async (query: string, options?: object) =>
      (await s.expect(200, 'GET', `/api/campaigns${query}`, undefined, options)).body.items.map(({ name }: any) => name)
    t.same(await names(''), ['later', 'tills', 'pay'])
    t.same(await names('?project=shop'), ['later', 'pay'])
    t.same(await names('?status=paused'), ['later'])
    t.same(await names('?status=staged,paused'), ['later', 'tills', 'pay'])
    t.same(await names('?status=staged&project=shop'), ['pay'])
    const page = (await s.expect(200, 'GET', '/api/campaigns?limit=2')).body
    t.same(await names(`?limit=2&cursor=${page.next_cursor}`), ['pay'])
    const token = await s.token('till', { roles: ['operator'], projects: ['till'] })
    t.same(await names('', { token }), ['tills'])
    t.equal((await s.call('GET', '/api/campaigns/pay', undefined, { token })).status, 404)
    t.equal((await s.call('POST', '/api/campaigns/pay/pause', {}, { token })).status, 404)
    t.equal((await s.call('GET', '/api/campaigns/Not%20a%20name')).status, 404)
  },
)

t.test("a cycle's question is gone once the owner has decided it", async (t) => {
  const s = await startTestService(t)
  const runner = await inFirstCycle(s)
  await work(s, runner, verdict('blocked_on_decision', { finding: 'Which currency?', options: ['EUR', 'USD'] }))
  t.match(await comesTo(s, 'escalated'), {
    question: { finding: 'Which currency?' },
    needs: /answer the question of its last cycle/,
  })
  t.notOk('question' in (await move(s, 'decide', { decision: 'EUR' })))
  await form(s, runner, { decision: 'escalate', reason: 'the price would change' })
  const again = await comesTo(s, 'escalated')
  t.match(again, { reason: 'the price would change', needs: /^decide, resume it/ })
  t.notOk('question' in again, 'the second escalation has no question')
})

t.test('the item of a cycle failed by its provider is closed when the owner resumes the campaign', async (t) => {
  const s = await startTestService(t)
  const runner = await inFirstCycle(s)
  const { request_id, engine } = await begin(s, runner)
  await fail(s, runner, request_id, { code: 'provider_unavailable', message: 'no answer' })
  await comesTo(s, 'paused')
  t.match(await item(s, engine.payload.item_id), { state: 'failed' })
  await move(s, 'resume')
  await until(
    () => item(s, engine.payload.item_id),
    ({ state }) => state === 'cancelled',
  )
  t.match(await item(s, engine.payload.item_id), { reason: 'closed: the campaign pay was resumed' })
})

t.test('a refused command on a campaign or initiative lists the moves that are allowed', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  await addCampaign(s)
  const refused = async (path: string, body: object = {}) => {
    const answer = await s.call('POST', path, body)
    t.equal(answer.status, 409, path)
    return answer.body.allowed
  }
  await move(s, 'pause')
  t.same(await refused('/api/campaigns/pay/decide', { decision: 'x' }), ['cancel', 'complete', 'pause', 'resume'])
  await move(s, 'complete', { reason: 'x' })
  t.same(await refused('/api/campaigns/pay/pause'), [])
  await s.expect(201, 'POST', '/api/initiatives', {
    name: 'spring',
    outcome: 'x',
    members: [{ kind: 'project', ref: 'shop' }],
  })
  await s.expect(200, 'POST', '/api/initiatives/spring/complete', { reason: 'x' })
  t.same(await refused('/api/initiatives/spring/decide', { decision: 'x' }), [])
})

t.test('each event type of SPEC 6.8 has the members of its table and no others', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  for (const [name, decision] of [
    ['one', done],
    ['two', { decision: 'escalate', reason: 'the price' }],
    ['three', step('Add invoices')],
  ] as const) {
    await addCampaign(s, { name })
    await move(s, 'advance', {}, name)
    await form(s, runner, decision)
    await until(reading(s, name), ({ stage }) => stage !== 'forming')
  }
  await addCampaign(s, { name: 'four' })
  await move(s, 'advance', {}, 'four')
  let request = await begin(s, runner)
  if (request.engine.payload.campaign === 'three') request = await begin(s, runner)
  await fail(s, runner, request.request_id, { code: 'usage_limit', result: { retry_after: 60 } })
  t.match(await until(reading(s, 'four'), ({ status }) => status === 'paused'), { paused: { until: /^2/ } })
  t.same((await s.expect(200, 'GET', '/api/attention?reason=paused')).body.items, [], 'it resumes by itself')
  await move(s, 'cancel', { reason: 'x' }, 'three')
  await toTheLetter(t, s, 'campaigns')
})
