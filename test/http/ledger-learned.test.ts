/** What earlier systems of this kind learned the hard way (test/LEARNED.md), as far as it concerns the ledger. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { until } from '../until.ts'
import { AT, begin, COMPLETE, finish, fleet, history, inState, reading, submit, take, waits } from './ledger-harness.ts'
import { startTestService } from './service-harness.ts'

t.test(
  'learned 1: of a hundred concurrent changes of an item, and of a hundred submissions, none is lost',
  async (t) => {
    const s = await startTestService(t, { maxRunning: 0 })
    await s.project('shop')
    const item = await submit(s)
    const moves = Array.from({ length: 50 }, () => ['hold', 'release']).flat()
    const answers = await Promise.all(moves.map((move) => s.call('POST', `/api/work-items/${item.id}/${move}`)))
    const taken = answers.filter(({ status }) => status === 200)
    const { items } = (await s.expect(200, 'GET', `/api/events?item_id=${item.id}&limit=500`)).body
    const told = items.filter(({ event_type }: any) => /_(held|released)$/.test(event_type))
    t.same(
      told.map(({ event_type }: any) => event_type),
      Array.from(told, (_, n) => (n % 2 === 0 ? 'work_item_held' : 'work_item_released')),
    )
    // A repeated move is answered with the move already made: exactly the answered moves are recorded.
    const answered = taken.map(({ body }) => `${body.operator_action.command} ${body.operator_action.at}`)
    const recorded = told.map(({ payload, occurred_at }: any) => `${payload.operator_action.command} ${occurred_at}`)
    t.same([...new Set(answered)].sort(), [...new Set(recorded)].sort())
    t.ok(told.length >= 2 && told.length <= taken.length)
    const { operator_actions, state } = await reading(s, item.id)()
    t.equal(operator_actions.length, Math.min(64, told.length), 'each recorded move is in the history')
    t.equal(state, operator_actions.at(-1).command === 'hold' ? 'held' : 'queued')
    /** Retries a 503 like a real client: a busy machine may have no room for so many requests at once. */
    const insist = async (objective: string): Promise<number> => {
      for (;;) {
        const { status } = await s.call('POST', '/api/work-items', { project: 'shop', objective })
        if (status !== 503) return status
        await sleep(50)
      }
    }
    const others = await Promise.all(Array.from({ length: 100 }, (_, n) => insist(`No ${n}`)))
    t.ok(others.every((status) => status === 201))
    const all = (await s.expect(200, 'GET', '/api/work-items?limit=500')).body.items
    t.equal(all.length, 101)
  },
)

t.test(
  'learned 4: running items survive a restart of the service, and are lost once their runner stays silent',
  async (t) => {
    const home = t.testdir()
    const platform = new AdvanceablePlatform()
    const options = { platform, openJournal: undefined as never }
    const before = await startTestService(t, { home }, options)
    const runner = await fleet(before, 'shop', 'till')
    const gone = await submit(before)
    const there = await submit(before, { project: 'till' })
    const requests = [await begin(before, runner), await begin(before, runner)]
    const requestOf = (id: string) => requests.find(({ engine }) => engine.payload.item_id === id).request_id
    await before.service.close()
    const after = await startTestService(t, { home }, options)
    t.equal((await reading(after, gone.id)()).state, 'running', 'a restart does not end remote work')
    platform.advance(50_000)
    await after.expect(200, 'POST', `/api/run-requests/${requestOf(there.id)}/heartbeat`, {}, runner)
    platform.advance(20_000)
    const lost = await until(reading(after, gone.id), ({ reason }) => /its run is lost/.test(reason))
    t.equal(lost.state, 'running', 'a person decides')
    t.equal((await reading(after, there.id)()).reason, 'running on r1')
    const fail = `/api/run-requests/${requestOf(gone.id)}/fail`
    for (const _ of ['once', 'again'])
      t.match((await after.expect(200, 'POST', fail, { message: 'its machine burnt down' })).body, { state: 'failed' })
    t.match(await after.call('POST', fail, { message: 'another' }), { status: 409, body: { code: 'illegal_move' } })
    await inState(after, gone.id, 'failed')
    await finish(after, runner, requestOf(there.id), { ...COMPLETE, project: 'till' })
    await inState(after, there.id, 'landed')
  },
)

t.test('learned 5: a second service on the same home is refused, and running items are unaffected', async (t) => {
  const home = t.testdir()
  const options = { openJournal: undefined as never }
  const first = await startTestService(t, { home }, options)
  const runner = await fleet(first, 'shop')
  const item = await submit(first)
  await begin(first, runner)
  await t.rejects(startTestService(t, { home }, options))
  t.equal((await reading(first, item.id)()).state, 'running')
})

t.test(
  'learned 8: an item whose offers are never accepted fails with that reason, and is not recorded as started',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, {}, { platform })
    const runner = await fleet(s, 'shop')
    const item = await submit(s)
    for (let offers = 0; offers < 5; offers++) {
      const { request_id, attempt } = await take(s, runner)
      await s.call('GET', '/api/runners/r1/run-requests/next', undefined, runner)
      platform.advance(31_000)
      const path = `/api/run-requests/${request_id}`
      await until(
        async () => (await s.expect(200, 'GET', path)).body,
        (request) => request.state === 'failed' || request.attempt > attempt,
      )
    }
    const failed = await inState(s, item.id, 'failed')
    t.match(failed.reason, /^run failed \(dispatch, offers_not_accepted\)/)
    t.notOk('started_at' in failed)
    t.same(
      (await history(s, item.id)).map(({ event_type }) => event_type),
      ['work_item_submitted', 'work_item_settled'],
    )
  },
)

t.test('learned 9: a settled item has a reason even if its result has none, and close requires one', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const item = await submit(s)
  const { request_id } = await begin(s, runner)
  await finish(s, runner, request_id, {
    ...COMPLETE,
    success: false,
    landed: false,
    summary: '',
    verdict: 'defect',
    diagnosis: ' \n',
  })
  const settled = await inState(s, item.id, 'preserved')
  t.match(settled.reason, /^defect:/)
  for (const reason of ['', '  ', '\n'])
    t.equal((await s.call('POST', `/api/work-items/${item.id}/close`, { reason })).status, 422)
  for (const { payload } of await history(s, item.id)) t.match(payload.reason, /\S/)
})

t.test('learned 14: no move and no late result revives an item that landed or was cancelled', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const cancelled = await submit(s)
  await s.expect(200, 'POST', `/api/work-items/${cancelled.id}/cancel`)
  const landed = await submit(s)
  const { request_id } = await begin(s, runner)
  await finish(s, runner, request_id)
  for (const [id, state] of [
    [cancelled.id, 'cancelled'],
    [landed.id, 'landed'],
  ]) {
    for (const [move, body] of [['hold'], ['release'], ['close', { reason: 'x' }], ['resume'], ['cancel']] as const) {
      const { status } = await s.call('POST', `/api/work-items/${id}/${move}`, body)
      t.equal(status, state === 'cancelled' && move === 'cancel' ? 200 : 409, `${move} of ${state}`)
    }
    t.equal((await reading(s, id)()).state, state)
  }
  const late = { event_type: 'task_run_completed', occurred_at: AT, payload: { ...COMPLETE, summary: 'late' } }
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events: [late] }, runner)
  t.match(await reading(s, landed.id)(), { state: 'landed', reason: 'complete: done' })
})

t.test('learned 15: submit and resume refuse the same faults', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const item = await submit(s)
  const { request_id } = await begin(s, runner)
  const kept = { ...COMPLETE, success: false, landed: false, land_blocked: 'git_failed', preservation_ref: 'x' }
  await finish(s, runner, request_id, kept)
  const wrong = [
    [{ objective: '' }, '/objective'],
    [{ objective: 'x'.repeat(32_001) }, '/objective'],
    [{ depends_on: [`wi_${'0'.repeat(24)}`] }, '/depends_on/0'],
    [{ not_before: 'tomorrow' }, '/not_before'],
    [{ not_before: '2026-06-30T23:59:60Z' }, '/not_before'],
    [{ colour: 'red' }, '/colour'],
  ] as const
  for (const [body, pointer] of wrong) {
    const doors = [
      await s.call('POST', '/api/work-items', { project: 'shop', objective: 'x', ...body }),
      await s.call('POST', `/api/work-items/${item.id}/resume`, body),
    ]
    for (const { status, body: problem } of doors) {
      t.equal(status, 422, pointer)
      t.equal(problem.errors[0].pointer, pointer)
    }
  }
  await s.expect(200, 'PATCH', '/api/projects/shop', { archived: true })
  t.equal((await s.call('POST', '/api/work-items', { project: 'shop', objective: 'x' })).body.code, 'project_archived')
  t.equal((await s.call('POST', `/api/work-items/${item.id}/resume`)).body.code, 'project_archived')
})

t.test(
  'learned 20: two items due at the same instant both start, and an execution_requested posted by a run starts nothing',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, {}, { platform })
    const runner = await fleet(s, 'shop', 'till')
    const not_before = new Date(platform.wallMs() + 3_600_000).toISOString()
    const first = await submit(s, { not_before })
    const second = await submit(s, { project: 'till', not_before })
    for (const { id } of [first, second]) t.equal((await reading(s, id)()).waiting_because.code, 'not_before')
    platform.advance(3_600_000)
    await s.call('GET', '/api/runners/r1/run-requests/next', undefined, runner)
    for (const { id } of [first, second]) await until(reading(s, id), waits('handed_out'))
    const { request_id } = await begin(s, runner)
    const echo = { event_type: 'execution_requested', occurred_at: AT, payload: { objective: 'again' } }
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events: [echo] }, runner)
    t.equal(
      (await s.expect(200, 'GET', '/api/run-requests')).body.items.length,
      2,
      'posted on a run it is only recorded',
    )
  },
)
