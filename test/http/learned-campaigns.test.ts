/** What earlier systems of this kind learned the hard way about campaigns. */
import t from 'tap'
import { until } from '../until.ts'
import {
  addCampaign,
  comesTo,
  done,
  events,
  fail,
  form,
  move,
  reading,
  step,
  verdict,
  work,
} from './campaign-harness.ts'
import { HurriedNature } from './hurried-nature.ts'
import { begin, fleet } from './ledger-harness.ts'
import { startTestService } from './service-harness.ts'

t.test('learned 7: a usage limit expires by itself, and another campaign does not suffer from it', async (t) => {
  const nature = new HurriedNature()
  const s = await startTestService(t, {}, { nature })
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
  nature.hurry(18_001_000)
  await s.call('GET', '/api/runners/r1/run-requests/next', undefined, runner)
  await comesTo(s, 'active', 'forming')
  await form(s, runner, done)
  await comesTo(s, 'completed')
})

t.test('learned 10: evidence that no task could bring is refused, and a budget ends what never lands', async (t) => {
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
})

t.test('learned 11: formation knows of preserved work, builds upon it, and cuts no objective twice', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await addCampaign(s)
  await move(s, 'advance')
  await form(s, runner, step('Add invoices'))
  await comesTo(s, 'active', 'cycle')
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

t.test('learned 12: an escalation keeps the last result and its ref for what follows', async (t) => {
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

t.test('learned 14: a campaign that is over stays over, by whichever door', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await addCampaign(s)
  await move(s, 'advance')
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
