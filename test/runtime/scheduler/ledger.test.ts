import t from 'tap'
import { retirement } from '../../../machines/work-item/view.ts'
import { Ledger } from '../../../runtime/scheduler/ledger.ts'

t.test('news of a run whose item is forgotten are a step of no item, and nothing of the ledger', async (t) => {
  const ledger = new Ledger(() => undefined)
  ledger.note({ value: 'absent', context: {} } as never)
  t.equal(ledger.waitingCount + ledger.runningCount, 0)
})

t.test('an item is not forgotten while the run that it was taken back from has not ended', async (t) => {
  const at = (internal: object) =>
    retirement.at({ value: 'cancelled', context: { settled_at: '2026-01-01T00:00:00Z', internal } } as never)
  t.equal(at({ taken_back: 'runreq_1' }), undefined)
  t.equal(at({}), '2026-01-01T00:00:00Z')
})
