/** Initiatives over HTTP: who sees them, what is refused, what needs an owner, what a restart leaves. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { TRIGGERS_MAX } from '../../machines/documents/initiative.ts'
import { until } from '../until.ts'
import {
  add,
  advance,
  answer,
  BANK,
  events,
  item,
  NAME,
  ORIGIN,
  post,
  read,
  SHOP,
  settledItem,
  steer,
  steered,
  type World,
  world,
} from './initiative-harness.ts'
import { begin, fleet, inState, submit, take } from './ledger-harness.ts'
import { startOnDisk, startTestService } from './service-harness.ts'

t.test('an initiative is created once, with its members and their projects', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop', 'bank', 'till')
  const { id } = await submit(s, { project: 'till' })
  const members = [SHOP, { kind: 'work_item', ref: id }]
  const body = { name: NAME, outcome: 'Pay by invoice', members, projects: ['bank'], intent_refs: ['ir_1'] }
  const headers = { 'idempotency-key': 'k' }
  const made = await s.expect(201, 'POST', '/api/initiatives', body, { headers })
  t.equal(made.headers.get('location'), `/api/initiatives/${NAME}`)
  t.match(made.body, { status: 'active', projects: ['bank', 'shop', 'till'], members, authorized_by: 'admin' })
  t.same(made.body.budget, { max_assessments: 40, max_actions: 20 })
  const again = await s.expect(200, 'POST', '/api/initiatives', body, { headers })
  t.equal(again.headers.get('idempotent-replay'), 'true')
  t.equal((await s.call('POST', '/api/initiatives', body)).body.code, 'already_exists')
  const other = { ...body, outcome: 'x' }
  t.equal((await s.call('POST', '/api/initiatives', other, { headers })).body.code, 'idempotency_key_reused')
})

t.test('members and projects must exist and be visible to the caller', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop', 'bank')
  const refused = async (body: object, code: string, token = s.admin) => {
    const given = { name: 'x', outcome: 'x', members: [SHOP], ...body }
    const { status, body: problem } = await s.call('POST', '/api/initiatives', given, { token })
    t.equal(status, 422)
    t.equal(problem.code, code)
    return problem.errors[0].pointer
  }
  t.equal(await refused({ members: [SHOP, { kind: 'project', ref: 'moon' }] }, 'unknown_member'), '/members/1/ref')
  t.equal(await refused({ members: [{ kind: 'work_item', ref: 'wi_x' }] }, 'unknown_member'), '/members/0/ref')
  t.equal(await refused({ projects: ['moon'] }, 'unknown_project'), '/projects/0')
  t.equal(await refused({ name: 'No Name' }, 'invalid_body'), '/name')
  t.equal(await refused({ members: [] }, 'invalid_body'), '/members')
  const confined = await s.token('confined', { roles: ['admin'], projects: ['shop'] })
  t.equal(await refused({ members: [BANK] }, 'unknown_member', confined), '/members/0/ref')
  t.equal(await refused({ projects: ['bank'] }, 'unknown_project', confined), '/projects/0')
})

t.test('an initiative is visible only to tokens that see all its projects', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await add(s, { name: 'narrow', members: [SHOP] })
  await steer(w, 't1', { decision: 'ask', question: 'Which bank?' })
  const token = await s.token('confined', { roles: ['admin'], projects: ['shop'] })
  const names = async (path: string, of: (item: any) => string) =>
    (await s.expect(200, 'GET', path, undefined, { token })).body.items.map(of)
  t.same(await names('/api/initiatives', ({ name }) => name), ['narrow'])
  t.same(await names('/api/attention?reason=asked', ({ initiative }) => initiative.name), [])
  t.same(await names(`/api/events?initiative=${NAME}&project=system`, ({ id }) => id), [])
  for (const [method, path] of [
    ['GET', `/api/initiatives/${NAME}`],
    ['POST', `/api/initiatives/${NAME}/advance`],
    ['POST', `/api/initiatives/${NAME}/owner-actions`],
    ['GET', '/api/initiatives/..%2f'],
  ] as const) {
    const body = path.endsWith('actions') ? { action: 'milestone', reason: 'x' } : undefined
    t.equal((await s.call(method, path, body, { token })).status, 404, path)
  }
})

t.test('a confined token sees that an assessment runs, but neither its prompt nor its answer', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const { request } = await steer(w, 't1', { decision: 'wait', reason: 'the bank is not ready' })
  const items = `/api/work-items?source=initiative:${NAME}`
  const { id } = (await s.expect(200, 'GET', items)).body.items[0]
  const confined = await s.token('confined', { roles: ['admin'], projects: ['shop'] })
  const shown = async (path: string, token: string) =>
    JSON.stringify((await s.expect(200, 'GET', path, undefined, { token })).body)
  const run = `/api/run-requests/${request.request_id}`
  for (const path of [items, `/api/work-items/${id}`, '/api/run-requests', run, '/api/projects/shop/run-requests']) {
    t.match(await shown(path, s.admin), 'project:bank', path)
    const theirs = await shown(path, confined)
    t.match(theirs, id, `${path} lists it`)
    t.notMatch(theirs, 'project:bank', path)
    t.notMatch(theirs, 'the bank is not ready.*result', path)
  }
  t.notMatch(await shown(run, confined), 'the bank is not ready', 'nor its answer')
  await advance(w, 't2')
  const offer = await take(s, w.runner)
  const release = `/api/run-requests/${offer.request_id}/release`
  const released = await s.expect(200, 'POST', release, {}, { token: confined })
  t.match(released.body.run_request, { state: 'queued', payload: {} })
  t.notMatch(JSON.stringify(released.body), 'project:bank', 'nor in the answer to release')
  const stop = `/api/run-requests/${offer.request_id}/cancel`
  const stopped = await s.expect(200, 'POST', stop, {}, { token: confined })
  t.match(stopped.body, { state: 'cancelled', payload: {} })
  t.notMatch(JSON.stringify(stopped.body), 'project:bank', 'nor in the answer to cancel')
  await advance(w, 't3')
  const begun = await begin(s, w.runner)
  await s.expect(200, 'POST', '/api/runners/r1/session', { version: '1', instance: 'anew' }, w.runner)
  const called = async (token: string) => JSON.parse(await shown('/api/attention?reason=lost', token)).items
  const [lost] = await until(
    () => called(s.admin),
    ({ length }) => length === 1,
  )
  t.match(lost, { run_request: { id: begun.request_id, payload: { initiative: NAME } } })
  const [seen] = await called(confined)
  t.match(seen, { run_request: { id: begun.request_id, state: 'lost' } })
  t.same(seen.run_request.payload, {}, 'nor in attention')
})

t.test('a pinned assessment is shown to those who see its project, in its documents as in its events', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const { request } = await steer(w, 't1', { decision: 'wait', reason: 'the till is not ready' }, { member: SHOP })
  const confined = { token: await s.token('confined', { roles: ['viewer'], projects: ['shop'] }) }
  const shown = async (path: string, as = {}) => (await s.expect(200, 'GET', path, undefined, as)).body
  const [event] = (await shown('/api/events?event_type=initiative_steered', confined)).items
  const run = await shown(`/api/run-requests/${request.request_id}`, confined)
  const item = await shown(`/api/work-items/${run.work_item_id}`, confined)
  t.match(event.payload, { decision: 'wait', prompt: request.engine.payload.prompt })
  t.match(run, { payload: request.engine.payload, result: { reason: 'the till is not ready' } })
  t.match(item.payload, { prompt: request.engine.payload.prompt })
  t.same(run, await shown(`/api/run-requests/${request.request_id}`))
  t.notMatch(JSON.stringify([event, run, item]), /bank/)
})

t.test('an assessment is given only to a runner that is allowed for every project it shows', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await s.expect(200, 'PATCH', '/api/runners/r1', { allowed_projects: ['shop'] })
  const asked = async (wait = 0) => s.call('GET', `/api/runners/r1/run-requests/next?wait=${wait}`, undefined, w.runner)
  await asked()
  await advance(w, 't1')
  const waiting = await until(
    async () => (await s.expect(200, 'GET', '/api/attention?reason=no_runner')).body.items,
    ({ length }) => length === 1,
  )
  const because = 'No runner is allowed for shop and each other project of its initiative.'
  t.match(waiting[0], { because: { code: 'no_runner_allowed', detail: because } })
  t.equal((await asked()).status, 204)
  const confined = await s.token('confined', { roles: ['viewer'], projects: ['shop'] })
  const { body } = await s.expect(200, 'GET', '/api/attention?reason=no_runner', undefined, { token: confined })
  t.match(body.items[0], { because: { code: 'no_runner_allowed', detail: because } })
  t.notMatch(JSON.stringify(body), 'bank', 'the hidden project is not named')
  await s.expect(200, 'PATCH', '/api/runners/r1', { allowed_projects: ['bank', 'shop'] })
  t.match((await asked(5)).body, { engine: { entry_event: 'initiative_advance_requested' } })
})

t.test(
  "a pinned assessment needs a runner for its member's project only, and decides about that member only",
  async (t) => {
    const s = await startTestService(t)
    const w = await world(s)
    await s.expect(200, 'PATCH', '/api/runners/r1', { allowed_projects: ['shop'] })
    const { ended } = await steer(w, 't1', { decision: 'dispatch', member: BANK, objective: 'x' }, { member: SHOP })
    t.match(ended, { outcome: 'rejected', detail: 'the assessment is only about project:shop, not project:bank' })
  },
)

t.test('initiatives are listed by status and project, in pages', async (t) => {
  const s = await startTestService(t)
  await world(s)
  await add(s, { name: 'second', members: [SHOP] })
  await add(s, { name: 'third', members: [BANK] })
  await s.expect(200, 'POST', '/api/initiatives/second/cancel', { reason: 'no' })
  const names = async (query: string) =>
    (await s.expect(200, 'GET', `/api/initiatives${query}`)).body.items.map(({ name }: any) => name)
  t.same(await names(''), ['third', 'second', NAME])
  t.same(await names('?status=active'), ['third', NAME])
  t.same(await names('?status=cancelled'), ['second'])
  t.same(await names('?status=cancelled,active'), ['third', 'second', NAME])
  t.same(await names('?project=shop'), ['second', NAME])
  t.same(await names('?project=shop&status=active'), [NAME])
  const first = (await s.expect(200, 'GET', '/api/initiatives?limit=2')).body
  t.same(await names(`?limit=2&cursor=${first.next_cursor}`), [NAME])
})

t.test(
  "an owner action about no member or with inconsistent fields is refused with the initiative's status",
  async (t) => {
    const w = await world(await startTestService(t))
    await advance(w, 't1')
    await until(
      () => read(w),
      ({ assessment }) => assessment !== undefined,
    )
    const stranger = { kind: 'campaign', ref: 'nobody' }
    const { body } = await post(w, 'owner-actions', { action: 'hold', reason: 'x', member: stranger })
    t.match(body, { status: 409, code: 'illegal_move', state: 'active', detail: 'It has no member campaign:nobody.' })
    t.ok(body.allowed.includes('owner-actions'), 'the action is allowed for a member')
    for (const [pointer, more] of [
      ['/member', { action: 'member_override', override: 'exclude' }],
      ['/override', { action: 'member_override', member: SHOP }],
      ['/override', { action: 'hold', member: SHOP, override: 'exclude' }],
      ['/lifted', { action: 'milestone', lifted: true }],
    ] as const) {
      const odd = await post(w, 'owner-actions', { reason: 'x', ...more })
      t.match(odd, { status: 422, body: { code: 'invalid_body', errors: [{ pointer }] } }, JSON.stringify(more))
    }
    await post(w, 'complete', { reason: 'paid' })
    const late = await post(w, 'owner-actions', { action: 'hold', reason: 'x', member: stranger })
    t.same(late.body.allowed, [], 'for an ended one nothing is allowed')
  },
)

t.test('a question or close proposal needs attention until the owner decides', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const attention = async () =>
    (await s.expect(200, 'GET', '/api/attention')).body.items.map(({ reason }: any) => reason)
  await steer(w, 't1', { decision: 'ask', question: 'Which bank?', options: ['a', 'b'] })
  t.same(await attention(), ['asked'])
  await answer(w, { decision: 'wait' })
  await steered(w, 2)
  await post(w, 'decide', { decision: 'Bank a' })
  t.same(await attention(), [])
  await steer(w, 't2', { decision: 'done' })
  t.same(await attention(), ['close_proposed'])
  await post(w, 'complete', { reason: 'paid' })
  t.same(await attention(), [])
})

t.test(
  'a second, different answer to a question is refused with the first, and the same answer is a repeat',
  async (t) => {
    const s = await startTestService(t)
    const w = await world(s)
    const other = { token: await s.token('bob', { roles: ['operator'] }) }
    await steer(w, 't1', { decision: 'ask', question: 'Which bank?', member: SHOP })
    const [{ id: question_id }] = (await read(w)).questions
    const path = `/api/initiatives/${NAME}/decide`
    const first = await s.expect(200, 'POST', path, { question_id, decision: 'Bank a' })
    const [word] = first.body.owner_decisions
    t.match(word, { decision: 'Bank a', applicable_members: [SHOP], answers: [question_id], by: { name: 'admin' } })
    t.same(first.body.questions, [])
    const second = await s.expect(409, 'POST', path, { question_id, decision: 'Bank b' }, other)
    t.match(second.body, { code: 'illegal_move', detail: /^It was answered by admin at 20.*: Bank a/ })
    t.equal((await s.call('POST', path, { question_id, decision: 'Bank a', reason: 'x' }, other)).status, 409)
    for (const more of [{}, { applicable_members: [SHOP] }]) {
      const again = await s.expect(200, 'POST', path, { question_id, decision: 'Bank a', ...more }, other)
      t.equal(again.headers.get('idempotent-replay'), 'true')
      t.equal(again.body.owner_decisions.length, 1)
    }
    const unknown = await s.expect(409, 'POST', path, { question_id: 'act_nothing', decision: 'Bank a' })
    t.match(unknown.body, { code: 'illegal_move', detail: /no question .*act_nothing.* is open/i })
    for (const { body } of [second, unknown])
      t.ok(body.allowed.includes('decide'), 'other questions may still be answered')
    await s.expect(200, 'POST', path, { decision: 'Bank b' }, other)
    t.equal((await read(w)).owner_decisions.length, 2, 'a decision without a question is recorded separately')
  },
)

t.test(
  'a decision that names a question answers only that one, and one without a name answers all open questions',
  async (t) => {
    const w = await world(await startTestService(t))
    await steer(w, 't1', { decision: 'ask', question: 'Which bank?' })
    await answer(w, { decision: 'ask', question: 'Which day?', member: SHOP })
    await steered(w, 2)
    const [bank, day] = (await read(w)).questions
    const about = { question_id: bank.id, decision: 'Bank a' }
    const { body } = await post(w, 'decide', about)
    t.same(body.questions, [day])
    t.notOk('applicable_members' in body.owner_decisions[0], 'the question was about all members')
    const whole = await post(w, 'decide', { decision: 'Monday' })
    t.same(whole.body.questions, [])
    t.same(whole.body.owner_decisions[1].answers, [day.id])
  },
)

t.test('an ended initiative refuses every command except a repeated completion', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  t.equal((await post(w, 'complete', { reason: 'paid' })).body.status, 'completed')
  t.equal((await post(w, 'complete', { reason: 'paid' })).status, 200)
  for (const [name, body] of [
    ['advance', {}],
    ['decide', { decision: 'x' }],
    ['cancel', { reason: 'x' }],
    ['owner-actions', { action: 'milestone', reason: 'x' }],
    ['findings', { text: 'x' }],
  ] as const) {
    const { status, body: problem } = await post(w, name, body)
    t.equal(status, 409, name)
    t.match(problem, { code: 'illegal_move', state: 'completed', allowed: [] })
  }
})

t.test('an unanswered assessment fails when its initiative ends, whatever is answered later', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await advance(w, 't1')
  const { request_id } = await begin(s, w.runner)
  await s.expect(200, 'POST', `/api/initiatives/${NAME}/complete`, { reason: 'all is well' })
  const result = { decision: 'wait', reason: 'not yet' }
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/completed`, { result }, w.runner)
  const { item_id, outcome } = await steered(w, 1)
  t.equal(outcome, 'failed')
  t.match(await settledItem(w, item_id), { state: 'cancelled' })
  t.match((await events(w, 'initiative_steered'))[0].payload, { outcome: 'failed', success: false })
  t.match(await read(w), { status: 'completed' })
})

t.test('once an initiative has ended nobody is called because of an assessment of it that failed', async (t) => {
  for (const end of ['complete', 'cancel']) {
    const s = await startTestService(t)
    const w = await world(s)
    const ids: string[] = []
    for (const n of [1, 2]) {
      await advance(w, `t${n}`)
      const { request_id } = await begin(s, w.runner)
      await s.expect(200, 'POST', `/api/run-requests/${request_id}/completed`, { result: {} }, w.runner)
      ids.push((await steered(w, n)).item_id)
      await inState(s, ids.at(-1)!, 'failed')
    }
    const called = async () =>
      (await s.expect(200, 'GET', '/api/attention')).body.items.map(({ work_item }: any) => work_item.id)
    t.same(await called(), [ids[1]], 'the newest of them calls')
    await s.expect(200, 'POST', `/api/work-items/${ids[0]}/close`, { reason: 'seen' })
    await s.expect(200, 'POST', `/api/initiatives/${NAME}/${end}`, { reason: 'all is well' })
    t.match(await inState(s, ids[1]!, 'cancelled'), { reason: /^closed: its initiative is c\w+ed$/ })
    t.match(await item(w, ids[0]!), { reason: 'closed: seen' })
    t.same(await called(), [], end)
  }
})

t.test('owner actions and findings with an idempotency key are recorded once', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const key = { 'idempotency-key': 'k' }
  for (const [name, body, list] of [
    ['owner-actions', { action: 'milestone', reason: 'the first invoice' }, 'owner_actions'],
    ['findings', { text: 'The limit is 10', to: [SHOP] }, 'findings'],
  ] as const) {
    const first = await post(w, name, body, key)
    t.equal(first.status, 201)
    const again = await post(w, name, body, key)
    t.equal(again.status, 200)
    t.equal(again.headers.get('idempotent-replay'), 'true')
    t.same(again.body, first.body)
    t.equal((await post(w, name, { ...body, reason: 'x', text: 'y' }, key)).status, 422)
    t.equal((await read(w))[list].length, 1)
  }
  for (const [body, pointer] of [
    [{ action: 'member_override', reason: 'x' }, '/member'],
    [{ action: 'member_override', reason: 'x', member: SHOP }, '/override'],
    [{ action: 'hold', reason: 'x', override: 'exclude' }, '/override'],
    [{ action: 'milestone', reason: 'x', lifted: true }, '/lifted'],
  ] as const) {
    t.equal((await post(w, 'owner-actions', body)).body.errors[0].pointer, pointer)
  }
  t.equal((await post(w, 'findings', { text: 'x', to: [{ kind: 'project', ref: 'till' }] })).status, 409)
})

t.test('an idempotency key or trigger of a decision or request is refused with another body', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const key = { 'idempotency-key': 'k' }
  for (const [name, body, other] of [
    ['decide', { decision: 'Bank a' }, { decision: 'Bank b' }],
    ['advance', { member: SHOP }, { member: BANK }],
    ['advance', { member: SHOP, trigger_id: 'nightly' }, { member: BANK, trigger_id: 'nightly' }],
  ] as const) {
    const headers = 'trigger_id' in body ? {} : key
    const first = await post(w, name, body, headers)
    t.equal(first.status, 200)
    t.equal(first.headers.get('idempotent-replay'), null)
    const again = await post(w, name, body, headers)
    t.equal(again.status, 200)
    t.equal(again.headers.get('idempotent-replay'), 'true')
    const reused = await post(w, name, other, headers)
    t.equal(reused.status, 422)
    t.equal(reused.body.code, 'idempotency_key_reused')
  }
  t.same(
    (await read(w)).owner_decisions.map(({ decision }: any) => decision),
    ['Bank a'],
  )
  t.equal((await post(w, 'decide', { decision: 'Bank a' }, { 'idempotency-key': 'another' })).status, 200)
  t.equal((await read(w)).owner_decisions.length, 2, 'under another key it is another decision')
  const { assessment, waiting } = await read(w)
  const asked = [assessment, ...waiting].map(({ member }: any) => member)
  t.same(asked, [SHOP, SHOP])
  await answer(w, { decision: 'wait' })
  await steered(w, 1)
  t.equal((await post(w, 'advance', { member: BANK }, key)).status, 422, 'even once it is over')
})

t.test('of a request with both a key and a trigger, each is recognized', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const ask = async (key: string, body: object) => {
    const { status, body: said, headers } = await post(w, 'advance', body, { 'idempotency-key': key })
    return [status, status === 200 ? headers.get('idempotent-replay') : said.code]
  }
  const nightly = { member: SHOP, trigger_id: 'nightly' }
  const [first, replay, reused] = [
    [200, null],
    [200, 'true'],
    [422, 'idempotency_key_reused'],
  ]
  t.same(await ask('k', nightly), first)
  t.same(await ask('k', nightly), replay)
  t.same(await ask('k', { member: SHOP, trigger_id: 'weekly' }), reused, 'the key')
  t.same(await ask('l', { member: BANK, trigger_id: 'nightly' }), reused, 'the trigger')
  t.same(await ask('l', { member: BANK, trigger_id: 'weekly' }), first, 'what was refused has used no key')
  t.same(await ask('m', nightly), replay, 'the trigger of another key')
  t.same(await ask('m', { trigger_id: 'late' }), reused, 'which counts from then on, too')
  t.same(await ask('p', { member: SHOP }), first, 'a key alone')
  t.same(await ask('p', nightly), reused)
  const { assessment, waiting } = await read(w)
  t.same(
    [assessment, ...waiting].map(({ trigger_id }: any) => trigger_id),
    ['nightly', 'weekly', waiting.at(-1).trigger_id],
  )
  t.equal((await post(w, 'complete', { reason: 'paid' })).status, 200)
  t.same(await ask('n', nightly), replay, 'also once it is over')
  t.same(await ask('n', { trigger_id: 'late' }), reused)
  const many = ['a', 'b', 'c'].map((trigger_id) => ask('o', { trigger_id }))
  t.same(new Set((await Promise.all(many)).map(([status]) => status)), new Set([409]), 'a refusal keeps no key')
})

t.test('of requests sent at once under one key, only the first is taken', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const ask = (trigger_id: string) => post(w, 'advance', { trigger_id }, { 'idempotency-key': 'k' })
  const answers = await Promise.all(['a', 'b', 'c', 'a'].map(ask))
  t.same(answers.map(({ status }) => status).sort(), [200, 200, 422, 422])
  t.equal((await events(w, 'initiative_advance_requested')).length, 1)
})

t.test('unnamed requests for the same member are merged while one of them waits', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['campaign'] })
  await advance(w, 't1')
  await until(
    () => read(w),
    ({ assessment }) => assessment !== undefined,
  )
  const ask = async (body: object = {}) => {
    const { status, headers } = await post(w, 'advance', body)
    t.equal(status, 200)
    return headers.get('idempotent-replay')
  }
  const asked = [await ask(), await ask(), await ask({ member: SHOP }), await ask(), await ask({ member: SHOP })]
  t.same(asked, [null, 'true', null, 'true', 'true'])
  t.equal(await ask({ trigger_id: 't2' }), null, 'a named one is separate')
  t.same(
    (await read(w)).waiting.map(({ member }: any) => member),
    [undefined, SHOP, undefined],
  )
  t.equal((await events(w, 'initiative_advance_requested')).length, 4)
})

t.test('repeating the newest decision is a repeat unless it answers an open question', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const decide = async (body: object) => {
    const { status, headers } = await post(w, 'decide', body)
    t.equal(status, 200)
    return [headers.get('idempotent-replay'), (await read(w)).owner_decisions.length]
  }
  const word = { decision: 'Bank a', reason: 'it is cheaper', applicable_members: [SHOP] }
  t.same(await decide(word), [null, 1])
  t.same(await decide(word), ['true', 1])
  t.same(await decide({ ...word, reason: undefined }), [null, 2])
  t.same(await decide(word), [null, 3], 'another decision came between')
  t.same(await decide({ ...word, applicable_members: [BANK] }), [null, 4])
  t.same(await decide({ ...word, applicable_members: undefined }), [null, 5])
  t.same(await decide({ ...word, applicable_members: undefined }), ['true', 5])
  await steer(w, 't1', { decision: 'ask', member: SHOP, question: 'Which bank?', options: ['a', 'b'] })
  t.equal((await read(w)).questions.length, 1)
  t.same(await decide({ ...word, applicable_members: undefined }), [null, 6], 'it answers the question')
  t.same((await read(w)).questions, [])
  t.same(
    await decide({ ...word, applicable_members: undefined }),
    [null, 7],
    'the earlier one may have been about the question',
  )
  t.same(await decide({ ...word, applicable_members: undefined }), ['true', 7])
  const token = await s.token('bob', { roles: ['operator'] })
  const bobs = await s.call(
    'POST',
    `/api/initiatives/${NAME}/decide`,
    { ...ORIGIN, ...word, applicable_members: undefined },
    { token },
  )
  t.match([bobs.status, (await read(w)).owner_decisions.length], [200, 8], 'from another person')
})

t.test('an idempotency key is remembered however many others are used after it', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const key = (n: number) => ({ 'idempotency-key': `k${n}` })
  t.equal((await post(w, 'decide', { decision: 'Bank a' }, key(0))).status, 200)
  t.equal((await post(w, 'findings', { text: 'The limit is 10' }, key(0))).status, 201)
  /** Retries a 503 like a real client: a busy machine may have no room for so many requests at once. */
  const decide = async (n: number): Promise<number> => {
    for (;;) {
      const { status } = await post(w, 'decide', { decision: `Bank ${n}` }, key(n))
      if (status !== 503) return status
      await sleep(50)
    }
  }
  // More decisions than an initiative itself remembers.
  for (let n = 1; n <= 256; n += 32)
    t.same(new Set(await Promise.all(Array.from({ length: 32 }, (_, m) => decide(n + m)))), new Set([200]))
  const again = await post(w, 'decide', { decision: 'Bank a' }, key(0))
  t.match([again.status, again.headers.get('idempotent-replay')], [200, 'true'])
  const reused = await post(w, 'decide', { decision: 'Bank b' }, key(0))
  t.match(reused, { status: 422, body: { code: 'idempotency_key_reused', detail: /another decision/ } })
  t.equal((await post(w, 'findings', { text: 'The limit is 10' }, key(0))).status, 200)
  t.equal((await events(w, 'initiative_decided')).length, 257)
  t.equal((await events(w, 'finding_recorded')).length, 1)
})

/** Emits the requests so that all are admitted before any is recorded; returns the ids of their events. */
async function emitAtOnce({ s }: World, ...payloads: object[]): Promise<string[]> {
  const { runtime } = s.service
  const ask = runtime.ask.bind(runtime)
  const held: Parameters<typeof ask>[] = []
  runtime.ask = (...asked) => {
    if (asked[0].kind !== 'project') return ask(...asked)
    if (held.push(asked) < payloads.length) return
    runtime.ask = ask
    for (const one of held) ask(...one)
  }
  const event = { event_type: 'initiative_advance_requested', project: 'shop', throttle: 'full' }
  const posts = payloads.map(async (payload) => {
    const whole = { initiative: NAME, operator_origin: 'cron', ...payload }
    const events = [{ ...event, occurred_at: '2026-01-31T12:00:00Z', payload: whole }]
    return (await s.expect(200, 'POST', '/api/events', { events })).body.events[0]
  })
  return Promise.all(posts)
}

t.test(
  'each of several emitted requests that were admitted together ends with an event that names it as cause',
  async (t) => {
    const s = await startTestService(t)
    const w = await world(s)
    const endsOf = async (count: number) => {
      const ends = await until(
        () => events(w, 'initiative_steered'),
        (found) => found.length >= count,
      )
      return ends.map(({ causation_id, payload }) => [causation_id, payload.outcome, payload.reason])
    }
    const asked = await emitAtOnce(w, { trigger_id: 'nightly', member: SHOP }, { trigger_id: 'nightly', member: BANK })
    const [[refused, ...why]] = (await endsOf(1)) as [string[]]
    t.same(why, ['skipped', 'its trigger was already used for another member'])
    t.ok(asked.includes(refused!))
    await answer(w, { decision: 'wait' })
    t.same(new Set((await endsOf(2)).map(([cause]) => cause)), new Set(asked))
    const items = (await s.expect(200, 'GET', `/api/work-items?source=initiative:${NAME}`)).body.items
    t.equal(items.length, 2)
    for (const { id } of items) t.equal((await settledItem(w, id)).state, 'landed')

    for (let n = 0; n < TRIGGERS_MAX; n++) await advance(w, `t${n}`)
    await until(
      () => read(w),
      ({ waiting }) => waiting.length === TRIGGERS_MAX - 1,
    )
    const crowd = await emitAtOnce(w, { trigger_id: 'late1' }, { trigger_id: 'late2' })
    const [cause, ...outcome] = (await endsOf(3))[2]!
    t.same(outcome, ['skipped', `${TRIGGERS_MAX} requests are already waiting`])
    t.ok(crowd.includes(cause as string))
    t.equal((await read(w)).waiting.length, TRIGGERS_MAX)
  },
)

t.test('an emitted initiative_advance_requested requests an assessment and is named as its cause', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  const emitted = (payload: object, project = 'shop') => ({
    events: [
      {
        event_type: 'initiative_advance_requested',
        project,
        occurred_at: '2026-01-31T12:00:00Z',
        throttle: 'full',
        payload: { initiative: NAME, operator_origin: 'cron', trigger_id: 'nightly', ...payload },
      },
    ],
  })
  const { body } = await s.expect(200, 'POST', '/api/events', emitted({ member: SHOP }))
  t.same(body.run_requests, [])
  const request = await take(s, w.runner)
  t.match(request.engine, {
    entry_event: 'initiative_advance_requested',
    payload: { trigger_id: 'nightly', member: SHOP },
  })
  const items = (await s.expect(200, 'GET', `/api/work-items?source=initiative:${NAME}`)).body.items
  t.equal(request.work_item_id, items[0].id, "it belongs to the initiative's item")
  const [submitted] = (await s.expect(200, 'GET', `/api/events?item_id=${items[0].id}`)).body.items
  t.equal(submitted.causation_id, body.events[0])
  await s.expect(200, 'POST', '/api/events', emitted({ member: SHOP }))
  t.equal((await read(w)).waiting.length, 0, 'the same event is the same request')
  const refused = async (payload: object, project: string, pointer: string) => {
    const problem = (await s.call('POST', '/api/events', emitted(payload, project))).body
    t.equal(problem.errors?.[0].pointer, pointer)
  }
  await refused({ initiative: 'moon' }, 'shop', '/events/0/payload/initiative')
  const follow_up_of = { steer_id: 'steer_none', step: 'relay' }
  await refused({ trigger_id: 'after', follow_up_of }, 'shop', '/events/0/payload/follow_up_of')
  await refused({ member: { kind: 'project', ref: 'till' } }, 'shop', '/events/0/payload/member')
  await s.project('till')
  await refused({}, 'till', '/events/0/project')
  await refused({}, 'shop', '/events/0/payload/trigger_id')
  await refused({ member: BANK }, 'shop', '/events/0/payload/trigger_id')
  const twice = [emitted({ trigger_id: 'two' }), emitted({ trigger_id: 'two', member: SHOP })].flatMap(
    (one) => one.events,
  )
  const { errors } = (await s.expect(422, 'POST', '/api/events', { events: twice })).body
  t.match(errors, [{ pointer: '/events/1/payload/trigger_id', detail: /used for another member/ }])
  t.equal(
    (await post(w, 'advance', { member: SHOP, trigger_id: 'nightly' })).status,
    200,
    'requested both by event and over HTTP',
  )
  t.equal((await post(w, 'advance', { trigger_id: 'nightly' })).status, 422)
  t.equal((await read(w)).waiting.length, 0)
  const many = Array.from({ length: 33 }, (_, n) => emitted({ trigger_id: `t${n}` }).events[0]!)
  const full = (await s.expect(409, 'POST', '/api/events', { events: many })).body
  t.match(full, { code: 'illegal_move', detail: /: 32 requests are already waiting/ })
  const simulated = emitted({})
  Object.assign(simulated.events[0]!, { throttle: 'dry_run' })
  t.equal((await s.call('POST', '/api/events', simulated)).body.errors[0].pointer, '/events/0/throttle')
  const author = await s.token('author', { rights: ['event.emit', 'work.submit'] })
  t.equal((await s.call('POST', '/api/events', emitted({ trigger_id: 'x' }), { token: author })).status, 403)
})

t.test('after a restart a running assessment can be answered, and a waiting request is assessed', async (t) => {
  const home = t.testdir()
  const s = await startOnDisk(t, home)
  const w = await world(s)
  await advance(w, 't1')
  await advance(w, 't2')
  const request = await take(s, w.runner)
  await s.service.close()
  const next = await startOnDisk(t, home)
  const then = { s: next, runner: w.runner }
  const result = { decision: 'wait', reason: 'not yet' }
  await next.expect(200, 'POST', `/api/run-requests/${request.request_id}/completed`, { result }, w.runner)
  t.match(await steered(then, 1), { trigger_id: 't1', outcome: 'waited' })
  await answer(then, { decision: 'wait' })
  t.match(await steered(then, 2), { trigger_id: 't2', outcome: 'waited' })
  await until(
    () => read(then),
    ({ assessment }) => assessment === undefined,
  )
})
