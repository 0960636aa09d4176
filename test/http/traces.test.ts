/** Traces over HTTP: their events, and whether a run left a whole one. */
import t from 'tap'
import type { Message } from '../../machines/machine.ts'
import { runRequestModule as module } from '../../machines/run-request.ts'
import { CREATE, MESSAGES as M, RUNNER } from '../machines/run-request-samples.ts'
import { after, at } from '../machines/step.ts'
import { type Harness, startHarness } from './watch-harness.ts'

const request = (digit: string): string => `runreq_${digit.repeat(24)}`

async function harnessFor(test: { teardown(callback: () => void): unknown }): Promise<Harness> {
  const harness = await startHarness()
  test.teardown(() => harness.close())
  return harness
}

async function get(harness: Harness, path: string, token = 'all') {
  const response = await fetch(harness.url + path, { headers: { authorization: `Bearer ${token}` } })
  return { status: response.status, body: (await response.json()) as any, cursor: response.headers.get('watch-cursor') }
}

t.test('a trace has its events in order, and the run requests that are its own', async (t) => {
  const harness = await harnessFor(t)
  const { value, context } = after(module, [M.create, M.offer, M.completed])
  harness.actors.set(`run_request/${request('1')}`, { value, context: { ...context, trace_id: 't1', project: 'a' } })
  harness.actors.set(`run_request/${request('2')}`, { value: 'queued', context: { trace_id: 't2', project: 'a' } })
  harness.log.commit([
    { event_type: 'run_request_created', project: 'a', trace_id: 't1', run_request_id: request('1') },
    { event_type: 'noted', project: 'a', trace_id: 't2' },
    // Speaks of another trace's request, which is still open: no reason to call this trace incomplete.
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

t.test('a trace is complete once of each run its runner has spoken last, or no runner has begun it', async (t) => {
  const harness = await harnessFor(t)
  const begun = [M.create, M.offer, M.started]
  const stopping = [...begun, M.cancel]
  const limited = [at(0, { ...CREATE, timeout_seconds: 30 }), M.offer, M.started, M.timeout_reached]
  const retried = at(0, { ...CREATE, retry: { max_attempts: 3, backoff_seconds: 1, on: ['execution'] } })
  const again = (type: 'offer' | 'started') => at(10, { type, runner_id: RUNNER, attempt: 2 })
  const cancel = { ...M.cancel, reason: 'again' }
  const cases: readonly [string, readonly Message<any>[], boolean][] = [
    ['completed', [...begun, M.completed], true],
    ['failed by its runner', [...begun, M.failed], true],
    ['started', begun, false],
    ['lost', [...begun, M.lease_expired], false],
    ['lost, and failed by a person', [...begun, M.lease_expired, M.fail], false],
    ['lost, and cancelled', [...begun, M.lease_expired, M.cancel], false],
    ['being stopped', stopping, false],
    ['cancelled, and its runner said so', [...stopping, M['failed (cancelled)']], true],
    ['cancelled, without a word', [...stopping, M.grace_ended], false],
    ['accepted, and cancelled without a word', [M.create, M.offer, M.accepted, M.cancel, M.grace_ended], false],
    ['timed out, and its runner said so', [...limited, M['failed (cancelled)']], true],
    ['timed out, without a word', [...limited, M.grace_ended], false],
    ['queued', [M.create], false],
    ['cancelled in the queue', [M.create, M.cancel], true],
    ['cancelled while offered', [M.create, M.offer, M.cancel], true],
    ['cancelled behind an offer', [M.create, M.offer, M.offer_expired, cancel], true],
    ['cancelled behind a lost run', [...begun, M.lease_expired, M.requeue, cancel], false],
    ['cancelled behind a run that failed', [retried, M.offer, M.started, M.failed, cancel], true],
    [
      'cancelled behind a run that failed and one that was lost',
      [
        ...[retried, M.offer, M.started, M.failed, M.not_before_reached, again('offer'), again('started')],
        ...[at(70, { type: 'lease_expired', attempt: 2 }), M.requeue, cancel],
      ],
      false,
    ],
    ['cancelled behind a restore', [M.create, M.restored, cancel], false],
  ]
  for (const [index, [name, messages, complete]] of cases.entries()) {
    const id = `runreq_${String(index).padStart(24, '0')}`
    const { value, context } = after(module, messages)
    harness.actors.set(`run_request/${id}`, { value, context: { ...context, trace_id: `t${index}`, project: 'a' } })
    harness.log.commit([{ event_type: 'noted', project: 'a', trace_id: `t${index}`, run_request_id: id }])
    const { body } = await get(harness, `/api/traces/t${index}`)
    t.equal(body.complete, complete, `${name}: ${value}`)
    t.equal(body.events.length, 1, 'its events are shown all the same')
  }
})

t.test('a long trace is paged', async (t) => {
  const harness = await harnessFor(t)
  harness.log.commit(Array.from({ length: 5 }, () => ({ event_type: 'noted', project: 'a', trace_id: 't1' })))
  const first = await get(harness, '/api/traces/t1?limit=3')
  t.equal(first.body.events.length, 3)
  const second = await get(harness, `/api/traces/t1?limit=3&cursor=${first.body.next_cursor}`)
  t.equal(second.body.events.length, 2)
  t.notOk('next_cursor' in second.body)
})

t.test('a trace is what the token may see of it', async (t) => {
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

t.test('what one may see of a trace is found behind any number of events of others', async (t) => {
  const harness = await harnessFor(t)
  harness.principals.add('confined', ['a'])
  const theirs = Array.from({ length: 20_100 }, () => ({ event_type: 'noted', project: 'b', trace_id: 't1' }))
  harness.log.commit([...theirs, { event_type: 'noted', project: 'a', trace_id: 't1' }])
  harness.log.commit(theirs.map((event) => ({ ...event, trace_id: 't2' })))
  const readsBefore = harness.log.eventReads
  const first = await get(harness, '/api/traces/t1', 'confined')
  t.match(first, { status: 200, body: { events: [] } }, 'a page of it ends among theirs')
  const reads = harness.log.eventReads - readsBefore
  t.ok(reads <= 20_000 + 10_000, `${reads} read, also in search of its runs`)
  const second = await get(harness, `/api/traces/t1?cursor=${first.body.next_cursor}`, 'confined')
  t.equal(second.status, 200)
  t.same(
    second.body.events.map(({ project }: any) => project),
    ['a'],
  )
  t.notOk(second.body.next_cursor)
  t.match(await get(harness, '/api/traces/t2', 'confined'), { status: 404, body: { code: 'not_found' } })
})
