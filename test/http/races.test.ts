/** Races for one item between schedulers, operators and results: one wins, and the other is told. */
import t from 'tap'
import { handOut } from '../../runtime/scheduler/hand-out.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { until } from '../until.ts'
import { AT, begin, COMPLETE, fleet, history, inState, type Runner, reading, submit, take } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

const ROUNDS = 10

const terminal = (s: TestService, runner: Runner, request: string, payload: object) =>
  s.call(
    'POST',
    `/api/run-requests/${request}/events`,
    { events: [{ event_type: 'task_run_completed', occurred_at: AT, payload }] },
    runner,
  )

t.test('of two concurrent hand-outs of an item one creates a run request, and the other is refused', async (t) => {
  const s = await startTestService(t, { maxRunning: 0 })
  await s.project('shop')
  const { id } = await submit(s)
  const { runtime } = s.service
  const ref = { kind: 'work_item', id } as const
  const message = handOut(runtime, runtime.read(ref)!.context)!
  const answers = await Promise.all([runtime.askAsync(ref, message), runtime.askAsync(ref, message)])
  t.same(
    answers.map(({ ok }) => ok),
    [true, false],
  )
  t.match(answers[1], { refusal: { code: 'illegal_move' }, state: 'queued' })
  const requests = async () => (await s.expect(200, 'GET', '/api/run-requests')).body.items
  t.equal((await until(requests, ({ length }) => length > 0)).length, 1)
})

t.test('of two concurrent closes of an item one succeeds, and the other is answered with the state', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const tokens = [await s.token('ann', { roles: ['operator'] }), await s.token('bob', { roles: ['operator'] })]
  for (let round = 0; round < ROUNDS; round++) {
    const item = await submit(s, { objective: `No ${round}` })
    const { request_id } = await begin(s, runner)
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/failed`, { class: 'execution', message: 'x' }, runner)
    await inState(s, item.id, 'failed')
    const answers = await Promise.all(
      tokens.map((token, n) => s.call('POST', `/api/work-items/${item.id}/close`, { reason: `said ${n}` }, { token })),
    )
    const winner = answers.findIndex(({ status }) => status === 200)
    t.same(answers.map(({ status }) => status).toSorted(), [200, 409])
    t.match(answers[1 - winner]!.body, { code: 'illegal_move', state: 'cancelled', detail: /it is cancelled/ })
    t.match(await reading(s, item.id)(), {
      reason: `closed: said ${winner}`,
      operator_action: { by: { name: ['ann', 'bob'][winner] } },
    })
    const told = (await history(s, item.id)).filter(({ event_type }) => event_type === 'work_item_cancelled')
    t.equal(told.length, 1)
  }
})

t.test(
  'of two concurrent results of a run one settles the item, and the other is answered result_conflict',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop')
    for (let round = 0; round < ROUNDS; round++) {
      const item = await submit(s, { objective: `No ${round}` })
      const { request_id } = await begin(s, runner)
      const kept = { ...COMPLETE, success: false, landed: false, land_blocked: 'git_failed', preservation_ref: 'x' }
      const posts = await Promise.all([
        terminal(s, runner, request_id, COMPLETE),
        terminal(s, runner, request_id, kept),
        s.call('POST', `/api/run-requests/${request_id}/completed`, { result: { status: 'completed' } }, runner),
        s.call(
          'POST',
          `/api/run-requests/${request_id}/completed`,
          { result: { status: 'completed_with_findings' } },
          runner,
        ),
      ])
      const ends = posts.slice(2)
      t.same(ends.map(({ status }) => status).toSorted(), [200, 409])
      t.match(ends.find(({ status }) => status === 409)!.body, { code: 'result_conflict', state: 'completed' })
      const settled = (await history(s, item.id)).filter(({ event_type }) => event_type === 'work_item_settled')
      t.equal(settled.length, 1)
      t.equal((await reading(s, item.id)()).state, settled[0].payload.state)
    }
  },
)

t.test(
  'of two attempts reporting on an item the current one counts, and the older is answered stale_attempt',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, {}, { platform })
    const runner = await fleet(s, 'shop')
    const item = await submit(s)
    const { request_id } = await begin(s, runner)
    platform.advance(61_000)
    const path = `/api/run-requests/${request_id}`
    await inState(s, item.id, 'running')
    for (let tries = 0; (await s.call('POST', `${path}/requeue`)).status !== 200 && tries < 100; tries++)
      await new Promise((resolve) => setTimeout(resolve, 5))
    const second = await take(s, runner)
    t.same([second.request_id, second.attempt], [request_id, 2])
    await s.expect(200, 'POST', `${path}/started`, { attempt: 2 }, runner)
    const [stale, holding] = await Promise.all([
      s.call('POST', `${path}/completed`, { attempt: 1, result: {} }, runner),
      s.call(
        'POST',
        `${path}/events`,
        { attempt: 2, events: [{ event_type: 'task_run_completed', occurred_at: AT, payload: COMPLETE }] },
        runner,
      ),
    ])
    t.match(stale, { status: 409, body: { code: 'stale_attempt' } })
    t.equal(holding.status, 200)
    await inState(s, item.id, 'landed')
  },
)
