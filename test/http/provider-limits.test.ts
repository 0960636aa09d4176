/** An unavailable provider over HTTP: runs wait for it, runners rest, and all of it ends by itself. */
import t, { type Test } from 'tap'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { until } from '../until.ts'
import {
  AT,
  COMPLETE,
  finish,
  fleet,
  history,
  inState,
  type Runner,
  reading,
  submit,
  take,
  waits,
} from './ledger-harness.ts'
import { metric, startTestService, type TestService } from './service-harness.ts'

const WORDS = 'You have hit your usage limit'
const HOUR_MS = 3_600_000

/** Takes the next request and starts it, in whichever attempt. */
async function begin(s: TestService, runner: Runner): Promise<any> {
  const request = await take(s, runner)
  const { request_id, attempt } = request
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/started`, { attempt }, runner)
  return request
}

async function limit(s: TestService, { token }: Runner, request: string, result: object = {}): Promise<any> {
  const body = { class: 'dispatch', code: 'usage_limit', message: WORDS, result }
  const { attempt } = (await s.expect(200, 'GET', `/api/run-requests/${request}`)).body
  return (await s.expect(200, 'POST', `/api/run-requests/${request}/failed`, { attempt, ...body }, { token })).body
}

const runnerOf =
  (s: TestService, id = 'r1') =>
  async () =>
    (await s.expect(200, 'GET', `/api/runners/${id}`)).body
const poll = (s: TestService, { token }: Runner, id = 'r1') =>
  s.call('GET', `/api/runners/${id}/run-requests/next`, undefined, { token })
const eventsOf = async (s: TestService, type: string): Promise<any[]> =>
  (await s.expect(200, 'GET', `/api/events?event_type=${type}&order=asc`)).body.items

async function started(t: Test, ...projects: string[]) {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const runner = await fleet(s, ...(projects.length === 0 ? ['shop'] : projects))
  return { s, runner, platform }
}

t.test('an item whose provider is limited waits until it is back, and then lands from what was kept', async (t) => {
  const { s, runner, platform } = await started(t)
  const { id } = await submit(s)
  const { request_id } = await begin(s, runner)
  const told = {
    ...COMPLETE,
    success: false,
    landed: false,
    verdict: 'runner_error',
    detail: WORDS,
    failure_code: 'usage_limit',
  }
  const event = {
    event_type: 'task_run_completed',
    occurred_at: AT,
    payload: { ...told, preservation_ref: 'intendant/x' },
  }
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events: [event] }, runner)
  const answer = await limit(s, runner, request_id, { retry_after: 7200, preservation_ref: 'intendant/x' })
  t.match(answer.run_request, { state: 'queued', attempt: 2 })
  const waiting = await until(reading(s, id), waits('provider_unavailable'))
  t.match(waiting, { state: 'running', disposition: { preservation_ref: 'intendant/x' } })
  t.match(waiting.waiting_because.detail, new RegExp(`r1 reported usage_limit: ${WORDS}`))
  const run = (await s.expect(200, 'GET', `/api/run-requests/${request_id}`)).body
  t.match(run.waiting_because, { code: 'provider_unavailable' })
  const leftMs = Date.parse(run.not_before) - platform.wallMs()
  t.ok(leftMs > 2 * HOUR_MS - 60_000 && leftMs <= 2 * HOUR_MS, 'for as long as the provider said')

  platform.advance(2 * HOUR_MS - 60_000)
  t.equal((await poll(s, runner)).status, 204)
  platform.advance(61_000)
  const again = await begin(s, runner)
  t.match(again, { request_id, attempt: 2, engine: { payload: { base_ref: 'intendant/x' } } })
  const landed = { events: [{ event_type: 'task_run_completed', occurred_at: AT, payload: COMPLETE }], attempt: 2 }
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, landed, runner)
  await inState(s, id, 'landed')
  t.same(
    (await history(s, id)).map(({ event_type }) => event_type),
    ['work_item_submitted', 'work_item_started', 'work_item_settled'],
  )
})

t.test('a limited runner is offered nothing, says until when, and takes work again by itself', async (t) => {
  const { s, runner, platform } = await started(t)
  await submit(s)
  const other = await submit(s, { objective: 'Another', allow_duplicate: true })
  const first = await begin(s, runner)
  const until_at = new Date(platform.wallMs() + HOUR_MS).toISOString()
  await limit(s, runner, first.request_id, { retry_after: until_at })
  t.equal((await poll(s, runner)).status, 204, 'at once, before its record says so')
  const limited = await until(runnerOf(s), ({ limited }) => limited !== undefined)
  t.match(limited.limited, {
    code: 'usage_limit',
    message: WORDS,
    until: until_at,
    is_stated: true,
    run_request_id: first.request_id,
  })
  const shown = await until(reading(s, other.id), waits('limited'))
  t.match(shown, { state: 'queued', reason: shown.waiting_because.detail })
  t.equal(shown.waiting_because.detail, `Limited: r1 until ${until_at} (usage_limit: ${WORDS}).`)
  t.equal(await metric(s, 'intendant_runners_limited'), 1)
  t.match(await eventsOf(s, 'runner_limited'), [{ payload: { runner_id: 'r1', limited: { until: until_at } } }])
  const greet = { entry_event: 'greet_requested', payload: { name: 'Ada' } }
  const bare = await s.request('shop', greet)
  const { waiting_because } = (await s.expect(200, 'GET', `/api/run-requests/${bare.id}`)).body
  t.match(waiting_because, { code: 'limited', detail: new RegExp(`r1 until ${until_at}`) })

  platform.advance(HOUR_MS + 1_000)
  await until(runnerOf(s), ({ limited }) => limited === undefined)
  t.match(await eventsOf(s, 'runner_limit_ended'), [{ payload: { reason: 'its time is over' } }])
  t.equal((await poll(s, runner)).status, 200)
})

t.test('without a word of the provider the pauses grow, and a run that completes ends them', async (t) => {
  const { s, runner, platform } = await started(t)
  const { id } = await submit(s)
  const pauses: number[] = []
  for (let times = 0; times < 7; times++) {
    const { request_id } = await begin(s, runner)
    const { run_request } = await limit(s, runner, request_id)
    pauses.push(Math.round((Date.parse(run_request.not_before) - platform.wallMs()) / 60_000))
    const { limited } = await until(runnerOf(s), (one) => one.limited !== undefined)
    t.equal(limited.is_stated, false)
    platform.advance(Date.parse(limited.until) - platform.wallMs() + 1_000)
    await until(runnerOf(s), (one) => one.limited === undefined)
    await poll(s, runner)
  }
  t.same(pauses, [1, 2, 4, 8, 16, 30, 30])
  const last = await begin(s, runner)
  const events = [{ event_type: 'task_run_completed', occurred_at: AT, payload: COMPLETE }]
  const { attempt } = last
  await s.expect(200, 'POST', `/api/run-requests/${last.request_id}/events`, { attempt, events }, runner)
  await s.expect(200, 'POST', `/api/run-requests/${last.request_id}/completed`, { attempt, result: {} }, runner)
  await inState(s, id, 'landed')
  await submit(s, { objective: 'Another' })
  const { request_id } = await begin(s, runner)
  const { run_request } = await limit(s, runner, request_id)
  t.ok(Date.parse(run_request.not_before) - platform.wallMs() <= 60_000)
})

t.test('a poll that waits while a run of its runner meets a limit gets nothing', async (t) => {
  const { s, runner } = await started(t)
  await s.expect(200, 'PATCH', '/api/runners/r1', { capacity: 1 })
  const greet = { entry_event: 'greet_requested', payload: { name: 'Ada' } }
  const first = await s.request('shop', greet)
  await s.request('shop', { ...greet, payload: { name: 'Bea' } })
  await begin(s, runner)
  const parked = s.call('GET', '/api/runners/r1/run-requests/next?wait=2', undefined, { token: runner.token })
  await until(
    () => metric(s, 'intendant_parked_polls'),
    (count) => count === 1,
  )
  await limit(s, runner, first.id, { retry_after: 3600 })
  t.equal((await parked).status, 204)
  t.equal((await eventsOf(s, 'run_request_offered')).length, 1, 'not even an offer that is taken back')
})

t.test('a run that completes meanwhile ends the limit of its runner', async (t) => {
  const { s, runner } = await started(t, 'shop', 'bank')
  await submit(s)
  const kept = await submit(s, { project: 'bank' })
  const first = await begin(s, runner)
  const second = await begin(s, runner)
  const [shop, bank] = first.project.key === 'shop' ? [first, second] : [second, first]
  await limit(s, runner, shop.request_id, { retry_after: 3600 })
  await until(runnerOf(s), ({ limited }) => limited !== undefined)
  await finish(s, runner, bank.request_id, { ...COMPLETE, project: 'bank' })
  await inState(s, kept.id, 'landed')
  await until(runnerOf(s), ({ limited }) => limited === undefined)
  t.match(await eventsOf(s, 'runner_limit_ended'), [
    { payload: { reason: `run ${bank.request_id} of it has completed` } },
  ])
})

t.test('an operator ends a limit, and does not wait with a run', async (t) => {
  const { s, runner } = await started(t)
  const { id } = await submit(s)
  const { request_id } = await begin(s, runner)
  await limit(s, runner, request_id, { retry_after: 3600 })
  await until(runnerOf(s), ({ limited }) => limited !== undefined)
  t.notOk('limited' in (await s.expect(200, 'PATCH', '/api/runners/r1', { limited: false })).body)
  t.match(await eventsOf(s, 'runner_limit_ended'), [{ payload: { reason: 'an operator ended it' } }])
  t.equal((await poll(s, runner)).status, 204, 'the run itself still waits')
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/requeue`)
  t.match(await begin(s, runner), { request_id, attempt: 3 })
  t.match(await inState(s, id, 'running'), { reason: /running on r1 again/ })
  t.match((await s.expect(422, 'PATCH', '/api/runners/r1', { limited: true })).body, {
    errors: [{ pointer: '/limited' }],
  })
})

t.test('an item that waits for its provider can be cancelled', async (t) => {
  const { s, runner } = await started(t)
  const { id } = await submit(s)
  const { request_id } = await begin(s, runner)
  await limit(s, runner, request_id, { retry_after: 3600 })
  await until(reading(s, id), waits('provider_unavailable'))
  await s.expect(200, 'POST', `/api/work-items/${id}/cancel`)
  t.match(await inState(s, id, 'cancelled'), { reason: /cancelled by admin/ })
})

t.test('where the work is that a limited run has kept stays with its item, whatever ends it', async (t) => {
  const { s, runner } = await started(t)
  const interrupted = async (): Promise<{ readonly id: string; readonly request: string }> => {
    const { id } = await submit(s)
    const { request_id } = await begin(s, runner)
    await limit(s, runner, request_id, { retry_after: 3600, preservation_ref: 'intendant/x' })
    t.match(await until(reading(s, id), waits('provider_unavailable')), {
      disposition: { preservation_ref: 'intendant/x' },
    })
    await s.expect(200, 'PATCH', '/api/runners/r1', { limited: false })
    return { id, request: request_id }
  }
  const goesOn = async (): Promise<{ readonly id: string; readonly request: string; readonly attempt: number }> => {
    const { id, request } = await interrupted()
    await s.expect(200, 'POST', `/api/run-requests/${request}/requeue`)
    const { attempt } = await begin(s, runner)
    return { id, request, attempt }
  }
  const kept = { disposition: { preservation_ref: 'intendant/x' } }

  const cancelled = await interrupted()
  await s.expect(200, 'POST', `/api/work-items/${cancelled.id}/cancel`)
  t.match(await inState(s, cancelled.id, 'cancelled'), kept)

  const failed = await goesOn()
  const failure = { attempt: failed.attempt, class: 'execution', message: 'it broke' }
  await s.expect(200, 'POST', `/api/run-requests/${failed.request}/failed`, failure, runner)
  t.match(await inState(s, failed.id, 'failed'), kept)

  for (const [state, said] of [
    ['failed', { verdict: 'runner_error', detail: 'it broke' }],
    ['needs_decision', { verdict: 'blocked_on_decision', finding: 'Which?', options: ['a', 'b'] }],
  ] as const) {
    const { id, request, attempt } = await goesOn()
    const { preservation_ref: _, ...result } = COMPLETE
    const payload = { ...result, success: false, landed: false, ...said }
    const event = { event_type: 'task_run_completed', occurred_at: AT, payload }
    await s.expect(200, 'POST', `/api/run-requests/${request}/events`, { attempt, events: [event] }, runner)
    t.match(await inState(s, id, state), { disposition: { verdict: said.verdict, preservation_ref: 'intendant/x' } })
    await s.expect(200, 'POST', `/api/run-requests/${request}/completed`, { attempt, result: {} }, runner)
  }

  const discarded = await interrupted()
  await s.expect(200, 'POST', `/api/work-items/${discarded.id}/cancel`, { discard_work: true })
  t.notOk((await inState(s, discarded.id, 'cancelled')).disposition?.preservation_ref, 'unless it is to be discarded')
})

t.test('a waiting item holds no repository', async (t) => {
  const { s, runner } = await started(t)
  const token = await s.runner('r2', { trusted: true })
  const second = { token }
  await poll(s, second, 'r2')
  const { id } = await submit(s)
  const { request_id } = await begin(s, runner)
  await limit(s, runner, request_id, { retry_after: 3600 })
  await until(reading(s, id), waits('provider_unavailable'))
  const other = await submit(s, { objective: 'Another' })
  await until(reading(s, other.id), waits('handed_out'))
  const next = await s.expect(200, 'GET', '/api/runners/r2/run-requests/next?wait=5', undefined, second)
  t.equal(next.body.engine.payload.item_id, other.id)
})

t.test('a run request waits for its provider if its retry policy says so, and fails at once otherwise', async (t) => {
  const { s, runner } = await started(t)
  const retry = { max_attempts: 2, on: ['execution'], backoff_seconds: 0 }
  const greet = { entry_event: 'greet_requested', payload: { name: 'Ada' } }
  const failing = await s.request('shop', { ...greet, retry })
  await begin(s, runner)
  t.match((await limit(s, runner, failing.id)).run_request, { state: 'failed', failure: { code: 'usage_limit' } })
  await until(runnerOf(s), ({ limited }) => limited !== undefined)
  await s.expect(200, 'PATCH', '/api/runners/r1', { limited: false })
  const waiting = await s.request('shop', { ...greet, again: true, retry: { ...retry, wait_for_provider: true } })
  t.equal((await begin(s, runner)).request_id, waiting.id)
  t.match((await limit(s, runner, waiting.id, { retry_after: 90 })).run_request, { state: 'queued', attempt: 2 })
})

t.test('three runners land thirty items although their provider is limited twice', async (t) => {
  const { s, platform } = await started(t)
  const ids: string[] = []
  for (let n = 0; n < 30; n++) ids.push((await submit(s, { objective: `Task ${n}` })).id)
  const runners = [
    { id: 'a', token: '' },
    { id: 'b', token: '' },
    { id: 'c', token: '' },
  ]
  await s.expect(204, 'DELETE', '/api/runners/r1')
  await s.expect(200, 'PATCH', '/api/projects/shop', { max_writers: 3 })
  for (const runner of runners) runner.token = await s.runner(runner.id, { trusted: true })
  const outages = [10, 20]
  let [attempts, landed, isAway] = [0, 0, false]
  const once = new Map<string, number>()
  for (let round = 0; landed < 30 && round < 300; round++) {
    const { id, token } = runners[round % 3]!
    const got = await s.call('GET', `/api/runners/${id}/run-requests/next?wait=1`, undefined, { token })
    if (got.status === 204) {
      const resting = await Promise.all(runners.map((one) => runnerOf(s, one.id)()))
      if (!resting.every(({ limited }) => limited !== undefined)) continue
      platform.advance(HOUR_MS)
      isAway = false
      await until(runnerOf(s, 'c'), ({ limited }) => limited === undefined)
      continue
    }
    attempts++
    const { request_id, attempt, engine } = got.body
    if (landed === outages[0]) {
      isAway = true
      outages.shift()
    }
    if (isAway) {
      await limit(s, { token }, request_id, { retry_after: 3000 })
      continue
    }
    const events = [{ event_type: 'task_run_completed', occurred_at: AT, payload: COMPLETE }]
    const path = `/api/run-requests/${request_id}`
    await s.expect(200, 'POST', `${path}/events`, { attempt, events }, { token })
    await s.expect(200, 'POST', `${path}/completed`, { attempt, result: {} }, { token })
    once.set(engine.payload.item_id, (once.get(engine.payload.item_id) ?? 0) + 1)
    landed++
  }
  for (const id of ids) t.equal((await reading(s, id)()).state, 'landed')
  t.same([...once.values()], new Array(30).fill(1), 'none was done twice')
  t.ok(attempts <= 36, `${attempts} attempts: each runner meets each outage once`)
  t.same(await eventsOf(s, 'run_request_failed'), [])
})

t.test('a person is called once nobody has known for an hour when the provider is back', async (t) => {
  const { s, runner, platform } = await started(t)
  const called = async (): Promise<any[]> =>
    (await s.expect(200, 'GET', '/api/attention?reason=no_runner_online')).body.items
  await submit(s)
  const sinceMs = platform.wallMs()
  for (let pauses = 0; pauses < 6; pauses++) {
    const { request_id } = await begin(s, runner)
    await limit(s, runner, request_id)
    const { limited } = await until(runnerOf(s), ({ limited }) => limited !== undefined)
    t.same(await called(), [], 'not yet')
    if (pauses < 5) platform.advance(Date.parse(limited.until) - platform.wallMs() + 1_000)
    else platform.advance(sinceMs + HOUR_MS + 60_000 - platform.wallMs())
    await poll(s, runner)
  }
  const [call, ...others] = await called()
  t.match(call, { kind: 'stalled_project', project: 'shop', because: { code: 'limited', detail: /r1 until/ } })
  t.ok(Date.parse(call.since) - sinceMs < 60_000, 'since the first run that said so')
  t.same(others, [])
  // Its time is over, and the run tries again: whether the provider is back is not known yet.
  const { limited } = await runnerOf(s)()
  platform.advance(Date.parse(limited.until) - platform.wallMs() + 1_000)
  await until(runnerOf(s), (one) => one.limited === undefined)
  const ofTry = { since: call.since, because: { code: 'limited', detail: /r1, being tried again \(usage_limit/ } }
  t.match(await called(), [ofTry], 'queued')
  const { request_id } = await begin(s, runner)
  t.match(await called(), [ofTry], 'begun')
  await limit(s, runner, request_id)
  await until(runnerOf(s), (one) => one.limited !== undefined)
  t.match(await called(), [{ since: call.since, because: { detail: /r1 until/ } }])
  await s.expect(200, 'PATCH', '/api/runners/r1', { limited: false })
  t.same(await called(), [])
})

t.test('who was called while a run tries the provider is not told after a restart that it is back', async (t) => {
  const platform = new AdvanceablePlatform()
  const home = t.testdir()
  const openJournal = (onFailure: (failure: Error) => void) => openDiskJournal({ home, onFailure } as never)
  const start = () => startTestService(t, { home }, { openJournal, platform })
  const s = await start()
  const runner = await fleet(s, 'shop')
  await submit(s)
  for (let times = 0; times < 7; times++) {
    const { request_id } = await begin(s, runner)
    await limit(s, runner, request_id)
    const { limited } = await until(runnerOf(s), (one) => one.limited !== undefined)
    platform.advance(Date.parse(limited.until) - platform.wallMs() + 1_000)
    await until(runnerOf(s), (one) => one.limited === undefined)
    await poll(s, runner)
  }
  await begin(s, runner)
  const called = async (s: TestService): Promise<any[]> =>
    (await s.expect(200, 'GET', '/api/attention?reason=no_runner_online')).body.items
  const before = await called(s)
  t.match(before, [{ because: { code: 'limited', detail: /r1, being tried again \(usage_limit/ } }])
  await s.service.close()
  t.strictSame(await called(await start()), before)
})

t.test('a run that goes on for ten minutes shows that its provider is back', async (t) => {
  const { s, runner, platform } = await started(t)
  const called = async (): Promise<any[]> =>
    (await s.expect(200, 'GET', '/api/attention?reason=no_runner_online')).body.items
  await submit(s)
  const first = await begin(s, runner)
  await limit(s, runner, first.request_id, { retry_after: HOUR_MS / 1_000 })
  const again = async () => {
    await until(runnerOf(s), ({ limited }) => limited !== undefined)
    platform.advance(HOUR_MS + 1_000)
    await until(runnerOf(s), ({ limited }) => limited === undefined)
    return await begin(s, runner)
  }
  const second = await again()
  t.same(await called(), [], 'the provider had said until when')
  await limit(s, runner, second.request_id)
  const third = await again()
  t.equal((await called()).length, 1)
  const { attempt } = third
  for (let minutes = 0; minutes < 10; minutes++) {
    t.equal((await called()).length, 1)
    platform.advance(60_000)
    await s.expect(200, 'POST', `/api/run-requests/${third.request_id}/heartbeat`, { attempt }, runner)
  }
  t.same(await called(), [])
})

t.test('work whose agent is missing on one runner goes to another at once', async (t) => {
  const { s, runner, platform } = await started(t)
  const called = async (): Promise<any[]> =>
    (await s.expect(200, 'GET', '/api/attention?reason=no_runner_online')).body.items
  const { id } = await submit(s)
  const { request_id, attempt } = await begin(s, runner)
  const missing = { class: 'dispatch', code: 'agent_missing', message: 'sh: 1: claude: not found' }
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/failed`, { attempt, ...missing }, runner)
  platform.advance(1_000)
  const waiting = await until(reading(s, id), waits('limited'))
  t.match(waiting, {
    state: 'running',
    waiting_because: { detail: /^Limited: r1 until .* \(agent_missing: sh: 1: cl/ },
  })
  t.match(await called(), [{ project: 'shop', because: { code: 'limited' } }], 'it does not come by itself')
  t.equal((await poll(s, runner)).status, 204)
  const other = { token: await s.runner('r2', { trusted: true }) }
  const again = await s.expect(200, 'GET', '/api/runners/r2/run-requests/next?wait=5', undefined, other)
  t.match(again.body, { request_id, attempt: 2 })
  t.same(await called(), [])
})

t.test('an item that waits for its provider cannot be held, and the answer says what helps', async (t) => {
  const { s, runner } = await started(t)
  const { id } = await submit(s)
  const { request_id } = await begin(s, runner)
  t.notMatch((await s.expect(409, 'POST', `/api/work-items/${id}/hold`)).body.detail, /lane/)
  await limit(s, runner, request_id, { retry_after: 3600 })
  await until(reading(s, id), waits('provider_unavailable'))
  t.match((await s.expect(409, 'POST', `/api/work-items/${id}/hold`)).body.detail, /Pause its lane .* or cancel it/)
})

t.test('nobody is called for a limit whose end the provider has stated', async (t) => {
  const { s, runner, platform } = await started(t)
  await submit(s)
  const { request_id } = await begin(s, runner)
  await limit(s, runner, request_id, { retry_after: 5 * 3600 })
  await until(runnerOf(s), ({ limited }) => limited !== undefined)
  platform.advance(2 * HOUR_MS)
  await poll(s, runner)
  t.same((await s.expect(200, 'GET', '/api/attention?reason=no_runner_online')).body.items, [])
})
