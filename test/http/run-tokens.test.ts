/** The token of a run: who is given it, and what it may do. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { RIGHTS } from '../../machines/rights.ts'
import type { RunKeyStore } from '../../runtime/access/run-tokens.ts'
import { GATE } from './campaign-harness.ts'
import { DISCOVERY } from './intent-harness.ts'
import { admits, Holder, RUN_RIGHTS, underWay } from './run-token-harness.ts'
import { startTestService } from './service-harness.ts'

t.test(
  'accepted and started answer with the same token, which says what it is and to which run it belongs',
  async (t) => {
    const { s, holder, id, token, accepted } = await underWay(t)
    t.match(token, /^irt_[0-9a-f]{24}_1_\d{13}_[A-Za-z0-9_-]{43}$/)
    t.equal(accepted.headers.get('cache-control'), 'no-store')
    t.equal((await holder.post(id, 'accepted')).body.run_token, token, 'the same post again')
    const minimal = await s.call(
      'POST',
      `/api/run-requests/${id}/accepted`,
      { attempt: 1 },
      {
        token: (await s.expect(201, 'POST', '/api/runners/builder/token')).body.token,
        headers: { prefer: 'return=minimal' },
      },
    )
    t.equal(minimal.body.run_token, token, 'and in the minimal answer')
    t.equal((await holder.post(id, 'started')).body.run_token, token)
    t.notOk('run_token' in (await holder.post(id, 'heartbeat')).body)
    t.strictSame((await s.expect(200, 'GET', '/api/tokens/self', undefined, { token })).body, {
      kind: 'run',
      id,
      name: `run:${id}`,
      rights: RIGHTS.filter((right) => RUN_RIGHTS.includes(right)),
      projects: ['shop'],
      attempt: 1,
      runner_id: 'builder',
    })
  },
)

t.test('a runner whose runs have no rights gets no token for them, and makes no key', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const holder = await Holder.of(s, 'plain', { run_rights: [] })
  await s.request('shop')
  const { id, accepted } = await holder.take()
  t.notOk('run_token' in accepted.body)
  t.equal(accepted.headers.get('cache-control'), null)
  t.notOk('run_token' in (await holder.post(id, 'started')).body)
  t.equal(statSync(join(s.settings.home, 'run-tokens.key'), { throwIfNoEntry: false }), undefined)
})

t.test(
  "a run's token reads, drafts, submits and emits in its project, and nothing outside of it exists for it",
  async (t) => {
    const { s, id, token } = await underWay(t)
    const as = { token }
    t.same(
      (await s.expect(200, 'GET', '/api/projects', undefined, as)).body.items.map(({ key }: any) => key),
      ['shop'],
    )
    const draft = { title: 'Sessions survive a restart' }
    const record = await s.call('POST', '/api/projects/shop/intent-records', draft, as)
    t.match(record, { status: 201, body: { created_by: { id, name: `run:${id}` } } })
    await s.expect(403, 'POST', `/api/intent-records/${record.body.id}/accept`, {}, as)
    const submitted = await s.expect(
      201,
      'POST',
      '/api/projects/shop/run-requests',
      { entry_event: 'scan_requested' },
      as,
    )
    t.match(submitted.body.requested_by, { id, name: `run:${id}` })
    const created = await s.expect(200, 'GET', `/api/events?run_request_id=${submitted.body.id}`)
    t.match(created.body.items.at(-1), { event_type: 'run_request_created', by: { id, name: `run:${id}` } })
    const event = { event_type: 'note_taken', project: 'shop', occurred_at: '2026-01-01T00:00:00Z', payload: {} }
    await s.expect(200, 'POST', '/api/events', { events: [event] }, as)
    const unseen = await s.expect(422, 'POST', '/api/events', { events: [{ ...event, project: 'bank' }] }, as)
    t.equal(unseen.body.code, 'unknown_project')
    await s.expect(404, 'GET', '/api/projects/bank', undefined, as)
    await s.expect(404, 'POST', '/api/projects/bank/run-requests', { entry_event: 'scan_requested' }, as)
    const other = await s.request('bank')
    await s.expect(404, 'GET', `/api/run-requests/${other.id}`, undefined, as)
  },
)

t.test(
  "a run's token approves, operates and grants nothing, answers for nothing, and does nothing that is for people",
  async (t) => {
    const { s, id, token } = await underWay(t)
    const as = { token }
    const refused = async (method: string, path: string, body: object): Promise<string> =>
      (await s.expect(403, method, path, body, as)).body.detail
    const full = { entry_event: 'change_requested', throttle: 'full' }
    const own = (await s.expect(201, 'POST', '/api/projects/shop/run-requests', full, as)).body
    t.match(await refused('POST', `/api/run-requests/${own.id}/approve`, {}), /approve\.full/)
    t.match(await refused('POST', `/api/run-requests/${id}/cancel`, {}), /work\.operate/)
    t.match(await refused('POST', '/api/runners', { id: 'mine' }), /runner\.manage/)
    t.match(await refused('POST', '/api/runners/builder/token', {}), /runner\.manage/)
    t.match(await refused('POST', '/api/tokens', { name: 'mine', rights: ['view'] }), /token\.manage/)
    await refused('POST', `/api/run-requests/${id}/completed`, { attempt: 1, result: {} })
    await refused('POST', '/api/projects/shop/run-requests', { ...full, priority: 1 })
    const forPeople: readonly [method: string, path: string, body: object][] = [
      ['POST', '/api/projects', { key: 'new', name: 'new' }],
      ['PATCH', '/api/projects/shop', { name: 'mine' }],
      ['PUT', '/api/projects/shop/charter', { mission: 'mine' }],
      ['POST', '/api/sentinels', {}],
      ['PATCH', '/api/sentinels/any', {}],
      ['POST', '/api/initiatives', {}],
      ['POST', '/api/work-items', { project: 'shop', objective: 'x' }],
    ]
    for (const [method, path, body] of forPeople) t.match(await refused(method, path, body), /people do/)
    const campaign = { project: 'shop', name: 'speed', mission: 'Be fast.', done_evidence: [GATE] }
    for (const authorized_by of [`run:${id}`, 'ada'])
      t.match(await refused('POST', '/api/campaigns', { ...campaign, authorized_by }), /people answer/)
    t.notOk('authorized_by' in (await s.expect(201, 'POST', '/api/campaigns', campaign, as)).body)
  },
)

t.test('no names are given to tokens that runners and runs have', async (t) => {
  const s = await startTestService(t)
  for (const name of ['runner:builder', 'run:runreq_0123456789abcdef01234567', 'run:']) {
    const { body } = await s.expect(422, 'POST', '/api/tokens', { name, rights: ['view'] })
    t.match(body, { code: 'invalid_body', errors: [{ pointer: '/name', detail: /must not begin with run/ }] })
  }
  await s.token('runner-up', { rights: ['view'] })
})

t.test('a key of a repeated post belongs to the run, whatever its attempt', async (t) => {
  const { s, holder, id, token } = await underWay(t)
  const post = async (as: string) =>
    await s.call('POST', '/api/projects/shop/discoveries', DISCOVERY, {
      token: as,
      headers: { 'idempotency-key': 'one' },
    })
  const first = await post(token)
  t.equal(first.status, 201)
  await holder.post(id, 'release')
  const second = await holder.take()
  t.equal(second.id, id)
  const repeated = await post(second.token)
  t.match(repeated, { status: 200, body: { id: first.body.id } })
})

t.test('the key is on disk before the first token is answered, and without a key there is no token', async (t) => {
  let fails = true
  let made: Buffer | undefined
  const runKey: RunKeyStore = {
    read: () => undefined,
    make() {
      if (fails) throw Object.assign(new Error('no space'), { name: 'RunKeyFailure' })
      made = Buffer.alloc(32, 7)
      return made
    },
  }
  const s = await startTestService(t, {}, { runKey })
  await s.project('shop')
  const holder = await Holder.of(s)
  await s.request('shop')
  const { request_id: id } = await holder.poll()
  t.equal((await holder.post(id, 'accepted', {}, 503)).body.code, 'disk_reserve')
  fails = false
  const { run_token: token } = (await holder.post(id, 'accepted')).body
  t.ok(made)
  t.ok(await admits(s, token), 'the same post again is answered with it')
})
