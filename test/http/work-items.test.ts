import t from 'tap'
import { until } from '../until.ts'
import { GATE } from './campaign-harness.ts'
import {
  AT,
  begin,
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
import { startTestService, type TestService } from './service-harness.ts'

t.test('a task is submitted, handed out, started and landed by its result', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const made = await s.expect(201, 'POST', '/api/work-items', { project: 'shop', objective: 'Tidy up' })
  t.match(made.body, { state: 'queued', kind: 'task', lane: 'interactive', source: { kind: 'operator', ref: 'admin' } })
  const { id, trace_id } = made.body
  const request = await take(s, runner)
  t.match(request.engine, { entry_event: 'execution_requested', throttle: 'full', access: 'full' })
  t.same(request.engine.payload, { item_id: id, objective: 'Tidy up' })
  t.equal(request.trace.trace_id, trace_id)
  const handedOut = await until(reading(s, id), waits('handed_out'))
  t.match(handedOut, { state: 'queued', waiting_because: { code: 'handed_out' }, run_request_id: request.request_id })
  await s.expect(200, 'POST', `/api/run-requests/${request.request_id}/started`, {}, runner)
  const running = await inState(s, id, 'running')
  t.match(running, { state: 'running', running_on: 'r1' })
  const event = { event_type: 'task_run_completed', occurred_at: AT, payload: COMPLETE }
  await s.expect(200, 'POST', `/api/run-requests/${request.request_id}/events`, { events: [event] }, runner)
  const landed = await inState(s, id, 'landed')
  t.match(landed, { state: 'landed', disposition: { verdict: 'complete', landed_commit: 'abc1234' } })
  const result = { result: { status: 'completed' } }
  await s.expect(200, 'POST', `/api/run-requests/${request.request_id}/completed`, result, runner)
  t.same(
    (await history(s, id)).map(({ event_type }) => event_type),
    ['work_item_submitted', 'work_item_started', 'work_item_settled'],
  )
})

t.test(
  'a result that was ingested with a trace settles nothing, but the same result posted by the run settles its item',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop', 'till')
    const { id } = await submit(s)
    const { request_id, trace } = await begin(s, runner)
    const stated = { event_type: 'task_run_completed', occurred_at: AT, payload: COMPLETE }
    const whole = { ...stated, project: 'shop', throttle: 'full', trace_id: trace.trace_id }
    await s.expect(200, 'POST', `/engine/traces/${trace.trace_id}/ingest`, [whole], runner)
    t.match(await inState(s, id, 'running'), { state: 'running' })
    const post = (events: object[]) =>
      s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events }, runner)
    const output = { event_type: 'run_output', occurred_at: AT, payload: { stream: 'stdout', text: 'x' } }
    t.match((await post([output, stated, stated])).body, { accepted: 1, duplicates: 2 })
    t.match(await inState(s, id, 'landed'), { disposition: { landed_commit: 'abc1234' } })
    t.match((await post([stated])).body, { accepted: 0, duplicates: 1 })
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/completed`, { result: {} }, runner)
    t.same(
      (await history(s, id)).map(({ event_type }) => event_type),
      ['work_item_submitted', 'work_item_started', 'work_item_settled'],
    )
    const recorded = (await s.expect(200, 'GET', '/api/events?event_type=task_run_completed')).body.items
    t.equal(recorded.length, 1, 'it is recorded once')
  },
)

t.test(
  "items of projects that share a repository are handed out one at a time, and another project's does not wait",
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop', 'till', 'other')
    for (const key of ['shop', 'till'])
      await s.expect(200, 'PATCH', `/api/projects/${key}`, { repository: 'git@x:shop' })
    const first = await submit(s, {})
    await until(reading(s, first.id), waits('handed_out'))
    const second = await submit(s, { project: 'till' })
    const third = await submit(s, { project: 'other' })
    await until(reading(s, third.id), waits('handed_out'))
    const busy = (await s.expect(200, 'GET', `/api/work-items/${second.id}`)).body
    t.match(busy, { state: 'queued', waiting_because: { code: 'repository_busy' } })
    t.match(busy.reason, new RegExp(`git@x:shop is held by ${first.id}`))
    await s.expect(200, 'POST', `/api/work-items/${first.id}/cancel`)
    await until(reading(s, second.id), waits('handed_out'))
    const taken = [await take(s, runner)]
    await s.expect(200, 'POST', `/api/run-requests/${taken[0].request_id}/started`, {}, runner)
    taken.push(await take(s, runner))
    t.same(taken.map(({ engine }) => engine.payload.item_id).sort(), [second.id, third.id].sort())
  },
)

t.test('work for a removed runner waits with that reason, and new work that names it is refused', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  await s.runner('r9', { trusted: true })
  const pinned = { runner_id: 'r9' }
  const item = await submit(s, { ...pinned, objective: 'First' })
  const greet = { entry_event: 'greet_requested', payload: { name: 'Ada' }, ...pinned }
  const run = await s.request('shop', { ...greet, idempotency_key: 'k' })
  await s.expect(204, 'DELETE', '/api/runners/r9')
  const code = 'runner_removed'
  t.match(await until(reading(s, item.id), waits(code)), {
    reason: 'runner r9, which it names, was removed',
  })
  t.match((await s.expect(200, 'GET', `/api/run-requests/${run.id}`)).body.waiting_because, { code })
  const { items } = (await s.expect(200, 'GET', '/api/attention?reason=no_runner')).body
  t.same(
    items.map(({ because }: any) => because.code),
    [code, code],
  )
  const campaign = { name: 'c', project: 'shop', mission: 'M', done_evidence: [GATE] }
  for (const [path, body] of [
    ['/api/projects/shop/run-requests', greet],
    ['/api/work-items', { project: 'shop', objective: 'Second', ...pinned }],
    ['/api/campaigns', { ...campaign, ...pinned }],
  ] as const) {
    const refused = await s.expect(422, 'POST', path, body)
    t.match(
      refused.body,
      { code: 'invalid_body', errors: [{ pointer: '/runner_id', detail: /was removed: name another/ }] },
      path,
    )
  }
  await s.expect(200, 'POST', '/api/projects/shop/run-requests', { ...greet, idempotency_key: 'k' })
  await s.expect(201, 'POST', '/api/work-items', { project: 'shop', objective: 'Third', runner_id: 'never-was' })
})

t.test('a not_before beyond the year 9999 in UTC is shown as the last instant of that year', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  const { id } = await submit(s, { not_before: '9999-12-31T23:59:59-23:59' })
  const { waiting_because } = await until(reading(s, id), waits('not_before'))
  t.equal(waiting_because.detail, 'not before 9999-12-31T23:59:59.999Z')
})

t.test('a plain run request that holds the repository holds items back', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const request = await s.request('shop', { throttle: 'full' })
  await s.expect(200, 'POST', `/api/run-requests/${request.id}/approve`)
  await take(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request.id}/started`, {}, runner)
  const item = await submit(s, {})
  t.match(await reading(s, item.id)(), { waiting_because: { code: 'repository_busy' }, reason: /is held by runreq_/ })
  await s.expect(200, 'POST', `/api/run-requests/${request.id}/completed`, { result: {} }, runner)
  await until(reading(s, item.id), waits('handed_out'))
})

t.test(
  "ENGINE_MAX_RUNNING limits the running and handed-out items; by default the online runners' capacity does",
  async (t) => {
    const s = await startTestService(t, { maxRunning: 2 })
    await fleet(s, 'a', 'b', 'c')
    for (const project of ['a', 'b']) await until(reading(s, (await submit(s, { project })).id), waits('handed_out'))
    const third = await submit(s, { project: 'c' })
    t.match(await reading(s, third.id)(), { waiting_because: { code: 'running_cap' }, reason: '2 of 2 are running' })

    const free = await startTestService(t)
    await free.project('shop')
    const alone = await submit(free, {})
    t.match(await reading(free, alone.id)(), {
      waiting_because: { code: 'no_runner' },
      reason: 'no runner that is online may take it',
    })
    const token = await free.runner('r1', { trusted: true })
    await free.call('GET', '/api/runners/r1/run-requests/next', undefined, { token })
    await until(reading(free, alone.id), waits('handed_out'))
  },
)

t.test('an item that no runner may take does not block items that one may', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'till')
  const odd = await submit(s, { labels: ['gpu'] })
  const plain = await submit(s, { project: 'till' })
  await until(reading(s, plain.id), waits('handed_out'))
  t.match(await reading(s, odd.id)(), { state: 'queued', waiting_because: { code: 'no_runner' } })
  await s.expect(200, 'PATCH', '/api/runners/r1', { labels: ['gpu'] })
  await until(reading(s, odd.id), waits('handed_out'))
  t.ok(runner.token)
})

t.test('an item waits for its dependencies, and is handed out once they have landed', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'till')
  const first = await submit(s, {})
  const second = await submit(s, { project: 'till', depends_on: [first.id] })
  t.match(second, { depends_on: [first.id], reason: /waits for wi_/ })
  await land(s, runner, (await take(s, runner)).request_id)
  await until(reading(s, second.id), waits('handed_out'))
  const unknown = await s.expect(422, 'POST', '/api/work-items', {
    project: 'shop',
    objective: 'x',
    depends_on: [first.id, `wi_${'0'.repeat(24)}`],
  })
  t.match(unknown.body, { code: 'unknown_work_item', errors: [{ pointer: '/depends_on/1' }] })
})

/** Starts the run that was taken, and finishes it. */
async function land(s: TestService, runner: Runner, request: string, payload: object = COMPLETE): Promise<void> {
  await s.expect(200, 'POST', `/api/run-requests/${request}/started`, {}, runner)
  await finish(s, runner, request, payload)
}

t.test(
  'an item needs a decision when its dependency did not land, and release lets it continue without it',
  async (t) => {
    const s = await startTestService(t)
    await fleet(s, 'shop', 'till')
    const first = await submit(s, {})
    const second = await submit(s, { project: 'till', depends_on: [first.id] })
    await s.expect(200, 'POST', `/api/work-items/${first.id}/cancel`)
    const blocked = await until(reading(s, second.id), ({ state }) => state === 'needs_decision')
    t.equal(blocked.reason, `its dependency ${first.id} did not land`)
    const late = await submit(s, { project: 'till', objective: 'Late', depends_on: [first.id] })
    await until(reading(s, late.id), ({ state }) => state === 'needs_decision')
    const attention = (await s.expect(200, 'GET', '/api/attention?reason=needs_decision')).body.items
    t.same(
      attention.map(({ work_item }: any) => work_item.id),
      [late.id, second.id],
    )
    const released = (await s.expect(200, 'POST', `/api/work-items/${second.id}/release`)).body
    t.equal(released.state, 'queued')
    t.notOk('depends_on' in released)
    await until(reading(s, second.id), waits('handed_out'))
  },
)

t.test(
  "hold, release and cancel are recorded in the item's history, and a refused move lists the allowed ones",
  async (t) => {
    const s = await startTestService(t)
    await s.project('shop')
    const item = await submit(s, { origin: 'by hand' })
    const post = (move: string, body?: object) => s.call('POST', `/api/work-items/${item.id}/${move}`, body)
    t.match((await post('hold', { origin: 'ann-laptop' })).body, { state: 'held', waiting_because: { code: 'held' } })
    t.equal((await post('hold')).status, 200, 'repeated')
    const refused = await post('close', { reason: 'x' })
    t.match(refused, {
      status: 409,
      body: { code: 'illegal_move', state: 'held', allowed: ['cancel', 'hold', 'release'] },
    })
    t.match((await post('release')).body, { state: 'queued' })
    const cancelled = (await post('cancel', { reason: 'not needed' })).body
    t.match(cancelled, { state: 'cancelled', reason: 'cancelled by admin: not needed' })
    t.same(
      cancelled.operator_actions.map(({ command, previous_state }: any) => [command, previous_state]),
      [
        ['hold', 'queued'],
        ['release', 'held'],
        ['cancel', 'queued'],
      ],
    )
    t.equal(cancelled.operator_actions[0].origin, 'ann-laptop')
    t.match((await post('release')).body, { code: 'illegal_move', allowed: [] })
    t.equal((await post('close', {})).status, 422)
    t.equal((await s.call('POST', `/api/work-items/wi_${'0'.repeat(24)}/hold`)).status, 404)
  },
)

t.test(
  "an owner's move repeated by the same token gets the same answer, and by another token is refused",
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop')
    const { token: other } = (await s.expect(201, 'POST', '/api/tokens', { name: 'ben', roles: ['operator'] })).body
    const twice = async (id: string, move: string, state: string, body?: object) => {
      for (const _ of ['once', 'again'])
        t.match((await s.expect(200, 'POST', `/api/work-items/${id}/${move}`, body)).body, { id, state }, move)
    }
    const waits = await submit(s, { objective: 'Later', not_before: '2100-01-01T00:00:00Z' })
    await twice(waits.id, 'hold', 'held')
    await twice(waits.id, 'release', 'queued')
    const post = (id: string, move: string, body: object, token?: string) =>
      s.call('POST', `/api/work-items/${id}/${move}`, body, token === undefined ? {} : { token })
    t.match(await post(waits.id, 'release', {}, other), {
      status: 409,
      body: { code: 'illegal_move', state: 'queued' },
    })
    await twice(waits.id, 'cancel', 'cancelled')
    t.match(
      await post(waits.id, 'release', {}),
      { status: 409, body: { state: 'cancelled' } },
      'it was cancelled since',
    )
    t.match(await post(waits.id, 'close', { reason: 'x' }), { status: 409 }, 'it was not closed')

    const item = await submit(s, {})
    const { request_id } = await take(s, runner)
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/failed`, { class: 'execution', message: 'no' }, runner)
    await until(reading(s, item.id), ({ state }: any) => state === 'failed')
    await twice(item.id, 'close', 'cancelled', { reason: 'done by hand' })
    t.match(await post(item.id, 'close', { reason: 'another' }), { status: 409, body: { code: 'illegal_move' } })
    t.match(await post(item.id, 'close', { reason: 'done by hand' }, other), { status: 409 })
    const { operator_actions } = await reading(s, item.id)()
    t.same(
      operator_actions.map(({ command }: any) => command),
      ['close'],
      'it was done once',
    )
  },
)

t.test(
  'of two concurrent moves of an item each answered 200 is in its history, and the item ends cancelled',
  async (t) => {
    const s = await startTestService(t)
    await s.project('shop')
    for (const [one, other] of [
      ['hold', 'cancel'],
      ['cancel', 'hold'],
    ]) {
      const item = await submit(s, {})
      const answers = await Promise.all(
        [one, other].map((move) => s.call('POST', `/api/work-items/${item.id}/${move}`)),
      )
      const { state, operator_actions } = await reading(s, item.id)()
      t.equal(state, 'cancelled')
      const taken = answers.filter(({ status }) => status === 200).length
      t.equal(taken, operator_actions.length, 'each move answered 200 is in the history')
      for (const { status, body } of answers)
        if (status !== 200) t.match(body, { code: 'illegal_move', state: 'cancelled' })
    }
  },
)

t.test(
  'the first of two results settles the item, and a later failure of the run is answered result_conflict',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop')
    const item = await submit(s, {})
    const { request_id } = await take(s, runner)
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/started`, {}, runner)
    const event = (verdict: string, more: object) => ({
      event_type: 'task_run_completed',
      occurred_at: AT,
      payload: { ...COMPLETE, success: false, landed: false, verdict, ...more },
    })
    const events = [event('defect', { diagnosis: 'it breaks' }), event('runner_error', { detail: 'gone' })]
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events }, runner)
    t.match(await inState(s, item.id, 'preserved'), { reason: 'defect: it breaks' })
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/completed`, { result: {} }, runner)
    const second = { class: 'execution', message: 'it broke' }
    const told = await s.call('POST', `/api/run-requests/${request_id}/failed`, second, runner)
    t.match(told, { status: 409, body: { code: 'result_conflict' } })
    t.match(await reading(s, item.id)(), { state: 'preserved' })
  },
)

t.test('learned 2: only a task_run_completed posted by the run of the item on its own trace settles it', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'till')
  const item = await submit(s, {})
  const { request_id, trace } = await take(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/started`, {}, runner)
  const plain = await s.request('till', {})
  await take(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${plain.id}/started`, {}, runner)
  const event = { event_type: 'task_run_completed', occurred_at: AT, payload: COMPLETE }
  await s.expect(200, 'POST', `/api/run-requests/${plain.id}/events`, { events: [event] }, runner)
  const emitted = { ...event, project: 'shop', trace_id: trace.trace_id, throttle: 'full' }
  await s.expect(200, 'POST', '/api/events', { events: [emitted] })
  const other = { ...event, trace_id: '1'.repeat(32) }
  t.equal((await s.call('POST', `/api/run-requests/${request_id}/events`, { events: [other] }, runner)).status, 422)
  t.equal((await reading(s, item.id)()).state, 'running')
})

t.test(
  'work that differs in kind, payload, base or runner is no twin; other lanes and times make no difference',
  async (t) => {
    const s = await startTestService(t)
    await s.project('shop')
    await s.runner('r1')
    const body = {
      project: 'shop',
      objective: 'Mend it',
      kind: 'remediation',
      payload: { cve: 'CVE-1', dirty: true },
    }
    const { id } = (await s.expect(201, 'POST', '/api/work-items', body)).body
    const others = [
      { payload: { cve: 'CVE-2', dirty: true } },
      { kind: 'task', payload: undefined },
      { base_ref: 'release' },
      { context: { ticket: { id: 7, of: 'shop' } } },
      { labels: ['gpu', 'linux'] },
      { runner_id: 'r1' },
    ]
    for (const other of others) {
      const made = await s.expect(201, 'POST', '/api/work-items', { ...body, ...other })
      t.not(made.body.id, id)
      t.equal((await s.expect(200, 'POST', '/api/work-items', { ...body, ...other })).body.id, made.body.id)
    }
    const turned = [{ context: { ticket: { of: 'shop', id: 7 } } }, { labels: ['linux', 'gpu'] }]
    for (const other of turned) await s.expect(200, 'POST', '/api/work-items', { ...body, ...other })
    for (const when of [
      { lane: 'maintenance' },
      { not_before: '2030-01-01T00:00:00Z' },
      { timeout_seconds: 9 },
      { sentinel: 'x' },
    ])
      t.equal((await s.expect(200, 'POST', '/api/work-items', { ...body, ...when })).body.id, id, JSON.stringify(when))
    t.equal((await s.expect(200, 'POST', '/api/work-items', body)).body.id, id)
  },
)

t.test('identical submissions are one item unless allow_duplicate is set or the first has settled', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const body = { project: 'shop', objective: 'Tidy up' }
  const same = { ...body, objective: ' Tidy  up\n' }
  const answers = await Promise.all([body, same, body].map((one) => s.call('POST', '/api/work-items', one)))
  t.same(answers.map(({ status }) => status).sort(), [200, 200, 201])
  t.equal(new Set(answers.map((answer) => answer.body.id)).size, 1)
  const replay = answers.find(({ status }) => status === 200)!
  t.equal(replay.headers.get('idempotent-replay'), 'true')
  const { id } = replay.body
  t.not((await s.expect(201, 'POST', '/api/work-items', { ...body, allow_duplicate: true })).body.id, id)
  await s.expect(200, 'POST', `/api/work-items/${id}/hold`)
  t.equal((await s.call('POST', '/api/work-items', body)).status, 200, 'a held item is unsettled')
  for (const item of (await s.expect(200, 'GET', '/api/work-items')).body.items)
    await s.expect(200, 'POST', `/api/work-items/${item.id}/cancel`)
  const anew = await s.expect(201, 'POST', '/api/work-items', body)
  t.not(anew.body.id, id)

  const headers = { 'idempotency-key': 'k1' }
  const keyed = { ...body, objective: 'Once' }
  const made = await s.expect(201, 'POST', '/api/work-items', keyed, { headers })
  t.equal((await s.expect(200, 'POST', '/api/work-items', keyed, { headers })).body.id, made.body.id)
  const reused = await s.expect(422, 'POST', '/api/work-items', body, { headers })
  t.equal(reused.body.code, 'idempotency_key_reused')
})

t.test('an item that repeats another of its project has that as its source, and is listed by it', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  await s.project('bank')
  const old = await submit(s)
  const theirs = await submit(s, { project: 'bank' })
  await s.expect(200, 'POST', `/api/work-items/${old.id}/cancel`)
  const again = await submit(s, { repeats: old.id })
  t.same(again.source, { kind: 'work_item', ref: old.id })
  t.equal(again.resumes, undefined, 'it does not resume preserved work')
  const { items } = (await s.expect(200, 'GET', `/api/work-items?source=work_item:${old.id}`)).body
  t.same(
    items.map(({ id }: any) => id),
    [again.id],
  )
  for (const [body, code] of [
    [{ repeats: theirs.id }, 'unknown_work_item'],
    [{ repeats: `wi_${'0'.repeat(24)}` }, 'unknown_work_item'],
    [{ repeats: old.id, sentinel: 'nightly' }, 'invalid_body'],
  ] as const) {
    const refused = await s.expect(422, 'POST', '/api/work-items', { project: 'shop', objective: 'Other', ...body })
    t.match(refused.body, { code, errors: [{ pointer: '/repeats' }] })
  }
})

t.test(
  'items are listed by project, state, kind, lane and source, and maintenance kinds have their own lane',
  async (t) => {
    const s = await startTestService(t)
    await s.project('shop')
    await s.project('bank')
    const task = await submit(s)
    const upkeep = await submit(s, { objective: 'Look after it', kind: 'maintenance' })
    const upgrade = await submit(s, { objective: 'Node 30', kind: 'major_upgrade' })
    const nightly = await submit(s, { objective: 'Look for dead links', sentinel: 'nightly' })
    const theirs = await submit(s, { project: 'bank', lane: 'maintenance' })
    await s.expect(200, 'POST', `/api/work-items/${upgrade.id}/hold`)
    t.same(
      [task, upkeep, upgrade, nightly, theirs].map(({ lane }) => lane),
      ['interactive', 'maintenance', 'maintenance', 'interactive', 'maintenance'],
    )
    for (const [query, expected] of [
      ['project=shop', [nightly, upgrade, upkeep, task]],
      ['project=bank', [theirs]],
      ['state=held', [upgrade]],
      ['state=queued,held', [theirs, nightly, upgrade, upkeep, task]],
      ['state=queued,held&project=bank', [theirs]],
      ['kind=task', [theirs, nightly, task]],
      ['lane=maintenance', [theirs, upgrade, upkeep]],
      ['source=sentinel:nightly', [nightly]],
      ['source=sentinel:nightly&project=bank', []],
      ['source=sentinel:nightly&state=held', []],
      ['state=held&kind=maintenance', []],
      ['project=shop&lane=maintenance&kind=major_upgrade&state=held', [upgrade]],
    ] as const) {
      const { items } = (await s.expect(200, 'GET', `/api/work-items?${query}`)).body
      t.same(
        items.map(({ id }: any) => id),
        expected.map(({ id }) => id),
        query,
      )
    }
    t.equal((await s.expect(404, 'GET', '/api/work-items?project=nowhere')).body.code, 'not_found')
  },
)

t.test('a payload that does not fit the kind is refused, and a caller’s trace is kept as a link', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const refused = async (body: object) =>
    (await s.expect(422, 'POST', '/api/work-items', { project: 'shop', objective: 'x', ...body })).body.errors
  t.match(await refused({ payload: { name: 'x' } }), [{ pointer: '/payload', detail: /use context/ }])
  t.match(await refused({ kind: 'remediation', payload: { project: 7 } }), [{ pointer: /^\/payload\/./ }])
  const headers = { traceparent: `00-${'12'.repeat(16)}-${'34'.repeat(8)}-01` }
  const body = { project: 'shop', objective: 'Tidy up' }
  const made = (await s.expect(201, 'POST', '/api/work-items', body, { headers })).body
  t.equal(made.submitted_trace_id, '12'.repeat(16))
  t.not(made.trace_id, made.submitted_trace_id, 'it has one of its own')
})

t.test(
  'a resumed item takes over labels, context and timeout, has its own objective and dependencies, and its caller’s trace',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop')
    await s.expect(200, 'PATCH', '/api/runners/r1', { labels: ['gpu'] })
    const told = { labels: ['gpu'], context: { ticket: 7 }, timeout_seconds: 600 }
    const preserved = async (objective: string) => {
      const { id } = await submit(s, { objective, ...told })
      const blocked = { ...COMPLETE, success: false, landed: false, land_blocked: 'git_failed', preservation_ref: 'x' }
      await land(s, runner, (await take(s, runner)).request_id, blocked)
      await until(reading(s, id), ({ state }) => state === 'preserved')
      return `/api/work-items/${id}/resume`
    }
    const headers = { traceparent: `00-${'12'.repeat(16)}-${'34'.repeat(8)}-01` }
    const first = (await s.expect(201, 'POST', await preserved('Tidy up'), undefined, { headers })).body
    t.match(first, { ...told, objective: 'Tidy up', submitted_trace_id: '12'.repeat(16) })
    t.not(first.trace_id, first.submitted_trace_id, 'it has a trace of its own')
    await land(s, runner, (await take(s, runner)).request_id)
    const left = { objective: 'Tidy up the rest', not_before: '2126-01-31T12:00:00.000Z', depends_on: [first.id] }
    const second = (await s.expect(201, 'POST', await preserved('Tidy up all'), left)).body
    t.match(second, { ...told, ...left })
    const path = await preserved('Tidy up once more')
    const unknown = { depends_on: [`wi_${'0'.repeat(24)}`] }
    t.equal((await s.expect(422, 'POST', path, unknown)).body.code, 'unknown_work_item')
  },
)

t.test('preserved work is resumed once, as a child based on its ref, and lands with the child', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const item = await submit(s, {})
  const blocked = { ...COMPLETE, success: false, landed: false, land_blocked: 'git_failed', preservation_ref: 'task/x' }
  await land(s, runner, (await take(s, runner)).request_id, blocked)
  t.match(await reading(s, item.id)(), { state: 'preserved', disposition: { preservation_ref: 'task/x' } })
  const path = `/api/work-items/${item.id}/resume`
  const headers = { 'idempotency-key': 'r' }
  const answers = await Promise.all([s.call('POST', path, {}, { headers }), s.call('POST', path)])
  t.same(answers.map(({ status }) => status).sort(), [201, 409])
  const child = answers.find(({ status }) => status === 201)!.body
  t.match(child, { resumes: item.id, base_ref: 'task/x', source: { kind: 'work_item', ref: item.id }, kind: 'task' })
  const refused = (await s.call('POST', path)).body
  t.match(refused, { code: 'illegal_move', detail: new RegExp(child.id) })
  t.same(refused.allowed, ['cancel', 'close'], 'resume is not among the allowed moves')
  t.equal((await s.call('POST', path, {}, { headers })).status, answers[0]!.status === 201 ? 200 : 409)
  const request = await take(s, runner)
  t.equal(request.engine.payload.base_ref, 'task/x')
  await land(s, runner, request.request_id)
  const landed = await until(reading(s, item.id), ({ state }) => state === 'landed')
  t.match(landed, { disposition: { landed_commit: 'abc1234' }, resumptions: [{ item_id: child.id, state: 'landed' }] })
})

t.test('a resumed item asks for the same runner, labels and context, but not for the old not_before', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await s.expect(200, 'PATCH', '/api/runners/r1', { labels: ['linux'] })
  const asked = { runner_id: 'r1', labels: ['linux'], timeout_seconds: 60, context: { branch: 'local' } }
  const item = await submit(s, { ...asked, not_before: '2020-01-01T00:00:00Z', base_ref: 'older' })
  const blocked = { ...COMPLETE, success: false, landed: false, land_blocked: 'git_failed', preservation_ref: 'task/x' }
  await land(s, runner, (await take(s, runner)).request_id, blocked)
  await inState(s, item.id, 'preserved')
  const child = (await s.expect(201, 'POST', `/api/work-items/${item.id}/resume`)).body
  t.match(child, { ...asked, base_ref: 'task/x', resumes: item.id })
  t.notOk('not_before' in child, 'the resumption sets this itself')
  t.match(await take(s, runner), {
    engine: { payload: { context: asked.context, base_ref: 'task/x' } },
  })
})

t.test('cancelling a running item stops its run, and the item is cancelled when the run has ended', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const item = await submit(s, {})
  const { request_id } = await take(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/started`, {}, runner)
  await inState(s, item.id, 'running')
  const beat = (isHeard: (answer: any) => boolean) =>
    until(
      async () => (await s.expect(200, 'POST', `/api/run-requests/${request_id}/heartbeat`, {}, runner)).body,
      isHeard,
    )
  const cancel = async (asked: object) => (await s.expect(200, 'POST', `/api/work-items/${item.id}/cancel`, asked)).body
  t.equal((await s.call('POST', '/api/work-items', { project: 'shop', objective: 'Tidy up' })).body.id, item.id)
  t.match(await cancel({ reason: 'not now' }), { state: 'running', reason: 'stopping', reason_code: 'stopping' })
  const anew = await submit(s, {})
  t.not(anew.id, item.id, 'the same work can be asked for again')
  t.match(anew.waiting_because, { code: 'repository_busy' }, 'and waits until the run has ended')
  t.equal((await s.call('POST', '/api/work-items', { project: 'shop', objective: 'Tidy up' })).body.id, anew.id)
  t.match(await beat(({ cancel_requested }) => cancel_requested), {
    cancel: { reason: 'not now', discard_work: false },
  })
  const asked = { reason: 'enough', discard_work: true }
  t.match(await cancel(asked), { state: 'running', reason: 'stopping', reason_code: 'stopping' })
  t.match(await beat((answer) => answer.cancel.discard_work), { cancel: asked }, 'a stronger cancel reaches the runner')
  t.equal((await cancel(asked)).operator_actions.length, 2, 'recorded once')
  const stopped = { class: 'cancelled', message: 'stopped' }
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/failed`, stopped, runner)
  const ended = await until(reading(s, item.id), ({ state }) => state === 'cancelled')
  t.equal(ended.reason, 'cancelled by admin: enough')
  const types = (await s.expect(200, 'GET', `/api/events?item_id=${item.id}`)).body.items.map((e: any) => e.event_type)
  t.same(types.sort(), ['work_item_cancelled', 'work_item_started', 'work_item_submitted'])
})

t.test(
  'a landing result settles its item even if the run was cancelled before it was reported as started',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop')
    const item = await submit(s)
    const { request_id } = await take(s, runner)
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/accepted`, {}, runner)
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/cancel`, { reason: 'not now' })
    await finish(s, runner, request_id)
    t.match(await until(reading(s, item.id), ({ state }) => state !== 'queued' && state !== 'running'), {
      state: 'landed',
      disposition: { landed_commit: 'abc1234' },
    })
    t.same(
      (await history(s, item.id)).map(({ event_type }) => event_type),
      ['work_item_submitted', 'work_item_started', 'work_item_settled'],
    )
  },
)

t.test('a failed or cancelled run settles its item, and a lost one waits for a person', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'a', 'b', 'c', 'd')
  const begin = async (project: string) => {
    const item = await submit(s, { project })
    const { request_id } = await take(s, runner)
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/started`, {}, runner)
    return { item, request_id }
  }
  const failed = await begin('a')
  const why = { class: 'execution', message: 'out of disk', code: 'disk' }
  await s.expect(200, 'POST', `/api/run-requests/${failed.request_id}/failed`, why, runner)
  t.match(await inState(s, failed.item.id, 'failed'), {
    state: 'failed',
    reason: 'run failed (execution, disk): out of disk',
  })
  const silent = await begin('b')
  await s.expect(200, 'POST', `/api/run-requests/${silent.request_id}/completed`, { result: {} }, runner)
  t.match(await inState(s, silent.item.id, 'failed'), { state: 'failed', reason: 'run ended without a task result' })
  const cancelled = await begin('c')
  await s.expect(200, 'POST', `/api/run-requests/${cancelled.request_id}/cancel`, { reason: 'no' })
  await s.expect(
    200,
    'POST',
    `/api/run-requests/${cancelled.request_id}/failed`,
    { class: 'cancelled', message: 'x' },
    runner,
  )
  t.match(await inState(s, cancelled.item.id, 'cancelled'), {
    state: 'cancelled',
    reason: 'run cancelled by admin: no',
  })
  const lost = await begin('d')
  await s.expect(200, 'POST', '/api/runners/r1/session', { instance: 'f'.repeat(16), version: '1' }, runner)
  t.match(await until(reading(s, lost.item.id), ({ reason }) => /its run is lost/.test(reason)), {
    reason_code: 'run_lost',
  })
  await s.expect(200, 'POST', `/api/run-requests/${lost.request_id}/fail`, { message: 'gone' })
  t.match(await inState(s, lost.item.id, 'failed'), {
    state: 'failed',
    reason: 'run failed (execution): gone',
    reason_code: undefined,
  })
})

t.test('maintenance whose checkout could not be synchronized names the refusal in its end', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const { id } = await submit(s, { kind: 'maintenance', objective: 'Look after it' })
  const { request_id } = await begin(s, runner)
  const payload = { status: 'error', reason: 'changes', sync_failure: 'dirty_tree' }
  await finish(s, runner, request_id, payload, 'project_validation_completed')
  t.match(await inState(s, id, 'failed'), {
    reason: 'the checkout sync was refused (dirty_tree): run ended without its project_maintenance_completed',
  })
})
