/** What needs a person: entities of several kinds in one paged list. */
import t from 'tap'
import { absenceMsMin } from '../../runtime/dispatch/waiting-reasons.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { until } from '../until.ts'
import { BANK, steer, world } from './initiative-harness.ts'
import { begin, finish, fleet, inState, reading, submit, waits } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

/** Two run requests that are lost, and three that wait for an approval. */
async function troubled(s: TestService): Promise<void> {
  await s.project('greeter')
  const token = await s.runner('r1', { capacity: 2 })
  for (const name of ['a', 'b']) {
    await s.request('greeter', { idempotency_key: name })
    const polled = await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=2', undefined, { token })
    await s.expect(200, 'POST', `/api/run-requests/${polled.body.request_id}/started`, {}, { token })
  }
  for (const instance of ['one', 'two']) {
    await s.expect(200, 'POST', '/api/runners/r1/session', { instance, version: '1' }, { token })
  }
  for (const name of ['c', 'd', 'e']) await s.request('greeter', { throttle: 'full', idempotency_key: name })
  while ((await reasons(s, '?reason=lost')).length < 2) await s.expect(200, 'GET', '/api/attention')
}

/** Reason and idempotency key of every entry, page after page. */
async function reasons(s: TestService, query = ''): Promise<string[]> {
  const found: string[] = []
  for (let path = `/api/attention${query}`; ; ) {
    const { body, headers } = await s.expect(200, 'GET', path)
    for (const { reason, run_request } of body.items) found.push(`${reason} ${run_request.idempotency_key}`)
    if (body.next_cursor === undefined) return found
    const link = headers.get('link')!
    path = link.slice(1, link.indexOf('>'))
  }
}

t.test('pages of any size list every entry once, most pressing first', async (t) => {
  const s = await startTestService(t)
  await troubled(s)
  const all = ['lost b', 'lost a', 'unapproved e', 'unapproved d', 'unapproved c']
  for (const limit of [1, 2, 3, 4, 5, 6]) t.same(await reasons(s, `?limit=${limit}`), all, `${limit} per page`)
  t.same(await reasons(s, '?reason=unapproved&limit=2'), all.slice(2))
  t.same(await reasons(s, '?reason=unapproved,lost&limit=2'), all, 'of several reasons')
  t.same(await reasons(s, '?reason=failed,unapproved'), all.slice(2))
  const { next_cursor } = (await s.expect(200, 'GET', '/api/attention?limit=1')).body
  for (const path of [`?reason=unapproved&cursor=${next_cursor}`, '?cursor=WyJhIiwiYiJd', '?cursor=x']) {
    t.equal((await s.expect(400, 'GET', `/api/attention${path}`)).body.code, 'invalid_cursor', path)
  }
})

const NO_RUNNER = '/api/attention?reason=no_runner'
const NO_RUNNER_ONLINE = '/api/attention?reason=no_runner_online'

/** Id and reason of everything that no runner may take. */
async function stranded(s: TestService, more: object = {}): Promise<string[]> {
  const { items } = (await s.expect(200, 'GET', NO_RUNNER, undefined, more)).body
  return items.map(({ kind, because, ...item }: any) => `${item[kind].id} ${because.code}`)
}

t.test('a run request that no registered runner may take needs attention until one may', async (t) => {
  const s = await startTestService(t)
  for (const key of ['shop', 'till']) await s.project(key)
  const { id } = await s.request('shop', { labels: ['gpu'] })
  t.same(await stranded(s), [`${id} no_runner_registered`])
  await s.runner('r1', { allowed_projects: [] })
  t.same(await stranded(s), [`${id} no_runner_allowed`])
  await s.expect(200, 'PATCH', '/api/runners/r1', { allowed_projects: ['shop'] })
  t.same(await stranded(s), [`${id} no_runner_with_labels`])
  t.match((await s.expect(200, 'GET', NO_RUNNER)).body.items, [
    { kind: 'run_request', project: 'shop', because: { detail: 'No runner allowed for shop has the labels: gpu.' } },
  ])
  await s.expect(200, 'PATCH', '/api/runners/r1', { labels: ['gpu'] })
  t.same(await stranded(s), [], 'an offline runner counts')
  await s.expect(200, 'PATCH', '/api/runners/r1', { draining: true })
  t.same(await stranded(s), [], 'so does a draining one')
  const manifest = {
    engine: 'e',
    runner_id: 'r1',
    supported_entry_events: ['x'],
    supported_throttle_modes: ['dry_run'],
  }
  const path = '/api/projects/shop/engine-capabilities'
  await s.expect(201, 'POST', path, { ...manifest, engine_version: '1', registered_blocks: [] })
  t.same(await stranded(s), [`${id} no_capable_engine`])
  const pinned = await s.request('shop', { runner_id: 'r1', idempotency_key: 'pinned', entry_event: 'x' })
  await s.expect(204, 'DELETE', '/api/runners/r1')
  t.same(await stranded(s), [`${pinned.id} runner_removed`, `${id} no_runner_registered`])
  t.same(await stranded(s, { token: await s.token('else', { roles: ['viewer'], projects: ['till'] }) }), [])
})

t.test('work with a label that nobody carries is listed although its repository is busy', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await submit(s, {})
  await begin(s, runner)
  const { id } = await submit(s, { objective: 'Train it', labels: ['gpu'] })
  await until(reading(s, id), waits('repository_busy'))
  const run = await s.request('shop', { throttle: 'full', labels: ['gpu'] })
  await s.expect(200, 'POST', `/api/run-requests/${run.id}/approve`, {})
  t.same(await stranded(s), [`${run.id} no_runner_with_labels`, `${id} no_runner_with_labels`])
  await s.expect(200, 'PATCH', '/api/runners/r1', { labels: ['gpu'] })
  t.same(await stranded(s), [])
})

t.test('work that waits for something other than a runner is not listed as lacking one', async (t) => {
  const s = await startTestService(t)
  for (const key of ['shop', 'till', 'lane']) await s.project(key)
  await s.request('shop', { throttle: 'full' })
  await s.request('shop', { not_before: '2999-01-01T00:00:00Z' })
  await s.request('till')
  await s.expect(200, 'PATCH', '/api/projects/till', { archived: true })
  await s.request('lane', { lane: 'campaign' })
  await submit(s, { project: 'lane', lane: 'campaign' })
  await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['campaign'] })
  const landing = await submit(s, { objective: 'First' })
  await submit(s, { project: 'lane', objective: 'Second', depends_on: [landing.id] })
  await submit(s, { objective: 'Later', not_before: '2999-01-01T00:00:00Z' })
  t.same(await stranded(s), [`${landing.id} no_runner_registered`])
})

t.test('a work item that no runner may take is listed once, by its run request once it is handed out', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const { id } = await submit(s, {})
  t.same(await stranded(s), [`${id} no_runner_registered`])
  await s.runner('r1')
  t.same(await stranded(s), [`${id} no_runner_allowed`], 'the runner is not trusted')
  const token = await s.runner('r2', { trusted: true })
  t.same(await stranded(s), [])
  await s.call('GET', '/api/runners/r2/run-requests/next', undefined, { token })
  const { run_request_id } = await until(reading(s, id), waits('handed_out'))
  await s.expect(204, 'DELETE', '/api/runners/r2')
  t.same(await stranded(s), [`${run_request_id} no_runner_allowed`])
  await s.expect(200, 'POST', `/api/work-items/${id}/cancel`, {})
  t.same(await stranded(s), [])
})

t.test('a project whose eligible runners are all offline is listed once, until one is back', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const runner = await fleet(s, 'shop', 'till', 'idle')
  const away = async (query = '', more: object = {}) => {
    const { items } = (await s.expect(200, 'GET', NO_RUNNER_ONLINE + query, undefined, more)).body
    return items.map(({ project, because }: any) => `${project} ${because.detail}`)
  }
  await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['campaign'] })
  await submit(s, { project: 'idle', objective: 'Later', not_before: '2999-01-01T00:00:00Z' })
  await submit(s, { project: 'idle', lane: 'campaign' })
  await s.request('idle', { not_before: '2999-01-01T00:00:00Z' })
  await until(
    async () => {
      platform.advance(30_000)
      return (await s.expect(200, 'GET', '/api/runners/r1')).body
    },
    ({ presence }) => presence === 'offline',
  )
  const heard = (await s.expect(200, 'GET', '/api/runners/r1')).body.last_seen_at
  const { id } = await submit(s, {})
  await submit(s, { objective: 'More' })
  await s.request('till')
  await until(reading(s, id), waits('no_runner'))
  t.same(await away(), [], 'a runner that was just heard of may return')
  platform.advance(absenceMsMin)
  t.same(await away(), ['shop Offline: r1.', 'till Offline: r1.'])
  t.same(await away('&project=till'), ['till Offline: r1.'])
  const [first] = (await s.expect(200, 'GET', '/api/attention')).body.items
  t.match(first, { kind: 'stalled_project', project: 'shop', stalled_project: { key: 'shop' } })
  t.ok(Math.abs(Date.parse(first.since) - Date.parse(heard)) < 100, 'since the runner was last heard of')
  const { next_cursor } = (await s.expect(200, 'GET', `${NO_RUNNER_ONLINE}&limit=1`)).body
  t.same(await away(`&limit=1&cursor=${next_cursor}`), ['till Offline: r1.'])
  t.same(await away('', { token: await s.token('else', { roles: ['viewer'], projects: ['till'] }) }), [
    'till Offline: r1.',
  ])
  await s.runner('r2', { labels: ['gpu'] })
  t.same(await away(), ['shop Offline: r1.'], 'a runner that was just registered is expected; r2 is not trusted')
  await s.call('GET', '/api/runners/r1/run-requests/next', undefined, runner)
  t.same(await away(), [])
})

t.test(
  'pages of work without an eligible runner list each entry once, run requests before work items, newest first',
  async (t) => {
    const s = await startTestService(t)
    await s.project('shop')
    const requests: string[] = []
    for (const labels of [['a'], ['b'], ['a'], ['b'], ['a']]) {
      requests.unshift((await s.request('shop', { labels, idempotency_key: `k${requests.length}` })).id)
    }
    const items: string[] = []
    for (const objective of ['x', 'y', 'z']) items.unshift((await submit(s, { objective })).id)
    for (const limit of [1, 2, 3, 5, 7, 8, 9]) {
      const found: string[] = []
      for (let path = `${NO_RUNNER}&limit=${limit}`; path !== ''; ) {
        const { body, headers } = await s.expect(200, 'GET', path)
        t.ok(body.items.length <= limit)
        for (const { kind, ...item } of body.items) found.push(item[kind].id)
        const link = headers.get('link')
        path = link === null ? '' : link.slice(1, link.indexOf('>'))
      }
      t.same(found, [...requests, ...items], `${limit} per page`)
    }
  },
)

t.test(
  'of a chain of resumed items only the newest that needs a person is listed, and none while one is in progress',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop')
    const called = async () =>
      (await s.expect(200, 'GET', '/api/attention')).body.items.map(({ work_item }: any) => work_item.id)
    const ended = async (id: string, payload: object, state: string) => {
      const { request_id } = await begin(s, runner)
      await finish(s, runner, request_id, payload)
      await inState(s, id, state)
    }
    const resume = async (id: string) => (await s.expect(201, 'POST', `/api/work-items/${id}/resume`, {})).body.id
    const told = { project: 'shop', success: false, landed: false, summary: 'no' }
    const preserved = { ...told, verdict: 'complete', land_blocked: 'git_failed', preservation_ref: 'task/x' }
    const first = (await submit(s, {})).id
    await ended(first, preserved, 'preserved')
    t.same(await called(), [first])
    const second = await resume(first)
    t.same(await called(), [], 'it was resumed')
    await ended(second, { ...told, verdict: 'runner_error', detail: 'no' }, 'failed')
    t.same(await called(), [second])
    const third = await resume(first)
    t.same(await called(), [], 'it was resumed again, and the failed one belongs to the same matter')
    await ended(third, preserved, 'preserved')
    t.same(await called(), [third])
    await s.expect(200, 'POST', `/api/work-items/${third}/close`, { reason: 'no more' })
    t.same(await called(), [second], 'a closed item no longer stands for the chain')
    await s.expect(200, 'POST', `/api/work-items/${second}/close`, { reason: 'no more' })
    t.same(await called(), [first])
  },
)

t.test('the attention list can be filtered by project', async (t) => {
  const s = await startTestService(t)
  for (const key of ['shop', 'till']) await s.project(key)
  const { id } = await s.request('shop', { throttle: 'full' })
  await s.request('till', { throttle: 'full' })
  const { id: stuck } = await s.request('till')
  const named = async (project: string) =>
    (await s.expect(200, 'GET', `/api/attention?project=${project}`)).body.items.map(({ run_request }: any) => [
      run_request.project,
      run_request.id,
    ])
  t.same(await named('shop'), [['shop', id]])
  const ofTill = await named('till')
  t.equal(ofTill.length, 2)
  t.same(ofTill[0], ['till', stuck], 'entries computed from memory are filtered as well')
  await s.expect(404, 'GET', '/api/attention?project=none')
})

t.test('a question of an initiative is listed under each of its projects', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await steer(w, 't1', { decision: 'ask', member: BANK, question: 'Net or gross?' })
  const asked = async (project: string) => (await s.expect(200, 'GET', `/api/attention?project=${project}`)).body.items
  for (const project of ['shop', 'bank']) t.match(await asked(project), [{ reason: 'asked', project: 'shop' }], project)
  await s.project('till')
  t.same(await asked('till'), [])
})

t.test('a task that an initiative has staged needs a person, one that a person holds does not', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await steer(w, 't1', { decision: 'stage', member: BANK, objective: 'Print invoices' })
  const { items } = (await s.expect(200, 'GET', '/api/attention')).body
  const { work_item, ...entry } = items[0]
  t.same(entry, { kind: 'work_item', reason: 'staged', project: 'bank', since: work_item.operator_action.at })
  t.match(work_item, { state: 'held', reason: 'held by initiative checkout', objective: 'Print invoices' })
  t.same((await s.expect(200, 'GET', '/api/attention?reason=staged')).body.items, items)
  for (const move of ['release', 'hold']) await s.expect(200, 'POST', `/api/work-items/${work_item.id}/${move}`, {})
  await inState(s, work_item.id, 'held')
  t.same((await s.expect(200, 'GET', '/api/attention')).body.items, [])
})
