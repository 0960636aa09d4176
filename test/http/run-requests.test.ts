import t from 'tap'
import { until } from '../until.ts'
import { startOnDisk, startTestService } from './service-harness.ts'

const AT = '2026-01-31T12:00:00Z'

t.test('Prefer: return=minimal is answered with id, state, attempt and whether to stop', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const runner = { token: await s.runner('r1') }
  const minimal = (token?: string) => ({
    ...(token && { token }),
    headers: { prefer: 'respond-async, return=minimal' },
  })
  const create = { entry_event: 'greet_requested', payload: { name: 'world' } }
  const made = await s.expect(201, 'POST', '/api/projects/greeter/run-requests', create, minimal())
  const { id } = made.body
  t.strictSame(made.body, { id, state: 'queued', attempt: 1 })
  t.equal(made.headers.get('location'), `/api/run-requests/${id}`)
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=2', undefined, runner)
  const accepted = await s.expect(200, 'POST', `/api/run-requests/${id}/accepted`, {}, minimal(runner.token))
  const { run_request, cancel_requested, lease_expires_at } = accepted.body
  t.strictSame(run_request, { id, state: 'accepted', attempt: 1, engine_run_id: id.replace('runreq', 'run') })
  t.equal(cancel_requested, false)
  t.ok(lease_expires_at)
  const first = { ...runner, headers: { prefer: 'x="a, return=minimal", return=representation, return=minimal' } }
  const repeated = await s.expect(200, 'POST', `/api/run-requests/${id}/accepted`, {}, first)
  t.equal(repeated.body.run_request.project, 'greeter', 'the first of two preferences counts')
  const whole = { ...runner, headers: { prefer: 'return=minimalist' } }
  const started = await s.expect(200, 'POST', `/api/run-requests/${id}/started`, {}, whole)
  t.strictSame(started.body.run_request.payload, { name: 'world' }, 'other preferences are ignored')
})

t.test('a run request goes from creation to a runner and to its result, each answer as documented', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1')
  const runner = { token }
  t.equal((await s.expect(204, 'GET', '/api/runners/r1/run-requests/next', undefined, runner)).body, undefined)
  const made = await s.expect(201, 'POST', '/api/projects/greeter/run-requests', {
    entry_event: 'greet_requested',
    payload: { name: 'world' },
  })
  const { id } = made.body
  t.equal(made.headers.get('location'), `/api/run-requests/${id}`)
  t.match(made.headers.get('watch-cursor'), /^[0-9a-z]{12}\.[0-9a-z]+$/)
  const read = await s.expect(200, 'GET', `/api/run-requests/${id}`)
  t.equal(read.body.waiting_because.code, 'next')
  const offer = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=2', undefined, runner)
  t.equal(offer.body.request_id, id)
  t.equal(offer.body.attempt, 1)
  const again = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, runner)
  t.same(again.body.attempt, 1, 'a repeated poll answers the same offer')
  const accepted = await s.expect(200, 'POST', `/api/run-requests/${id}/accepted`, { attempt: 1 }, runner)
  t.ok(accepted.body.lease_expires_at)
  t.notOk(accepted.body.cancel_requested)
  const repeated = await s.expect(200, 'POST', `/api/run-requests/${id}/accepted`, undefined, runner)
  t.equal(repeated.body.already_accepted, true)
  const started = await s.expect(200, 'POST', `/api/run-requests/${id}/started`, {}, runner)
  const runId = started.body.run_request.engine_run_id
  const sequence = s.service.runtime.journal.lastSequence
  const beat = await s.expect(200, 'POST', `/api/run-requests/${id}/heartbeat`, {}, runner)
  t.equal(beat.body.run_request.state, 'started')
  t.equal(s.service.runtime.journal.lastSequence, sequence, 'a heartbeat writes nothing')
  const event = { event_type: 'greeting_composed', occurred_at: AT, payload: { greeting: 'Hello' } }
  const posted = await s.expect(200, 'POST', `/api/run-requests/${id}/events`, { events: [event] }, runner)
  t.match(posted.body, { accepted: 1, duplicates: 0 })
  const postedAgain = await s.expect(
    200,
    'POST',
    `/api/run-requests/${id}/events`,
    { events: [event, { ...event, occurred_at: '2026-01-31T12:00:01Z' }] },
    runner,
  )
  t.match(postedAgain.body, { accepted: 1, duplicates: 1 })
  const summary = await s.expect(
    200,
    'POST',
    `/api/engine-runs/${runId}/trace-summary`,
    { blocks_executed: ['a'] },
    runner,
  )
  t.equal(summary.body.state, 'summarized')
  const observation = { result: 'pass', observed_by: 'engine', source_type: 'test_run', observed_at: AT }
  await s.expect(
    200,
    'POST',
    `/api/engine-runs/${runId}/evidence-observations`,
    { observations: [observation] },
    runner,
  )
  const observed = await s.expect(
    200,
    'POST',
    `/api/engine-runs/${runId}/evidence-observations`,
    { observations: [observation] },
    runner,
  )
  t.equal(observed.body.evidence.length, 1, 'a repeated observation counts once')
  const done = await s.expect(
    200,
    'POST',
    `/api/run-requests/${id}/completed`,
    { result: { status: 'completed' } },
    runner,
  )
  t.equal(done.body.run_request.state, 'completed')
  await s.expect(200, 'POST', `/api/run-requests/${id}/completed`, { result: { status: 'completed' } }, runner)
  const other = await s.expect(
    409,
    'POST',
    `/api/run-requests/${id}/completed`,
    { result: { status: 'completed_with_findings' } },
    runner,
  )
  t.equal(other.body.code, 'result_conflict')
  t.equal(other.body.state, 'completed')
  const run = await s.expect(200, 'GET', `/api/engine-runs/${runId}`)
  t.equal(run.body.state, 'closed')
})

t.test('an engine run exists from acceptance on, under its own id or one that the runner chose', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('laptop', { allowed_projects: ['*'], capacity: 9 })
  const runner = { token }
  const named = `run_${'9'.repeat(24)}`
  const begun = async (body: object) => {
    await s.expect(201, 'POST', '/api/projects/greeter/run-requests', {
      entry_event: 'greet_requested',
      payload: body,
    })
    const offer = await s.expect(200, 'GET', '/api/runners/laptop/run-requests/next?wait=5', undefined, runner)
    return offer.body.request_id as string
  }
  const first = await begun({ name: 'a' })
  const accepted = await s.expect(200, 'POST', `/api/run-requests/${first}/accepted`, {}, runner)
  const own = accepted.body.run_request.engine_run_id
  t.match((await s.expect(200, 'GET', `/api/engine-runs/${own}`)).body, {
    state: 'open',
    run_request_id: first,
    evidence: [],
  })
  await s.expect(200, 'POST', `/api/run-requests/${first}/completed`, { result: { status: 'completed' } }, runner)
  t.match((await s.expect(200, 'GET', `/api/engine-runs/${own}`)).body, { state: 'closed', outcome: 'completed' })
  const late = await s.expect(200, 'POST', `/api/engine-runs/${own}/trace-summary`, { blocks_executed: ['a'] }, runner)
  t.match(late.body, { trace_summary: { blocks_executed: ['a'] } })
  t.match((await s.expect(200, 'GET', `/api/engine-runs/${own}`)).body, { state: 'closed', outcome: 'completed' })

  const second = await begun({ name: 'b' })
  await s.expect(200, 'POST', `/api/run-requests/${second}/accepted`, { engine_run_id: named }, runner)
  t.match((await s.expect(200, 'GET', `/api/engine-runs/${named}`)).body, { state: 'open', run_request_id: second })
  const third = await begun({ name: 'c' })
  for (const taken of [named, own]) {
    const refused = await s.expect(422, 'POST', `/api/run-requests/${third}/accepted`, { engine_run_id: taken }, runner)
    t.equal(refused.body.code, 'engine_run_taken')
  }
  await s.expect(200, 'POST', `/api/run-requests/${third}/accepted`, {}, runner)
})

t.test('of requests that name the same engine run at once one gets it, and may name it again', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const runners: { token: string }[] = []
  const offered: string[] = []
  for (const id of ['r1', 'r2', 'r3']) {
    const runner = { token: await s.runner(id, { allowed_projects: ['*'] }) }
    await s.expect(201, 'POST', '/api/projects/greeter/run-requests', {
      entry_event: 'greet_requested',
      payload: { name: id },
    })
    const offer = await s.expect(200, 'GET', `/api/runners/${id}/run-requests/next?wait=5`, undefined, runner)
    offered.push(offer.body.request_id)
    runners.push(runner)
  }
  const name = (n: number, post: string, engine_run_id: string) =>
    s.call('POST', `/api/run-requests/${offered[n]}/${post}`, { engine_run_id }, runners[n])
  const named = `run_${'9'.repeat(24)}`
  // The lookup answers late, so that all three see the state before any acceptance.
  const { journal } = s.service.runtime
  const { list } = journal
  journal.list = async (query) => {
    const found = await list.call(journal, query)
    await new Promise((resolve) => setTimeout(resolve, 50))
    return found
  }
  const posts = await Promise.all([name(0, 'accepted', named), name(1, 'started', named), name(2, 'accepted', named)])
  t.same(posts.map(({ status }) => status).sort(), [200, 422, 422])
  const winner = posts.findIndex(({ status }) => status === 200)
  const again = await Promise.all(['accepted', 'started', 'started'].map((post) => name(winner, post, named)))
  t.same(
    again.map(({ status }) => status),
    [200, 200, 200],
  )
  const [loser, other] = [0, 1, 2].filter((n) => n !== winner) as [number, number]
  const heir = `run_${offered[other]!.slice('runreq_'.length)}`
  const early = await name(loser, 'accepted', heir)
  t.match(early, { status: 422, body: { code: 'engine_run_taken' } }, 'it is reserved for the other request')
  const own = await s.expect(200, 'POST', `/api/run-requests/${offered[other]}/accepted`, {}, runners[other])
  t.equal(own.body.run_request.engine_run_id, heir)
})

t.test('requests with the same idempotency key or the same content are one request', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const path = '/api/projects/greeter/run-requests'
  const body = { entry_event: 'greet_requested', payload: { name: 'world' } }
  const headers = { 'idempotency-key': 'k1' }
  const races = await Promise.all([1, 2, 3, 4].map(() => s.call('POST', path, body, { headers })))
  t.same(races.map(({ status }) => status).sort(), [200, 200, 200, 201])
  t.equal(new Set(races.map((reply) => reply.body.id)).size, 1)
  const replay = races.find(({ status }) => status === 200)!
  t.equal(replay.headers.get('idempotent-replay'), 'true')
  const field = await s.expect(200, 'POST', path, { ...body, idempotency_key: 'k1' })
  t.equal(field.body.id, races[0]!.body.id, 'the header and the field are equivalent')
  t.equal(
    (await s.expect(422, 'POST', path, { ...body, priority: -1 }, { headers })).body.code,
    'idempotency_key_reused',
  )
  t.equal(
    (await s.expect(422, 'POST', path, { ...body, idempotency_key: 'k2' }, { headers })).body.code,
    'idempotency_key_conflict',
  )
  t.equal(
    (await s.expect(400, 'POST', path, body, { headers: { 'idempotency-key': 'a'.repeat(300) } })).body.code,
    'invalid_header',
  )

  const derived = await s.expect(201, 'POST', path, { ...body, payload: { name: 'other' } })
  const twin = await s.expect(200, 'POST', path, { ...body, payload: { name: 'other' } })
  t.equal(twin.body.id, derived.body.id, 'an unsettled twin is answered')
  await s.expect(200, 'POST', `/api/run-requests/${derived.body.id}/cancel`)
  const second = await s.expect(201, 'POST', path, { ...body, payload: { name: 'other' } })
  t.not(second.body.id, derived.body.id, 'a settled dry run is no twin')
  const third = await s.expect(200, 'POST', path, { ...body, payload: { name: 'other' } })
  t.equal(third.body.id, second.body.id, 'the newest generation is found')

  const others = [{ repo: { branch: 'next' } }, { runner_id: 'r1' }, { labels: ['gpu'] }, { access: 'read_only' }]
  const asked = [{}, ...others, { lane: 'maintenance' }].map((one) => ({ ...body, payload: { name: 'other' }, ...one }))
  const ids = []
  for (const one of asked) ids.push((await s.call('POST', path, one)).body.id)
  t.equal(new Set(ids).size, asked.length, 'different work is no twin')
  const usual = { access: 'full', lane: 'interactive', labels: [], priority: -1 }
  t.equal(
    (await s.expect(200, 'POST', path, { ...asked[0], ...usual })).body.id,
    ids[0],
    'explicit defaults make no difference',
  )

  const full = { ...body, throttle: 'full' }
  const made = await s.expect(201, 'POST', path, full)
  await s.expect(200, 'POST', `/api/run-requests/${made.body.id}/cancel`)
  t.equal((await s.expect(200, 'POST', path, full)).body.id, made.body.id, 'a settled full request is a twin')
  t.not((await s.expect(201, 'POST', path, { ...full, again: true })).body.id, made.body.id)
})

t.test(
  'an explicit trace id must be unused in its project, and a traceparent is continued by one request',
  async (t) => {
    const s = await startTestService(t)
    await s.project('greeter')
    const path = '/api/projects/greeter/run-requests'
    const trace_id = 'ab'.repeat(16)
    const first = await s.expect(201, 'POST', path, { entry_event: 'scan_requested', trace_id, idempotency_key: 'a' })
    t.equal(first.body.trace_id, trace_id)
    await s.expect(200, 'POST', path, { entry_event: 'scan_requested', trace_id, idempotency_key: 'a' })
    const used = await s.expect(409, 'POST', path, { entry_event: 'scan_requested', trace_id, idempotency_key: 'b' })
    t.equal(used.body.code, 'trace_in_use')
    const races = await Promise.all(
      ['x', 'y', 'z'].map((idempotency_key) =>
        s.call('POST', path, { entry_event: 'scan_requested', trace_id: 'cd'.repeat(16), idempotency_key }),
      ),
    )
    t.same(races.map(({ status }) => status).sort(), [201, 409, 409])
    const headers = { traceparent: `00-${'12'.repeat(16)}-${'34'.repeat(8)}-01` }
    const continued = await s.expect(
      201,
      'POST',
      path,
      { entry_event: 'scan_requested', idempotency_key: 'c' },
      { headers },
    )
    t.equal(continued.body.trace_id, '12'.repeat(16))
    const linked = await s.expect(
      201,
      'POST',
      path,
      { entry_event: 'scan_requested', idempotency_key: 'd' },
      { headers },
    )
    t.not(linked.body.trace_id, '12'.repeat(16), 'a trace belongs to one request')
    const parent = { headers: { traceparent: `00-${'56'.repeat(16)}-${'78'.repeat(8)}-01` } }
    const fanned = await Promise.all(
      ['1', '2', '3', '4', '1'].map((idempotency_key) =>
        s.call('POST', path, { entry_event: 'scan_requested', idempotency_key }, parent),
      ),
    )
    const traces = new Map(fanned.map(({ body }) => [body.id, body.trace_id]))
    t.equal(traces.size, 4)
    t.equal(new Set(traces.values()).size, 4, 'also of concurrent requests')
    t.ok([...traces.values()].includes('56'.repeat(16)), 'one of them continues the trace')
  },
)

t.test('a run request must name existing things and fit their schemas', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const path = '/api/projects/greeter/run-requests'
  const entry_event = 'scan_requested'
  const digest = `sha256:${'0'.repeat(64)}`
  const nobody = { id: `brief_${'0'.repeat(24)}`, digest }
  t.equal((await s.expect(422, 'POST', path, { entry_event, brief: nobody })).body.code, 'unknown_brief')
  const sections = { mission: { objective: 'Greet.' } }
  const { id } = (await s.expect(201, 'POST', '/api/projects/greeter/formation-briefs', sections)).body
  const draft = { entry_event, brief: { id, digest } }
  t.equal((await s.expect(422, 'POST', path, draft)).body.code, 'brief_not_compiled')
  const times = { not_before: '2030-01-02T00:00:00Z', expires_at: '2030-01-01T00:00:00Z' }
  t.equal((await s.expect(422, 'POST', path, { entry_event, ...times })).body.code, 'invalid_body')
  t.equal((await s.expect(404, 'POST', '/api/projects/nowhere/run-requests', { entry_event })).body.code, 'not_found')
  const wrong = await s.expect(422, 'POST', path, { entry_event: 'Greet', payload: 4, colour: 'red' })
  t.same(wrong.body.errors.map((error: any) => error.pointer).sort(), ['/colour', '/entry_event', '/payload'])
  for (const [payload, pointer] of [
    [undefined, '/payload/name'],
    [{ name: 4 }, '/payload/name'],
  ] as const) {
    const unfit = await s.expect(422, 'POST', path, { entry_event: 'greet_requested', payload, idempotency_key: 'k' })
    t.match(
      unfit.body,
      { code: 'invalid_body', errors: [{ pointer }] },
      'it does not fit the schema of its entry event',
    )
  }
  await s.expect(201, 'POST', path, { entry_event: 'sing_requested', payload: { name: 4 } })
  await s.expect(200, 'PATCH', '/api/projects/greeter', { archived: true })
  t.equal((await s.expect(409, 'POST', path, { entry_event })).body.code, 'project_archived')
})

t.test('a run request may not ask for the next step of a campaign or an initiative', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const gates = [{ name: 'g', required: true, command: 'id' }]
  for (const [entry_event, payload, owner] of [
    ['campaign_advance_requested', { campaign: 'x', prompt: 'p', gates }, 'campaign'],
    ['initiative_advance_requested', { initiative: 'x', operator_origin: 'o', trigger_id: 't' }, 'initiative'],
  ] as const) {
    const body = { entry_event, payload, access: 'read_only' }
    const { body: problem } = await s.expect(422, 'POST', '/api/projects/greeter/run-requests', body)
    t.match(problem, {
      detail: new RegExp(`^Only the ${owner} itself may create a `),
      errors: [{ pointer: '/entry_event' }],
    })
  }
})

t.test('a full request waits for its approval, and needs attention until then', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1', { trusted: true })
  const made = await s.request('greeter', { throttle: 'full' })
  const waiting = await s.expect(200, 'GET', `/api/run-requests/${made.id}`)
  const { waiting_because } = waiting.body
  t.equal(waiting_because.code, 'not_approved')
  t.same(made.waiting_because, waiting_because, 'the creator is told as well')
  for (const path of ['/api/run-requests', '/api/projects/greeter/run-requests'])
    t.same((await s.expect(200, 'GET', path)).body.items[0].waiting_because, waiting_because, path)
  const attention = await s.expect(200, 'GET', '/api/attention')
  t.same(
    attention.body.items.map((item: any) => [item.reason, item.run_request.id]),
    [['unapproved', made.id]],
  )
  await s.expect(204, 'GET', '/api/runners/r1/run-requests/next', undefined, { token })
  const parked = s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, { token })
  const approved = await s.expect(200, 'POST', `/api/run-requests/${made.id}/approve`)
  t.equal(approved.body.approved_by.name, 'admin')
  t.equal(approved.body.waiting_because.code, 'next', 'the pending approval no longer holds it back')
  t.equal((await parked).body.request_id, made.id, 'the approval wakes the parked poll')
})

t.test('an operator releases and cancels a run, and an illegal move lists the moves that are allowed', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1')
  const runner = { token }
  const made = await s.request('greeter')
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, runner)
  const released = await s.expect(200, 'POST', `/api/run-requests/${made.id}/release`)
  t.match(released.body.run_request, { state: 'queued', attempt: 2 })
  const unheld = await s.expect(409, 'POST', `/api/run-requests/${made.id}/release`)
  t.match(unheld.body, { code: 'illegal_move', state: 'queued', detail: /in state queued does not allow release/ })
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, runner)
  t.equal(
    (await s.expect(422, 'POST', `/api/run-requests/${made.id}/accepted`, {}, runner)).body.code,
    'attempt_required',
  )
  t.equal(
    (await s.expect(409, 'POST', `/api/run-requests/${made.id}/accepted`, { attempt: 1 }, runner)).body.code,
    'stale_attempt',
  )
  await s.expect(200, 'POST', `/api/run-requests/${made.id}/started`, { attempt: 2 }, runner)
  const illegal = await s.expect(409, 'POST', `/api/run-requests/${made.id}/requeue`)
  t.match(illegal.body, { code: 'illegal_move', state: 'started' })
  t.ok(illegal.body.allowed.includes('cancel'))
  await s.expect(200, 'POST', `/api/run-requests/${made.id}/cancel`, { reason: 'enough' })
  const told = await s.expect(200, 'POST', `/api/run-requests/${made.id}/heartbeat`, { attempt: 2 }, runner)
  t.match(told.body, { cancel_requested: true, cancel: { reason: 'enough', discard_work: false } })
  const poll = await s.expect(204, 'GET', '/api/runners/r1/run-requests/next?wait=1', undefined, runner)
  t.equal(poll.headers.get('intendant-cancel'), made.id, 'every poll answer carries it')
  const ended = await s.expect(
    200,
    'POST',
    `/api/run-requests/${made.id}/failed`,
    { attempt: 2, class: 'cancelled', message: 'stopped' },
    runner,
  )
  t.equal(ended.body.run_request.state, 'cancelled')
  const other = await s.runner('r2')
  t.equal(
    (await s.expect(409, 'POST', `/api/run-requests/${made.id}/heartbeat`, { attempt: 2 }, { token: other })).body.code,
    'stale_attempt',
  )
})

t.test('what has begun is not cancelled by who meant it only if it had not', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1', { capacity: 2 })
  const ids: string[] = []
  for (const name of ['Ada', 'Bea']) {
    const { id } = await s.request('greeter', { entry_event: 'greet_requested', payload: { name } })
    await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, { token })
    await s.expect(200, 'POST', `/api/run-requests/${id}/accepted`, {}, { token })
    ids.push(id)
  }
  const [begun, accepted] = ids
  await s.expect(200, 'POST', `/api/run-requests/${begun}/started`, {}, { token })
  const cancel = (status: number, id?: string) =>
    s.expect(status, 'POST', `/api/run-requests/${id}/cancel`, { unless_begun: true })
  const refused = (await cancel(409, begun)).body
  t.match(refused, {
    code: 'illegal_move',
    state: 'started',
    detail: /It has begun on r1, and was to be cancelled only/,
  })
  t.equal((await cancel(200, accepted)).body.state, 'cancelling')
  t.equal((await s.expect(200, 'GET', `/api/run-requests/${begun}`)).body.state, 'started')
  await s.expect(200, 'POST', `/api/run-requests/${begun}/cancel`)
  t.equal((await cancel(200, begun)).body.state, 'cancelling', 'it is being stopped already')
})

t.test('cancel by filter cancels only requests that match every filter', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  await s.project('other')
  const gpu = await s.request('greeter', { labels: ['gpu'], idempotency_key: '1' })
  await s.request('greeter', { idempotency_key: '2' })
  await s.request('other', { labels: ['gpu'], idempotency_key: '3' })
  t.equal((await s.expect(422, 'POST', '/api/run-requests/cancel', {})).body.code, 'invalid_body')
  t.equal((await s.expect(422, 'POST', '/api/run-requests/cancel', { reason: 'no filter' })).body.code, 'invalid_body')
  const reply = await s.expect(200, 'POST', '/api/run-requests/cancel', { project: 'greeter', label: 'gpu' })
  t.same(reply.body, { cancelled: [gpu.id], refused: [], more: false })
  const left = await s.expect(200, 'GET', '/api/run-requests?state=queued')
  t.equal(left.body.items.length, 2)
})

t.test('cancel by filter reaches lost requests, and its Watch-Cursor covers all that it changed', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1')
  const { id } = await s.request('greeter')
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, { token })
  await s.expect(200, 'POST', `/api/run-requests/${id}/started`, {}, { token })
  await s.expect(200, 'POST', '/api/runners/r1/session', { version: '1', instance: 'anew' }, { token })
  await until(
    async () => (await s.expect(200, 'GET', `/api/run-requests/${id}`)).body,
    ({ state }) => state === 'lost',
  )
  const { headers, body } = await s.expect(200, 'POST', '/api/run-requests/cancel', { state: 'lost' })
  t.same(body, { cancelled: [id], refused: [], more: false })
  const behind = await s.expect(200, 'GET', `/api/events?cursor=${headers.get('watch-cursor')}`)
  t.same(behind.body.items, [], 'its changes are before the cursor')
})

t.test('cancel by filter cancels at most 500 requests at once, and says if there are more', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const ids = []
  for (let n = 0; n < 501; n++) ids.push((await s.request('greeter', { idempotency_key: String(n) })).id)
  const cancel = async () => (await s.expect(200, 'POST', '/api/run-requests/cancel', { project: 'greeter' })).body
  const first = await cancel()
  t.match([first.cancelled.length, first.more], [500, true])
  t.same(await cancel(), { cancelled: ids.filter((id) => !first.cancelled.includes(id)), refused: [], more: false })
})

t.test('cancel by filter with discard_work reaches requests that are already being cancelled, once', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1')
  const { id } = await s.request('greeter')
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, { token })
  await s.expect(200, 'POST', `/api/run-requests/${id}/started`, {}, { token })
  const cancel = async (more: object) =>
    (await s.expect(200, 'POST', '/api/run-requests/cancel', { project: 'greeter', ...more })).body.cancelled
  t.same(await cancel({}), [id])
  t.same(await cancel({}), [])
  t.same(await cancel({ discard_work: true }), [id])
  t.match((await s.expect(200, 'GET', `/api/run-requests/${id}`)).body.cancel, { discard_work: true })
  t.same(await cancel({ discard_work: true }), [])
})

t.test('run requests are listed by project, state, runner and label, alone and combined', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  await s.project('other')
  const token = await s.runner('r1', { capacity: 2 })
  const held = await s.request('greeter', { labels: [] })
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, { token })
  await s.expect(200, 'POST', `/api/run-requests/${held.id}/started`, {}, { token })
  const gpu = await s.request('greeter', { labels: ['gpu', 'big'] })
  const theirs = await s.request('other', { labels: ['gpu'] })
  const gone = await s.request('greeter', { labels: ['tpu'] })
  await s.expect(200, 'POST', `/api/run-requests/${gone.id}/cancel`)
  for (const [query, expected] of [
    ['run-requests?project=greeter', [gone, gpu, held]],
    ['run-requests?project=other', [theirs]],
    ['run-requests?state=started', [held]],
    ['run-requests?state=queued&project=greeter', [gpu]],
    ['run-requests?state=cancelled', [gone]],
    ['run-requests?state=started,queued', [theirs, gpu, held]],
    ['run-requests?state=queued,cancelled,started', [gone, theirs, gpu, held]],
    ['run-requests?state=cancelled,started&project=greeter', [gone, held]],
    ['run-requests?state=cancelled&project=other', []],
    ['run-requests?state=cancelled&label=gpu', []],
    ['run-requests?runner=r1', [held]],
    ['run-requests?runner=r1&state=queued', []],
    ['run-requests?runner=r1&state=queued,started', [held]],
    ['run-requests?runner=r1&project=other', []],
    ['run-requests?label=gpu', [theirs, gpu]],
    ['run-requests?label=gpu&project=greeter', [gpu]],
    ['run-requests?label=gpu&state=started', []],
    ['run-requests?label=big&state=queued&project=greeter', [gpu]],
    ['projects/greeter/run-requests?state=cancelled', [gone]],
    ['projects/greeter/run-requests?label=gpu', [gpu]],
    ['projects/greeter/run-requests?runner=r1', [held]],
  ] as const) {
    const { items } = (await s.expect(200, 'GET', `/api/${query}`)).body
    t.same(
      items.map(({ id }: any) => id),
      expected.map(({ id }) => id),
      query,
    )
  }
})

t.test('pages list every request once, newest first, with a Link and a Watch-Cursor', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const ids: string[] = []
  for (let i = 0; i < 7; i++) ids.unshift((await s.request('greeter', { idempotency_key: String(i) })).id)
  const seen: string[] = []
  let path: string | undefined = '/api/projects/greeter/run-requests?limit=3'
  for (let pages = 0; path !== undefined; pages++) {
    if (pages > 3) throw new Error('too many pages')
    const page = await s.expect(200, 'GET', path)
    t.ok(page.headers.get('watch-cursor'))
    seen.push(...page.body.items.map((item: any) => item.id))
    path = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1]
    t.equal(path !== undefined, page.body.next_cursor !== undefined)
  }
  t.same(seen, ids)
  const { next_cursor } = (await s.expect(200, 'GET', '/api/run-requests?limit=1')).body
  const place = JSON.parse(Buffer.from(next_cursor, 'base64url').toString())
  const forged = [place.slice(1), [...place, 'more'], [...place.slice(0, 2), 1], {}]
  const cursors = forged.map((parts) => Buffer.from(JSON.stringify(parts)).toString('base64url'))
  for (const cursor of ['bogus', ...cursors]) {
    const refused = await s.expect(400, 'GET', `/api/run-requests?cursor=${cursor}`)
    t.equal(refused.body.code, 'invalid_cursor', cursor)
  }
  for (const query of [
    'limit=0',
    'limit=501',
    'limit=x',
    'state=sleeping',
    'state=queued,sleeping',
    'state=queued,',
    'state=queued,queued',
    'state=',
    'limit=1&limit=2',
    'stat=queued',
    'state=%zz',
  ]) {
    t.equal((await s.expect(400, 'GET', `/api/run-requests?${query}`)).body.code, 'invalid_query', query)
  }
})

t.test('a list of several states pages through each of its requests once, in one order', async (t) => {
  const s = await startOnDisk(t, t.testdir())
  await s.project('greeter')
  const ids: string[] = []
  for (let i = 0; i < 9; i++) {
    const { id } = await s.request('greeter', { idempotency_key: String(i) })
    ids.unshift(id)
    if (i % 2 === 0) await s.expect(200, 'POST', `/api/run-requests/${id}/cancel`)
  }
  const seen: string[] = []
  let path: string | undefined = '/api/run-requests?state=cancelled,queued,lost&limit=2'
  while (path !== undefined) {
    const page = await s.expect(200, 'GET', path)
    t.ok(page.body.items.length <= 2)
    seen.push(...page.body.items.map((item: any) => item.id))
    path = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1]
    // A request that moves from one of the states to another keeps its place.
    if (seen.length === 4) await s.expect(200, 'POST', `/api/run-requests/${ids[5]}/cancel`)
  }
  t.same(seen, ids)
  const refused = await s.expect(400, 'GET', '/api/run-requests?state=queued,sleeping')
  t.match(refused.body.errors, [{ pointer: '/state/1', detail: /^must be one of queued, offered, .*got "sleeping"/ }])
})

t.test('events posted on a run are accepted only if they fit their run and schema', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1')
  const made = await s.request('greeter')
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, { token })
  const path = `/api/run-requests/${made.id}/events`
  const good = { event_type: 'greeting_composed', occurred_at: AT, payload: { greeting: 'Hello' } }
  const post = (status: number, events: unknown) => s.expect(status, 'POST', path, { events }, { token })
  t.equal((await post(403, [{ ...good, event_type: 'work_item_settled' }])).body.code, 'service_owned_type')
  const invalid = await post(422, [good, { ...good, payload: { greeting: 4 } }])
  t.same(invalid.body.errors[0].pointer, '/events/1/payload/greeting')
  t.equal((await post(422, [{ ...good, project: 'other' }])).body.errors[0].pointer, '/events/0/project')
  t.equal((await post(422, [{ ...good, trace_id: '0f'.repeat(16) }])).body.errors[0].pointer, '/events/0/trace_id')
  t.equal((await post(422, [{ ...good, throttle: 'full' }])).body.errors[0].pointer, '/events/0/throttle')
  t.equal((await post(422, [{ ...good, id: `evt_${'0'.repeat(32)}` }])).body.code, 'event_id_mismatch')
  t.equal((await post(422, [{ ...good, occurred_at: 'yesterday' }])).body.code, 'invalid_body')
  t.equal((await post(422, [{ ...good, colour: 'red' }])).body.code, 'invalid_body')
  t.equal((await post(422, [])).body.code, 'invalid_body')
  t.equal(
    (
      await post(
        422,
        Array.from({ length: 1001 }, () => good),
      )
    ).body.code,
    'invalid_body',
  )
  t.equal(
    (await post(413, [{ ...good, event_type: 'something_else', payload: { text: 'x'.repeat(600_000) } }])).body.code,
    'event_too_large',
  )
  t.equal(
    (await post(422, [{ ...good, event_type: 'something_else', payload: { text: '\ud800' } }])).body.code,
    'invalid_event',
  )
  const unknown = await post(200, [{ ...good, event_type: 'something_else', payload: { any: [1, null] } }])
  t.equal(unknown.body.accepted, 1)
  const many = Array.from({ length: 1000 }, (_, i) => ({ ...good, payload: { greeting: `Hello ${i}` } }))
  t.equal((await post(200, many)).body.accepted, 1000)
  await s.expect(200, 'POST', `/api/run-requests/${made.id}/started`, {}, { token })
  const traced = { ...good, payload: { greeting: 'Null is no trace' } }
  t.equal((await post(200, [{ ...traced, trace_id: null }])).body.accepted, 1, 'as if left out')
  t.equal((await post(200, [traced])).body.duplicates, 1)
})

t.test('a priority above 0 needs work.operate', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const asked = (priority: number) => ({ entry_event: 'greet_requested', payload: { name: `n${priority}` }, priority })
  const author = { token: await s.token('author', { roles: ['author'] }) }
  const operator = { token: await s.token('operator', { roles: ['operator'] }) }
  const refused = await s.expect(403, 'POST', '/api/projects/greeter/run-requests', asked(1), author)
  t.match(refused.body, { code: 'forbidden', detail: /work\.operate/ })
  for (const priority of [0, -1])
    await s.expect(201, 'POST', '/api/projects/greeter/run-requests', asked(priority), author)
  const made = await s.expect(201, 'POST', '/api/projects/greeter/run-requests', asked(1), operator)
  t.equal(made.body.priority, 1)
})

t.test('an emitted command creates one run request, however often it is sent', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const command = { project: 'greeter', event_type: 'greet_requested', occurred_at: AT, payload: { name: 'world' } }
  const first = await s.expect(200, 'POST', '/api/events', { events: [command] })
  const second = await s.expect(200, 'POST', '/api/events', { events: [command] })
  t.match(first.body, { accepted: 1, duplicates: 0 })
  t.match(second.body, { accepted: 0, duplicates: 1, run_requests: first.body.run_requests })
  const [id] = first.body.run_requests
  const made = await s.expect(200, 'GET', `/api/run-requests/${id}`)
  t.match(made.body, { entry_event: 'greet_requested', throttle: 'dry_run', payload: { name: 'world' } })
  const list = await s.expect(200, 'GET', '/api/run-requests')
  t.equal(list.body.items.length, 1)
  const stray = await s.expect(422, 'POST', '/api/events', { events: [command, { ...command, project: 'other' }] })
  t.equal(stray.body.errors[0].pointer, '/events/1/project')
  t.equal(
    (await s.expect(422, 'POST', '/api/events', { events: [{ ...command, project: 'system' }] })).body.code,
    'unknown_project',
  )
  const emitter = await s.token('emitter', { rights: ['event.emit'] })
  t.equal(
    (await s.expect(403, 'POST', '/api/events', { events: [command] }, { token: emitter })).body.code,
    'forbidden',
  )
})
