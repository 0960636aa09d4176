import t from 'tap'
import { retirement } from '../../../machines/work-item/view.ts'
import { Ledger } from '../../../runtime/scheduler/ledger.ts'
import { holdsOnceCollected } from '../../collect.ts'

t.test('a note about a run of a forgotten item adds nothing to the ledger', async (t) => {
  const ledger = new Ledger(() => undefined)
  ledger.note({ value: 'absent', context: {} } as never)
  t.equal(ledger.waitingCount + ledger.runningCount, 0)
})

t.test('the ledger keeps nothing of a settled item, even when its not_before was a year away', async (t) => {
  const ledger = new Ledger(() => undefined)
  const note = (value: string, id: string, not_before: string) =>
    ledger.note({
      value,
      context: {
        id,
        project: 'shop',
        project_id: 'proj_1',
        submitted_at: '2026-01-01T00:00:00.000000Z',
        operator_actions: [],
        internal: {},
        depends_on: [],
        asked: { lane: 'campaign', objective: id, source: { kind: 'person', ref: 'me' }, kind: 'build', not_before },
      },
    } as never)
  const later = new Date(Date.now() + 365 * 86_400_000).toISOString()
  note('queued', 'wi_1', later)
  note('queued', 'wi_2', later)
  const [gone, there] = ['wi_1', 'wi_2'].map((id) => new WeakRef(ledger.find(id)!))
  note('cancelled', 'wi_1', later)
  t.same([ledger.waitingCount, ledger.nextTimeMs(Date.now())], [1, Date.parse(later)])
  t.ok(await holdsOnceCollected(() => gone!.deref() === undefined))
  t.ok(there!.deref())
})

t.test('a cancelled item is not retired until the run that was taken back from it has ended', async (t) => {
  const at = (internal: object) =>
    retirement.at({
      value: 'cancelled',
      context: { settled_at: '2026-01-01T00:00:00Z', resumptions: [], internal },
    } as never)
  t.equal(at({ taken_back: 'runreq_1' }), undefined)
  t.equal(at({}), '2026-01-01T00:00:00Z')
})
