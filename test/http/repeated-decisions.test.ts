/** What a person decides with a reason: said again it is the same, and another reason for it is told that the first one stands. */
import t from 'tap'
import { addCampaign } from './campaign-harness.ts'
import { add, NAME } from './initiative-harness.ts'
import { DISCOVERY } from './intent-harness.ts'
import { fleet } from './ledger-harness.ts'
import { startTestService } from './service-harness.ts'

t.test('a decision with another reason is refused in words that name the first', async (t) => {
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
    t.match(body, { code: 'illegal_move', state, detail: new RegExp(`^It is ${state} already, .*It is agreed`) })
  }
})

t.test('a stop is no decision: whoever asks for one again has it, whatever the reason', async (t) => {
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
