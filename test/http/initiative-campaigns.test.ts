/** Campaigns as members of an initiative: what steering does to them, and what they find and use. */
import { pino } from 'pino'
import t from 'tap'
import { until } from '../until.ts'
import { addCampaign, comesTo, form, move, reading, step, events as told, verdict, work } from './campaign-harness.ts'
import { answer, events, NAME, post, read, SHOP, steer, steered, type World } from './initiative-harness.ts'
import { begin, COMPLETE, finish, fleet, inState, submit, take } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

const PAY = { kind: 'campaign', ref: 'pay' }

/** An initiative whose members are a campaign and the project of it. */
async function campaigning(s: TestService, members: object[] = [PAY]): Promise<World> {
  const runner = await fleet(s, 'shop')
  await addCampaign(s)
  await s.expect(201, 'POST', '/api/initiatives', { name: NAME, outcome: 'Pay by invoice', members })
  return { s, runner }
}

t.test('an advance of a member campaign forms its next step, and is in force while that goes on', async (t) => {
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
  t.same(projects, ['shop'], 'the campaign’s project is the initiative’s')
})

t.test('a decision on what is under way already is in force: nothing is asked of it', async (t) => {
  const s = await startTestService(t)
  const w = await campaigning(s, [PAY, SHOP])
  await s.expect(200, 'POST', '/api/campaigns/pay/advance', {})
  await begin(s, w.runner)
  const { ended } = await steer(w, 't1', { decision: 'advance', member: PAY })
  t.match(ended, { outcome: 'no_op', detail: /its advance wi_\w+ is under way/ })
})

t.test('a hold pauses a campaign, and what a person has paused is not gone on with', async (t) => {
  const s = await startTestService(t)
  const w = await campaigning(s)
  await steer(w, 't1', { decision: 'hold', member: PAY })
  t.match(await comesTo(s, 'paused'), { reason: /initiative checkout: hold: it is time/ })
  await s.expect(200, 'POST', '/api/campaigns/pay/resume', {})
  await s.expect(200, 'POST', '/api/campaigns/pay/pause', { reason: 'a fair' })
  await s.expect(200, 'POST', `/api/initiatives/${NAME}/advance`, { trigger_id: 't2' })
  t.match(await steered(w, 2), { outcome: 'skipped', detail: /campaign:pay: it is paused/ })
})

t.test('consumption follows the landing of a member campaign’s cycle whose formation saw the finding', async (t) => {
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
  'a reviewer’s diagnosis of a campaign’s cycle is a finding for every member, and nothing is consumed',
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

t.test('an initiative that is given up cancels its campaigns', async (t) => {
  const s = await startTestService(t)
  const w = await campaigning(s)
  await post(w, 'cancel', { reason: 'too dear' })
  await comesTo(s, 'cancelled')
  const [cancelled] = await told(s, 'campaign_cancelled')
  t.match(cancelled.payload, { campaign: 'pay', reason: 'initiative checkout cancelled: too dear' })
})

t.test('an escalation about a campaign pauses it, and stands until an owner decides about it', async (t) => {
  const s = await startTestService(t)
  const w = await campaigning(s, [PAY, SHOP])
  await steer(w, 't1', { decision: 'escalate', member: PAY, reason: 'Net or gross?' })
  await comesTo(s, 'paused')
  t.match((await read(w)).questions, [{ kind: 'escalate', member: PAY, text: 'Net or gross?' }])
  await answer(w, { decision: 'wait' })
  await post(w, 'decide', { decision: 'net', applicable_members: [PAY] })
  t.same((await read(w)).questions, [])
  t.match(await reading(s)(), { status: 'paused' }, 'to resume it is the owner’s, too')
})

t.test(
  'the end of an initiative finds its members as they are: whatever they have come to, no warning is logged',
  async (t) => {
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
  },
)
