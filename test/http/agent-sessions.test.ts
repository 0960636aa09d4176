/** Agent sessions and maintenance runs over HTTP: reported, watched, counted, and ended when their process is gone. */
import t from 'tap'
import { maintenanceRunIdOf } from '../../machines/ids.ts'
import { usageRef } from '../../machines/usage.ts'
import { retentionSweepMs } from '../../runtime/limits.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { HoldablePlatform } from '../platforms/holdable.ts'
import { until } from '../until.ts'
import { addCampaign } from './campaign-harness.ts'
import { AT, begin, finish, fleet, inState, type Runner, submit } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'
import { toTheLetter } from './to-the-letter.ts'

const LEASE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

let count = 0
const newId = () => `6f1c2a34-5b7d-4e8f-9a0b-${String(++count).padStart(12, '0')}`
const startedEvent = (session_id: string, occurred_at = AT) => ({
  event_type: 'agent_session_started',
  occurred_at,
  payload: {
    session_id,
    agent_type: 'agent',
    project: '',
    working_dir: '/work/shop',
    source_log_path: `/home/ann/.engine/agent-sessions/${session_id}.jsonl`,
    capability: 'coding',
    access: 'full',
    started_at: occurred_at,
    trace_id: '',
  },
})
const endedEvent = (session_id: string, more: object = {}) => ({
  event_type: 'agent_session_ended',
  occurred_at: AT,
  payload: { session_id, status: 'ok', exit_code: 0, ended_at: AT, bytes_written: 2048, ...more },
})

const report = (s: TestService, runner: Runner, request: string, ...events: object[]) =>
  s.expect(200, 'POST', `/api/run-requests/${request}/events`, { events }, runner)
const emit = (s: TestService, ...events: object[]) =>
  s.expect(200, 'POST', '/api/events', { events: events.map((event) => ({ project: 'shop', ...event })) })
const sessionOf = async (s: TestService, id: string) => (await s.expect(200, 'GET', `/api/agent-sessions/${id}`)).body
const ended = (s: TestService, id: string) =>
  until(
    () => sessionOf(s, id),
    ({ state }) => state === 'ended',
  )
const endsOf = async (s: TestService, id: string): Promise<any[]> => {
  const { items } = (await s.expect(200, 'GET', '/api/events?event_type=agent_session_ended&order=asc')).body
  return items.filter(({ payload }: any) => payload.session_id === id)
}
const onDisk = (platform: AdvanceablePlatform) => ({ platform, openJournal: undefined as never })

t.test(
  'learned 5: a running session is shown while it is silent, and its usage is added to its item and project',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop', 'till')
    const item = await submit(s)
    const { request_id } = await begin(s, runner)
    const [first, second] = [newId(), newId()]
    await report(s, runner, request_id, startedEvent(first), startedEvent(second))
    const shown = await until(
      async () => (await s.expect(200, 'GET', `/api/agent-sessions?work_item=${item.id}`)).body.items,
      ({ length }) => length === 2,
    )
    t.match(shown[1], {
      session_id: first,
      state: 'started',
      runner_id: 'r1',
      work_item_id: item.id,
      capability: 'coding',
    })
    t.notOk('bytes_written' in shown[1])

    const pulse = { session_id: first, bytes_written: 700, last_output_at: AT }
    await s.expect(
      200,
      'POST',
      `/api/run-requests/${request_id}/heartbeat`,
      { sessions: [pulse, { ...pulse, session_id: newId() }] },
      runner,
    )
    t.match(await sessionOf(s, first), { ...pulse, state: 'started', heard_at: String })

    const usage = { 'model-a': { input: 10, output: 2 } }
    await report(s, runner, request_id, endedEvent(first, { usage, cost: { USD: 0.25, basis: 'list' } }))
    await report(s, runner, request_id, endedEvent(second))
    const known = { tokens: usage, cost: { USD: 0.25 } }
    t.match(await ended(s, first), { status: 'ok', bytes_written: 2048, exit_code: 0, ...known, cost_basis: 'list' })
    t.notOk('heard_at' in (await sessionOf(s, first)))
    const sums = { sessions: 2, measured: 1, priced: 1, ...known }
    for (const path of [`/api/work-items/${item.id}`, '/api/projects/shop'])
      t.match(
        await until(
          async () => (await s.expect(200, 'GET', path)).body,
          (body) => body.usage?.sessions === 2,
        ),
        {
          usage: sums,
        },
      )
    t.notOk('usage' in (await s.expect(200, 'GET', '/api/projects/till')).body)
    await report(s, runner, request_id, endedEvent(first, { bytes_written: 1 }))
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/completed`, { result: {} }, runner)
    t.match((await s.expect(200, 'GET', '/api/projects/shop')).body.usage, sums, 'the end is counted once')
    t.equal((await sessionOf(s, first)).bytes_written, 2048)
  },
)

t.test(
  'a session that an ingested trace reported first is recorded when its run posts it, and counted once',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop')
    const item = await submit(s)
    const { request_id, trace } = await begin(s, runner)
    const id = newId()
    const told = [startedEvent(id), endedEvent(id, { usage: { 'model-a': { input: 10, output: 2 } } })]
    const whole = told.map((event) => ({ ...event, project: 'shop', throttle: 'full', trace_id: trace.trace_id }))
    await s.expect(200, 'POST', `/engine/traces/${trace.trace_id}/ingest`, whole, runner)
    await s.expect(404, 'GET', `/api/agent-sessions/${id}`)
    for (const _ of [1, 2]) t.match((await report(s, runner, request_id, ...told)).body, { accepted: 0, duplicates: 2 })
    t.match(await ended(s, id), { status: 'ok', work_item_id: item.id, run_request_id: request_id, started_at: AT })
    const { usage } = await until(
      async () => (await s.expect(200, 'GET', '/api/projects/shop')).body,
      (body) => body.usage !== undefined,
    )
    t.match(usage, { sessions: 1, tokens: { 'model-a': { input: 10, output: 2 } } })
    t.equal((await endsOf(s, id)).length, 1)
  },
)

t.test('a session counts for a campaign only if the campaign opened its item, whatever the payload says', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'till')
  await addCampaign(s, { project: 'till' })
  for (const kind of ['release', 'remediation']) {
    const item = await submit(s, { kind, payload: { cve: 'CVE-2026-1', dirty: true, campaign: 'pay' } })
    const { request_id } = await begin(s, runner)
    const id = newId()
    await report(s, runner, request_id, startedEvent(id), endedEvent(id))
    const session = await ended(s, id)
    t.match(session, { work_item_id: item.id })
    t.notOk('campaign' in session, kind)
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/completed`, { result: {} }, runner)
  }
  t.notOk('usage' in (await s.expect(200, 'GET', '/api/campaigns/pay')).body)
})

t.test('a session whose agent was unreachable ends as unavailable', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await submit(s)
  const { request_id } = await begin(s, runner)
  const id = newId()
  const { exit_code: _, ...payload } = endedEvent(id, { status: 'unavailable', error: 'no answer' }).payload as any
  await report(s, runner, request_id, startedEvent(id), { ...endedEvent(id), payload })
  t.match(await ended(s, id), { status: 'unavailable', error: 'no answer' })
})

t.test('session lists apply their filters and hide sessions of projects that the token may not see', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'till')
  await submit(s)
  const { request_id, trace } = await begin(s, runner)
  const [of, alone, other] = [newId(), newId(), newId()]
  await report(s, runner, request_id, startedEvent(of))
  await emit(s, startedEvent(alone), { ...startedEvent(other), project: 'shop' })
  await emit(s, endedEvent(alone, { status: 'agent_failed', exit_code: 1 }))
  await ended(s, alone)
  const ids = async (query: string, token?: string) =>
    (
      await s.expect(200, 'GET', `/api/agent-sessions?${query}`, undefined, token === undefined ? {} : { token })
    ).body.items
      .map(({ session_id }: any) => session_id)
      .sort()
  t.same(await ids('state=started'), [of, other])
  t.same(await ids('state=ended'), [alone])
  t.same(await ids('state=ended,started'), [of, alone, other])
  t.same(await ids('status=agent_failed'), [alone])
  t.same(await ids('status=agent_failed,unavailable'), [alone])
  t.same(await ids(`run_request=${request_id}`), [of])
  t.same(await ids('runner=r1&state=started'), [of])
  t.same(await ids(`trace_id=${trace.trace_id}`), [of])
  t.same(await ids('project=till'), [])
  t.same(await ids('project=shop'), [of, alone, other])
  const till = await s.token('till', { roles: ['viewer'], projects: ['till'] })
  t.same(await ids('', till), [])
  const path = `/api/agent-sessions/${of}`
  t.equal((await s.call('GET', path, undefined, { token: till })).status, 404)
  t.equal((await s.call('GET', '/api/agent-sessions/none')).status, 404)
  t.equal((await s.call('GET', '/api/agent-sessions/..%2Fx')).status, 404)
})

t.test('an agent_session_ended from another run is recorded but does not end the session', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'till')
  await submit(s)
  const first = await begin(s, runner)
  await submit(s, { project: 'till' })
  const second = await begin(s, runner)
  const id = newId()
  await report(s, runner, first.request_id, startedEvent(id))
  await report(s, runner, second.request_id, endedEvent(id))
  await until(
    () => endsOf(s, id),
    ({ length }) => length === 1,
  )
  t.equal((await sessionOf(s, id)).state, 'started')
})

t.test(
  'learned 4: at startup, sessions and maintenance runs inside the service end as interrupted, once, before work is taken',
  async (t) => {
    const home = t.testdir()
    const platform = new AdvanceablePlatform()
    const now = () => new Date(platform.wallMs()).toISOString()
    const before = await startTestService(t, { home }, onDisk(platform))
    const runner = await fleet(before, 'shop')
    await submit(before)
    const { request_id } = await begin(before, runner)
    const [remote, old, recent, over] = [newId(), newId(), newId(), newId()]
    await report(before, runner, request_id, startedEvent(remote, now()))
    const longAgo = new Date(platform.wallMs() - 8 * DAY_MS).toISOString()
    await emit(
      before,
      startedEvent(old, longAgo),
      startedEvent(recent, now()),
      startedEvent(over, now()),
      endedEvent(over),
    )
    await ended(before, over)
    const trace_id = 'e'.repeat(32)
    const maintenance = {
      event_type: 'maintenance_run_started',
      occurred_at: now(),
      trace_id,
      payload: { project: 'shop' },
    }
    await emit(before, maintenance)
    await before.service.close()

    const startMs = platform.wallMs()
    const after = await startTestService(t, { home }, onDisk(platform))
    const interrupted = await sessionOf(after, recent)
    t.match(interrupted, { state: 'ended', status: 'interrupted', error: 'daemon restarted', bytes_written: 0 })
    t.ok(Date.parse(interrupted.ended_at) >= startMs, 'the session ends at the startup')
    const [told] = await endsOf(after, recent)
    t.match(told, { project: 'shop', throttle: 'dry_run', causation_id: /^evt_/, by: { name: 'intendant' } })
    t.notOk('usage' in told.payload || 'exit_code' in told.payload)
    t.equal((await sessionOf(after, old)).state, 'started', 'sessions older than seven days are left alone')
    t.equal((await sessionOf(after, remote)).state, 'started', "a runner's session continues under its lease")
    t.equal((await endsOf(after, over)).length, 1)
    const runs = async (s: TestService) =>
      (await s.expect(200, 'GET', '/api/events?event_type=maintenance_run_completed')).body.items
    t.match(await runs(after), [
      { project: 'shop', trace_id, payload: { total: 1, projects: [{ name: 'shop', status: 'interrupted' }] } },
    ])
    t.equal((await after.expect(200, 'GET', '/api/run-requests')).body.items.length, 1, 'nothing was dispatched')
    await after.service.close()

    const again = await startTestService(t, { home }, onDisk(platform))
    t.equal((await endsOf(again, recent)).length, 1, 'a second start ends nothing twice')
    t.equal((await runs(again)).length, 1)

    await toTheLetter(t, again, 'agent-sessions')
  },
)

t.test('a lost lease interrupts the sessions of its run, and a late agent_session_ended corrects them', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const runner = await fleet(s, 'shop')
  const item = await submit(s)
  const { request_id } = await begin(s, runner)
  const id = newId()
  await report(s, runner, request_id, startedEvent(id))
  platform.advance(LEASE_MS + 1_000)
  const gone = await ended(s, id)
  const { lost_at } = (await s.expect(200, 'GET', `/api/run-requests/${request_id}`)).body
  t.match(gone, { status: 'interrupted', ended_at: lost_at }, 'the session ended when the lease did')
  const path = `/api/work-items/${item.id}`
  t.match((await s.expect(200, 'GET', path)).body.usage, { sessions: 1, measured: 0 })
  await report(s, runner, request_id, endedEvent(id, { usage: { a: { input: 7 } } }))
  t.match(
    await until(
      () => sessionOf(s, id),
      ({ status }) => status === 'ok',
    ),
    { tokens: { a: { input: 7 } } },
  )
  t.match(
    await until(
      async () => (await s.expect(200, 'GET', path)).body.usage,
      ({ measured }) => measured === 1,
    ),
    {
      sessions: 1,
      tokens: { a: { input: 7 } },
    },
  )
})

t.test(
  'a runner that registers a new process ends the sessions of its old one, including those of finished runs',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop', 'till')
    const session = (instance: string) =>
      s.expect(200, 'POST', '/api/runners/r1/session', { version: '1', instance }, runner)
    await session('first')
    await submit(s)
    const done = await begin(s, runner)
    await submit(s, { project: 'till' })
    const running = await begin(s, runner)
    const [forgotten, cut, later] = [newId(), newId(), newId()]
    await report(s, runner, done.request_id, startedEvent(forgotten))
    await s.expect(200, 'POST', `/api/run-requests/${done.request_id}/completed`, { result: {} }, runner)
    await report(s, runner, running.request_id, startedEvent(cut))
    await session('first')
    t.equal((await sessionOf(s, cut)).state, 'started', 'the same process registering again ends nothing')
    const { started_at } = (await session('second')).body.session
    for (const id of [forgotten, cut]) t.match(await ended(s, id), { status: 'interrupted', ended_at: started_at })
    await report(s, runner, running.request_id, startedEvent(later))
    t.equal((await sessionOf(s, later)).state, 'started', 'sessions of the new process continue')
  },
)

t.test('a session ends when its cancelled run is given up for want of an answer', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const runner = await fleet(s, 'shop')
  await submit(s)
  const { request_id } = await begin(s, runner)
  const id = newId()
  await report(s, runner, request_id, startedEvent(id))
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/cancel`)
  platform.advance(61_000)
  t.match(await ended(s, id), { status: 'interrupted' })
})

t.test(
  'a session still open when its run has ended is interrupted after ten minutes, also over a restart',
  async (t) => {
    const home = t.testdir()
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, { home }, onDisk(platform))
    const runner = await fleet(s, 'shop')
    const [forgotten, late] = [newId(), newId()]
    await submit(s)
    const first = await begin(s, runner)
    await report(s, runner, first.request_id, startedEvent(forgotten), startedEvent(late))
    await s.expect(200, 'POST', `/api/run-requests/${first.request_id}/completed`, { result: {} }, runner)
    const { completed_at } = (await s.expect(200, 'GET', `/api/run-requests/${first.request_id}`)).body
    await report(s, runner, first.request_id, endedEvent(late))
    t.equal((await ended(s, late)).status, 'ok')
    t.equal((await sessionOf(s, forgotten)).state, 'started', 'its end may still be reported')
    await s.service.close()
    const again = await startTestService(t, { home }, onDisk(platform))
    t.equal((await sessionOf(again, forgotten)).state, 'started')
    platform.advance(601_000)
    t.match(await ended(again, forgotten), { status: 'interrupted', ended_at: completed_at })
  },
)

t.test(
  'a caller who may not see all projects of a maintenance run neither joins nor ends it, but gets a run of their own',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const home = t.testdir()
    const before = await startTestService(t, { home }, onDisk(platform))
    for (const key of ['shop', 'till']) await before.project(key)
    const tokenOf = async (name: string, ...projects: string[]) => ({
      token: await before.token(name, { roles: ['operator'], ...(projects.length === 0 ? {} : { projects }) }),
    })
    const [all, shop, till, successor] = await Promise.all([
      tokenOf('all'),
      tokenOf('engine', 'shop'),
      tokenOf('engine', 'till'),
      tokenOf('engine-2', 'shop'),
    ])
    const tell = (
      event_type: string,
      project: string,
      n: number,
      as?: { token: string },
      payload: object = { project },
    ) => {
      const occurred_at = new Date(platform.wallMs()).toISOString()
      const event = { event_type, project, throttle: 'full', occurred_at, payload, trace_id: String(n).repeat(32) }
      return before.expect(200, 'POST', '/api/events', { events: [event] }, as)
    }
    const total = { total: 1, succeeded: 1, failed: 0, skipped: 0 }
    const done = { ...total, projects: [{ name: 'till', status: 'succeeded', duration_secs: 1 }] }
    // Started with a token for all projects; the confined token's reports do not join it.
    await tell('maintenance_run_started', 'shop', 1)
    await tell('maintenance_run_started', 'till', 1, till)
    await tell('maintenance_run_completed', 'till', 1, till, done)
    // A token for all projects adds further projects to its run, also under another name.
    await tell('maintenance_run_started', 'shop', 2)
    await tell('maintenance_run_started', 'till', 2, all)
    await tell('project_maintenance_completed', 'till', 2, all, {
      project: 'till',
      workflow: 'maintain',
      success: true,
      summary: 's',
    })
    // Two confined tokens with the same trace each get a run of their own.
    await tell('maintenance_run_started', 'till', 3, till)
    await tell('maintenance_run_started', 'shop', 3, shop)
    // A run may be ended with a token of another name that sees the same project.
    await tell('maintenance_run_started', 'shop', 4, shop)
    await tell('maintenance_run_completed', 'shop', 4, successor, done)
    const stated = async (s: TestService) =>
      (await s.expect(200, 'GET', '/api/events?event_type=maintenance_run_completed&order=asc')).body.items
    t.equal((await stated(before)).length, 2)
    await before.service.close()

    const after = await startTestService(t, { home }, onDisk(platform))
    const told = (await stated(after)).slice(2).map(({ trace_id, project, payload }: any) => {
      const parts = payload.projects.map(({ name, status }: any) => `${name} ${status}`)
      return `${trace_id[0]} ${project}: ${parts.join(', ')}`
    })
    t.same(told.sort(), [
      '1 shop: shop interrupted',
      '2 shop: shop interrupted, till succeeded',
      '3 shop: shop interrupted',
      '3 till: till interrupted',
    ])
  },
)

t.test('what is told of a maintenance run right after its beginning is answered reaches it', async (t) => {
  const platform = new HoldablePlatform()
  const s = await startTestService(t, {}, { platform })
  await s.project('shop')
  const trace_id = '5'.repeat(32)
  const ref = { kind: 'maintenance_run', id: maintenanceRunIdOf(trace_id, '*') } as const
  const told = (event_type: string, payload: object) => emit(s, { event_type, occurred_at: AT, trace_id, payload })
  platform.holdAt(s.service.runtime.journal)
  await told('maintenance_run_started', { project: 'shop' })
  t.equal(s.service.runtime.read(ref), undefined, 'its actor has not taken the message yet')
  const heldBefore = platform.held
  const done = { total: 1, succeeded: 1, failed: 0, skipped: 0, projects: [] }
  const completed = told('maintenance_run_completed', done)
  await until(async () => platform.held > heldBefore, Boolean)
  platform.letGo()
  await completed
  await until(
    async () => s.service.runtime.read(ref)?.value,
    (state) => state === 'ended',
  )
})

t.test(
  'retention removes neither the sum of an item before the item nor a session before its run, so that an end reported again is not counted again',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const forgetful = { retentionMs: HOUR_MS, idempotencyMs: HOUR_MS, lateEventsMs: 1, leaseMs: 100 * HOUR_MS }
    const s = await startTestService(t, forgetful, { platform })
    const runner = await fleet(s, 'shop')
    const item = await submit(s)
    const { request_id } = await begin(s, runner)
    const isThere = async (id: string) => (await s.call('GET', `/api/agent-sessions/${id}`)).status === 200
    const forgetOthers = async () => {
      const other = newId()
      await emit(s, startedEvent(other), endedEvent(other))
      await ended(s, other)
      for (platform.advance(2 * HOUR_MS); await isThere(other); ) platform.advance(retentionSweepMs)
      platform.advance(retentionSweepMs)
    }
    const sumOf = async (path: string) => (await s.expect(200, 'GET', path)).body.usage

    const [first, second] = [newId(), newId()]
    const told = [startedEvent(first), endedEvent(first, { usage: { 'model-a': { input: 10 } } })]
    await report(s, runner, request_id, ...told)
    await ended(s, first)
    await forgetOthers()
    t.match(await sumOf(`/api/work-items/${item.id}`), { sessions: 1, tokens: { 'model-a': { input: 10 } } })
    const again = await report(s, runner, request_id, ...told)
    t.match(again.body, { accepted: 2, duplicates: 0 }, 'the log holds the events no more')
    await report(s, runner, request_id, startedEvent(second), endedEvent(second))
    await ended(s, second)
    const sums = { sessions: 2, measured: 1, tokens: { 'model-a': { input: 10 } } }
    t.match(
      await until(
        () => sumOf(`/api/work-items/${item.id}`),
        (usage) => usage.sessions > 1,
      ),
      sums,
    )
    t.match(await sumOf('/api/projects/shop'), { ...sums, sessions: 3 })

    await finish(s, runner, request_id)
    await inState(s, item.id, 'landed')
    for (let sweeps = 0; sweeps < 3; sweeps++) await forgetOthers()
    await s.expect(404, 'GET', `/api/work-items/${item.id}`)
    await s.expect(404, 'GET', `/api/run-requests/${request_id}`)
    for (const id of [first, second]) t.notOk(await isThere(id))
    t.equal(s.service.runtime.read(usageRef('item', item.id)), undefined)
  },
)
