/** What earlier systems of this kind learned the hard way (test/LEARNED.md), as far as it concerns campaigns. */
import t from 'tap'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
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
  inFirstCycle,
  item,
  move,
  reading,
  step,
  verdict,
  work,
} from './campaign-harness.ts'
import { AT, begin, COMPLETE, finish, fleet, inState, type Runner } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

/** Fails the run, and lets its retry delay pass (half a minute, then a minute). */
async function failAgain(
  s: TestService,
  runner: Runner,
  platform: AdvanceablePlatform,
  words: string,
  more: object = {},
) {
  const { request_id, attempt } = await begin(s, runner)
  const path = `/api/run-requests/${request_id}`
  await s.expect(200, 'POST', `${path}/failed`, { attempt, class: 'execution', message: words, ...more }, runner)
  platform.advance(61_000)
}

/** Starts the queued attempt; `begin` is for first attempts. */
async function beginAttempt(s: TestService, runner: Runner): Promise<{ request_id: string; attempt: number }> {
  const { request_id, attempt } = (
    await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, runner)
  ).body
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/started`, { attempt }, runner)
  return { request_id, attempt }
}

/** `said`: the event that the run posts in the attempt of that number. */
async function failThrice(
  s: TestService,
  runner: Runner,
  platform: AdvanceablePlatform,
  said: Readonly<Record<number, object>> = {},
): Promise<void> {
  for (const words of ['no route', 'reset', 'timed out']) {
    const { request_id, attempt } = await beginAttempt(s, runner)
    const path = `/api/run-requests/${request_id}`
    const event = said[attempt]
    if (event !== undefined) await s.expect(200, 'POST', `${path}/events`, { attempt, events: [event] }, runner)
    await s.expect(200, 'POST', `${path}/failed`, { attempt, class: 'execution', message: words }, runner)
    platform.advance(61_000)
  }
}

t.test('learned 4: a campaign whose service restarts in the middle of each step continues where it was', async (t) => {
  const home = t.testdir()
  const options = { openJournal: undefined as never }
  let s = await startTestService(t, { home }, options)
  const runner = await fleet(s, 'shop')
  const restart = async () => {
    await s.service.close()
    s = await startTestService(t, { home }, options)
    await s.call('GET', '/api/runners/r1/run-requests/next', undefined, runner)
  }
  await addCampaign(s)
  await restart()
  await move(s, 'advance')
  await restart()
  t.match(await reading(s)(), { status: 'staged', stage: 'forming' })
  await form(s, runner, step('Add invoices'))
  await restart()
  await comesTo(s, 'active', 'cycle')
  const { request_id } = await begin(s, runner)
  await restart()
  await finish(s, runner, request_id)
  await restart()
  const again = await until(reading(s), ({ stage }) => stage === 'forming')
  t.match(again, { cycles_completed: 1, cycles_landed: 1 })
  await form(s, runner, done)
  await comesTo(s, 'completed')
  await restart()
  t.match(await reading(s)(), { status: 'completed', cycles_completed: 1, cycles_landed: 1 })
  t.equal((await events(s, 'campaign_advance_completed')).length, 2, 'nothing was done twice')
})

t.test('learned 6: a formation prompt is bounded, and reaches the runner in the body of its poll answer', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await addCampaign(s, {
    mission: 'x'.repeat(8_000),
    context_paths: Array.from({ length: 250 }, (_, n) => `${'d'.repeat(300)}/${n}`),
  })
  await move(s, 'advance')
  const { engine } = await begin(s, runner)
  t.ok(engine.payload.prompt.length < 60_000)
  t.match(engine.payload.prompt, /more sections are omitted/)
})

t.test(
  'learned 7: a campaign paused by a usage limit in its formation resumes by itself when the limit expires',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, {}, { platform })
    const runner = await advanced(s)
    const { request_id } = await begin(s, runner)
    await fail(s, runner, request_id, { code: 'usage_limit', message: 'five hours', result: { retry_after: 18_000 } })
    const paused = await comesTo(s, 'paused')
    t.equal(paused.paused.by, 'provider')
    t.notOk('needs' in paused, 'no person is needed')
    platform.advance(18_000_001)
    await s.call('GET', '/api/runners/r1/run-requests/next', undefined, runner)
    t.match(await comesTo(s, 'active', 'forming'), { reason: /being formed/ })
    t.match((await events(s, 'campaign_resumed'))[0], { by: { name: 'intendant' }, payload: { status: 'active' } })
  },
)

t.test(
  'learned 7: a usage limit that a task reports only in its failure pauses the campaign until it expires',
  async (t) => {
    const s = await startTestService(t)
    const runner = await advanced(s)
    await form(s, runner, step('Add invoices'))
    await comesTo(s, 'active', 'cycle')
    const { request_id } = await begin(s, runner)
    await fail(s, runner, request_id, { code: 'usage_limit', message: 'a minute', result: { retry_after: 60 } })
    t.match(await comesTo(s, 'paused'), { cycles_completed: 0, paused: { by: 'provider', until: /^2/ } })
  },
)

/** The running task states a runner error, and then its run fails. */
async function failBehindResult(s: TestService, runner: Runner, told: object, failure: object): Promise<any> {
  const { request_id } = await begin(s, runner)
  const event = { event_type: 'task_run_completed', occurred_at: AT, payload: verdict('runner_error', told) }
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events: [event] }, runner)
  await fail(s, runner, request_id, failure)
  return until(reading(s), ({ stage }) => stage === 'idle')
}

t.test('learned 7: the failure of a run counts even after its task has stated a result', async (t) => {
  const limit = { code: 'usage_limit', message: 'a minute', result: { retry_after: 60 } }
  for (const told of [
    { detail: 'the agent could not be reached' },
    { detail: 'a minute', failure_class: 'execution', failure_code: 'usage_limit' },
  ]) {
    const s = await startTestService(t)
    const at = await failBehindResult(s, await inFirstCycle(s), told, limit)
    t.match(at, { status: 'paused', cycles_completed: 0, paused: { by: 'provider', until: /^2/ } })
    t.same(await events(s, 'campaign_escalated'), [])
  }
  const s = await startTestService(t)
  const failure = { class: 'dispatch', code: 'not_configured', message: 'no agent' }
  const at = await failBehindResult(s, await inFirstCycle(s), { detail: 'no agent here' }, failure)
  t.match(at, { status: 'escalated', cycles_completed: 0, reason: /could not begin/ })
})

t.test('learned 7: a usage limit of one campaign does not affect another, and expires by itself', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const runner = await fleet(s, 'shop', 'till')
  await addCampaign(s)
  await move(s, 'advance')
  const { request_id } = await begin(s, runner)
  await fail(s, runner, request_id, { code: 'usage_limit', result: { retry_after: 18_000 } })
  await comesTo(s, 'paused')
  await addCampaign(s, { name: 'other', project: 'till' })
  await move(s, 'advance', {}, 'other')
  await form(s, runner, done)
  t.match(await until(reading(s, 'other'), ({ status }) => status === 'completed'), { cycles_completed: 0 })
  t.equal((await reading(s)()).status, 'paused')
  platform.advance(18_001_000)
  await s.call('GET', '/api/runners/r1/run-requests/next', undefined, runner)
  await comesTo(s, 'active', 'forming')
  await form(s, runner, done)
  await comesTo(s, 'completed')
})

t.test('learned 8: a cycle that no agent started, or whose agent was unreachable, costs no budget', async (t) => {
  const s = await startTestService(t)
  const runner = await advanced(s)
  await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['interactive'] })
  await form(s, runner, step('Add invoices'))
  const { work: waiting } = await comesTo(s, 'active', 'cycle')
  await s.expect(200, 'POST', `/api/work-items/${waiting.item_id}/cancel`, { reason: 'not now' })
  const escalated = await comesTo(s, 'escalated')
  t.match(escalated, {
    cycles_completed: 0,
    reason: /cycle 1 ended without a task result: cancelled by admin: not now/,
  })
  t.notOk('objective_history' in escalated)
  await move(s, 'resume')
  await form(s, runner, step('Add invoices'))
  t.match(await comesTo(s, 'active', 'cycle'), { cycles_completed: 1 }, 'the same objective may be chosen again')
  const { request_id } = await begin(s, runner)
  await fail(s, runner, request_id, { code: 'provider_unavailable' })
  t.match(await comesTo(s, 'paused'), { cycles_completed: 0, paused: { by: 'provider' } })
})

t.test(
  'learned 9: a formation whose agent fails is tried three times before it escalates, with the reason of each failure',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, {}, { platform })
    const runner = await advanced(s)
    await failAgain(s, runner, platform, 'no route')
    const { work: waiting } = await until(reading(s), (one) => one.work.reason.includes('attempt 2'))
    t.match(
      waiting.reason,
      /^its run is waiting for a runner again \(attempt 2\): not before 2\S+Z, since it failed: no route$/,
    )
    const { request_id, attempt } = await beginAttempt(s, runner)
    t.equal(attempt, 2)
    await s.expect(
      200,
      'POST',
      `/api/run-requests/${request_id}/completed`,
      { attempt, result: step('Add invoices') },
      runner,
    )
    await comesTo(s, 'active', 'cycle')
    await work(s, runner)
    await until(reading(s), ({ stage }) => stage === 'forming')
    await failThrice(s, runner, platform)
    const escalated = await comesTo(s, 'escalated')
    const words = ['1 (execution): no route', '2 (execution): reset', '3 (execution): timed out'].join('; ')
    t.equal(escalated.reason, `the formation failed 3 times: ${words}`)
    const [, last] = await events(s, 'campaign_advance_completed')
    t.match(last.payload, { success: false, decision: 'escalate', reason: escalated.reason })
  },
)

t.test('learned 9: a malformed formation answer is not retried, and escalates with a reason', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  for (const [n, result] of [
    {},
    { decision: 'maybe', reason: 'x' },
    { decision: 'escalate', reason: ' \n' },
    { decision: { decision: 'advance', reason: 'x', objective: ' ' } },
    { decision: 'done', reason: 'x', gate_results: 'all green' },
  ].entries()) {
    const name = `c${n}`
    await addCampaign(s, { name })
    await move(s, 'advance', {}, name)
    await form(s, runner, result)
    const { reason } = await until(reading(s, name), ({ status }) => status === 'escalated')
    t.match(reason, /^the formation’s answer is malformed: \S/)
    const [{ payload }] = await events(s, 'campaign_advance_completed', name)
    t.match(payload, { success: false, decision: 'escalate', gate_results: [] })
  }
})

t.test('a failed formation is listed once in attention, as its escalated campaign', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await addCampaign(s)
  const { work } = await move(s, 'advance')
  await form(s, runner, {})
  const told = async () =>
    (await s.expect(200, 'GET', '/api/attention')).body.items.map(({ kind, reason }: any) => `${kind} ${reason}`)
  await comesTo(s, 'escalated')
  await inState(s, work.item_id, 'failed')
  t.same(await told(), ['campaign escalated'])
  await move(s, 'pause')
  t.same(await told(), ['campaign escalated'], 'a pause does not settle the escalation')
  await move(s, 'resume')
  await move(s, 'resume')
  t.same(await told(), [], 'resuming the campaign closes the failed item')
})

const session = (session_id: string, status: string, more: object = {}) => ({
  event_type: 'agent_session_ended',
  occurred_at: AT,
  payload: { session_id, status, ended_at: AT, bytes_written: 10, ...more },
})
const away = session('s1', 'unavailable', { error: 'away' })
const worked = session('s2', 'ok', { exit_code: 0 })

t.test(
  'learned 9: a formation whose session could not reach its provider pauses the campaign, whatever its run reports',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, {}, { platform })
    const runner = await advanced(s)
    await failThrice(s, runner, platform, { 3: session('s1', 'unavailable', { error: 'limit' }) })
    t.match(await comesTo(s, 'paused'), { reason: /provider_unavailable: limit/, paused: { by: 'provider' } })
  },
)

t.test('learned 8: a single unreachable agent in a task does not count as an outage', async (t) => {
  for (const after of [[worked], []]) {
    const s = await startTestService(t)
    const runner = await inFirstCycle(s)
    const { request_id } = await begin(s, runner)
    const failed = verdict('runner_error', { detail: 'git push failed', preservation_ref: 'origin/half' })
    const result = { event_type: 'task_run_completed', occurred_at: AT, payload: failed }
    const stated = { events: [away, ...after, result] }
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, stated, runner)
    await fail(s, runner, request_id, {})
    t.match(await until(reading(s), ({ status }) => status !== 'active'), {
      status: 'escalated',
      reason: 'its task failed: git push failed',
      cycles_completed: 1,
      base_ref: 'origin/half',
    })
  }
})

t.test('learned 9: a formation whose second agent worked escalates instead of waiting for a provider', async (t) => {
  const s = await startTestService(t)
  const runner = await advanced(s)
  const { request_id } = await begin(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events: [away, worked] }, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/completed`, { result: {} }, runner)
  const at = await until(reading(s), ({ status }) => status !== 'staged')
  t.match(at, { status: 'escalated', reason: /malformed/ })
})

t.test('learned 9: a formation that found its provider unreachable in an earlier attempt only escalates', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const runner = await advanced(s)
  await failThrice(s, runner, platform, { 1: away })
  t.match(await until(reading(s), ({ status }) => status !== 'staged'), {
    status: 'escalated',
    reason: /^the formation failed 3 times: 1 /,
  })
})

t.test(
  'learned 10: a required gate that uses another host is refused; an optional one, or a review, is not',
  async (t) => {
    const s = await startTestService(t)
    await fleet(s, 'shop')
    const ask = (evidence: object) =>
      s.call('POST', '/api/campaigns', { name: 'pay', project: 'shop', mission: 'x', done_evidence: [GATE, evidence] })
    for (const command of [
      'ssh prod true',
      'npm test; scp a b:c',
      'sudo systemctl is-active shop',
      'A=1 /usr/bin/rsync a b',
      'if ! journalctl -u shop; then false; fi',
      'test "$(ssh prod uptime)"',
      'true || (service shop status)',
    ]) {
      const { status, body } = await ask({ kind: 'gate', command })
      t.equal(status, 422, command)
      t.equal(body.errors[0].pointer, '/done_evidence/1/command')
    }
    for (const evidence of [
      { kind: 'gate', command: 'npm run test -- --grep ssh' },
      { kind: 'gate', command: 'node service.js' },
      { kind: 'gate', command: 'ssh prod true', required: false },
      { kind: 'review', statement: 'ssh prod answers' },
    ]) {
      const { status } = await ask(evidence)
      t.ok(status === 201 || status === 409, JSON.stringify(evidence))
    }
  },
)

t.test(
  'learned 10: evidence that no task could produce is refused, and a budget ends a campaign that never lands',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop')
    const remote = {
      name: 'far',
      project: 'shop',
      mission: 'x',
      done_evidence: [{ kind: 'gate', command: 'ssh host true' }],
    }
    t.match(await s.call('POST', '/api/campaigns', remote), {
      status: 422,
      body: { errors: [{ pointer: /done_evidence/ }] },
    })
    await addCampaign(s, { budget: { max_cycles: 2 } })
    await move(s, 'advance')
    for (const objective of ['First', 'Second']) {
      await form(s, runner, step(objective))
      await comesTo(s, 'active', 'cycle')
      await work(s, runner, verdict('remainder', { gaps: ['all of it'] }))
      await comesTo(s, 'active', 'forming')
    }
    await form(s, runner, step('Third'))
    t.match(await comesTo(s, 'escalated'), { cycles_completed: 2, cycles_landed: 0, reason: /budget/ })
  },
)

t.test('learned 11: an objective is not chosen twice, and the next cycle builds upon preserved work', async (t) => {
  const s = await startTestService(t)
  const runner = await inFirstCycle(s)
  const first = await work(s, runner, verdict('defect', { diagnosis: 'it breaks', preservation_ref: 'task/1' }))
  await until(reading(s), ({ stage }) => stage === 'forming')
  const forming = await form(s, runner, step('Mend invoices'))
  t.match(forming.engine.payload.prompt, /"task\/1": the next task starts from it/)
  await comesTo(s, 'active', 'cycle')
  const second = await work(s, runner)
  t.equal(second.engine.payload.base_ref, 'task/1')
  t.match(await inState(s, first.engine.payload.item_id, 'landed'), { disposition: { landed_commit: 'abc1234' } })
  await until(reading(s), ({ stage }) => stage === 'forming')
  await form(s, runner, step('  add   INVOICES'))
  t.match(await comesTo(s, 'escalated'), {
    reason:
      'formation is going in circles: cycle 1 had the same objective, "add INVOICES"; now proposed again: add INVOICES is missing',
  })
})

t.test('learned 11: a formation is shown preserved work, builds upon it and chooses no objective twice', async (t) => {
  const s = await startTestService(t)
  const runner = await inFirstCycle(s)
  await work(s, runner, verdict('defect', { diagnosis: 'no tax', preservation_ref: 'engine-task/invoices' }))
  await comesTo(s, 'active', 'forming')
  const { engine } = await form(s, runner, step('Add the tax'))
  t.match(engine.payload, { prompt: /engine-task\/invoices/, run_result: { preservation_ref: 'engine-task/invoices' } })
  await comesTo(s, 'active', 'cycle')
  const cycle = await work(
    s,
    runner,
    verdict('defect', { diagnosis: 'still none', preservation_ref: 'engine-task/tax' }),
  )
  t.equal(cycle.engine.payload.base_ref, 'engine-task/invoices')
  await comesTo(s, 'active', 'forming')
  await form(s, runner, step('Add invoices'))
  t.match(await comesTo(s, 'escalated'), { cycles_completed: 2, reason: /objective/ })
})

t.test(
  'learned 12: an escalation decided by its owner keeps the result, findings and base for the next step',
  async (t) => {
    const s = await startTestService(t)
    const runner = await inFirstCycle(s)
    const result = verdict('defect', { diagnosis: 'the sums are wrong', preservation_ref: 'task/1' })
    await work(s, runner, result)
    await until(reading(s), ({ stage }) => stage === 'forming')
    await form(s, runner, { decision: 'escalate', reason: 'net or gross?' })
    t.match(await comesTo(s, 'escalated'), { pending_run_result: result })
    await move(s, 'decide', { decision: 'gross' })
    const { engine } = await form(s, runner, step('Sum gross'))
    t.match(engine.payload, { run_result: result, prompt: /the sums are wrong/ })
    await comesTo(s, 'active', 'cycle')
    const next = await work(s, runner)
    t.equal(next.engine.payload.base_ref, 'task/1')
    const { cycles_landed, pending_run_result } = await until(reading(s), ({ stage }) => stage === 'forming')
    t.equal(cycles_landed, 1, 'only the landed cycle counts')
    t.match(pending_run_result, COMPLETE)
  },
)

t.test('learned 12: an escalation over the budget keeps the last result and its ref for the next step', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await addCampaign(s, { budget: { max_cycles: 1 } })
  await move(s, 'advance')
  await form(s, runner, step('Add invoices'))
  await comesTo(s, 'active', 'cycle')
  const found = verdict('defect', { diagnosis: 'no tax', preservation_ref: 'engine-task/invoices' })
  await work(s, runner, found)
  await comesTo(s, 'active', 'forming')
  await form(s, runner, step('Add the tax'))
  await comesTo(s, 'escalated')
  await move(s, 'resume', { add_cycles: 2 })
  const { engine } = await form(s, runner, step('Add the tax'))
  t.match(engine.payload, { run_result: found, prompt: /no tax/ })
  await comesTo(s, 'active', 'cycle')
  t.match((await begin(s, runner)).engine.payload, { base_ref: 'engine-task/invoices', campaign_cycle: 2 })
})

t.test('learned 14: no command and no event revives a campaign that has ended', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  for (const [name, end, status] of [
    ['one', 'complete', 'completed'],
    ['two', 'cancel', 'cancelled'],
  ] as const) {
    await addCampaign(s, { name })
    await move(s, end, { reason: 'over' }, name)
    for (const [door, body] of [
      ['advance', {}],
      ['pause', {}],
      ['resume', { add_cycles: 3 }],
      ['decide', { decision: 'x' }],
      ['complete', { reason: 'over' }],
      ['cancel', { reason: 'over' }],
    ] as const) {
      const reply = await s.call('POST', `/api/campaigns/${name}/${door}`, body)
      t.equal(reply.status, door === end ? 200 : 409, `${door} of ${status}`)
    }
    const payload = { campaign: name }
    const asked = {
      event_type: 'campaign_advance_requested',
      project: 'shop',
      occurred_at: AT,
      throttle: 'full',
      payload,
    }
    await s.expect(200, 'POST', '/api/events', { events: [asked] })
    const [{ payload: ended }] = await until(
      () => events(s, 'campaign_advance_completed', name),
      ({ length }) => length > 0,
    )
    t.match(ended, { decision: 'stood_down', campaign_status: status })
    t.match(await reading(s, name)(), { status, stage: 'idle' })
  }
})

t.test('learned 14: a campaign that completed or was cancelled keeps its status, whatever it is sent', async (t) => {
  const s = await startTestService(t)
  const runner = await advanced(s)
  await form(s, runner, done)
  await comesTo(s, 'completed')
  await addCampaign(s, { name: 'stopped' })
  await move(s, 'cancel', { reason: 'not wanted' }, 'stopped')
  for (const [name, status] of [
    ['pay', 'completed'],
    ['stopped', 'cancelled'],
  ] as const) {
    for (const door of ['pause', 'resume', 'advance', 'decide', 'complete', 'cancel']) {
      const body = { decide: { decision: 'x' }, complete: { reason: 'x' }, cancel: { reason: 'x' } }[door] ?? {}
      const heard = await s.call('POST', `/api/campaigns/${name}/${door}`, body)
      t.ok(heard.status === 409 || heard.body.status === status, `${door} of one that is ${status}: ${heard.status}`)
    }
    t.equal((await reading(s, name)()).status, status)
  }
  const asked = {
    event_type: 'campaign_advance_requested',
    project: 'shop',
    occurred_at: '2026-01-31T12:00:00Z',
    throttle: 'full',
  }
  await s.call('POST', '/api/events', { events: [{ ...asked, payload: { campaign: 'stopped' } }] })
  const down = await until(
    () => events(s, 'campaign_advance_completed', 'stopped'),
    ({ length }) => length > 0,
  )
  t.match(down[0].payload, { decision: 'stood_down', campaign_status: 'cancelled' })
  t.equal((await reading(s, 'stopped')()).status, 'cancelled')
})

t.test('learned 15: a definition that the endpoint refuses is refused by the campaign actor as well', async (t) => {
  const s = await startTestService(t)
  const { runtime } = s.service
  await s.project('shop')
  const create = {
    type: 'create',
    name: 'pay',
    project: 'shop',
    project_id: 'proj_x',
    mission: 'x',
    done_evidence: [{ kind: 'gate', command: 'ssh prod true' }],
    max_cycles: 1,
  }
  const answer = await runtime.askAsync({ kind: 'campaign', id: 'pay' }, create as never)
  t.match(answer, { ok: false, refusal: { code: 'invalid_body', errors: [{ pointer: '/done_evidence/0/command' }] } })
  t.equal(runtime.read({ kind: 'campaign', id: 'pay' }), undefined)
})

t.test('learned 20: a campaign’s own event types posted by its run do not trigger the campaign', async (t) => {
  const s = await startTestService(t)
  const runner = await advanced(s)
  const { request_id } = await begin(s, runner)
  const echo = { event_type: 'campaign_advance_requested', occurred_at: AT, payload: { campaign: 'pay' } }
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events: [echo] }, runner)
  const forged = { event_type: 'campaign_completed', occurred_at: AT, payload: {} }
  t.equal(
    (await s.call('POST', `/api/run-requests/${request_id}/events`, { events: [forged] }, runner)).body.code,
    'service_owned_type',
  )
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/completed`, { result: step('Add invoices') }, runner)
  await comesTo(s, 'active', 'cycle')
  t.equal((await s.expect(200, 'GET', '/api/work-items?source=campaign:pay')).body.items.length, 2)
  t.match(await item(s, (await reading(s)()).work.item_id), { source: { role: 'cycle', cycle: 1 } })
})
