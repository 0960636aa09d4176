/** Traces over HTTP: their events, and whether their runs left them complete. */
import t from 'tap'
import { type Harness, harnessFor } from './watch-harness.ts'

const request = (digit: string): string => `runreq_${digit.repeat(24)}`

async function get(harness: Harness, path: string, token = 'all') {
  const response = await fetch(harness.url + path, { headers: { authorization: `Bearer ${token}` } })
  return { status: response.status, body: (await response.json()) as any, cursor: response.headers.get('watch-cursor') }
}

t.test('a trace lists its events in order and its own run requests', async (t) => {
  const harness = await harnessFor(t)
  harness.actors.set(`run_request/${request('1')}`, { value: 'completed', context: { trace_id: 't1', project: 'a' } })
  harness.actors.set(`run_request/${request('2')}`, { value: 'queued', context: { trace_id: 't2', project: 'a' } })
  harness.log.commit([
    { event_type: 'run_request_created', project: 'a', trace_id: 't1', run_request_id: request('1') },
    { event_type: 'noted', project: 'a', trace_id: 't2' },
    // Mentions a request of another trace, which is still open: that does not make this trace incomplete.
    { event_type: 'noted', project: 'a', trace_id: 't1', payload: { run_request_id: request('2') } },
  ])
  const { status, body, cursor } = await get(harness, '/api/traces/t1')
  t.equal(status, 200)
  t.match(body, { trace_id: 't1', complete: true, run_requests: [{ id: request('1'), state: 'completed' }] })
  t.same(
    body.events.map((event: { event_type: string }) => event.event_type),
    ['run_request_created', 'noted'],
  )
  t.equal(cursor, 'e0e0e0e0e0e0.3.i0i0i0')
})

t.test(
  'a trace is incomplete while its run is open, or if the run ended without a final report of its runner',
  async (t) => {
    const harness = await harnessFor(t)
    const said = { attempt: 2, internal: { last_post: { attempt: 2 } } }
    const unsaid = { attempt: 2, internal: { last_post: { attempt: 1 } } }
    const cases: readonly [string, object | undefined, boolean, object?][] = [
      ['completed', undefined, true],
      ['failed', { class: 'execution', message: 'exit 1' }, true],
      ['failed', { class: 'execution', code: 'timeout', message: 'too long' }, false],
      ['failed', { class: 'dispatch', message: 'nobody took it' }, false, unsaid],
      // A person gave up the lost run: only its earlier attempt was ever reported.
      ['failed', { class: 'execution', message: 'gone for good' }, false, unsaid],
      ['cancelled', undefined, false],
      ['lost', undefined, false, unsaid],
      ['started', undefined, false, unsaid],
    ]
    for (const [index, [value, failure, complete, report = said]] of cases.entries()) {
      const id = request(String(index))
      const context = { trace_id: `t${index}`, project: 'a', failure, ...report }
      harness.actors.set(`run_request/${id}`, { value, context })
      harness.log.commit([{ event_type: 'noted', project: 'a', trace_id: `t${index}`, run_request_id: id }])
      const { body } = await get(harness, `/api/traces/t${index}`)
      t.equal(body.complete, complete, `${value} ${JSON.stringify(failure)}`)
      t.equal(body.events.length, 1, 'its events are shown nevertheless')
    }
  },
)

t.test('a long trace is paged', async (t) => {
  const harness = await harnessFor(t)
  harness.log.commit(Array.from({ length: 5 }, () => ({ event_type: 'noted', project: 'a', trace_id: 't1' })))
  const first = await get(harness, '/api/traces/t1?limit=3')
  t.equal(first.body.events.length, 3)
  const second = await get(harness, `/api/traces/t1?limit=3&cursor=${first.body.next_cursor}`)
  t.equal(second.body.events.length, 2)
  t.notOk('next_cursor' in second.body)
})

t.test('a trace shows only events and runs that the token may see', async (t) => {
  const harness = await harnessFor(t)
  harness.principals.add('confined', ['a'])
  harness.actors.set(`run_request/${request('1')}`, { value: 'started', context: { trace_id: 't1', project: 'b' } })
  harness.log.commit([
    { event_type: 'noted', project: 'a', trace_id: 't1' },
    { event_type: 'noted', project: 'b', trace_id: 't1', run_request_id: request('1') },
    { event_type: 'noted', project: 'b', trace_id: 't2' },
  ])
  const { body } = await get(harness, '/api/traces/t1', 'confined')
  t.equal(body.events.length, 1)
  t.same(body.run_requests, [])
  t.match(await get(harness, '/api/traces/t2', 'confined'), { status: 404, body: { code: 'not_found' } })
  t.match(await get(harness, '/api/traces/nothing'), { status: 404, body: { code: 'not_found' } })
})

t.test('the visible events of a trace are found behind any number of hidden ones', async (t) => {
  const harness = await harnessFor(t)
  harness.principals.add('confined', ['a'])
  const theirs = Array.from({ length: 20_100 }, () => ({ event_type: 'noted', project: 'b', trace_id: 't1' }))
  harness.log.commit([...theirs, { event_type: 'noted', project: 'a', trace_id: 't1' }])
  harness.log.commit(theirs.map((event) => ({ ...event, trace_id: 't2' })))
  const readsBefore = harness.log.eventReads
  const first = await get(harness, '/api/traces/t1', 'confined')
  t.match(first, { status: 200, body: { events: [] } }, 'the first page ends among hidden events')
  const reads = harness.log.eventReads - readsBefore
  t.ok(reads <= 20_000 + 10_000, `${reads} read, including the search for its runs`)
  const second = await get(harness, `/api/traces/t1?cursor=${first.body.next_cursor}`, 'confined')
  t.equal(second.status, 200)
  t.same(
    second.body.events.map(({ project }: any) => project),
    ['a'],
  )
  t.notOk(second.body.next_cursor)
  t.match(await get(harness, '/api/traces/t2', 'confined'), { status: 404, body: { code: 'not_found' } })
})

t.test('the runs of a trace are searched for once, and afterwards only among newer events', async (t) => {
  const harness = await harnessFor(t)
  const run = (digit: string, value: string) =>
    harness.actors.set(`run_request/${request(digit)}`, { value, context: { trace_id: 't1', project: 'a' } })
  const noted = { event_type: 'noted', project: 'a', trace_id: 't1' }
  run('1', 'started')
  harness.log.commit([{ ...noted, run_request_id: request('1') }, ...Array.from({ length: 3_000 }, () => noted)])
  const first = await get(harness, '/api/traces/t1?limit=1')
  t.match(first.body, { complete: false, run_requests: [{ id: request('1'), state: 'started' }] })
  run('1', 'completed')
  run('2', 'queued')
  harness.log.commit([{ ...noted, run_request_id: request('2') }])
  const readsBefore = harness.log.eventReads
  const second = await get(harness, `/api/traces/t1?limit=1&cursor=${first.body.next_cursor}`)
  t.match(second.body, {
    complete: false,
    run_requests: [
      { id: request('1'), state: 'completed' },
      { id: request('2'), state: 'queued' },
    ],
  })
  const reads = harness.log.eventReads - readsBefore
  t.ok(reads <= 10, `${reads} events read for the second page`)
})
