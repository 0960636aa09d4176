import t from 'tap'
import { LABEL_LIMITS_MAX, WEIGHT_MAX } from '../../machines/documents/pacing.ts'
import { PACING } from '../../machines/pacing.ts'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { until } from '../until.ts'
import { fleet, reading as read, submit, waits } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

const pause = (s: TestService, ...lanes: string[]) => s.expect(200, 'POST', '/api/pacing/pause', { lanes })
const resume = (s: TestService, ...lanes: string[]) => s.expect(200, 'POST', '/api/pacing/resume', { lanes })

async function stated(s: TestService, type: string): Promise<any[]> {
  return (await s.expect(200, 'GET', `/api/events?event_type=${type}&order=asc`)).body.items
}

t.test('a paused lane starts nothing until it is resumed, and other lanes continue', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop', 'till')
  t.match((await pause(s, 'maintenance')).body, { paused: ['maintenance'] })
  const upkeep = await submit(s, { kind: 'maintenance', objective: 'Keep up' })
  const task = await submit(s, { project: 'till' })
  await until(read(s, task.id), waits('handed_out'))
  t.match(await read(s, upkeep.id)(), { state: 'queued', reason: 'lane maintenance is paused' })
  t.equal(upkeep.reason, 'lane maintenance is paused', 'it is created with the reason why it waits')
  await resume(s, 'maintenance')
  await until(read(s, upkeep.id), waits('handed_out'))
})

t.test('a run request made directly waits while its lane is paused', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await pause(s)
  const request = await s.request('shop')
  t.equal((await s.call('GET', '/api/runners/r1/run-requests/next', undefined, runner)).status, 204)
  const why = (await s.expect(200, 'GET', `/api/run-requests/${request.id}`)).body.waiting_because
  t.equal(why.code, 'lane_paused')
  const parked = s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=10', undefined, runner)
  await resume(s, 'interactive')
  t.equal((await parked).body.request_id, request.id, 'the resumed lane wakes the parked poll')
})

t.test('a handed-out item that was not started waits when its lane is paused', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const item = await submit(s, {})
  await until(read(s, item.id), waits('handed_out'))
  await pause(s, 'interactive')
  t.equal((await s.call('GET', '/api/runners/r1/run-requests/next', undefined, runner)).status, 204)
  await until(read(s, item.id), waits('lane_paused'))
  await resume(s, 'interactive')
  const offer = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=10', undefined, runner)
  t.equal(offer.body.request_id, (await read(s, item.id)()).run_request_id)
})

t.test('pacing_paused and pacing_resumed are recorded as in SPEC 6.10, even if nothing changed', async (t) => {
  const s = await startTestService(t)
  await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['campaign', 'interactive'], origin: 'ann-laptop' })
  await s.expect(200, 'POST', '/api/pacing/pause', { origin: 'ann-laptop' })
  await s.expect(200, 'POST', '/api/pacing/resume', { lanes: ['campaign'], origin: 'ann-laptop' })
  await s.expect(200, 'POST', '/api/pacing/resume', { lanes: ['campaign'] })
  const [first, all] = await stated(s, 'pacing_paused')
  t.same(first.payload, {
    lanes: ['interactive', 'campaign'],
    operator_origin: 'ann-laptop',
    paused: ['interactive', 'campaign'],
  })
  t.equal(first.project, 'system')
  t.equal(first.throttle, 'full')
  t.equal(first.by.name, 'admin')
  t.same(all.payload.lanes, ['interactive', 'campaign', 'maintenance'], 'no lanes given means all')
  const [resumed, again] = await stated(s, 'pacing_resumed')
  t.same(resumed.payload, {
    lanes: ['campaign'],
    operator_origin: 'ann-laptop',
    paused: ['interactive', 'maintenance'],
  })
  t.same(again.payload.paused, ['interactive', 'maintenance'])
  t.equal(again.payload.operator_origin, 'admin@127.0.0.1')
})

t.test('an unknown lane or a blank origin is refused, and nothing is recorded', async (t) => {
  const s = await startTestService(t)
  for (const body of [{ lanes: ['express'] }, { origin: '' }, { lanes: 'campaign' }, { lane: 'campaign' }])
    t.equal((await s.call('POST', '/api/pacing/pause', body)).status, 422, JSON.stringify(body))
  t.same(await stated(s, 'pacing_paused'), [])
})

t.test(
  'the pacing view shows running, waiting and held items in order, limited to the projects of the token',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop', 'till')
    const running = await submit(s, {})
    const offer = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, runner)
    await s.expect(200, 'POST', `/api/run-requests/${offer.body.request_id}/started`, {}, runner)
    const upkeep = await submit(s, { kind: 'maintenance', objective: 'Keep up' })
    const task = await submit(s, { objective: 'Second' })
    const held = await submit(s, { objective: 'Third' })
    await s.expect(200, 'POST', `/api/work-items/${held.id}/hold`)
    const till = await submit(s, { project: 'till' })
    await until(read(s, till.id), waits('handed_out'))
    const { body } = await s.expect(200, 'GET', '/api/pacing')
    t.match(body, { max_running: 4, running_count: 2, waiting_count: 3, paused: [] })
    t.same(
      body.running.map(({ id, state }: any) => [id, state]),
      [
        [running.id, 'running'],
        [till.id, 'queued'],
      ],
    )
    t.same(
      body.waiting.map(({ id, state }: any) => [id, state]),
      [
        [task.id, 'queued'],
        [upkeep.id, 'queued'],
        [held.id, 'held'],
      ],
    )
    t.match(body.waiting[0], {
      reason: new RegExp(`is held by ${running.id}`),
      waiting_because: { code: 'repository_busy' },
    })

    const token = await s.token('eve', { roles: ['operator'], projects: ['till'] })
    const seen = (await s.expect(200, 'GET', '/api/pacing', undefined, { token })).body
    t.match(seen, { running_count: 1, waiting_count: 0 })
    t.same(seen.waiting, [])
    t.equal((await s.call('GET', `/api/work-items/${task.id}`, undefined, { token })).status, 404)
    t.equal((await s.call('POST', `/api/work-items/${task.id}/cancel`, undefined, { token })).status, 404)
    t.equal((await s.call('POST', '/api/work-items', { project: 'shop', objective: 'x' }, { token })).status, 422)
    const items = (await s.expect(200, 'GET', '/api/work-items', undefined, { token })).body.items
    t.same(
      items.map(({ id }: any) => id),
      [till.id],
    )
    const stranger = { project: 'till', objective: 'x', depends_on: [task.id] }
    t.equal((await s.expect(422, 'POST', '/api/work-items', stranger, { token })).body.code, 'unknown_work_item')
    t.equal((await s.expect(403, 'POST', '/api/pacing/pause', {}, { token })).body.code, 'forbidden')
  },
)

t.test('a requeued run behind a paused lane shows why it waits, and its item frees its repository', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'till')
  for (const key of ['shop', 'till']) await s.expect(200, 'PATCH', `/api/projects/${key}`, { repository: 'git@x:shop' })
  const first = await submit(s, { lane: 'campaign' })
  const { body } = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, runner)
  await s.expect(200, 'POST', `/api/run-requests/${body.request_id}/started`, {}, runner)
  const token = await s.token('eve', { roles: ['operator'], projects: ['till'] })
  const other = (await s.expect(201, 'POST', '/api/work-items', { project: 'till', objective: 'x' }, { token })).body
  await pause(s, 'campaign')
  await s.expect(200, 'POST', '/api/runners/r1/session', { instance: 'f'.repeat(16), version: '1' }, runner)
  await until(read(s, first.id), ({ reason }) => /its run is lost/.test(reason))
  t.notOk('waiting_because' in (await read(s, first.id)()), 'a lost run waits for a person')
  await s.expect(200, 'POST', `/api/run-requests/${body.request_id}/requeue`, {})
  const again = await until(read(s, first.id), waits('handed_out'))
  t.match(again, {
    state: 'running',
    reason: /is waiting for a runner again/,
    waiting_because: { detail: /lane campaign/i },
  })
  t.match((await s.expect(200, 'GET', '/api/pacing')).body.running, [{ id: first.id, waiting_because: {} }])
  await until(read(s, other.id), waits('handed_out'))
  const next = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, runner)
  t.equal(next.body.engine.payload.item_id, other.id)
  await s.expect(200, 'POST', '/api/pacing/resume', {})
  t.match(
    await read(s, first.id)(),
    { waiting_because: { detail: /Repository/ } },
    'its repository is held by other work meanwhile',
  )
})

t.test('the holder of a busy repository is not shown to a token that may not see it', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop', 'till')
  for (const key of ['shop', 'till']) await s.expect(200, 'PATCH', `/api/projects/${key}`, { repository: 'git@x:shop' })
  const first = await submit(s, {})
  await until(read(s, first.id), waits('handed_out'))
  const token = await s.token('eve', { roles: ['operator'], projects: ['till'] })
  const { body } = await s.expect(201, 'POST', '/api/work-items', { project: 'till', objective: 'x' }, { token })
  t.equal(body.reason, 'its repository is held by other work')
  const [event] = (await s.expect(200, 'GET', `/api/events?item_id=${body.id}`)).body.items
  t.equal(event.payload.reason, 'repository git@x:shop is busy')
})

t.test('the state of a dependency is not shown to a token that may not see it', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop', 'till')
  const first = await submit(s, {})
  const { id } = await submit(s, { project: 'till', depends_on: [first.id] })
  await s.expect(200, 'POST', `/api/work-items/${first.id}/cancel`)
  await until(read(s, id), ({ state }) => state === 'needs_decision')
  const token = await s.token('eve', { roles: ['operator'], projects: ['till'] })
  const item = (await s.expect(200, 'GET', `/api/work-items/${id}`, undefined, { token })).body
  t.equal(item.reason, `its dependency ${first.id} did not land`)
  const { items } = (await s.expect(200, 'GET', `/api/events?item_id=${id}`, undefined, { token })).body
  for (const said of [item, ...items]) t.notMatch(JSON.stringify(said), /cancelled/)
})

t.test('a pause survives a restart, and waiting items continue as before', async (t) => {
  const home = t.testdir()
  const options = {
    openJournal: (onFailure: (failure: Error) => void) => openDiskJournal({ home, onFailure } as never),
  }
  const before = await startTestService(t, { home }, options)
  await fleet(before, 'shop', 'till')
  await pause(before, 'campaign', 'maintenance')
  const upkeep = await submit(before, { kind: 'maintenance', objective: 'Keep up' })
  const task = await submit(before, { project: 'till' })
  await until(read(before, task.id), waits('handed_out'))
  const { run_request_id } = await read(before, task.id)()
  const next = await submit(before, { project: 'till', objective: 'Next', depends_on: [task.id] })
  await before.service.close()
  const after = await startTestService(t, { home }, options)
  t.match((await after.expect(200, 'GET', '/api/pacing')).body, { paused: ['campaign', 'maintenance'] })
  t.match(await read(after, upkeep.id)(), { state: 'queued', waiting_because: { code: 'lane_paused' } })
  t.match(await read(after, task.id)(), { run_request_id, waiting_because: { code: 'handed_out' } })
  t.match(await read(after, next.id)(), { waiting_because: { code: 'repository_busy' } })
  const twin = await after.expect(200, 'POST', '/api/work-items', { project: 'till', objective: 'Next' })
  t.equal(twin.body.id, next.id, 'its twin is recognized')
  await resume(after)
  await until(read(after, upkeep.id), waits('handed_out'))
})

t.test('a pause state that cannot be read pauses every lane', async (t) => {
  const home = t.testdir()
  const options = {
    openJournal: (onFailure: (failure: Error) => void) => openDiskJournal({ home, onFailure } as never),
  }
  const before = await startTestService(t, { home }, options)
  await fleet(before, 'shop')
  const { journal } = before.service.runtime
  const broken = { kind: PACING.kind, id: PACING.id, version: 1, record: '{"mv":1,"s":{"value":"?"}}' }
  const none = { termsAdded: [], termsRemoved: [], events: [], timersSet: [], timersCleared: [], outbox: [] }
  const failure = await new Promise((resolve) => journal.append([{ ...broken, ...none } as never], resolve))
  t.equal(failure, null, 'the unreadable record is committed')
  await before.service.close()
  const after = await startTestService(t, { home }, options)
  t.equal((await submit(after)).waiting_because.code, 'lane_paused')
  const upkeep = await submit(after, { kind: 'maintenance', objective: 'Keep up' })
  t.equal(upkeep.waiting_because.code, 'lane_paused')
  const view = (await after.expect(200, 'GET', '/api/pacing')).body
  t.match(view, { unreadable: true, paused: ['interactive', 'campaign', 'maintenance'] })
  t.equal((await after.expect(503, 'POST', '/api/pacing/resume', {})).body.code, 'quarantined')
  t.equal(after.service.runtime.quarantined()[0]?.ref.id, PACING.id)
})

t.test(
  'a pause withdraws an offer that was not accepted, and a late acceptance is answered stale_attempt',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop')
    const request = await s.request('shop')
    const offer = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, runner)
    t.equal(offer.body.request_id, request.id)
    await pause(s, 'interactive')
    const path = `/api/run-requests/${request.id}`
    const back = await until(
      async () => (await s.expect(200, 'GET', path)).body,
      ({ state }) => state === 'queued',
    )
    t.match(back, { attempt: 2, waiting_because: { code: 'lane_paused' } })
    const late = await s.call('POST', `${path}/accepted`, { attempt: 1 }, runner)
    t.match(late, { status: 409, body: { code: 'stale_attempt' } })
    const [released] = await stated(s, 'run_request_released')
    t.equal(released.payload.reason, 'its lane was paused before it was accepted')
    const begun = await s.request('shop', { lane: 'campaign', payload: { name: 'begun' } })
    await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, runner)
    await s.expect(200, 'POST', `/api/run-requests/${begun.id}/started`, {}, runner)
    await pause(s)
    t.equal(
      (await s.expect(200, 'GET', `/api/run-requests/${begun.id}`)).body.state,
      'started',
      'a started run continues',
    )
  },
)

const limit = (s: TestService, label: string, max_running: number) =>
  s.expect(200, 'POST', '/api/pacing/limit', { label, max_running, origin: 'ann-laptop' })

/** Two runners with labels and room, online, and projects to work for. */
async function labelled(s: TestService): Promise<readonly { readonly token: string }[]> {
  for (const key of ['shop', 'till', 'bank']) await s.project(key)
  const runners = []
  for (const id of ['r1', 'r2']) {
    const token = await s.runner(id, { trusted: true, capacity: 4, labels: ['gpu'] })
    await s.call('GET', `/api/runners/${id}/run-requests/next`, undefined, { token })
    runners.push({ token })
  }
  return runners
}

t.test(
  'a limited label holds for items and run requests of all projects and runners, and is told everywhere',
  async (t) => {
    const s = await startTestService(t)
    const [r1, r2] = await labelled(s)
    const set = (await limit(s, 'gpu', 1)).body.label_limits
    t.match(set, [{ label: 'gpu', max_running: 1, under_way: 0, origin: 'ann-laptop', by: { name: 'admin' } }])
    const [fact] = await stated(s, 'pacing_label_limited')
    t.match(fact, { project: 'system', payload: { label: 'gpu', max_running: 1, operator_origin: 'ann-laptop' } })
    const run = await s.request('till', { labels: ['gpu'] })
    const offer = await s.expect(200, 'GET', '/api/runners/r2/run-requests/next?wait=5', undefined, r2)
    t.equal(offer.body.request_id, run.id)
    await s.expect(200, 'POST', `/api/run-requests/${run.id}/started`, {}, r2)
    const item = await submit(s, { labels: ['gpu'] })
    t.match(item, {
      state: 'queued',
      waiting_because: { code: 'label_limit', detail: '1 of 1 with the label gpu are running' },
    })
    const direct = await s.request('bank', { labels: ['gpu'] })
    t.match((await s.expect(200, 'GET', `/api/run-requests/${direct.id}`)).body.waiting_because, {
      code: 'label_limit',
      detail: '1 of 1 runs with the label gpu are under way.',
    })
    // A run request waits for the label, so the item stands in line with it.
    const isInLine = ({ waiting_because: why }: any) =>
      why?.code === 'handed_out' && why.detail.endsWith('(1 of 1 runs with the label gpu are under way.)')
    await until(read(s, item.id), isInLine)
    const pacing = async () => (await s.expect(200, 'GET', '/api/pacing')).body
    const { running } = await until(pacing, ({ label_limits: [{ under_way }] }) => under_way === 1)
    t.match(running, [{ id: item.id, state: 'queued' }])
    t.same((await s.expect(200, 'GET', '/api/attention')).body.items, [], 'nobody need see to it')
    const metrics = (await s.call('GET', '/metrics')).body
    t.match(metrics, /^intendant_label_runs_max\{label="gpu"\} 1$/m)
    t.match(metrics, /^intendant_label_runs\{label="gpu"\} 1$/m)
    const parked = s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=10', undefined, r1)
    await s.expect(200, 'POST', `/api/run-requests/${run.id}/completed`, { result: {} }, r2)
    t.equal((await parked).body.request_id, direct.id, 'the freed place wakes a poll of another runner')
    const woken = s.expect(200, 'GET', '/api/runners/r2/run-requests/next?wait=10', undefined, r2)
    t.same((await s.expect(200, 'POST', '/api/pacing/unlimit', { label: 'gpu' })).body.label_limits, [])
    t.equal((await woken).body.request_id, (await read(s, item.id)()).run_request_id)
    t.same((await stated(s, 'pacing_label_unlimited'))[0].payload, { label: 'gpu', operator_origin: 'admin@127.0.0.1' })
  },
)

t.test(
  'a stream of run requests with a full label does not keep an item with that label waiting for ever',
  async (t) => {
    const s = await startTestService(t)
    const runners = await labelled(s)
    await limit(s, 'gpu', 1)
    let made = 0
    const another = () => s.request('till', { labels: ['gpu'], payload: { name: `n${made++}` }, again: true })
    const poll = (turn: number) =>
      s.expect(200, 'GET', `/api/runners/r${(turn % 2) + 1}/run-requests/next?wait=10`, undefined, runners[turn % 2]!)
    await another()
    let offer = await poll(0)
    const item = await submit(s, { labels: ['gpu'] })
    let turn = 0
    while (offer.body.project.key !== 'shop' && turn < 6) {
      const as = runners[turn % 2]!
      await s.expect(200, 'POST', `/api/run-requests/${offer.body.request_id}/started`, {}, as)
      // Whenever the place becomes free, another run request and a runner's poll wait for it.
      await another()
      turn++
      const parked = poll(turn)
      await until(
        async () => (await s.call('GET', '/metrics')).body,
        (text) => /^intendant_parked_polls 1$/m.test(text),
      )
      await s.expect(200, 'POST', `/api/run-requests/${offer.body.request_id}/completed`, { result: {} }, as)
      offer = await parked
    }
    t.ok(turn < 6, `its turn was ${turn}`)
    t.equal(offer.body.request_id, (await read(s, item.id)()).run_request_id)
  },
)

t.test('a limit of 0 takes back what was not accepted, and says so', async (t) => {
  const s = await startTestService(t)
  const [r1] = await labelled(s)
  const request = await s.request('shop', { labels: ['gpu'] })
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, r1)
  await limit(s, 'gpu', 0)
  const back = await until(
    async () => (await s.expect(200, 'GET', `/api/run-requests/${request.id}`)).body,
    ({ state }) => state === 'queued',
  )
  t.match(back.waiting_because, { code: 'label_limit', detail: 'The label gpu is limited to 0.' })
  const [released] = await stated(s, 'run_request_released')
  t.equal(released.payload.reason, 'a label that it requires was limited before it was accepted')
})

t.test('limits of labels survive a restart, and count what is under way', async (t) => {
  const home = t.testdir()
  const options = {
    openJournal: (onFailure: (failure: Error) => void) => openDiskJournal({ home, onFailure } as never),
  }
  const before = await startTestService(t, { home }, options)
  const [r1] = await labelled(before)
  await limit(before, 'gpu', 1)
  const run = await before.request('till', { labels: ['gpu'] })
  await before.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, r1)
  await before.expect(200, 'POST', `/api/run-requests/${run.id}/started`, {}, r1)
  await before.service.close()
  const after = await startTestService(t, { home }, options)
  const next = await after.request('shop', { labels: ['gpu'] })
  t.equal((await after.call('GET', '/api/runners/r1/run-requests/next', undefined, r1)).status, 204)
  t.match((await after.expect(200, 'GET', '/api/pacing')).body.label_limits, [{ label: 'gpu', under_way: 1 }])
  await after.expect(200, 'POST', `/api/run-requests/${run.id}/completed`, { result: {} }, r1)
  const offer = await after.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, r1)
  t.equal(offer.body.request_id, next.id)
})

t.test('what no label or number can be is refused with its place, and so is one label too many', async (t) => {
  const s = await startTestService(t)
  for (const [body, pointer] of [
    [{ label: 'gpu' }, '/max_running'],
    [{ max_running: 1 }, '/label'],
    [{ label: 'gpu', max_running: -1 }, '/max_running'],
    [{ label: 'gpu', max_running: 1.5 }, '/max_running'],
    [{ label: 'gpu', max_running: null }, '/max_running'],
    [{ label: '-gpu', max_running: 1 }, '/label'],
    [{ label: 'gpu', max_running: 1, lanes: [] }, '/lanes'],
  ] as const) {
    const { body: problem } = await s.expect(422, 'POST', '/api/pacing/limit', body)
    t.match(problem, { code: 'invalid_body', errors: [{ pointer }] }, JSON.stringify(body))
  }
  t.equal((await s.expect(422, 'POST', '/api/pacing/unlimit', {})).body.code, 'invalid_body')
  await s.project('till')
  const token = await s.token('eve', { roles: ['operator'], projects: ['till'] })
  for (const [path, body] of [
    ['limit', { label: 'gpu', max_running: 1 }],
    ['unlimit', { label: 'gpu' }],
  ] as const)
    t.equal((await s.expect(403, 'POST', `/api/pacing/${path}`, body, { token })).body.code, 'forbidden')
  t.same(await stated(s, 'pacing_label_limited'), [])
  await Promise.all(Array.from({ length: LABEL_LIMITS_MAX }, (_, n) => limit(s, `l${n}`, n)))
  const full = await s.expect(409, 'POST', '/api/pacing/limit', { label: 'gpu', max_running: 1 })
  t.match(full.body, { code: 'too_many_label_limits', retryable: false, detail: /At most 256 labels/ })
  await limit(s, 'l7', 70)
})

const weigh = (s: TestService, project: string, weight: number) =>
  s.expect(200, 'POST', '/api/pacing/weigh', { project, weight, origin: 'ann-laptop' })

/** Has the runner take, start and complete so many runs, one after the other; the projects that they were of. */
async function runs(s: TestService, count: number, runner: { readonly token: string }): Promise<string[]> {
  const projects: string[] = []
  for (let n = 0; n < count; n++) {
    const { body } = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=10', undefined, runner)
    projects.push(body.project.key)
    await s.expect(200, 'POST', `/api/run-requests/${body.request_id}/started`, {}, runner)
    await s.expect(200, 'POST', `/api/run-requests/${body.request_id}/completed`, { result: {} }, runner)
  }
  return projects
}

const shareOf = (project: string, projects: readonly string[]) => projects.filter((one) => one === project).length

t.test(
  'a project of weight 3 gets three of four run requests while another has work, and a weight of 1 ends that',
  async (t) => {
    const s = await startTestService(t)
    for (const key of ['shop', 'till']) await s.project(key)
    const runner = { token: await s.runner('r1', { trusted: true }) }
    const { body } = await weigh(s, 'shop', 3)
    t.match(body.weights, [{ project: 'shop', weight: 3, origin: 'ann-laptop', by: { name: 'admin' } }])
    const [fact] = await stated(s, 'pacing_project_weighed')
    t.match(fact, { project: 'system', payload: { project: 'shop', weight: 3, operator_origin: 'ann-laptop' } })
    t.match((await s.call('GET', '/metrics')).body, /^intendant_project_weight\{project="shop"\} 3$/m)
    for (let n = 0; n < 20; n++)
      for (const project of ['till', 'shop']) await s.request(project, { payload: { name: `n${n}` } })
    t.equal(shareOf('shop', (await runs(s, 16, runner)).slice(4)), 9)
    t.same((await weigh(s, 'shop', 1)).body.weights, [])
    t.equal(shareOf('shop', await runs(s, 6, runner)), 3)
  },
)

t.test('items of the ledger start by weight once a project has one, and by age until then', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'till')
  await pause(s)
  for (let n = 0; n < 10; n++) await submit(s, { objective: `Do ${n}` })
  for (let n = 0; n < 10; n++) await submit(s, { project: 'till', objective: `Do ${n}` })
  await weigh(s, 'till', 3)
  await resume(s)
  const first = await runs(s, 8, runner)
  t.ok(shareOf('till', first) >= 4, `${first}, though those of shop are older`)
  await weigh(s, 'till', 1)
})

t.test('weights survive a restart', async (t) => {
  const home = t.testdir()
  const options = {
    openJournal: (onFailure: (failure: Error) => void) => openDiskJournal({ home, onFailure } as never),
  }
  const before = await startTestService(t, { home }, options)
  for (const key of ['shop', 'till']) await before.project(key)
  const runner = { token: await before.runner('r1', { trusted: true }) }
  await weigh(before, 'shop', 3)
  await before.service.close()
  const after = await startTestService(t, { home }, options)
  t.match((await after.expect(200, 'GET', '/api/pacing')).body.weights, [{ project: 'shop', weight: 3 }])
  for (let n = 0; n < 12; n++)
    for (const project of ['till', 'shop']) await after.request(project, { payload: { name: `n${n}` } })
  t.equal(shareOf('shop', (await runs(after, 12, runner)).slice(4)), 6)
})

t.test('only who sees all projects weighs one, and who sees some is told of theirs alone', async (t) => {
  const s = await startTestService(t)
  for (const key of ['shop', 'till']) await s.project(key)
  await weigh(s, 'shop', 3)
  await weigh(s, 'till', 2)
  const token = await s.token('eve', { roles: ['operator'], projects: ['till'] })
  const refused = await s.expect(403, 'POST', '/api/pacing/weigh', { project: 'till', weight: 100 }, { token })
  t.equal(refused.body.code, 'forbidden')
  const { weights } = (await s.expect(200, 'GET', '/api/pacing', undefined, { token })).body
  t.match(weights, [{ project: 'till', weight: 2 }])
  t.equal(weights.length, 1)
  const seen = await s.expect(200, 'GET', '/api/events?event_type=pacing_project_weighed', undefined, { token })
  t.same(seen.body.items, [], 'the events name projects')
})

t.test('what no weight or project can be is refused with its place', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  for (const [body, pointer] of [
    [{ project: 'shop' }, '/weight'],
    [{ weight: 2 }, '/project'],
    [{ project: 'shop', weight: 0 }, '/weight'],
    [{ project: 'shop', weight: WEIGHT_MAX + 1 }, '/weight'],
    [{ project: 'shop', weight: 1.5 }, '/weight'],
    [{ project: 'Shop', weight: 2 }, '/project'],
  ] as const) {
    const { body: problem } = await s.expect(422, 'POST', '/api/pacing/weigh', body)
    t.match(problem, { code: 'invalid_body', errors: [{ pointer }] }, JSON.stringify(body))
  }
  const unknown = await s.expect(422, 'POST', '/api/pacing/weigh', { project: 'till', weight: 2 })
  t.match(unknown.body, { code: 'unknown_project', errors: [{ pointer: '/project' }] })
  t.same(await stated(s, 'pacing_project_weighed'), [])
})
