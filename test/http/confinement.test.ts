/** What a confined token may not see does not exist for it, also where its own things touch those of others. */
import t from 'tap'
import { startTestService, type TestService } from './service-harness.ts'

/** Two projects on one repository and one runner, with work under way in both. */
async function shared(s: TestService) {
  await s.project('mine')
  await s.project('theirs')
  const runner = await s.runner('both', { allowed_projects: ['mine', 'theirs'], capacity: 5, trusted: true })
  const work = { throttle: 'full', repo: { path: 'git@host:shared' } }
  const theirs = await s.request('theirs', work)
  await s.expect(200, 'POST', `/api/run-requests/${theirs.id}/approve`)
  await s.expect(200, 'GET', '/api/runners/both/run-requests/next?wait=2', undefined, { token: runner })
  await s.expect(200, 'POST', `/api/run-requests/${theirs.id}/started`, {}, { token: runner })
  const mine = await s.request('mine', work)
  await s.expect(200, 'POST', `/api/run-requests/${mine.id}/approve`)
  const dry = await s.request('mine', { idempotency_key: 'dry' })
  await s.expect(200, 'GET', '/api/runners/both/run-requests/next?wait=2', undefined, { token: runner })
  const token = await s.token('confined', { roles: ['viewer', 'operator'], projects: ['mine'] })
  return { theirs, mine, dry, token }
}

t.test('a shared runner shows what concerns the own projects', async (t) => {
  const s = await startTestService(t)
  const { theirs, dry, token } = await shared(s)
  const whole = (await s.expect(200, 'GET', '/api/runners/both')).body
  t.same(whole.allowed_projects, ['mine', 'theirs'])
  t.same([...whole.in_flight].sort(), [theirs.id, dry.id].sort())
  const part = { allowed_projects: ['mine'], in_flight: [dry.id] }
  t.match((await s.expect(200, 'GET', '/api/runners/both', undefined, { token })).body, part)
  t.match((await s.expect(200, 'GET', '/api/runners', undefined, { token })).body.items, [part])
})

t.test('nothing that is answered to a confined token names what belongs to others', async (t) => {
  const s = await startTestService(t)
  const { theirs, mine, token } = await shared(s)
  const as = { token }
  const read = await s.expect(200, 'GET', `/api/run-requests/${mine.id}`)
  t.match(read.body.waiting_because, { code: 'repository_busy', detail: new RegExp(theirs.id) })
  const confined = await s.expect(200, 'GET', `/api/run-requests/${mine.id}`, undefined, as)
  t.equal(confined.body.waiting_because.code, 'repository_busy')
  const paths = [
    `/api/run-requests/${mine.id}`,
    '/api/run-requests',
    '/api/run-requests?state=started',
    '/api/run-requests?runner=both',
    '/api/projects',
    '/api/runners',
    '/api/attention',
    '/api/events',
    '/api/events?order=desc&limit=500',
    `/api/events?trace_id=${theirs.trace_id}`,
    `/api/events?run_request_id=${theirs.id}`,
    '/api/events?event_type=run_request_started',
    '/metrics',
  ]
  const engineRun = (await s.expect(200, 'GET', `/api/run-requests/${theirs.id}`)).body.engine_run_id
  for (const path of paths) {
    const reply = await s.expect(200, 'GET', path, undefined, as)
    const text = `${JSON.stringify(reply.body)} ${reply.headers.get('link') ?? ''}`.replaceAll(path, '')
    for (const secret of ['theirs', theirs.id, theirs.trace_id, engineRun])
      t.notOk(text.includes(secret), `${path}: ${secret}`)
  }
  const event = (await s.expect(200, 'GET', `/api/events?run_request_id=${theirs.id}`)).body.items[0]
  for (const path of [
    `/api/traces/${theirs.trace_id}`,
    `/api/events/${event.id}`,
    `/api/events/${event.id}?trace_id=${theirs.trace_id}`,
    `/api/engine-runs/${engineRun}`,
  ]) {
    const refused = await s.expect(404, 'GET', path, undefined, as)
    t.notMatch(refused.body.detail.replaceAll(theirs.trace_id, ''), /theirs/)
  }
  for (const name of ['cancel', 'requeue', 'release']) {
    await s.expect(404, 'POST', `/api/run-requests/${theirs.id}/${name}`, {}, as)
  }
  const cancelled = await s.expect(200, 'POST', '/api/run-requests/cancel', { runner: 'both' }, as)
  t.notOk(JSON.stringify(cancelled.body).includes(theirs.id))
  t.equal((await s.expect(200, 'GET', `/api/run-requests/${theirs.id}`)).body.state, 'started')
})

t.test('a key that another asker used tells nothing of what it made', async (t) => {
  const s = await startTestService(t)
  await shared(s)
  const headers = { 'idempotency-key': 'k' }
  const body = { name: 'x', roles: ['viewer'], projects: ['mine'] }
  const first = await s.expect(201, 'POST', '/api/tokens', body, { headers })
  const keeper = await s.token('keeper', { rights: ['token.manage', 'view'], projects: ['mine'] })
  const second = await s.expect(201, 'POST', '/api/tokens', body, { headers, token: keeper })
  t.not(second.body.id, first.body.id)
  t.same(
    (await s.expect(201, 'POST', '/api/projects/mine/run-requests', { entry_event: 'x', idempotency_key: 'k' })).body
      .project,
    'mine',
  )
  const theirs = await s.expect(201, 'POST', '/api/projects/theirs/run-requests', {
    entry_event: 'x',
    idempotency_key: 'k',
  })
  t.equal(theirs.body.project, 'theirs', 'the key of a request is scoped to its project')
})

t.test("a token that reaches no project is its maker's to see and to revoke", async (t) => {
  const s = await startTestService(t)
  await s.project('mine')
  await s.project('theirs')
  const mine = { token: await s.token('mine', { roles: ['admin'], projects: ['mine'] }) }
  const theirs = { token: await s.token('theirs', { roles: ['admin'], projects: ['theirs'] }) }
  const made = await s.expect(
    201,
    'POST',
    '/api/tokens',
    { name: 'secret plan', roles: ['viewer'], projects: [] },
    mine,
  )
  const names = async (as: { token: string }) =>
    (await s.expect(200, 'GET', '/api/tokens', undefined, as)).body.items.map(({ name }: any) => name)
  t.ok((await names(mine)).includes('secret plan'))
  t.notOk((await names(theirs)).includes('secret plan'))
  await s.expect(404, 'DELETE', `/api/tokens/${made.body.id}`, undefined, theirs)
  await s.expect(204, 'DELETE', `/api/tokens/${made.body.id}`, undefined, mine)
})

t.test('a name that others have given is taken, and nothing is told of what has it', async (t) => {
  const s = await startTestService(t)
  await s.project('mine')
  await s.project('theirs')
  const done_evidence = [{ kind: 'gate', command: 'npm test' }]
  const campaign = (project: string) => ({ name: 'pay', project, mission: 'x', done_evidence })
  const initiative = (ref: string) => ({ name: 'pay', outcome: 'x', members: [{ kind: 'project', ref }] })
  const token = await s.token('confined', { roles: ['viewer', 'operator'], projects: ['mine'] })
  for (const [path, of] of [
    ['/api/campaigns', campaign],
    ['/api/initiatives', initiative],
  ] as const) {
    await s.expect(201, 'POST', path, of('theirs'))
    const known = (await s.call('POST', path, of('mine'))).body
    t.match(known, { status: 409, code: 'already_exists', state: /./, allowed: [] }, 'who may see it is told')
    const { body } = await s.call('POST', path, of('mine'), { token })
    t.match(body, { status: 409, code: 'already_exists' })
    t.same([body.state, body.allowed], [undefined, undefined])
  }
})
