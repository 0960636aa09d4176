/**
 * A person's decision repeated with its reason gets the same answer; with another reason it is refused with the first.
 */
import t from 'tap'
import { addCampaign, advanced, comesTo, events, form, move, reading } from './campaign-harness.ts'
import { add, NAME } from './initiative-harness.ts'
import { DISCOVERY } from './intent-harness.ts'
import { fleet } from './ledger-harness.ts'
import { startTestService } from './service-harness.ts'

t.test('a decision repeated with another reason is refused, naming the first reason', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop', 'bank')
  await addCampaign(s)
  await add(s)
  const { hypotheses } = (await s.expect(201, 'POST', '/projects/shop/discoveries', DISCOVERY)).body
  const record = { title: 'Pay by invoice', capability: 'Customers pay by invoice.' }
  const { id } = (await s.expect(201, 'POST', '/projects/shop/intent-records', record)).body
  for (const [path, state] of [
    [`/api/hypotheses/${hypotheses[0].hypothesis_id}/reject`, 'rejected'],
    [`/api/intent-records/${id}/accept`, 'accepted'],
    [`/api/intent-records/${id}/supersede`, 'superseded'],
    ['/api/campaigns/pay/complete', 'completed'],
    [`/api/initiatives/${NAME}/complete`, 'completed'],
  ] as const) {
    const decided = await s.expect(200, 'POST', path, { reason: 'It is agreed' })
    const again = await s.expect(200, 'POST', path, { reason: 'It is agreed' })
    t.same(again.body, decided.body, path)
    const { body } = await s.expect(409, 'POST', path, { reason: 'Nobody asked' })
    t.match(body, { code: 'illegal_move', state, detail: new RegExp(`^It is already ${state}, .*It is agreed`) })
  }
})

t.test('a cancel repeated with another reason succeeds, and the first reason stands', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop', 'bank')
  await addCampaign(s)
  await add(s)
  for (const path of ['/api/campaigns/pay/cancel', `/api/initiatives/${NAME}/cancel`]) {
    const stopped = await s.expect(200, 'POST', path, { reason: 'not wanted' })
    const again = await s.expect(200, 'POST', path, { reason: 'too dear' })
    t.same(again.body, stopped.body, 'the first reason stands')
  }
})

t.test('an answer to a campaign is recorded once: repeated it changes nothing, another is refused', async (t) => {
  const s = await startTestService(t)
  const runner = await advanced(s)
  await form(s, runner, { decision: 'escalate', reason: 'the price would change' })
  await comesTo(s, 'escalated')
  const path = '/api/campaigns/pay/decide'
  await s.expect(200, 'POST', path, { decision: 'Gross.' })
  await s.expect(200, 'POST', path, { decision: 'Gross.' })
  for (const other of [{ decision: 'Net.' }, { decision: 'Gross.', from_trunk: true }])
    t.match((await s.expect(409, 'POST', path, other)).body, { code: 'illegal_move', state: 'active' })
  const approver = await s.token('grace', { roles: ['admin'] })
  await s.expect(409, 'POST', path, { decision: 'Gross.' }, { token: approver })
  t.match(await reading(s)(), { status: 'active', owner_decisions: [{ decision: 'Gross.' }] })
  t.equal((await reading(s)()).owner_decisions.length, 1)
  t.equal((await events(s, 'campaign_decided')).length, 1)
  await form(s, runner, { decision: 'escalate', reason: 'net or gross for companies?' })
  await comesTo(s, 'escalated')
  t.match(await move(s, 'decide', { decision: 'Gross.' }), { status: 'active' }, 'an answer to another question')
  t.equal((await events(s, 'campaign_decided')).length, 2)
})
