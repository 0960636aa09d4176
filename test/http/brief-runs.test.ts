/** A brief with several unfinished runs: an approval is for all that it covers, and the latest is followed. */
import t from 'tap'
import { OPEN_RUNS_MAX } from '../../machines/formation-brief/runs.ts'
import type { MessageBody } from '../../runtime/api.ts'
import { CREATE } from '../machines/run-request-samples.ts'
import { until } from '../until.ts'
import { acceptedRecord, briefIn, rewriteRecord, runOf, sectionsFor, tellRecord } from './briefs.ts'
import { startTestService } from './service-harness.ts'

const REQUESTS = '/api/projects/shop/run-requests'

async function start(t: Parameters<typeof startTestService>[0]) {
  const s = await startTestService(t)
  const record = await acceptedRecord(s, await s.project('shop'), 'one-order')
  const brief = await briefIn(s, 'compiled', 'shop', sectionsFor(record))
  const ask = async (n: number, throttle: string): Promise<string> =>
    (await s.expect(201, 'POST', REQUESTS, runOf(brief, { throttle, payload: { n } }))).body.id
  const run = async (id: string) => (await s.expect(200, 'GET', `/api/run-requests/${id}`)).body
  const come = (state: string) =>
    until(
      async () => (await s.expect(200, 'GET', brief.path)).body,
      (brief) => brief.state === state,
    )
  const token = await s.runner('r1', { capacity: 9, trusted: true })
  const post = (id: string, name: string, body: object = {}) =>
    s.expect(200, 'POST', `/api/run-requests/${id}/${name}`, body, { token })
  const isOver = (state: 'supersede' | 'deprecate') => tellRecord(s, record, { type: state })
  const poll = () => s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, { token })
  return { s, record, brief, ask, run, come, post, poll, isOver }
}

t.test('approving a brief for full releases every run that waits for it, not only the latest', async (t) => {
  const { s, brief, ask, run } = await start(t)
  const waiting = [await ask(1, 'full'), await ask(2, 'full')]
  const retry = { max_attempts: 2, on: ['execution'], backoff_seconds: 0 }
  const own = (await s.expect(201, 'POST', REQUESTS, runOf(brief, { throttle: 'full', retry }))).body.id
  await ask(3, 'dry_run')
  for (const id of [...waiting, own]) t.equal((await run(id)).waiting_because.code, 'not_approved')
  await s.expect(200, 'POST', `${brief.path}/approve`, { throttle: 'full' })
  for (const id of waiting) {
    const { approved_by } = await until(
      () => run(id),
      (one) => one.approved_by !== undefined,
    )
    t.equal(approved_by.name, 'admin')
  }
  t.notOk((await run(own)).approved_by, 'except one with a retry policy, which the brief does not cover')
})

t.test('a run repeated with again: true needs its own approval, whatever the approval of its brief', async (t) => {
  const { s, brief, ask, run, post, poll } = await start(t)
  const approve = { throttle: 'full' }
  await s.expect(200, 'POST', `${brief.path}/approve`, approve)
  const first = await ask(1, 'full')
  await poll()
  await post(first, 'completed', { result: { status: 'completed' } })
  const once = runOf(brief, { throttle: 'full', payload: { n: 1 } })
  const { id, waiting_because } = (await s.expect(201, 'POST', REQUESTS, { ...once, again: true })).body
  const detail =
    'Work with throttle full waits for an approval of its own: an approval of its brief does not cover repeating the work.'
  t.strictSame(waiting_because, { code: 'not_approved', detail })
  const { token } = (await s.expect(201, 'POST', '/api/tokens', { name: 'other', roles: ['admin'] })).body
  await s.expect(200, 'POST', `${brief.path}/approve`, approve, { token })
  await s.expect(200, 'POST', `${brief.path}/approve`, approve)
  const other = await ask(2, 'full')
  t.equal((await poll()).body.request_id, other, 'the brief has delivered that approval')
  await post(other, 'completed', { result: { status: 'completed' } })
  t.strictSame((await run(id)).waiting_because, { code: 'not_approved', detail })
  await s.expect(200, 'POST', `/api/run-requests/${id}/approve`)
  t.equal((await poll()).body.request_id, id)
})

t.test(
  "when a brief's latest run is cancelled, the brief follows its earlier run that is still executing",
  async (t) => {
    const { s, brief, ask, come, post, poll } = await start(t)
    const first = await ask(1, 'dry_run')
    await poll()
    await post(first, 'started')
    await come('executing')
    const second = await ask(2, 'dry_run')
    t.match(await come('queued'), { run: { run_request_id: second } })
    await s.expect(200, 'POST', `/api/run-requests/${second}/cancel`, {})
    t.match(await come('executing'), { run: { run_request_id: first } })
    const edit = { prompt_text: 'Something else.' }
    t.equal((await s.expect(409, 'PUT', `${brief.path}/prompts/execution`, edit)).body.code, 'illegal_move')
    await post(first, 'completed', { result: { status: 'completed' } })
    t.match(await come('completed'), { run: { run_request_id: first } })
  },
)

t.test('a brief can be archived only once all its runs have ended', async (t) => {
  const { s, brief, ask, come, post, poll } = await start(t)
  const first = await ask(1, 'dry_run')
  const second = await ask(2, 'dry_run')
  await s.expect(200, 'POST', `/api/run-requests/${second}/cancel`, {})
  await come('queued')
  const refused = (await s.expect(409, 'POST', `${brief.path}/archive`)).body
  t.match(refused, { code: 'illegal_move', state: 'queued', detail: `${first} is queued` })
  t.notOk(refused.allowed.includes('archive'))
  t.equal((await poll()).body.request_id, first)
  await post(first, 'completed', { result: { status: 'completed' } })
  await come('completed')
  await s.expect(200, 'POST', `${brief.path}/archive`)
})

t.test('a run request that reaches its brief after the brief was archived is cancelled', async (t) => {
  const { s, brief, run } = await start(t)
  await s.expect(200, 'POST', `${brief.path}/archive`)
  // A request sent at the same moment, which read the brief before it was archived.
  const { id, digest } = brief
  const asked = { ...CREATE, project: 'shop', project_id: brief.body.project_id, brief: { id, digest } }
  const made = await s.service.runtime.askAsync({ kind: 'run_request', id: CREATE.id }, asked as MessageBody)
  t.ok(made.ok)
  const { cancel } = await until(
    () => run(CREATE.id),
    (one) => one.state === 'cancelled',
  )
  t.match(cancel, { reason: 'its brief is archived', requested_by: { name: 'intendant' } })
})

t.test('a brief with the maximum number of unfinished runs takes another only after one has ended', async (t) => {
  const { s, brief } = await start(t)
  const tell = async (type: string, n: number, more: object = {}) => {
    const run_request_id = `runreq_${String(n).padStart(24, '0')}`
    const message = { type, run_request_id, ...more } as MessageBody
    const answer = await s.service.runtime.askAsync({ kind: 'formation_brief', id: brief.id }, message)
    if (!answer.ok) throw new Error(JSON.stringify(answer))
  }
  const asked = { digest: brief.digest, throttle: 'full', entry_event: 'execution_requested', retries: false }
  for (let n = 1; n <= OPEN_RUNS_MAX; n++) {
    await tell('run_queued', n, { ...asked, approved: false, requested_at: '2026-01-01T00:00:00.000000Z' })
  }
  const refused = await s.expect(409, 'POST', REQUESTS, runOf(brief))
  t.match(refused.body, { code: 'brief_busy', retryable: true })
  t.equal(refused.headers.get('retry-after'), '30')
  await tell('run_stopped', 7, { outcome: 'cancelled', reason: 'too many' })
  await s.expect(201, 'POST', REQUESTS, runOf(brief))
})

t.test('a brief frozen with intent that was withdrawn is not run or approved, and needs attention', async (t) => {
  const { s, brief, ask, run, isOver } = await start(t)
  const before = await ask(1, 'full')
  const attention = async () => (await s.expect(200, 'GET', '/api/attention?reason=lapsed')).body.items
  t.same(await attention(), [])
  t.notOk((await s.expect(200, 'GET', brief.path)).body.lapsed)
  await isOver('deprecate')
  const refused = { code: 'brief_incomplete', detail: /shop\.intent\.one-order|ir_[0-9a-f]{24} is deprecated/ }
  for (const throttle of ['dry_run', 'full']) {
    t.match((await s.expect(422, 'POST', `${brief.path}/approve`, { throttle })).body, refused)
    t.match((await s.expect(422, 'POST', REQUESTS, runOf(brief, { throttle, payload: { n: 2 } }))).body, refused)
  }
  t.match(
    (await s.expect(422, 'POST', `/api/run-requests/${before}/approve`)).body,
    refused,
    'a run that was requested before',
  )
  t.equal((await run(before)).waiting_because.code, 'not_approved')
  const { lapsed } = (await s.expect(200, 'GET', brief.path)).body
  t.match(lapsed, refused)
  t.match(await attention(), [
    {
      kind: 'formation_brief',
      reason: 'lapsed',
      project: 'shop',
      since: lapsed.since,
      formation_brief: { id: brief.id, lapsed },
    },
  ])
  await s.expect(200, 'POST', `/api/run-requests/${before}/cancel`, {})
  await s.expect(200, 'POST', `${brief.path}/archive`)
  t.same(await attention(), [])
})

t.test('a waiting run can be approved once its brief is approved again with the changed intent', async (t) => {
  const { s, record, brief, ask, run } = await start(t)
  const asked = await ask(1, 'full')
  await rewriteRecord(s, record, 'It works twice.')
  const refused = { code: 'reapproval_required', detail: /shop\.intent\.one-order has been at version 2 since 20/ }
  t.match((await s.expect(409, 'POST', `/api/run-requests/${asked}/approve`)).body, refused)
  t.match((await s.expect(409, 'POST', REQUESTS, runOf(brief, { payload: { n: 2 } }))).body, refused)
  t.match((await s.expect(200, 'GET', brief.path)).body.lapsed, refused)
  t.match((await s.expect(200, 'GET', '/api/attention?reason=lapsed')).body.items, [
    { formation_brief: { id: brief.id } },
  ])
  const { body } = await s.expect(200, 'POST', `${brief.path}/approve`, { throttle: 'dry_run' })
  t.notOk(body.lapsed)
  t.equal((await s.expect(200, 'POST', `/api/run-requests/${asked}/approve`)).body.approved_by.name, 'admin')
  t.equal((await run(asked)).waiting_because?.code === 'not_approved', false)
})
