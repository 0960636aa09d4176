/**
 * A person's decision repeated with its reason gets the same answer; with another reason it is refused with the first.
 */
import t from 'tap'
import { addCampaign } from './campaign-harness.ts'
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
