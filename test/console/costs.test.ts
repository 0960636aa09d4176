import t from 'tap'
import { costOf, sessionsSince } from '../../console/costs.ts'

t.test('costs are summed by currency, without the dust of binary fractions', async (t) => {
  t.equal(costOf([{ cost: { USD: 0.1 } }, {}, { cost: { USD: 0.2, EUR: 4 } }]), '0.3 USD + 4 EUR')
  t.equal(costOf([{ cost: { USD: 0.000_05 } }]), '0.0001 USD')
  t.equal(costOf([{}]), '')
})

t.test('what goes on counts, and what has ended since then', async (t) => {
  const running = { state: 'started' }
  const late = { state: 'ended', ended_at: '2026-01-31T12:00:00.000Z' }
  const early = { state: 'ended', ended_at: '2026-01-31T11:59:59.999Z' }
  t.same(sessionsSince([running, late, early], Date.parse('2026-01-31T12:00:00Z')), [running, late])
})
