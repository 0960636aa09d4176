import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { startService } from '../../http/service.ts'
import { startTestService } from './service-harness.ts'

t.test('a project is created, read by id or key, changed, archived, restored and given a charter', async (t) => {
  const s = await startTestService(t)
  const made = await s.expect(201, 'POST', '/api/projects', { name: 'The Greeter', repository: 'https://x/y' })
  t.equal(made.body.key, 'the-greeter')
  t.same((await s.expect(200, 'GET', `/api/projects/${made.body.id}`)).body, made.body)
  t.same((await s.expect(200, 'GET', '/api/projects/the-greeter')).body, made.body)
  t.equal((await s.expect(409, 'POST', '/api/projects', { name: 'The Greeter' })).body.code, 'already_exists')
  t.equal((await s.expect(422, 'POST', '/api/projects', { name: '日本' })).body.errors[0].pointer, '/key')
  t.match((await s.expect(422, 'POST', '/api/projects', { name: 'System' })).body.errors, [{ detail: /reserved/ }])
  for (const key of ['system', 'proj_x', 'Upper', '', 'a b']) {
    t.equal((await s.expect(422, 'POST', '/api/projects', { key, name: 'x' })).body.code, 'invalid_body', key)
  }
  const patched = await s.expect(200, 'PATCH', '/api/projects/the-greeter', { name: 'Greeter', repository: null })
  t.match(patched.body, { name: 'Greeter', key: 'the-greeter' })
  t.notOk('repository' in patched.body)
  t.equal((await s.expect(422, 'PATCH', '/api/projects/the-greeter', { key: 'other' })).body.code, 'invalid_body')
  t.equal((await s.expect(422, 'PATCH', '/api/projects/the-greeter', {})).body.code, 'invalid_body')
  t.same((await s.expect(200, 'GET', '/api/projects/the-greeter/charter')).body, {})
  await s.expect(200, 'PUT', '/api/projects/the-greeter/charter', { mission: 'Greet.', out_of_scope: 'Farewells.' })
  t.same((await s.expect(200, 'PUT', '/api/projects/the-greeter/charter', { mission: 'Greet.' })).body, {
    mission: 'Greet.',
  })
  const blank = { mission: ' ', differentiators: '', out_of_scope: 'Farewells.' }
  t.same((await s.expect(200, 'PUT', '/api/projects/the-greeter/charter', blank)).body, { out_of_scope: 'Farewells.' })
  t.equal((await s.expect(200, 'PATCH', '/api/projects/the-greeter', { archived: true })).body.state, 'archived')
  const renamed = (await s.expect(409, 'PATCH', '/api/projects/the-greeter', { name: 'x' })).body
  t.match(renamed, { code: 'project_archived', state: 'archived' })
  t.strictSame(renamed.allowed, ['unarchive'], 'what was refused is not called allowed')
  await s.project('lasting')
  for (const [state, key] of [
    ['archived', 'the-greeter'],
    ['active', 'lasting'],
  ]) {
    const { items } = (await s.expect(200, 'GET', `/api/projects?state=${state}`)).body
    t.same(
      items.map((item: any) => item.key),
      [key],
    )
  }
  t.equal((await s.expect(200, 'GET', '/api/projects?state=archived,active')).body.items.length, 2)
  t.equal((await s.expect(200, 'PATCH', '/api/projects/the-greeter', { archived: false })).body.state, 'active')
  const headers = { 'idempotency-key': 'k' }
  const body = { key: 'other', name: 'Other' }
  await s.expect(201, 'POST', '/api/projects', body, { headers })
  t.equal((await s.expect(200, 'POST', '/api/projects', body, { headers })).headers.get('idempotent-replay'), 'true')
  t.equal(
    (await s.expect(422, 'POST', '/api/projects', { ...body, name: 'x' }, { headers })).body.code,
    'idempotency_key_reused',
  )
  const other = await s.token('other', { roles: ['author'] })
  t.equal(
    (await s.expect(409, 'POST', '/api/projects', body, { headers, token: other })).body.code,
    'already_exists',
    'a key is scoped to its token',
  )
})

t.test('a runner created as draining is offered nothing until draining is switched off', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1', { draining: true })
  t.match((await s.expect(200, 'GET', '/api/runners/r1')).body, { state: 'draining', draining: true })
  const made = await s.request('greeter')
  const empty = await s.expect(204, 'GET', '/api/runners/r1/run-requests/next', undefined, { token })
  t.equal(empty.headers.get('intendant-draining'), 'true')
  t.equal((await s.expect(200, 'GET', `/api/run-requests/${made.id}`)).body.waiting_because.code, 'draining')
  await s.expect(200, 'PATCH', '/api/runners/r1', { draining: false })
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=2', undefined, { token })
})

t.test("a runner's presence, draining, sessions and removal take effect at once", async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1', { labels: ['gpu'], capacity: 2 })
  t.equal((await s.expect(200, 'GET', '/api/runners/r1')).body.presence, 'never_seen')
  const parked = s.expect(204, 'GET', '/api/runners/r1/run-requests/next?wait=20', undefined, { token })
  while ((await s.expect(200, 'GET', '/api/runners/r1')).body.presence !== 'online') await new Promise(setImmediate)
  t.equal((await s.expect(200, 'PATCH', '/api/runners/r1', { draining: true })).body.state, 'draining')
  t.equal((await parked).headers.get('intendant-draining'), 'true', 'draining ends a parked poll')
  await s.expect(200, 'PATCH', '/api/runners/r1', { draining: false })
  const made = await s.request('greeter')
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=2', undefined, { token })
  t.same((await s.expect(200, 'GET', '/api/runners/r1')).body.in_flight, [made.id])
  await s.expect(200, 'POST', '/api/runners/r1/session', { instance: 'one', version: '1' }, { token })
  await s.expect(200, 'POST', `/api/run-requests/${made.id}/cancel`)
  const second = await s.request('greeter', { idempotency_key: 'second' })
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=2', undefined, { token })
  await s.expect(200, 'POST', `/api/run-requests/${second.id}/started`, {}, { token })
  await s.expect(200, 'POST', '/api/runners/r1/session', { instance: 'one', version: '1' }, { token })
  t.equal(
    (await s.expect(200, 'GET', `/api/run-requests/${second.id}`)).body.state,
    'started',
    'the same instance ends nothing',
  )
  await s.expect(200, 'POST', '/api/runners/r1/session', { instance: 'two', version: '1' }, { token })
  const lost = async (): Promise<boolean> =>
    (await s.expect(200, 'GET', `/api/run-requests/${second.id}`)).body.state === 'lost'
  for (let tries = 0; !(await lost()); tries++) if (tries > 50) throw new Error('not lost')
  t.equal((await s.expect(200, 'GET', '/api/attention')).body.items[0].reason, 'lost')
  const revived = await s.expect(200, 'POST', `/api/run-requests/${second.id}/heartbeat`, {}, { token })
  t.equal(revived.body.run_request.state, 'started', 'a heartbeat brings the lost run back')
  t.equal((await s.expect(404, 'GET', '/api/runners/nobody')).body.code, 'not_found')
  await s.expect(204, 'DELETE', '/api/runners/r1')
  t.same((await s.expect(200, 'GET', '/api/runners')).body.items, [])
  t.equal((await s.expect(409, 'PATCH', '/api/runners/r1', { capacity: 1 })).body.code, 'runner_removed')
})

t.test('a runner that reports its end is offline at once, and its offers return to the queue', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1')
  const path = '/api/runners/r1'
  const session = (instance: string, more = {}) =>
    s.expect(200, 'POST', `${path}/session`, { instance, version: '1', ...more }, { token })
  await session('one')
  const parked = s.expect(204, 'GET', `${path}/run-requests/next?wait=20`, undefined, { token })
  const left = await session('one', { ended: true })
  t.match(left.body, { presence: 'offline', session: undefined })
  await parked
  t.equal((await s.expect(200, 'GET', path)).body.presence, 'offline')
  const { items } = (await s.expect(200, 'GET', '/api/events?event_type=runner_offline')).body
  t.match(items, [{ payload: { runner_id: 'r1', reason: 'it reported that it is ending' } }])
  await session('two')
  const made = await s.request('greeter')
  await s.expect(200, 'GET', `${path}/run-requests/next?wait=2`, undefined, { token })
  t.match(
    (await session('one', { ended: true })).body,
    { presence: 'online', session: { instance: 'two' } },
    'a late report',
  )
  t.same((await s.expect(200, 'GET', path)).body.in_flight, [made.id])
  await session('two', { ended: true })
  while ((await s.expect(200, 'GET', `/api/run-requests/${made.id}`)).body.state !== 'queued')
    await new Promise(setImmediate)
  t.match((await s.expect(200, 'GET', `/api/run-requests/${made.id}`)).body, {
    attempt: 2,
    waiting_because: { code: 'no_runner_online' },
  })
})

t.test('a removed runner stays readable, and its id cannot be used again', async (t) => {
  const s = await startTestService(t)
  const token = await s.runner('r1')
  await s.expect(204, 'DELETE', '/api/runners/r1')
  await s.expect(204, 'DELETE', '/api/runners/r1')
  t.match((await s.expect(200, 'GET', '/api/runners/r1')).body, { state: 'removed', in_flight: [] })
  t.same((await s.expect(200, 'GET', '/api/runners')).body.items, [])
  const refused: [method: string, path: string, body: object][] = [
    ['POST', '/api/runners', { id: 'r1' }],
    ['PATCH', '/api/runners/r1', { capacity: 2 }],
    ['POST', '/api/runners/r1/token', {}],
  ]
  for (const [method, path, body] of refused) {
    t.equal((await s.expect(409, method, path, body)).body.code, 'runner_removed', `${method} ${path}`)
  }
  await s.expect(401, 'GET', '/api/runners/r1/run-requests/next', undefined, { token })
})

t.test('a runner has at most capacity + 1 parked polls', async (t) => {
  const s = await startTestService(t)
  const token = await s.runner('r1')
  const poll = () => s.call('GET', '/api/runners/r1/run-requests/next?wait=2', undefined, { token })
  const statuses = (await Promise.all([poll(), poll(), poll()])).map(({ status }) => status).sort()
  t.same(statuses, [204, 204, 429])
})

t.test('formation briefs are created and read on either path, once per idempotency key', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1')
  const sections = { mission: { objective: 'Greet.' }, forbidden_moves: ['Weaken a test.'] }
  const headers = { 'idempotency-key': 'k' }
  const under = await s.expect(201, 'POST', '/api/projects/greeter/formation-briefs', sections, { headers })
  t.equal(
    (await s.expect(200, 'POST', '/api/projects/greeter/formation-briefs', sections, { headers })).body.id,
    under.body.id,
  )
  t.equal(
    (
      await s.expect(
        422,
        'POST',
        '/api/projects/greeter/formation-briefs',
        { ...sections, tradeoffs: ['x'] },
        { headers },
      )
    ).body.code,
    'idempotency_key_reused',
  )
  const global = await s.expect(201, 'POST', '/formation-briefs', { project: 'greeter', ...sections })
  t.not(global.body.id, under.body.id)
  t.equal(
    (await s.expect(422, 'POST', '/formation-briefs', { project: 'nowhere', ...sections })).body.code,
    'unknown_project',
  )
  t.equal(
    (await s.expect(422, 'POST', '/formation-briefs', { project: 'greeter', ...sections, colour: 'red' })).body.code,
    'invalid_body',
  )
  const path = `/api/formation-briefs/${under.body.id}`
  t.same((await s.expect(200, 'GET', path)).body, (await s.expect(200, 'GET', path.slice(4))).body)
  await s.expect(404, 'GET', path, undefined, { token })
})

t.test(
  'on LMDB: the admin token is created once for its owner alone, and everything is there after a restart',
  async (t) => {
    const home = t.testdir()
    const { defaultSettings } = await import('../../runtime/settings.ts')
    const settings = { ...defaultSettings, home, port: 0, diskReserveBytes: 0 }
    const options = { version: '0', log: pino({ level: 'silent' }) }
    const first = await startService(settings, options)
    const file = join(home, 'admin.token')
    const token = readFileSync(file, 'utf8').trim()
    t.equal(statSync(file).mode & 0o777, 0o600)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const made = await fetch(`${first.url}/api/projects`, { method: 'POST', headers, body: '{"name":"Kept"}' })
    t.equal(made.status, 201)
    await first.close()
    const second = await startService(settings, options)
    t.teardown(() => second.close())
    t.equal(readFileSync(file, 'utf8').trim(), token)
    t.equal((await fetch(`${second.url}/api/projects/kept`, { headers })).status, 200)
    const backUp = () => fetch(`${second.url}/api/backups`, { method: 'POST', headers, body: '{"name":"one"}' })
    const backedUp = await backUp()
    t.equal(backedUp.status, 201)
    t.ok(statSync(((await backedUp.json()) as { path: string }).path).isDirectory())
    const again = await backUp()
    t.equal(again.status, 409)
    t.match(await again.json(), { code: 'already_exists' })
    const racing = () => fetch(`${second.url}/api/backups`, { method: 'POST', headers, body: '{"name":"two"}' })
    const statuses = await Promise.all([racing(), racing()])
    t.same(statuses.map(({ status }) => status).sort(), [201, 409], 'one name is one backup, even in a race')
    t.equal(
      (await fetch(`${second.url}/api/backups`, { method: 'POST', headers, body: '{"name":"../x"}' })).status,
      422,
    )
    const metrics = await (await fetch(`${second.url}/metrics`, { headers })).text()
    t.match(metrics, /intendant_http_answers_total\{method="GET",route="\/api\/projects\/:id",status="200"\} 1/)
  },
)

t.test('a name must be a single line without control characters, and not blank', async (t) => {
  const s = await startTestService(t)
  const bodies = (name: string): [string, object][] => [
    ['/api/projects', { name, key: 'named' }],
    ['/api/tokens', { name, roles: ['viewer'] }],
    ['/api/runners', { id: 'r9', name }],
  ]
  for (const name of ['a\nb', 'a\u001b[2Jb', 'a\u009bb', 'a\u2028b', ' ', '\u3000']) {
    for (const [path, body] of bodies(name))
      t.match((await s.expect(422, 'POST', path, body)).body.errors, [{ pointer: '/name' }], path)
  }
  for (const [path, body] of bodies('Ångström 中文 💡')) await s.expect(201, 'POST', path, body)
})

t.test('an unknown project is 404 in a path or filter, 422 in a body, and other filters match nothing', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  await s.project('bank')
  const confined = await s.token('confined', { roles: ['admin'], projects: ['shop'] })
  const item = { objective: 'o' }
  const done_evidence = [{ kind: 'review', statement: 'done' }]
  const event = { event_type: 'deploy_seen', occurred_at: '2026-01-31T12:00:00Z', payload: {} }
  const bodies: readonly (readonly [path: string, bodyOf: (project: string) => object, pointer: string])[] = [
    ['/api/work-items', (project) => ({ project, ...item }), '/project'],
    ['/api/sentinels', (project) => ({ name: 'n', project, cron: '0 0 * * *', item }), '/project'],
    ['/api/campaigns', (project) => ({ name: 'n', project, mission: 'm', done_evidence }), '/project'],
    ['/formation-briefs', (project) => ({ project, mission: item }), '/project'],
    ['/api/run-requests/cancel', (project) => ({ project }), '/project'],
    ['/api/events', (project) => ({ events: [{ ...event, project }] }), '/events/0/project'],
  ]
  for (const [path, bodyOf, pointer] of bodies)
    for (const [project, options] of [
      ['nowhere', {}],
      ['bank', { token: confined }],
    ] as const) {
      const { body } = await s.expect(422, 'POST', path, bodyOf(project), options)
      t.match(body, { code: 'unknown_project', detail: `There is no project ${project}.`, errors: [{ pointer }] }, path)
    }
  for (const path of ['/api/projects/nowhere', '/api/projects/nowhere/drift', '/api/work-items?project=nowhere'])
    t.equal((await s.expect(404, 'GET', path)).body.code, 'not_found', path)
  for (const path of [
    '/api/run-requests?runner=nobody',
    '/api/run-requests?label=none',
    '/api/work-items?source=campaign:none',
    '/api/agent-sessions?campaign=none',
    '/api/events?project=nowhere',
  ])
    t.strictSame((await s.expect(200, 'GET', path)).body.items, [], path)
})
