/** Long reads leave others their turns: how much is read in one is bounded, in rows. */
import t, { type Test } from 'tap'
import { listRowsPerTurnMax } from '../../runtime/limits.ts'
import type { ListQuery } from '../../storage/journal.ts'
import { MemoryJournal } from '../storage/memory.ts'
import { startTestService } from './service-harness.ts'

/** Counts what is read between two turns of the event loop, and tells the most. */
function turnMeter(t: Test): { count(read: number): void; readonly most: number } {
  let read = 0
  let most = 0
  let isOver = false
  const turn = (): void => {
    read = 0
    if (!isOver) setImmediate(turn)
  }
  turn()
  t.teardown(() => {
    isOver = true
  })
  return {
    count(more) {
      read += more
      most = Math.max(most, read)
    },
    get most() {
      return most
    },
  }
}

/** A project's run requests are so many settled ones, of one record. */
class LongJournal extends MemoryJournal {
  passedOver = 0
  record = ''
  onRows: (rows: number) => void = () => {}

  override async list(query: ListQuery) {
    if (query.kind !== 'run_request' || query.index !== 'project' || this.passedOver === 0) return super.list(query)
    const from = query.after === undefined ? this.passedOver : Number(query.after.order)
    const count = Math.min(query.limit, from)
    this.onRows(count)
    const rows = Array.from({ length: count }, (_, n) => ({ ...this.#row(from - 1 - n), record: this.record }))
    return { rows, more: count < from, sequence: this.lastSequence }
  }

  #row(n: number) {
    return { order: String(n).padStart(8, '0'), id: `runreq_${String(n).padStart(24, '0')}` }
  }
}

t.test('a stop by filter that passes over many settled requests leaves others their turns', async (t) => {
  const journal = new LongJournal()
  const s = await startTestService(t, {}, { openJournal: async () => journal })
  await s.project('shop')
  const { id } = await s.request('shop')
  await s.expect(200, 'POST', `/api/run-requests/${id}/cancel`, {})
  journal.record = journal.actor('run_request', id)!
  journal.passedOver = 10_000
  const meter = turnMeter(t)
  journal.onRows = meter.count
  const stopped = (await s.expect(200, 'POST', '/api/run-requests/cancel', { project: 'shop' })).body
  t.match(stopped, { cancelled: [], refused: [], more: false })
  t.ok(meter.most > 0 && meter.most <= listRowsPerTurnMax, `at most ${meter.most} rows in a turn`)
})
