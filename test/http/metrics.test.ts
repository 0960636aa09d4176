/** What `/metrics` reports, compared with what was done. */
import { X509Certificate } from 'node:crypto'
import { pino } from 'pino'
import t from 'tap'
import { createMetrics } from '../../http/metrics.ts'
import { startService } from '../../http/service.ts'
import { Queue } from '../../runtime/dispatch/queue.ts'
import { defaultSettings } from '../../runtime/settings.ts'
import { CERTIFICATE, KEY } from '../cli/forward-proxy.ts'
import { failing } from '../failing-files.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { MemoryJournal } from '../storage/memory.ts'
import { until } from '../until.ts'
import { advance, world } from './initiative-harness.ts'
import { reading, submit, take } from './ledger-harness.ts'
import { startOnDisk, startTestService, type TestService } from './service-harness.ts'

/** Reads `/metrics`; the result returns the value of a metric, named with its labels as printed. */
async function reader(s: TestService): Promise<(name: string) => number | undefined> {
  const { body } = await s.expect(200, 'GET', '/metrics')
  const lines = new Map<string, number>(
    (body as string).split('\n').flatMap((line) => {
      const at = line.lastIndexOf(' ')
      return line.startsWith('#') || at < 0 ? [] : [[line.slice(0, at), Number(line.slice(at + 1))] as const]
    }),
  )
  return (name) => lines.get(name)
}

t.test('metrics report commits, the backlog by project, waits and refusals', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1', { labels: ['gpu'] })
  await s.request('greeter', { labels: ['tpu'] })
  await s.expect(204, 'GET', '/api/runners/r1/run-requests/next?wait=1', undefined, { token })
  await s.expect(404, 'GET', '/api/projects/nothing')
  const { body } = await s.expect(200, 'GET', '/metrics')
  for (const line of [
    /^intendant_backlog_count\{project="greeter"\} 1$/m,
    /^intendant_backlog_oldest_age_seconds\{project="greeter"\} [\d.]+$/m,
    /^intendant_poll_wait_seconds_count 1$/m,
    /^intendant_http_problems_total\{code="not_found"\} 1$/m,
    // `rate` misses the first increment of a series that begins at 1.
    /^intendant_http_problems_total\{code="internal_error"\} 0$/m,
    /^intendant_http_problems_total\{code="overloaded"\} 0$/m,
    /^intendant_commits_total [1-9]\d*$/m,
    /^intendant_commit_steps_total [1-9]\d*$/m,
    /^intendant_commit_events_total [1-9]\d*$/m,
    /^intendant_run_requests_lost_total 0$/m,
    /^intendant_offers_total 0$/m,
  ]) {
    t.match(body, line)
  }
})

t.test('metrics count sentinels, what they submitted, and why they submitted nothing', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  for (const name of ['one', 'two']) {
    const item = { objective: 'Tidy up' }
    await s.expect(201, 'POST', '/api/sentinels', { name, project: 'shop', cron: '0 0 1 1 *', item })
  }
  for (const move of ['fire', 'fire', 'pause']) await s.expect(200, 'POST', `/api/sentinels/one/${move}`, {})
  await s.expect(200, 'POST', '/api/sentinels/two/fire', {})
  const read = await reader(s)
  for (const [name, value] of [
    ['intendant_sentinels{state="active"}', 1],
    ['intendant_sentinels{state="paused"}', 1],
    ['intendant_sentinels{state="removed"}', 0],
    ['intendant_sentinels_skipping', 0],
    ['intendant_sentinels_fired_total', 1],
    ['intendant_sentinels_skipped_total{reason="duplicate"}', 2],
    ['intendant_sentinels_skipped_total{reason="missed"}', 0],
    ['intendant_sentinels_skipped_total{reason="project_archived"}', 0],
  ] as const)
    t.equal(read(name), value, name)
})

t.test('a scrape walks the queue once', async (t) => {
  const s = await startTestService(t)
  for (const key of ['one', 'two']) {
    await s.project(key)
    await s.request(key)
  }
  await s.request('two', { idempotency_key: 'second' })
  const { byProject } = Queue.prototype
  let walks = 0
  t.teardown(() => {
    Queue.prototype.byProject = byProject
  })
  Queue.prototype.byProject = function (this: Queue) {
    walks++
    return byProject.call(this)
  }
  const read = await reader(s)
  t.same(
    ['one', 'two'].map((project) => read(`intendant_backlog_count{project="${project}"}`)),
    [1, 2],
  )
  for (const project of ['one', 'two']) t.ok(read(`intendant_backlog_oldest_age_seconds{project="${project}"}`)! > 0)
  t.equal(walks, 1)
})

t.test('metrics report waiting work items by project, even without a runner', async (t) => {
  const s = await startTestService(t)
  for (const key of ['shop', 'till', 'idle']) await s.project(key)
  await submit(s, { objective: 'First' })
  await submit(s, { objective: 'Second' })
  await submit(s, { objective: 'Third', lane: 'campaign' })
  const held = await submit(s, { objective: 'Held' })
  await s.expect(200, 'POST', `/api/work-items/${held.id}/hold`, {})
  await submit(s, { project: 'till' })
  const count = (project: string) => `intendant_work_items_waiting{project="${project}"}`
  const read = await until(
    () => reader(s),
    (read) => read(count('till')) === 1,
  )
  t.same(
    ['shop', 'till', 'idle'].map((project) => read(count(project))),
    [3, 1, undefined],
  )
  const age = (project: string) => read(`intendant_work_items_waiting_oldest_age_seconds{project="${project}"}`)!
  t.ok(age('shop') >= age('till') && age('till') > 0)
})

t.test('metrics report flushes, queue depths, expired leases and offers, and file sizes', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startOnDisk(t, t.testdir(), { platform })
  await s.project('greeter')
  const runner = { token: await s.runner('r1') }
  const { id } = await s.request('greeter')
  const poll = () => s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, runner)
  await poll()
  await s.expect(200, 'POST', `/api/run-requests/${id}/accepted`, {}, runner)
  platform.advance(61_000)
  await poll()
  platform.advance(31_000)
  await poll()
  await Promise.all(Array.from({ length: 20 }, (_, i) => s.request('greeter', { idempotency_key: `k${i}` })))
  const read = await reader(s)
  t.equal(read('intendant_lease_expired_total'), 1)
  t.equal(read('intendant_offer_expired_total'), 1)
  t.equal(read('intendant_messages_in_flight'), 0)
  t.ok(read('intendant_mailbox_depth')! >= 1)
  t.equal((await reader(s))('intendant_mailbox_depth'), 0, 'the peak is reported once')
  t.ok(read('intendant_view_backlog_batches')! >= 0)
  const commits = read('intendant_commits_total')
  t.ok(commits! > 5)
  t.equal(read('intendant_commit_batch_size_count'), commits)
  t.equal(read('intendant_commit_batch_size_sum'), read('intendant_commit_steps_total'))
  t.equal(read('intendant_fsync_seconds_count'), commits, 'each commit is one flush')
  const seconds = read('intendant_fsync_seconds_sum')!
  t.ok(seconds > 0 && seconds < commits!, `${seconds} s`)
  t.ok(read('intendant_disk_free_bytes')! > 0)
  for (const part of ['log', 'view']) t.ok(read(`intendant_store_bytes{part="${part}"}`)! > 4_096)
})

t.test('metrics are reported when no file can be opened any more, without the sizes of the files', async (t) => {
  const home = t.testdir()
  const s = await startOnDisk(t, home)
  const before = await reader(s)
  const heal = failing(t, 'readdirSync', (path) =>
    path === '/proc/self/fd' || path.startsWith(home) ? 'EMFILE' : undefined,
  )
  const read = await reader(s)
  for (const part of ['log', 'view']) t.same(read(`intendant_store_bytes{part="${part}"}`), Number.NaN)
  t.ok(before('process_open_fds')! < before('process_max_fds')!)
  t.equal(read('process_open_fds'), read('process_max_fds'), 'all are in use')
  t.equal(read('intendant_http_problems_total{code="internal_error"}'), 0)
  heal()
  const after = await reader(s)
  t.ok(after('intendant_store_bytes{part="log"}')! > 4_096)
  t.ok(after('process_open_fds')! < after('process_max_fds')!)
})

t.test('metrics report how far the slowest stream is behind', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  t.equal((await reader(s))('intendant_watch_lag_events'), 0, 'there is no watcher')
  const ending = new AbortController()
  const headers = { authorization: `Bearer ${s.admin}`, accept: 'text/event-stream' }
  const stream = await fetch(`${s.service.url}/api/watch?since=earliest`, { headers, signal: ending.signal })
  t.equal(stream.status, 200)
  // Nobody reads the stream, and each event is large, so the kernel's buffers fill up soon.
  const big = 'x'.repeat(400_000)
  for (let i = 0; i < 40; i++) {
    const event = { event_type: 'x', project: 'greeter', occurred_at: `2026-01-31T12:00:${i + 10}Z`, payload: { big } }
    await s.expect(200, 'POST', '/api/events', { events: [event] })
  }
  for (let tries = 0; ; tries++) {
    const read = await reader(s)
    const lag = read('intendant_watch_lag_events')!
    if (read('intendant_watchers{state="parked"}') === 1 && lag > 0 && lag < 43) break
    if (tries > 100) throw new Error(`lag ${lag}`)
  }
  ending.abort()
  while ((await reader(s))('intendant_watch_lag_events') !== 0) await new Promise(setImmediate)
})

t.test('metrics report when the next token and the certificate expire', async (t) => {
  const folder = t.testdir({ 'cert.pem': CERTIFICATE, 'key.pem': KEY })
  const s = await startTestService(t, { home: folder })
  const NAME = 'intendant_token_expiry_timestamp_seconds'
  const next = async (): Promise<string | undefined> => {
    const { body } = await s.expect(200, 'GET', '/metrics')
    t.match(body, /^intendant_certificate_expiry_timestamp_seconds \+Inf$/m, 'there is no certificate')
    return (body as string).split('\n').find((line) => line.startsWith(`${NAME} `))
  }
  t.equal(await next(), `${NAME} +Inf`)
  // A runner's previous token expires at each rotation as intended, so it is not counted.
  await s.runner('r1')
  await s.expect(201, 'POST', '/api/runners/r1/token')
  t.equal(await next(), `${NAME} +Inf`)
  const ids: string[] = []
  for (const expires_at of ['2100-01-02T00:00:00Z', '2100-01-01T00:00:00Z']) {
    const { body } = await s.expect(201, 'POST', '/api/tokens', { name: 'ci', roles: ['viewer'], expires_at })
    ids.push(body.id)
  }
  t.equal(await next(), `${NAME} ${Date.parse('2100-01-01') / 1_000}`)
  await s.expect(204, 'DELETE', `/api/tokens/${ids[1]}`)
  t.equal(await next(), `${NAME} ${Date.parse('2100-01-02') / 1_000}`)

  const metrics = createMetrics()
  const tls = { certFile: `${folder}/cert.pem`, keyFile: `${folder}/key.pem` }
  const settings = { ...defaultSettings, port: 0, home: folder, tls }
  const openJournal = async () => new MemoryJournal()
  const parts = { version: '0', log: pino({ level: 'silent' }), metrics, openJournal, saveAdminToken: () => {} }
  const service = await startService(settings, parts)
  t.teardown(() => service.close())
  const end = Date.parse(new X509Certificate(CERTIFICATE).validTo) / 1_000
  t.match(await metrics.registry.metrics(), `intendant_certificate_expiry_timestamp_seconds ${end}\n`)
})

t.test(
  'entities that the scheduler or the steward fails on are reported in readyz and metrics, and do not block others',
  async (t) => {
    const s = await startTestService(t)
    const w = await world(s)
    const { runtime } = s.service
    const { ask } = runtime
    const fails = new Set(['assess'])
    runtime.ask = (ref, message, reply) => {
      if (fails.has(message.type) || fails.has(ref.id)) throw new TypeError('a mistake')
      ask.call(runtime, ref, message, reply)
    }
    await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['interactive'] })
    const poison = await submit(s)
    const other = await submit(s, { project: 'bank' })
    fails.add(poison.id)
    await s.expect(200, 'POST', '/api/pacing/resume', {})
    await advance(w, 't1')
    const ready = async () => (await s.expect(200, 'GET', '/readyz')).body
    t.match(await until(ready, ({ passed_over }) => passed_over === 2), {
      status: 'ready',
      set_aside: 0,
      quarantined: 0,
    })
    const read = await reader(s)
    t.equal(read('intendant_entities_passed_over{by="scheduler"}'), 1)
    t.equal(read('intendant_entities_passed_over{by="steward"}'), 1)
    for (const by of ['scheduler', 'steward', 'dispatcher', 'capabilities', 'sessions'])
      t.equal(read(`intendant_ticks_failed_total{by="${by}"}`), 0)
    const [waiting] = (await s.expect(200, 'GET', '/api/pacing')).body.waiting
    t.match(waiting, { id: poison.id, waiting_because: { code: 'passed_over' } })
    const { request_id } = await take(s, w.runner)
    t.equal((await reading(s, other.id)()).run_request_id, request_id)
  },
)
