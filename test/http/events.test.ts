/** The list of events and the lookup of a single one, over HTTP. */
import t from 'tap'
import type { EventDraft } from '../runtime/stream/fake-log.ts'
import { type Harness, harnessFor, idOf, idsOf, watchSocket } from './watch-harness.ts'

async function get(harness: Harness, path: string, token = 'all') {
  const response = await fetch(harness.url + path, { headers: { authorization: `Bearer ${token}` } })
  const body = (await response.json()) as any
  return {
    status: response.status,
    body,
    ids: ((body.items ?? body.events ?? []) as { id: string }[]).map((event) => event.id),
    cursor: response.headers.get('watch-cursor'),
    link: response.headers.get('link'),
  }
}

/** Follows `next_cursor` to the end. */
async function all(harness: Harness, path: string, token = 'all') {
  const ids: string[] = []
  let pages = 0
  for (let query = ''; ; ) {
    const page = await get(harness, `${path}${query}`, token)
    ids.push(...page.ids)
    pages += 1
    if (page.body.next_cursor === undefined) return { ids, pages }
    query = `&cursor=${page.body.next_cursor}`
  }
}

const noted = (project: string, more: Partial<EventDraft> = {}): EventDraft => ({
  event_type: 'noted',
  project,
  ...more,
})

t.test('pages of events follow each other without gap or repeat, in either order', async (t) => {
  const harness = await harnessFor(t)
  harness.log.commit(Array.from({ length: 25 }, () => noted('a')))
  const first = await get(harness, '/api/events?limit=10')
  t.same(first.ids, idsOf(1, 10))
  t.equal(first.body.next_cursor, 'e0e0e0e0e0e0.a.i0i0i0')
  t.equal(first.link, '</api/events?limit=10&cursor=e0e0e0e0e0e0.a.i0i0i0>; rel="next"')
  t.same(await all(harness, '/api/events?limit=10'), { ids: idsOf(1, 25), pages: 3 })
  t.same(await all(harness, '/api/events?limit=5'), { ids: idsOf(1, 25), pages: 5 }, 'no page follows a full last page')
  t.same(await all(harness, '/api/events?limit=10&order=desc'), { ids: idsOf(1, 25).reverse(), pages: 3 })
})

t.test('an empty log lists no events', async (t) => {
  const harness = await harnessFor(t)
  const page = await get(harness, '/api/events')
  t.same(page.body, { items: [] })
  t.equal(page.cursor, 'e0e0e0e0e0e0.0')
})

t.test("a watch from the list's Watch-Cursor continues without a gap", async (t) => {
  const harness = await harnessFor(t)
  harness.log.commit([noted('a'), noted('a')])
  const page = await get(harness, '/api/events')
  harness.log.commit([noted('a')])
  const { frames } = await watchSocket(harness, `?since=${page.cursor}`)
  await frames.until((f) => f.ids.length === 1)
  t.same([...page.ids, ...frames.ids], idsOf(1, 3))
})

t.test('events before the start of a stream are listed backwards from its hello cursor', async (t) => {
  const harness = await harnessFor(t)
  harness.log.commit(Array.from({ length: 5 }, () => noted('a')))
  const { frames } = await watchSocket(harness, '')
  await frames.until((f) => f.all.length === 1)
  const hello = frames.all[0]!.cursor
  harness.log.commit([noted('a'), noted('a')])
  await frames.until((f) => f.ids.length === 2)
  const first = await get(harness, `/api/events?order=desc&limit=2&cursor=${hello}`)
  const second = await get(harness, `/api/events?order=desc&limit=2&cursor=${first.body.next_cursor}`)
  const third = await get(harness, `/api/events?order=desc&limit=2&cursor=${second.body.next_cursor}`)
  t.same([...first.ids, ...second.ids, ...third.ids], idsOf(1, 5).reverse())
  t.same(frames.ids, idsOf(6, 7))
  t.notOk('next_cursor' in third.body)
  const onwards = await get(harness, `/api/events?cursor=${second.body.next_cursor}`)
  t.same(onwards.ids, idsOf(2, 7), 'one cursor works in both directions')
  const all = await get(harness, `/api/events?order=desc&cursor=e0e0e0e0e0e0.0`)
  t.same(all.ids, [])
})

t.test(
  'filters by trace, item and run request use the history index; others scan a bounded part per page',
  async (t) => {
    const harness = await harnessFor(t)
    const request = `runreq_${'1'.repeat(24)}`
    harness.actors.set(`run_request/${request}`, { value: 'queued', context: { trace_id: 't2', project: 'b' } })
    const rare: EventDraft[] = [
      noted('b', { trace_id: 't1' }),
      noted('b', { trace_id: 't2', run_request_id: request }),
      noted('b', { payload: { item_id: 'wi_1' } }),
      noted('b', { trace_id: 't2' }),
    ]
    for (const draft of rare) harness.log.commit([...Array.from({ length: 12_000 }, () => noted('a')), draft])
    const at = [12_001, 24_002, 36_003, 48_004].map(idOf)
    const readsBefore = harness.log.reads
    t.same((await get(harness, '/api/events?trace_id=t1,t2')).ids, [at[0], at[1], at[3]])
    t.same((await get(harness, '/api/events?trace_id=t1,t2&order=desc')).ids, [at[3], at[1], at[0]])
    t.same(await all(harness, '/api/events?trace_id=t1,t2&limit=1'), { ids: [at[0], at[1], at[3]], pages: 3 })
    t.same((await get(harness, '/api/events?item_id=wi_1')).ids, [at[2]])
    t.same((await get(harness, `/api/events?run_request_id=${request}`)).ids, [at[1]])
    t.equal(harness.log.reads, readsBefore, 'nothing was scanned')
    const scanned = await all(harness, '/api/events?project=b')
    t.same(scanned, { ids: at, pages: 3 }, 'short pages, each with a cursor to continue')
    t.same((await all(harness, '/api/events?project=b&order=desc')).ids, [...at].reverse())
  },
)

t.test('a confined token lists and reads only the events of its projects, and lane pauses', async (t) => {
  const harness = await harnessFor(t)
  harness.principals.add('confined', ['a'])
  harness.log.commit([
    noted('a', { trace_id: 't1' }),
    noted('b', { trace_id: 't1', payload: { text: '"project":"a"', project: 'a' } }),
    { event_type: 'pacing_paused', project: 'system' },
    noted('system'),
  ])
  t.same((await get(harness, '/api/events', 'confined')).ids, [idOf(1), idOf(3)])
  t.same((await get(harness, '/api/events?trace_id=t1', 'confined')).ids, [idOf(1)])
  t.equal((await get(harness, `/api/events/${idOf(1)}`, 'confined')).status, 200)
  t.equal((await get(harness, `/api/events/${idOf(3)}`, 'confined')).status, 200)
  t.match(await get(harness, `/api/events/${idOf(2)}`, 'confined'), { status: 404, body: { code: 'not_found' } })
  t.match(await get(harness, `/api/events/${idOf(4)}`, 'confined'), { status: 404 })
})

t.test(
  'a trace, item or run request of a hidden project is answered like one that does not exist, at the same cost',
  async (t) => {
    const harness = await harnessFor(t)
    harness.principals.add('confined', ['a'])
    const id = `runreq_${'9'.repeat(24)}`
    harness.actors.set(`run_request/${id}`, { value: 'queued', context: { trace_id: 't1', project: 'b' } })
    const item = { payload: { item_id: 'wi_1' } }
    harness.log.commit(Array.from({ length: 20_100 }, () => noted('b', { trace_id: 't1', ...item })))
    harness.log.commit([
      noted('a', { trace_id: 't2' }),
      { event_type: 'pacing_paused', project: 'system', trace_id: 't3' },
    ])
    const readsBefore = harness.log.eventReads
    const none = { ids: [], pages: 1 }
    for (const query of ['trace_id=t1', 'trace_id=t1&order=desc', 'trace_id=nowhere'])
      t.same(await all(harness, `/api/events?${query}`, 'confined'), none, query)
    t.equal(harness.log.eventReads, readsBefore, 'none of its events was read')
    for (const query of ['item_id=wi_1', 'item_id=wi_1&order=desc', 'item_id=wi_2', 'item_id=wi_1,wi_2'])
      t.same(await all(harness, `/api/events?${query}`, 'confined'), none, query)
    const unknown = `runreq_${'8'.repeat(24)}`
    t.same(
      await all(harness, `/api/events?run_request_id=${id}`, 'confined'),
      await all(harness, `/api/events?run_request_id=${unknown}`, 'confined'),
    )
    const own = await all(harness, '/api/events?trace_id=t1,t2,t3', 'confined')
    t.same(own, { ids: [idOf(20_101), idOf(20_102)], pages: 1 })
    t.equal((await get(harness, '/api/events?trace_id=t1')).ids.length, 50, 'others may list the trace')
    t.equal((await get(harness, '/api/events?item_id=wi_1')).ids.length, 50, 'and the item')
    harness.log.commit([noted('a', item)])
    for (const order of ['asc', 'desc']) {
      const spoken = await all(harness, `/api/events?item_id=wi_1&order=${order}&limit=1`, 'confined')
      t.same(
        spoken,
        { ids: [idOf(20_103)], pages: order === 'asc' ? 1 : 2 },
        'an event of its own project about the item is listed',
      )
    }
  },
)

t.test('an event is found by its id, in its trace or among the newest', async (t) => {
  const harness = await harnessFor(t)
  harness.log.commit(Array.from({ length: 3_000 }, (_, i) => noted('a', { trace_id: `t${i % 3}` })))
  // Another event mentions the id in its payload; it must not be found.
  harness.log.commit([noted('a', { payload: { id: idOf(7), text: `"id":"${idOf(7)}"` } })])
  const found = await get(harness, `/api/events/${idOf(7)}`)
  t.equal(found.body.id, idOf(7))
  t.equal(found.cursor, 'e0e0e0e0e0e0.2bd.i0i0i0')
  t.equal((await get(harness, `/api/events/${idOf(7)}?trace_id=t0`)).body.id, idOf(7))
  t.equal((await get(harness, `/api/events/${idOf(7)}?trace_id=t1`)).status, 404)
  t.equal((await get(harness, `/api/events/evt_${'f'.repeat(32)}`)).status, 404)
  t.equal((await get(harness, '/api/events/nonsense')).status, 404)
})

t.test('events of other projects under the same id neither hide the own event nor show themselves', async (t) => {
  const harness = await harnessFor(t)
  for (const project of ['a', 'b', 'c']) harness.principals.add(project, [project])
  const id = `evt_${'5'.repeat(32)}`
  harness.log.commit(['a', 'b'].map((project) => noted(project, { id, trace_id: 't1' })))
  for (const query of ['', '?trace_id=t1']) {
    for (const project of ['a', 'b']) {
      t.match(await get(harness, `/api/events/${id}${query}`, project), { status: 200, body: { id, project } })
    }
    const { status, body } = await get(harness, `/api/events/${id}${query}`, 'c')
    const unknown = `evt_${'6'.repeat(32)}`
    const nowhere = await get(harness, `/api/events/${unknown}${query}`, 'c')
    t.equal(status, 404)
    t.equal(body.detail, nowhere.body.detail.replace(unknown, id))
  }
})

t.test('the project filter takes a key or an id', async (t) => {
  const harness = await harnessFor(t)
  const id = `proj_${'a'.repeat(24)}`
  harness.actors.set(`project/${id}`, { value: 'active', context: { key: 'a' } })
  harness.log.commit([noted('a'), noted('b')])
  t.same((await get(harness, `/api/events?project=${id}`)).ids, [idOf(1)])
})

t.test('an invalid query is refused with the code of its fault', async (t) => {
  const harness = await harnessFor(t)
  harness.log.commit(Array.from({ length: 10 }, () => noted('a')))
  harness.log.trim(5)
  t.match(await get(harness, '/api/events?limit=0'), { status: 400, body: { code: 'invalid_query' } })
  t.match(await get(harness, '/api/events?limit=501'), { status: 400, body: { code: 'invalid_query' } })
  t.match(await get(harness, '/api/events?order=up'), { status: 400, body: { code: 'invalid_query' } })
  t.match(await get(harness, '/api/events?colour=red'), { status: 400, body: { code: 'invalid_query' } })
  t.match(await get(harness, '/api/events?cursor=nonsense'), { status: 400, body: { code: 'invalid_cursor' } })
  t.match(await get(harness, '/api/events?cursor=ffff.1'), { status: 410, body: { code: 'cursor_of_another_log' } })
  t.match(await get(harness, '/api/events?cursor=e0e0e0e0e0e0.2.i0i0i0'), {
    status: 410,
    body: { code: 'cursor_too_old', oldest: 'e0e0e0e0e0e0.5.i0i0i0' },
  })
  t.match(await get(harness, '/api/events', 'nobody'), { status: 401 })
  t.same((await get(harness, '/api/events')).ids, idsOf(6, 10), 'the list begins with the oldest event that is kept')
})

t.test('a cursor from a log that was rolled back is refused, and logged once', async (t) => {
  const harness = await harnessFor(t)
  harness.log.commit([noted('a')])
  const lost = { status: 410, body: { code: 'cursor_of_another_log', detail: /older copy/ } }
  t.match(await get(harness, '/api/events?cursor=ffff.1'), { status: 410 })
  t.same(harness.told, [], 'a cursor from before a restore is not logged')
  t.match(await get(harness, '/api/events?cursor=e0e0e0e0e0e0.2.i0i0i0'), lost)
  t.match(await get(harness, '/api/events?cursor=e0e0e0e0e0e0.1.another'), lost)
  await t.rejects(watchSocket(harness, '?since=e0e0e0e0e0e0.2.i0i0i0'), /refused/)
  t.match(harness.told, [/^a cursor names events that this home does not hold/])
  t.equal(harness.told.length, 1)
})
