/** Reading the log for a page: bounded in rows and in time, and nothing is skipped between two pages. */
import { setImmediate as untilNext } from 'node:timers/promises'
import t from 'tap'
import { Filter } from '../../../runtime/stream/filter.ts'
import { type EventsFound, findEvents, findInTrace, pageMsMax } from '../../../runtime/stream/find-events.ts'
import { FakeJournal, FakeNature } from './fake-log.ts'

const ALL = new Filter({})

/** A search that takes this long for each turn. */
async function search(log: FakeJournal, from: number, turnMs: number): Promise<EventsFound> {
  const nature = new FakeNature()
  let found: EventsFound | undefined
  const query = { filter: new Filter({ event_type: ['rare'] }), order: 'asc', from, limit: 10 } as const
  const done = findEvents(log, nature, query, () => true).then((page) => {
    found = page
  })
  while (found === undefined) {
    await untilNext()
    nature.nowMs += turnMs
    nature.turn()
  }
  await done
  return found
}

t.test('a page whose turns are long is answered short, and the next one goes on where it ended', async (t) => {
  const log = new FakeJournal()
  const types = Array.from({ length: 6_000 }, (_, n) => (n % 2_999 === 0 ? 'rare' : 'common'))
  log.commit(types.map((event_type) => ({ event_type, project: 'p' })))
  const whole = await search(log, 0, 1)
  t.equal(whole.texts.length, 3)
  t.equal(whole.next, undefined)

  const texts: string[] = []
  let pages = 0
  for (let from: number | undefined = 0; from !== undefined; pages++) {
    const page: EventsFound = await search(log, from, pageMsMax / 2)
    texts.push(...page.texts)
    from = page.next
  }
  t.same(texts, whole.texts)
  t.ok(pages > 2, `in ${pages} pages`)
})

/** A trace of so many events, the last of them of another project. */
function longTrace(count: number): FakeJournal {
  const log = new FakeJournal()
  const project = (n: number) => (n === count - 1 ? 'q' : 'p')
  log.commit(Array.from({ length: count }, (_, n) => ({ event_type: 'one', project: project(n), trace_id: 'long' })))
  return log
}

t.test('one event of a long trace is read without reading the trace', async (t) => {
  const log = longTrace(400)
  const { id } = JSON.parse(log.all()[300]!.text)
  const { text, isWhole } = await findInTrace(log, new FakeNature(), 'long', id, ALL, () => true)
  t.equal(JSON.parse(text!).id, id)
  t.equal(isWhole, true)
  t.ok(log.eventReads <= 2, `${log.eventReads} events read`)
})

t.test('an event of another project than its trace began with is found all the same', async (t) => {
  const log = longTrace(400)
  const { id } = JSON.parse(log.all()[399]!.text)
  const { text } = await findInTrace(log, new FakeNature(), 'long', id, ALL, () => true)
  t.equal(JSON.parse(text!).id, id)
  const absent = await findInTrace(log, new FakeNature(), 'long', `evt_${'f'.repeat(32)}`, ALL, () => true)
  t.same(absent, { isWhole: true })
  t.same(await findInTrace(log, new FakeNature(), 'no such trace', id, ALL, () => true), { isWhole: true })
})

t.test(
  'for a token of few projects it is read by their index, whatever others have recorded under the id',
  async (t) => {
    const log = longTrace(400)
    const { id } = JSON.parse(log.all()[300]!.text)
    log.commit([{ event_type: 'one', project: 'q', trace_id: 'long', id }])
    const visible = new Filter({}, new Set(['o', 'q']))
    const { text } = await findInTrace(log, new FakeNature(), 'long', id, visible, () => true)
    t.match(JSON.parse(text!), { id, project: 'q' })
    t.equal(log.eventReads, 1)
  },
)

t.test('in a trace of others nothing is looked for, and it is no longer than one that is not there', async (t) => {
  const log = longTrace(400)
  const { id } = JSON.parse(log.all()[300]!.text)
  const visible = new Filter({}, new Set(['o']))
  t.same(await findInTrace(log, new FakeNature(), 'long', id, visible, () => true), { isWhole: true })
  t.equal(log.eventReads, 0)
})

t.test('the history of an item of others is none, also where it is longer than an index is read', async (t) => {
  const count = 100_100
  const log = new FakeJournal()
  log.commit([{ event_type: 'one', project: 'p' }])
  const [{ text } = { text: '' }] = log.all()
  let reads = 0
  const long = Object.assign(Object.create(log), {
    history: (_: string, id: string, after: number, limit: number) =>
      Array.from({ length: id === 'long' ? Math.min(limit, count - after) : 0 }, (_, n) => after + n + 1),
    event: () => {
      reads++
      return text
    },
    events: () => t.fail('the log is scanned'),
  })
  const nature = Object.assign(new FakeNature(), { nextTurn: (callback: () => void) => void setImmediate(callback) })
  for (const [id, expected] of [
    ['long', count],
    ['nowhere', 0],
  ] as const) {
    reads = 0
    const filter = new Filter({ item_id: [id] }, new Set(['o']))
    const query = { filter, order: 'asc', from: 0, limit: 50, hint: { of: 'item', ids: [id] } } as const
    t.match(await findEvents(long, nature, query, () => true), { texts: [], next: undefined })
    t.ok(reads <= expected + 1, `${reads} read`)
  }
})

t.test('a page of which everything matches reads no more than it answers', async (t) => {
  const log = longTrace(400)
  const query = { filter: new Filter({ trace_id: ['long'] }), order: 'asc', from: 0, limit: 50 } as const
  const { texts, next } = await findEvents(
    log,
    new FakeNature(),
    { ...query, hint: { of: 'trace', ids: ['long'] } },
    () => true,
  )
  t.equal(texts.length, 50)
  t.equal(next, 50)
  t.equal(log.eventReads, 50)
})

t.test('a list of large events backwards is read some at a time, and ends with the oldest', async (t) => {
  const log = new FakeJournal()
  const payload = { text: 'x'.repeat(400_000) }
  log.commit(Array.from({ length: 7 }, () => ({ event_type: 'one', project: 'p', payload })))
  const nature = new FakeNature()
  let pages = 0
  const counted = Object.assign(Object.create(log), {
    eventsBackward: (before: number, limit: number, bytesMax: number) => {
      const page = log.eventsBackward(before, limit, bytesMax)
      pages += 1
      t.ok(page.events.length <= 2)
      setImmediate(() => nature.settle())
      return page
    },
  })
  const query = { filter: new Filter({}), order: 'desc', from: 8, limit: 50 } as const
  const { texts, next } = await findEvents(counted, nature, query, () => true)
  t.equal(texts.length, 7)
  t.equal(next, undefined)
  t.equal(pages, 4)
})
