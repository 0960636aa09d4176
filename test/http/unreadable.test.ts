/**
 * A record that cannot be read, or an error in later turns of a request: its client is told, and the service and
 * other requests continue.
 */
import t, { type Test } from 'tap'
import type { ActorRef } from '../../machines/machine.ts'
import { Quarantined } from '../../runtime/reader.ts'
import { addCampaign, inFirstCycle, move } from './campaign-harness.ts'
import { begin, fleet, submit } from './ledger-harness.ts'
import { startOnDisk, startTestService, type TestService } from './service-harness.ts'

const NO_CHANGES = { termsAdded: [], termsRemoved: [], events: [], timersSet: [], timersCleared: [], outbox: [] }

/** The service after a restart, with the record of the entity damaged in between. */
async function withDamaged(t: Test, home: string, s: TestService, kind: string, id: string): Promise<TestService> {
  const { journal } = s.service.runtime
  const broken = { kind, id, version: 1_000, record: '(damaged)', ...NO_CHANGES }
  await new Promise<void>((resolve) => journal.append([broken], () => resolve()))
  await s.service.close()
  return startOnDisk(t, home)
}

/** From now on reading an entity that matches throws. */
function fails(s: TestService, isOne: (ref: ActorRef) => boolean, error: Error): void {
  const { runtime } = s.service
  const read = runtime.read.bind(runtime)
  runtime.read = (ref) => {
    if (isOne(ref)) throw error
    return read(ref)
  }
}

const MISTAKE = new TypeError('a mistake')

t.test(
  'a campaign whose work item cannot be read can still be listed and moved, and only the item is answered 503',
  async (t) => {
    const home = t.testdir()
    const before = await startOnDisk(t, home)
    await inFirstCycle(before)
    await addCampaign(before, { name: 'other' })
    const item = (await before.expect(200, 'GET', '/api/campaigns/pay')).body.work.item_id
    const s = await withDamaged(t, home, before, 'work_item', item)
    const confined = { token: await s.token('confined', { roles: ['viewer'], projects: ['shop'] }) }
    for (const caller of [{}, confined]) {
      const { items } = (await s.expect(200, 'GET', '/api/campaigns', undefined, caller)).body
      t.match(items, [{ name: 'other' }, { name: 'pay', status: 'active', work: { role: 'cycle', item_id: item } }])
      t.notOk('state' in items[1].work, 'the state of the item is unknown')
      await s.expect(200, 'GET', '/api/pacing', undefined, caller)
      await s.expect(200, 'GET', '/api/attention', undefined, caller)
    }
    t.equal((await move(s, 'pause')).status, 'paused')
    t.equal((await s.expect(503, 'GET', `/api/work-items/${item}`)).body.code, 'quarantined')
    t.match(s.service.runtime.quarantined(), [{ ref: { kind: 'work_item', id: item }, reason: /^damaged$/ }])
    await move(s, 'resume')
    t.match(await move(s, 'cancel', { now: true, reason: 'enough' }), { name: 'pay' })
  },
)

t.test('a runner that cannot be read does not prevent a start, and its manifest still counts', async (t) => {
  const home = t.testdir()
  const before = await startOnDisk(t, home)
  await fleet(before, 'shop')
  const manifest = {
    runner_id: 'r1',
    supported_entry_events: ['greet_requested'],
    supported_throttle_modes: ['dry_run'],
  }
  const path = '/api/projects/shop/engine-capabilities'
  await before.expect(201, 'POST', path, { engine: 'factory', engine_version: '1.0', ...manifest })
  const s = await withDamaged(t, home, before, 'runner', 'r1')
  t.match((await s.expect(200, 'GET', path)).body.items, [{ runner_id: 'r1', state: 'current' }])
})

t.test('pacing lists the items that can be read', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  await submit(s)
  const { id } = await submit(s, { objective: 'Tidy on' })
  fails(s, (ref) => ref.id === id, new Quarantined('It cannot be read.'))
  const view = (await s.expect(200, 'GET', '/api/pacing')).body
  t.equal(view.waiting.length, 1)
  t.equal(view.waiting_count, 2)
})

t.test('a runner, a trace and its events are shown without a run that cannot be read', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const { id, trace_id: trace } = await s.request('shop')
  await begin(s, runner)
  const confined = { token: await s.token('confined', { roles: ['viewer'], projects: ['shop'] }) }
  const runners = async () => (await s.expect(200, 'GET', '/api/runners', undefined, confined)).body.items
  t.match(await runners(), [{ id: 'r1', in_flight: [id] }])
  fails(s, (ref) => ref.id === id, new Quarantined('It cannot be read.'))
  t.match(await runners(), [{ id: 'r1', in_flight: [] }])
  const shown = (await s.expect(200, 'GET', `/api/traces/${trace}`, undefined, confined)).body
  t.match(shown, { complete: false, run_requests: [] }, 'its run may be open')
  t.ok(shown.events.length > 0)
  const events = (await s.expect(200, 'GET', `/api/events?run_request_id=${id}`, undefined, confined)).body
  t.ok(events.items.length > 0, 'what was recorded of it is found')
})

t.test('an error in a later turn of a request is answered 500, and the service continues', async (t) => {
  const s = await startTestService(t)
  await inFirstCycle(s)
  fails(s, ({ kind }) => kind === 'work_item', MISTAKE)
  t.equal((await s.expect(500, 'GET', '/api/campaigns')).body.code, 'internal_error')
  t.equal((await s.expect(500, 'POST', '/api/campaigns/pay/pause', {})).body.code, 'internal_error')
  t.equal(
    (await s.expect(500, 'POST', '/api/campaigns/pay/cancel', { now: true, reason: 'enough' })).body.code,
    'internal_error',
  )
  await s.expect(200, 'GET', '/api/projects')
})

t.test('an error during an ingest is answered 500, and its connection continues', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  fails(s, ({ kind }) => kind === 'project', MISTAKE)
  const event = { event_type: 'noted', project: 'shop', occurred_at: '2026-01-31T12:00:00Z', payload: {} }
  const failed = await s.expect(500, 'POST', `/engine/traces/${'a'.repeat(32)}/ingest`, [event])
  t.equal(failed.body.code, 'internal_error')
  await s.expect(200, 'GET', '/api/runners')
})

t.test('a trace claimed by a post that fails is free again', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const event = (event_type: string, digit: string, payload: object) => ({
    project: 'shop',
    event_type,
    occurred_at: '2026-01-31T12:00:00Z',
    trace_id: digit.repeat(32),
    payload,
  })
  const emit = (status: number, ...events: object[]) => s.expect(status, 'POST', '/api/events', { events })
  const known = event('greet_requested', 'a', { name: 'moon' })
  const [id] = (await emit(200, known)).body.run_requests
  fails(s, (ref) => ref.id === id, new Quarantined('It cannot be read.'))
  fails(s, ({ kind }) => kind === 'maintenance_run', MISTAKE)

  const first = event('greet_requested', 'b', { name: 'world' })
  t.equal((await emit(503, first, known)).body.code, 'quarantined', 'while traces are claimed')
  await emit(200, first)

  const second = event('greet_requested', 'c', { name: 'world' })
  const over = event('maintenance_run_completed', 'd', { total: 0, succeeded: 0, failed: 0, skipped: 0, projects: [] })
  t.equal((await emit(500, second, over)).body.code, 'internal_error', 'after they were claimed')
  await emit(200, second)
})
