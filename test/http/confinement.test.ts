/** What a confined token may not see is hidden everywhere, including where its own projects meet those of others. */
import t from 'tap'
import type { ActorRef } from '../../machines/machine.ts'
import { listRowsReadMax } from '../../runtime/limits.ts'
import { append, step } from '../storage/steps.ts'
import { until } from '../until.ts'
import { reading, submit, waits } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

/** Two projects on one repository and one runner, with work in progress in both. */
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

t.test('a shared runner is shown with only the projects and runs that the token may see', async (t) => {
  const s = await startTestService(t)
  const { theirs, dry, token } = await shared(s)
  const whole = (await s.expect(200, 'GET', '/api/runners/both')).body
  t.same(whole.allowed_projects, ['mine', 'theirs'])
  t.same([...whole.in_flight].sort(), [theirs.id, dry.id].sort())
  const part = { allowed_projects: ['mine'], in_flight: [dry.id] }
  t.match((await s.expect(200, 'GET', '/api/runners/both', undefined, { token })).body, part)
  t.match((await s.expect(200, 'GET', '/api/runners', undefined, { token })).body.items, [part])
})

t.test('no answer to a confined token names anything of other projects', async (t) => {
  const s = await startTestService(t)
  const { theirs, mine, token } = await shared(s)
  const as = { token }
  const read = await s.expect(200, 'GET', `/api/run-requests/${mine.id}`)
  t.match(read.body.waiting_because, { code: 'repository_busy', detail: new RegExp(theirs.id) })
  const confined = await s.expect(200, 'GET', `/api/run-requests/${mine.id}`, undefined, as)
  t.equal(confined.body.waiting_because.code, 'repository_busy')
  const { items } = (await s.expect(200, 'GET', '/api/run-requests?state=queued', undefined, as)).body
  t.same(items[0].waiting_because, confined.body.waiting_because)
  const payload = { name: 'x' }
  const body = { entry_event: 'greet_requested', payload, throttle: 'full', repo: { path: 'git@host:shared' } }
  const made = await s.expect(201, 'POST', '/api/projects/mine/run-requests', body, as)
  t.same(made.body.waiting_because, confined.body.waiting_because)
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
  const { body: lines } = await s.expect(200, 'GET', '/metrics', undefined, as)
  t.match(lines, /^intendant_backlog_count\{project="mine"\} [1-9]/m, 'metrics of its own projects')
  t.match(lines, /^intendant_commits_total \d+$/m, 'and metrics without a project')
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

t.test('idempotency keys of different tokens or projects do not collide', async (t) => {
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

t.test('tokens of the same name share idempotency keys only if they have the same projects', async (t) => {
  const s = await startTestService(t)
  await shared(s)
  const both = ['mine', 'theirs']
  const [mine, same, more] = await Promise.all(
    [['mine'], ['mine'], both].map((projects) => s.token('ci', { roles: ['admin'], projects })),
  )
  const headers = { 'idempotency-key': 'k' }
  const make = async (token: string | undefined) =>
    s.call('POST', '/api/runners', { id: 'r9', allowed_projects: ['mine'] }, { headers, token: token! })
  t.equal((await make(more)).status, 201)
  t.equal((await make(more)).status, 200)
  t.equal((await make(mine)).status, 409, 'it belongs to another caller')
  const token = async (as: string | undefined) =>
    (await s.call('POST', '/api/tokens', { name: 'x', roles: ['viewer'], projects: ['mine'] }, { headers, token: as! }))
      .body
  const first = await token(more)
  const second = await token(mine)
  t.not(second.id, first.id)
  t.equal((await token(same)).id, second.id, 'as for a rotated token')
  t.equal((await token(more)).id, first.id)
})

t.test(
  'a token without projects is seen and revoked only by its maker and by those who see all projects',
  async (t) => {
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
  },
)

t.test('a name taken in a hidden project is refused without the state of its holder', async (t) => {
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
    t.match(
      known,
      {
        status: 409,
        code: 'already_exists',
        state: /./,
        detail: /^This \w+ already exists: read it, or choose another /,
      },
      'a caller who may see it is told its state',
    )
    t.notOk('allowed' in known, 'what it accepts is not what was asked')
    const { body } = await s.call('POST', path, of('mine'), { token })
    t.match(body, { status: 409, code: 'already_exists' })
    t.same([body.state, body.allowed], [undefined, undefined])
  }
})

t.test('only a caller with approve.full may name somebody else as authorized_by', async (t) => {
  const s = await startTestService(t)
  await s.project('mine')
  const done_evidence = [{ kind: 'gate', command: 'npm test' }]
  const campaign = { project: 'mine', mission: 'x', done_evidence }
  const initiative = { outcome: 'x', members: [{ kind: 'project', ref: 'mine' }] }
  const author = { token: await s.token('author', { roles: ['author'], projects: ['mine'] }) }
  const both = { token: await s.token('both', { roles: ['author', 'approver'], projects: ['mine'] }) }
  for (const [path, body] of [
    ['/api/campaigns', campaign],
    ['/api/initiatives', initiative],
  ] as const) {
    const named = (name: string, authorized_by?: string) => ({ ...body, name, authorized_by })
    const refused = await s.expect(403, 'POST', path, named('a', 'alice'), author)
    t.match(refused.body, { code: 'forbidden', detail: /approve\.full/ })
    t.equal((await s.expect(201, 'POST', path, named('b', 'author'), author)).body.authorized_by, 'author')
    t.equal((await s.expect(201, 'POST', path, named('c'), author)).body.authorized_by, 'author')
    t.equal((await s.expect(201, 'POST', path, named('d', 'alice'), both)).body.authorized_by, 'alice')
  }
})

t.test('only tokens for all projects are told the home, host and port of the service', async (t) => {
  const s = await startTestService(t)
  await s.project('mine')
  const place = async (token: string) => {
    const { home, host, port, lease_ms } = (await s.expect(200, 'GET', '/api/version', undefined, { token })).body
      .settings
    t.ok(lease_ms)
    return [home, host, port]
  }
  t.notOk((await place(await s.token('all', { roles: ['viewer'] }))).includes(undefined))
  for (const token of [await s.token('one', { roles: ['admin'], projects: ['mine'] }), await s.runner('r1')])
    t.same(await place(token), [undefined, undefined, undefined])
})

t.test('a runner id taken in a hidden project is refused without the state of the runner', async (t) => {
  const s = await startTestService(t)
  await s.project('mine')
  await s.project('theirs')
  const as = { token: await s.token('confined', { roles: ['admin'], projects: ['mine'] }) }
  const body = { id: 'r1', allowed_projects: ['mine'] }
  await s.runner('r1', { allowed_projects: ['theirs'] })
  const known = (await s.expect(409, 'POST', '/api/runners', body)).body
  t.match(known, { code: 'already_exists', state: 'registered' }, 'a caller who may see it is told its state')
  t.notOk('allowed' in known, 'what it accepts is not what was asked')
  const refusals = [(await s.expect(409, 'POST', '/api/runners', body, as)).body]
  await s.expect(204, 'DELETE', '/api/runners/r1')
  t.equal((await s.expect(409, 'POST', '/api/runners', body)).body.code, 'runner_removed')
  refusals.push((await s.expect(409, 'POST', '/api/runners', body, as)).body)
  for (const { code, state, allowed, detail } of refusals) {
    t.same([code, state, allowed], ['already_exists', undefined, undefined])
    t.notMatch(detail, /theirs|removed/)
  }
})

t.test(
  'a confined token can neither create a runner outside its projects nor remove all projects from its own',
  async (t) => {
    const s = await startTestService(t)
    await s.project('mine')
    const as = { token: await s.token('confined', { roles: ['operator'], projects: ['mine'] }) }
    const pointed = [
      { pointer: '/allowed_projects', detail: 'must name at least one project that the token has access to' },
    ]
    for (const body of [{ id: 'n' }, { id: 'n', allowed_projects: [] }]) {
      t.match((await s.expect(422, 'POST', '/api/runners', body, as)).body, { code: 'invalid_body', errors: pointed })
    }
    await s.expect(201, 'POST', '/api/runners', { id: 'n', allowed_projects: ['mine'] }, as)
    const emptied = await s.expect(422, 'PATCH', '/api/runners/n', { allowed_projects: [] }, as)
    t.match(emptied.body, { code: 'invalid_body', errors: pointed })
    t.same((await s.expect(200, 'PATCH', '/api/runners/n', { capacity: 2 }, as)).body.allowed_projects, ['mine'])
    await s.expect(204, 'DELETE', '/api/runners/n', undefined, as)
    await s.expect(201, 'POST', '/api/runners', { id: 'none' })
    await s.expect(200, 'PATCH', '/api/runners/none', { allowed_projects: [] })
  },
)

t.test('the reasons why work waits reveal nothing about hidden runners', async (t) => {
  const s = await startTestService(t)
  for (const key of ['mine', 'also-mine', 'theirs']) await s.project(key)
  const as = { token: await s.token('confined', { roles: ['viewer', 'operator'], projects: ['mine', 'also-mine'] }) }
  const request = await s.request('mine')
  const pinned = await s.request('mine', { runner_id: 'secret', idempotency_key: 'pinned' })
  const item = await submit(s, { project: 'mine' })
  const attention = '/api/attention?reason=no_runner'
  const told = async (more: object = {}) => {
    const shown: string[] = []
    for (const { id } of [request, pinned]) {
      const { body } = await s.expect(200, 'GET', `/api/run-requests/${id}`, undefined, more)
      shown.push(body.waiting_because.detail)
    }
    const { items } = (await s.expect(200, 'GET', attention, undefined, more)).body
    for (const { kind, because, ...one } of items) shown.push(`${one[kind].id} ${because.code} ${because.detail}`)
    return shown.map((text) => text.replaceAll(/(?:runreq|wi)_[0-9a-f]+/g, (id) => (id === item.id ? 'item' : 'run')))
  }
  const none = [
    'No runner is registered.',
    'Runner secret, which it names, is not registered.',
    'run no_runner_registered Runner secret, which it names, is not registered.',
    'run no_runner_registered No runner is registered.',
    'item no_runner_registered No runner is registered.',
  ]
  t.same(await told(as), none)
  await s.runner('secret', { allowed_projects: ['theirs'], trusted: true })
  t.same(await told(as), none, 'a hidden runner changes nothing')
  const allowed = [
    'No runner is allowed for mine.',
    'No runner named secret is allowed for mine.',
    'run no_runner_allowed No runner named secret is allowed for mine.',
    'run no_runner_allowed No runner is allowed for mine.',
    'item no_runner_allowed No runner is allowed for mine.',
  ]
  t.same(await told(), allowed, 'a token for all projects is told of it')
  await s.runner('seen', { allowed_projects: ['also-mine', 'theirs'] })
  const some = await told(as)
  t.same([some[0], some[1]], [allowed[0], none[1]], 'a visible runner counts')
  t.same(await told(), allowed)
  await s.expect(204, 'DELETE', '/api/runners/secret')
  t.same(await told(as), some, 'nor does removing a hidden runner')
  t.equal((await told())[1], 'Runner secret, which it names, was removed.')
  const again = { entry_event: 'greet_requested', payload: { name: 'Ada' }, runner_id: 'secret' }
  const path = '/api/projects/mine/run-requests'
  await s.expect(201, 'POST', path, again, {
    token: await s.token('asks', { roles: ['operator'], projects: ['mine'] }),
  })
  await s.expect(422, 'POST', path, again)
})

t.test('an item whose runner was removed waits under no_runner, without naming hidden runners', async (t) => {
  const s = await startTestService(t)
  for (const key of ['mine', 'theirs']) await s.project(key)
  const token = await s.runner('r1', { allowed_projects: ['mine'], trusted: true })
  await s.runner('secret', { allowed_projects: ['theirs'], trusted: true })
  const as = { token: await s.token('confined', { roles: ['viewer'], projects: ['mine'] }) }
  await s.call('GET', '/api/runners/r1/run-requests/next', undefined, { token })
  const item = await submit(s, { project: 'mine' })
  await until(reading(s, item.id), waits('handed_out'))
  await s.expect(204, 'DELETE', '/api/runners/r1')
  await until(reading(s, item.id), waits('no_runner'))
  for (const path of [`/api/work-items/${item.id}`, '/api/work-items', '/api/pacing']) {
    const text = JSON.stringify((await s.expect(200, 'GET', path, undefined, as)).body)
    t.match(text, /no runner that is online may take it/, path)
    t.notMatch(text, /secret|is allowed for/, path)
  }
})

t.test('an item whose repository is held by a hidden run does not name that run', async (t) => {
  const s = await startTestService(t)
  for (const key of ['mine', 'theirs']) {
    await s.project(key)
    await s.expect(200, 'PATCH', `/api/projects/${key}`, { repository: 'git@host:shared' })
  }
  const secret = await s.runner('secret', { allowed_projects: ['theirs'], trusted: true })
  const runner = await s.runner('r1', { allowed_projects: ['mine'], trusted: true })
  await s.call('GET', '/api/runners/r1/run-requests/next', undefined, { token: runner })
  const as = { token: await s.token('confined', { roles: ['viewer', 'operator'], projects: ['mine'] }) }
  const item = await submit(s, { project: 'mine' })
  await until(reading(s, item.id), waits('handed_out'))
  const direct = await s.request('theirs', { throttle: 'full', repo: { path: 'git@host:shared' } })
  await s.expect(200, 'POST', `/api/run-requests/${direct.id}/approve`)
  await s.expect(200, 'GET', '/api/runners/secret/run-requests/next?wait=5', undefined, { token: secret })
  await s.expect(200, 'POST', `/api/run-requests/${direct.id}/started`, {}, { token: secret })
  t.match((await reading(s, item.id)()).reason, /runreq_.* is held by runreq_.*\(started, runner secret\)/)
  for (const path of [`/api/work-items/${item.id}`, '/api/work-items', '/api/pacing']) {
    const text = JSON.stringify((await s.expect(200, 'GET', path, undefined, as)).body)
    t.match(text, /handed out, and its repository is held by other work/)
    t.notMatch(text, /secret|started/, path)
    t.notOk(text.includes(direct.id), path)
  }
})

/** Appends copies of an entity under other ids, newer than all others in the index. */
async function copied(s: TestService, ref: ActorRef, ids: readonly string[], index: string, value: string) {
  const { journal } = s.service.runtime
  const record = journal.actor(ref.kind, ref.id)!
  const copies = ids.map((id, i) => {
    const order = new Date(Date.UTC(2100, 0, 1) + i).toISOString()
    return step(id, 1, { kind: ref.kind, record: record.replaceAll(ref.id, id), termsAdded: [{ index, value, order }] })
  })
  await append(journal, ...copies)
}

t.test('a list pages past hidden entries without naming them in its cursors', async (t) => {
  const s = await startTestService(t)
  await s.project('mine')
  await s.project('theirs')
  const as = { token: await s.token('confined', { roles: ['viewer'], projects: ['mine'] }) }
  const done_evidence = [{ kind: 'gate', command: 'npm test' }]
  for (const [name, project] of [['own', 'mine'] as const, ['secret', 'theirs'] as const])
    await s.expect(201, 'POST', '/api/campaigns', { name, project, mission: 'x', done_evidence })
  const own = await s.request('mine', { throttle: 'full' })
  const { id } = await s.request('theirs', { throttle: 'full' })
  const numbers = Array.from({ length: listRowsReadMax + 50 }, (_, i) => String(i).padStart(24, '0'))
  const names = numbers.map((number) => `secret-${number}`)
  await copied(s, { kind: 'campaign', id: 'secret' }, names, 'all', '')
  const requests = numbers.map((number) => `runreq_${number}`)
  await copied(s, { kind: 'run_request', id }, requests, 'attention', 'unapproved')
  t.match((await s.expect(200, 'GET', '/api/campaigns')).body.items[0], { name: names.at(-1), project: 'theirs' })
  const lists = [
    ['/api/campaigns', ({ name }: any) => name, 'own'],
    ['/api/attention?reason=unapproved', ({ run_request }: any) => run_request.id, own.id],
  ] as const
  for (const [path, nameOf, name] of lists) {
    const found: string[] = []
    let pages = 0
    for (let next: string | undefined = path; next !== undefined; pages++) {
      const { body, headers } = await s.expect(200, 'GET', next, undefined, as)
      found.push(...body.items.map(nameOf))
      t.notMatch(Buffer.from(body.next_cursor ?? '', 'base64url').toString(), /secret|runreq_/, path)
      if (pages > 5) throw new Error('it does not come to an end')
      next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
    }
    t.same(found, [name])
    t.equal(pages, 2, 'the first page ends early among hidden entries')
  }
})

t.test('a full page has a next_cursor only if a visible entry follows', async (t) => {
  const s = await startTestService(t)
  await s.project('mine')
  await s.project('theirs')
  const as = { token: await s.token('confined', { roles: ['viewer'], projects: ['mine'] }) }
  const done_evidence = [{ kind: 'gate', command: 'npm test' }]
  for (const [name, project] of [
    ['first', 'theirs'],
    ['second', 'mine'],
    ['third', 'theirs'],
    ['fourth', 'mine'],
  ])
    await s.expect(201, 'POST', '/api/campaigns', { name, project, mission: 'x', done_evidence })
  for (const project of ['theirs', 'mine']) await s.request(project, { throttle: 'full' })
  await s.request('theirs', { throttle: 'full', payload: { name: 'Bob' } })
  const pages = async (path: string, reader?: object) => {
    const sizes: number[] = []
    for (let cursor = ''; ; ) {
      const { body } = await s.expect(200, 'GET', `${path}limit=1${cursor}`, undefined, reader)
      sizes.push(body.items.length)
      if (body.next_cursor === undefined) return sizes
      cursor = `&cursor=${body.next_cursor}`
    }
  }
  t.same(await pages('/api/campaigns?', as), [1, 1])
  t.same(await pages('/api/campaigns?'), [1, 1, 1, 1])
  t.same(await pages('/api/attention?reason=unapproved&', as), [1])
  t.same(await pages('/api/attention?reason=unapproved&'), [1, 1, 1])
})
