/** A project says how many runs may change its repository at the same time: one, unless it says otherwise. */
import t from 'tap'
import { until } from '../until.ts'
import { begin, finish, fleet, reading, submit, waits } from './ledger-harness.ts'
import { startOnDisk, startTestService, type TestService } from './service-harness.ts'

const allow = (s: TestService, max_writers: number, project = 'shop') =>
  s.expect(200, 'PATCH', `/api/projects/${project}`, { max_writers })

t.test('a project lets one run at a time change its repository unless it says how many may', async (t) => {
  const s = await startTestService(t)
  const plain = await s.expect(201, 'POST', '/api/projects', { key: 'plain', name: 'Plain' })
  t.equal(plain.body.max_writers, 1)
  const several = await s.expect(201, 'POST', '/api/projects', { key: 'several', name: 'Several', max_writers: 4 })
  t.equal(several.body.max_writers, 4)
  t.equal((await allow(s, 1, 'several')).body.max_writers, 1)
  t.equal((await s.expect(200, 'GET', '/api/projects/several')).body.max_writers, 1)
  const { items } = (await s.expect(200, 'GET', '/api/events?project=several&order=asc')).body
  t.match(items, [
    { event_type: 'project_created', payload: { max_writers: 4 } },
    { event_type: 'project_updated', payload: { changed: ['max_writers'], max_writers: 1 } },
  ])
  await allow(s, 1, 'several')
  t.equal((await s.expect(200, 'GET', '/api/events?project=several')).body.items.length, 2, 'no change, no event')
  for (const max_writers of [0, -1, 1.5, 1001, '2', null]) {
    const { body } = await s.expect(422, 'PATCH', '/api/projects/several', { max_writers })
    t.match(body.errors, [{ pointer: '/max_writers' }], String(max_writers))
  }
})

t.test('its tasks run side by side, the next waits for one of them to end, and a raised limit starts it', async (t) => {
  const home = t.testdir()
  const s = await startOnDisk(t, home)
  const runner = await fleet(s, 'shop')
  await allow(s, 2)
  const items: string[] = []
  for (const objective of ['One', 'Two', 'Three', 'Four']) items.push((await submit(s, { objective })).id)
  const runs = [await begin(s, runner), await begin(s, runner)]
  t.same(runs.map(({ engine }) => engine.payload.item_id).sort(), items.slice(0, 2).sort())
  const third = await until(reading(s, items[2]!), waits('repository_busy'))
  t.match(
    third.waiting_because.detail,
    new RegExp(`is held by (${items[0]} and ${items[1]}|${items[1]} and ${items[0]})$`),
  )
  await s.expect(204, 'GET', '/api/runners/r1/run-requests/next', undefined, runner)
  await finish(s, runner, runs[0].request_id)
  const next = await begin(s, runner)
  t.equal(next.engine.payload.item_id, items[2])

  await s.service.close()
  const after = await startOnDisk(t, home)
  t.match(await until(reading(after, items[3]!), waits('repository_busy')), { state: 'queued' })
  await after.expect(204, 'GET', '/api/runners/r1/run-requests/next', undefined, runner)
  await finish(after, runner, next.request_id)
  const last = await begin(after, runner)
  t.equal(last.engine.payload.item_id, items[3], 'the limit is known after a restart')
})

t.test('plain run requests are counted like tasks', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await allow(s, 2)
  await submit(s)
  await begin(s, runner)
  const asked: string[] = []
  for (const name of ['ann', 'bob']) {
    const request = await s.request('shop', { throttle: 'full', payload: { name } })
    await s.expect(200, 'POST', `/api/run-requests/${request.id}/approve`)
    asked.push(request.id)
  }
  t.equal((await begin(s, runner)).request_id, asked[0])
  const waiting = async () => (await s.expect(200, 'GET', `/api/run-requests/${asked[1]}`)).body
  t.match(await waiting(), { waiting_because: { code: 'repository_busy', detail: / and / } })
  const poll = s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=10', undefined, runner)
  await allow(s, 3)
  t.equal((await poll).body.request_id, asked[1], 'a raised limit wakes a poll')
})
