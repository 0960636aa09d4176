/** Long reads leave other requests their turns: the rows and characters read in one turn are bounded. */
import t, { type Test } from 'tap'
import { listCharsPerPageMax, listCharsPerTurnMax, listCharsReadMax, listRowsPerTurnMax } from '../../runtime/limits.ts'
import { charsPerTurnMax } from '../../runtime/stream/limits.ts'
import type { ListQuery, ListRow } from '../../storage/journal.ts'
import { MemoryJournal } from '../storage/memory.ts'
import { submit } from './ledger-harness.ts'
import { startTestService } from './service-harness.ts'
import { harnessFor } from './watch-harness.ts'

/** Counts what is read between two turns of the event loop; `most` is the highest count. */
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

/** Lists a project's run requests as that many settled ones, all of one record, and one other as the oldest. */
class LongJournal extends MemoryJournal {
  passedOver = 0
  record = ''
  oldest = ''
  onRows: (rows: number) => void = () => {}

  override async list(query: ListQuery) {
    if (query.kind !== 'run_request' || query.index !== 'project' || this.passedOver === 0) return super.list(query)
    const from = query.after === undefined ? this.passedOver : Number(query.after.order)
    const count = Math.min(query.limit, from, Math.ceil((query.charsMax ?? Infinity) / this.record.length))
    this.onRows(count)
    const rows = Array.from({ length: count }, (_, n) => this.#rowAt(from - 1 - n))
    return { rows, more: count < from, sequence: this.lastSequence }
  }

  #rowAt(n: number): ListRow {
    const order = String(n).padStart(8, '0')
    if (n === 0) return { order, id: this.oldest, record: this.actor('run_request', this.oldest)! }
    return { order, id: `runreq_${String(n).padStart(24, '0')}`, record: this.record }
  }
}

t.test('cancel by filter passes over any number of settled requests in bounded turns', async (t) => {
  const journal = new LongJournal()
  const s = await startTestService(t, {}, { openJournal: async () => journal })
  await s.project('shop')
  journal.oldest = (await s.request('shop', { payload: { name: 'wanted' } })).id
  const { id } = await s.request('shop')
  await s.expect(200, 'POST', `/api/run-requests/${id}/cancel`, {})
  journal.record = journal.actor('run_request', id)!
  journal.passedOver = 10_000
  const meter = turnMeter(t)
  journal.onRows = meter.count
  const stopped = (await s.expect(200, 'POST', '/api/run-requests/cancel', { project: 'shop' })).body
  t.same([stopped.cancelled, stopped.refused, stopped.more], [[journal.oldest], [], false])
  t.ok(meter.most > 0 && meter.most <= listRowsPerTurnMax, `at most ${meter.most} rows in a turn`)
})

t.test('a list that passes over large records reads them in bounded turns, and answers a short page', async (t) => {
  const journal = new LongJournal()
  const s = await startTestService(t, {}, { openJournal: async () => journal })
  await s.project('shop')
  const { id } = await s.request('shop', { payload: { name: 'x'.repeat(900_000) } })
  await s.expect(200, 'POST', `/api/run-requests/${id}/cancel`, {})
  journal.record = journal.actor('run_request', id)!
  journal.passedOver = 200
  const { length } = journal.record
  const meter = turnMeter(t)
  let all = 0
  journal.onRows = (rows) => {
    meter.count(rows * length)
    all += rows
  }
  const page = (await s.expect(200, 'GET', '/api/run-requests?project=shop&state=failed')).body
  t.same(page.items, [])
  t.ok(page.next_cursor)
  t.ok(all * length <= listCharsReadMax + 3 * length, `${all} rows`)
  t.ok(meter.most <= listCharsPerTurnMax + length, `at most ${meter.most} characters in a turn`)
})

t.test('pages of large entities end at a bounded length, and the next pages have the rest', async (t) => {
  const s = await startTestService(t, {}, { openJournal: async () => new MemoryJournal() })
  await s.project('shop')
  const confined = await s.token('confined', { roles: ['viewer'], projects: ['shop'] })
  const made: string[] = []
  for (let n = 0; n < 14; n++) {
    const payload = { n, text: 'x'.repeat(900_000) }
    // Half of them wait for a runner, and half for an approval.
    made.unshift(
      (await s.request('shop', { entry_event: 'probe_requested', throttle: n < 7 ? 'dry_run' : 'full', payload })).id,
    )
  }
  for (const token of [s.admin, confined]) {
    for (const [path, wanted] of [
      ['/api/run-requests', made],
      ['/api/attention', [...made.slice(7), ...made.slice(0, 7)]],
      ['/api/attention?reason=no_runner', made.slice(7)],
    ] as const) {
      const found: string[] = []
      let pages = 0
      for (let next: string | undefined = path; next !== undefined; pages++) {
        const { body, headers } = await s.expect(200, 'GET', next, undefined, { token })
        const { length } = JSON.stringify(body)
        t.ok(length <= 2 * listCharsPerPageMax + 1_000_000, `${path}: ${length} characters`)
        for (const item of body.items) found.push((item.run_request ?? item).id)
        const link = headers.get('link')
        next = link?.slice(1, link.indexOf('>'))
      }
      t.ok(pages > 1, `${path} has ${pages} pages`)
      t.same(found, wanted, path)
    }
  }
})

t.test('a trace of large events is read in bounded turns, and so are its runs', async (t) => {
  const harness = await harnessFor(t)
  const { log } = harness
  const payload = { text: 'x'.repeat(50_000) }
  log.commit(Array.from({ length: 300 }, () => ({ event_type: 'noted', project: 'a', trace_id: 't1', payload })))
  const meter = turnMeter(t)
  const event = log.event.bind(log)
  log.event = (sequence) => {
    const text = event(sequence)
    meter.count(text?.length ?? 0)
    return text
  }
  for (const limit of [1, 500]) {
    const answer = await fetch(`${harness.url}/api/traces/t1?limit=${limit}`, {
      headers: { authorization: 'Bearer all' },
    })
    const { events, next_cursor } = (await answer.json()) as any
    t.equal(events.length, limit === 1 ? 1 : 167, 'of at most 8 Mi characters')
    t.ok(next_cursor)
  }
  // One event may exceed each bound, and the last page of events shares a turn with the first of runs.
  t.ok(meter.most <= 2 * (charsPerTurnMax + 51_000), `at most ${meter.most} characters in a turn`)
})

t.test('ingesting into a long trace without a run looks for duplicates in bounded turns', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const path = `/engine/traces/${'a'.repeat(32)}/ingest`
  const event = (n: number) => ({
    event_type: 'noted',
    project: 'shop',
    occurred_at: '2026-01-31T12:00:00Z',
    payload: { n, text: 'x'.repeat(50_000) },
  })
  const events = Array.from({ length: 100 }, (_, n) => event(n))
  t.match((await s.expect(200, 'POST', path, events)).body, { accepted: 100 })
  const meter = turnMeter(t)
  const { journal } = s.service.runtime
  const read = journal.event.bind(journal)
  journal.event = (sequence) => {
    const text = read(sequence)
    meter.count(text?.length ?? 0)
    return text
  }
  t.match((await s.expect(200, 'POST', path, [...events, event(100)])).body, { accepted: 1, duplicates: 100 })
  t.ok(meter.most > 0 && meter.most <= charsPerTurnMax + 51_000, `at most ${meter.most} characters in a turn`)
})

t.test('waiting work in memory is listed in bounded turns', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const count = 2 * listRowsPerTurnMax + 50
  // Few at once: a busy machine would answer some of fifty with 503.
  for (let from = 0; from < count; from += 10)
    await Promise.all(Array.from({ length: 10 }, (_, n) => submit(s, { objective: `Work ${from + n}` })))
  const meter = turnMeter(t)
  const { runtime } = s.service
  const read = runtime.read.bind(runtime)
  runtime.read = (ref) => {
    if (ref.kind === 'work_item') meter.count(1)
    return read(ref)
  }
  const pacing = (await s.expect(200, 'GET', '/api/pacing')).body
  t.same([pacing.waiting.length, pacing.waiting_count], [count, count])
  const attention = (await s.expect(200, 'GET', '/api/attention?reason=no_runner&limit=500')).body
  t.equal(attention.items.length, count)
  t.ok(meter.most > 0 && meter.most <= listRowsPerTurnMax, `at most ${meter.most} in a turn`)
})
