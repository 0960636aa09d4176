/** Campaigns as members of an initiative: the effect of steering on them, and the findings they record and use. */
import { pino } from 'pino'
import t from 'tap'
import { until } from '../until.ts'
import {
  addCampaign,
  comesTo,
  fail,
  form,
  move,
  reading,
  step,
  events as told,
  verdict,
  work,
} from './campaign-harness.ts'
import { answer, events, NAME, post, read, SHOP, steer, steered, type World } from './initiative-harness.ts'
import { begin, COMPLETE, finish, fleet, inState, submit, take } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

const PAY = { kind: 'campaign', ref: 'pay' }

/** An initiative with a campaign as member, and others if given. */
async function campaigning(s: TestService, members: object[] = [PAY]): Promise<World> {
  const runner = await fleet(s, 'shop')
  await addCampaign(s)
  await s.expect(201, 'POST', '/api/initiatives', { name: NAME, outcome: 'Pay by invoice', members })
  return { s, runner }
}

t.test('a decision to advance a member campaign forms its next step', async (t) => {
  const s = await startTestService(t)
  const w = await campaigning(s, [PAY, SHOP])
  t.match((await steer(w, 't1', { decision: 'advance', member: PAY })).ended, { outcome: 'applied' })
  const [requested] = await until(
    () => told(s, 'campaign_advance_requested'),
    ({ length }) => length > 0,
  )
  t.match(requested.by, { name: 'intendant', origin: `initiative ${NAME}` })
  const forming = await take(s, w.runner)
  t.equal(forming.engine.entry_event, 'campaign_advance_requested')
  const { projects } = await read(w)
  t.same(projects, ['shop'], 'the campaign’s project becomes the initiative’s')
})

t.test('a decision to advance a campaign that is already forming ends as no_op', async (t) => {
  const s = await startTestService(t)
  const w = await campaigning(s, [PAY, SHOP])
  await s.expect(200, 'POST', '/api/campaigns/pay/advance', {})
  await begin(s, w.runner)
  const { ended } = await steer(w, 't1', { decision: 'advance', member: PAY })
  t.match(ended, { outcome: 'no_op', detail: /its advance wi_\w+ is under way/ })
})

t.test('hold pauses a member campaign, and a campaign paused by a person is not advanced', async (t) => {
  const s = await startTestService(t)
  const w = await campaigning(s)
  await steer(w, 't1', { decision: 'hold', member: PAY })
  t.match(await comesTo(s, 'paused'), { reason: /initiative checkout: hold: it is time/ })
  await s.expect(200, 'POST', '/api/campaigns/pay/resume', {})
  await s.expect(200, 'POST', '/api/campaigns/pay/pause', { reason: 'a fair' })
  await s.expect(200, 'POST', `/api/initiatives/${NAME}/advance`, { trigger_id: 't2' })
  t.match(await steered(w, 2), { outcome: 'skipped', detail: /campaign:pay: it is paused/ })
})

t.test('hold keeps a campaign paused that would go on by itself once its provider is back', async (t) => {
  const s = await startTestService(t)
  const w = await campaigning(s, [PAY, SHOP])
  await s.expect(200, 'POST', '/api/campaigns/pay/advance', {})
  const { request_id } = await begin(s, w.runner)
  const result = { status: 'completed', retry_after: 3_600 }
  await fail(s, w.runner, request_id, { class: 'execution', code: 'usage_limit', message: 'no more today', result })
  t.match(await comesTo(s, 'paused'), { paused: { by: 'provider', until: /^20/ } })
  t.match((await steer(w, 't1', { decision: 'hold', member: PAY })).ended, { outcome: 'applied' })
  const held = await until(reading(s), ({ paused }) => paused.by === 'owner')
  t.match(held, { status: 'paused', paused: { until: undefined }, reason: /initiative checkout: hold: it is time/ })
  await answer(w, { decision: 'hold', member: PAY })
  t.match(await steered(w, 2), { outcome: 'no_op', detail: 'campaign:pay is paused' })
})

t.test('a finding is consumed when a cycle lands whose formation was shown it', async (t) => {
  const s = await startTestService(t)
  const w = await campaigning(s)
  const found = (await post(w, 'findings', { text: 'The limit is 10', to: [PAY] })).body
  await s.expect(200, 'POST', '/api/campaigns/pay/advance', {})
  const formation = await form(s, w.runner, step('Invoices'))
  t.match(formation.engine.payload.prompt, new RegExp(`${found.id} \\(note\\): The limit is 10`))
  const late = (await post(w, 'findings', { text: 'VAT is left out', to: [PAY] })).body
  t.same(await events(w, 'finding_consumed'), [], 'formed')
  const cycle = await work(s, w.runner, { ...COMPLETE, campaign: 'pay', campaign_cycle: 1 })
  t.match(cycle.engine.payload.context, { findings: [{ finding_id: found.id }] })
  const [consumed] = await until(
    () => events(w, 'finding_consumed'),
    ({ length }) => length > 0,
  )
  const { item_id } = cycle.engine.payload
  t.match(consumed.payload, { finding_id: found.id, member: PAY, work_item_id: item_id, initiative: NAME })
  const { findings } = await read(w)
  t.match(findings, [{ consumed_by: [{ member: PAY, work_item_id: item_id }] }, { id: late.id, consumed_by: [] }])
})

t.test(
  'a defect diagnosed in a member campaign’s cycle is recorded as a finding for every member, and consumes none',
  async (t) => {
    const s = await startTestService(t)
    const w = await campaigning(s, [PAY, SHOP])
    await post(w, 'findings', { text: 'The limit is 10' })
    await s.expect(200, 'POST', '/api/campaigns/pay/advance', {})
    await form(s, w.runner, step('Invoices'))
    const defect = verdict('defect', { diagnosis: 'It rounds down', preservation_ref: 'task/x' })
    const cycle = await work(s, w.runner, defect)
    const found = await until(
      () => events(w, 'finding_recorded'),
      ({ length }) => length > 1,
    )
    const [result] = (await s.expect(200, 'GET', '/api/events?event_type=task_run_completed')).body.items
    t.match(found[1].payload, {
      kind: 'defect',
      text: 'It rounds down',
      from: { kind: 'cycle', id: cycle.engine.payload.item_id, event_id: result.id },
      to: [PAY, SHOP],
    })
    t.same(await events(w, 'finding_consumed'), [])
  },
)

t.test('cancelling an initiative cancels its campaigns', async (t) => {
  const s = await startTestService(t)
  const w = await campaigning(s)
  await post(w, 'cancel', { reason: 'too dear' })
  await comesTo(s, 'cancelled')
  const [cancelled] = await told(s, 'campaign_cancelled')
  t.match(cancelled.payload, { campaign: 'pay', reason: 'initiative checkout cancelled: too dear' })
})

t.test('an escalation about a campaign pauses it, and its question stays open until an owner decides', async (t) => {
  const s = await startTestService(t)
  const w = await campaigning(s, [PAY, SHOP])
  await steer(w, 't1', { decision: 'escalate', member: PAY, reason: 'Net or gross?' })
  await comesTo(s, 'paused')
  t.match((await read(w)).questions, [{ kind: 'escalate', member: PAY, text: 'Net or gross?' }])
  await answer(w, { decision: 'wait' })
  await post(w, 'decide', { decision: 'net', applicable_members: [PAY] })
  t.same((await read(w)).questions, [])
  t.match(await reading(s)(), { status: 'paused' }, 'resuming it is left to the owner')
})

t.test('cancelling an initiative logs no warning, whatever state its members are in', async (t) => {
  const warnings: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => warnings.push(line) })
  const s = await startTestService(t, {}, { log })
  const runner = await fleet(s, 'shop')
  for (const name of ['pay', 'done', 'over', 'paused']) await addCampaign(s, { name })
  const item = await submit(s)
  await finish(s, runner, (await begin(s, runner)).request_id)
  await inState(s, item.id, 'landed')
  await move(s, 'complete', { reason: 'by hand' }, 'done')
  await move(s, 'cancel', { reason: 'not wanted' }, 'over')
  await move(s, 'pause', {}, 'paused')
  const campaigns = ['pay', 'done', 'over', 'paused'].map((ref) => ({ kind: 'campaign', ref }))
  const members = [...campaigns, { kind: 'work_item', ref: item.id }]
  await s.expect(201, 'POST', '/api/initiatives', { name: NAME, outcome: 'Pay by invoice', members })
  await s.expect(201, 'POST', `/api/initiatives/${NAME}/findings`, { text: 'The limit is 10', to: campaigns })
  await s.expect(200, 'POST', `/api/initiatives/${NAME}/cancel`, { reason: 'no longer' })
  for (const campaign of ['pay', 'paused']) await until(reading(s, campaign), ({ status }) => status === 'cancelled')
  t.match(await reading(s, 'done')(), { status: 'completed' })
  await s.service.close()
  t.strictSame(warnings, [])
})

t.test('an escalation about a campaign that is over logs no warning, and has its question', async (t) => {
  const warnings: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => warnings.push(line) })
  const s = await startTestService(t, {}, { log })
  const w = await campaigning(s, [PAY, SHOP])
  await move(s, 'complete', { reason: 'by hand' })
  t.match((await steer(w, 't1', { decision: 'escalate', member: PAY })).ended, { outcome: 'applied' })
  t.match((await read(w)).questions, [{ kind: 'escalate', member: PAY }])
  t.match(await reading(s)(), { status: 'completed' })
  await s.service.close()
  t.strictSame(warnings, [])
})
