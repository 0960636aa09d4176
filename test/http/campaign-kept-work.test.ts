/** Work that a campaign's cycles have preserved: the next cycle builds upon it, unless a person decides otherwise. */
import t from 'tap'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { until } from '../until.ts'
import { comesTo, fail, form, inFirstCycle, move, reading, step, verdict, work } from './campaign-harness.ts'
import { AT, begin, finish, inState, type Runner } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

const kept = (preservation_ref: string) => verdict('defect', { diagnosis: 'it breaks', preservation_ref })
const attention = async (s: TestService) => (await s.expect(200, 'GET', '/api/attention?reason=preserved')).body.items
const runningCycle = (s: TestService) => until(reading(s), ({ work: now }) => now?.role === 'cycle')

/** The first cycle has preserved its work, and the next step is being formed. */
async function withKeptWork(s: TestService): Promise<{ readonly runner: Runner; readonly id: string }> {
  const runner = await inFirstCycle(s)
  const { work: cycle } = await reading(s)()
  await work(s, runner, kept('origin/intendant/run-1'))
  await inState(s, cycle.item_id, 'preserved')
  await until(reading(s), ({ stage }) => stage === 'forming')
  return { runner, id: cycle.item_id }
}

t.test('a campaign does not build upon preserved work that its owner has closed', async (t) => {
  const s = await startTestService(t)
  const { runner, id } = await withKeptWork(s)
  await move(s, 'pause')
  await s.expect(200, 'POST', `/api/work-items/${id}/close`, { reason: 'wrong approach: throw it away' })
  await until(reading(s), ({ base_ref }) => base_ref === undefined)
  await move(s, 'resume')
  const { engine } = await form(s, runner, step('Go another way'))
  t.match(engine.payload.prompt, 'Its owner gave up that work, and nothing is built upon it: closed: wrong approach')
  await runningCycle(s)
  const second = await work(s, runner)
  t.equal(second.engine.payload.base_ref, undefined)
  await until(reading(s), ({ cycles_landed }) => cycles_landed === 1)
  await inState(s, id, 'cancelled')
})

t.test('a waiting cycle based on work that is then closed is formed again from trunk', async (t) => {
  const s = await startTestService(t)
  const { runner, id } = await withKeptWork(s)
  await form(s, runner, step('Mend it'))
  const { work: waiting } = await runningCycle(s)
  await s.expect(200, 'POST', `/api/work-items/${id}/close`, { reason: 'throw it away' })
  await inState(s, waiting.item_id, 'cancelled')
  t.match(await until(reading(s), ({ stage }) => stage === 'forming'), { status: 'active', cycles_completed: 1 })
  await form(s, runner, step('Mend it'))
  await runningCycle(s)
  t.equal((await work(s, runner)).engine.payload.base_ref, undefined)
})

t.test(
  'cycles whose runs cannot start cost no budget, and from_trunk lets the campaign continue from trunk',
  async (t) => {
    const s = await startTestService(t)
    const { runner, id } = await withKeptWork(s)
    const detail = '/srv/shop has no commit origin/intendant/run-1'
    const told = { verdict: 'runner_error', detail, failure_class: 'dispatch', failure_code: 'unknown_base' }
    const failure = { class: 'dispatch', code: 'unknown_base', message: detail }
    for (const resumed of [{}, { from_trunk: true }]) {
      await form(s, runner, step('Mend it'))
      await runningCycle(s)
      const { request_id } = await begin(s, runner)
      const event = { event_type: 'task_run_completed', occurred_at: AT, payload: verdict('runner_error', told) }
      await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events: [event] }, runner)
      await fail(s, runner, request_id, failure)
      const escalated = await comesTo(s, 'escalated')
      t.equal(escalated.cycles_completed, 1)
      t.match(escalated.reason, `cycle 2 could not begin, and is not charged: ${detail}`)
      t.match(escalated.reason, /let it start from trunk: intendant campaign resume pay --from-trunk$/)
      await move(s, 'resume', resumed)
    }
    await form(s, runner, step('Mend it'))
    await runningCycle(s)
    t.equal((await work(s, runner)).engine.payload.base_ref, undefined)
    t.equal(
      (await s.expect(200, 'GET', `/api/work-items/${id}`)).body.state,
      'preserved',
      'the preserved work is left to its owner',
    )
  },
)

t.test('preserved work that a campaign builds upon cannot be resumed separately', async (t) => {
  const s = await startTestService(t)
  const { runner, id } = await withKeptWork(s)
  t.match(await attention(s), [{ work_item: { id, built_upon_by: 'pay' } }])
  const refused = await s.expect(409, 'POST', `/api/work-items/${id}/resume`, {})
  t.match(refused.body, {
    code: 'illegal_move',
    state: 'preserved',
    detail: /^The campaign pay builds upon it, .*`from_trunk`/,
  })
  await form(s, runner, step('Mend it'))
  await runningCycle(s)
  t.equal((await s.call('POST', `/api/work-items/${id}/resume`, {})).status, 409, 'nor while its cycle is in progress')
  await move(s, 'cancel', { reason: 'by hand then', now: true })
  await comesTo(s, 'cancelled', 'idle')
  t.match(await attention(s), [{ work_item: { id, built_upon_by: undefined } }])
  await s.expect(201, 'POST', `/api/work-items/${id}/resume`, {})
})

/** State and landed commit of the campaign's cycles, oldest first. */
const landings = async (s: TestService) => {
  const { objective_history } = await reading(s)()
  const items = objective_history.map(({ outcome }: any) => s.expect(200, 'GET', `/api/work-items/${outcome.item_id}`))
  return (await Promise.all(items)).map(({ body }: any) => [body.state, body.disposition.landed_commit])
}

t.test('preserved work lands with the cycle built upon it, even if the campaign was paused meanwhile', async (t) => {
  const s = await startTestService(t)
  const { runner, id } = await withKeptWork(s)
  await form(s, runner, step('Mend it'))
  await runningCycle(s)
  const { request_id } = await begin(s, runner)
  await move(s, 'pause')
  await finish(s, runner, request_id)
  await inState(s, id, 'landed')
  t.strictSame(await attention(s), [])
  await move(s, 'complete', { reason: 'good enough' })
  t.notOk('base_ref' in (await comesTo(s, 'completed')))
  t.strictSame(await landings(s), [
    ['landed', 'abc1234'],
    ['landed', 'abc1234'],
  ])
})

t.test('preserved work lands with the work built upon it, even if a person resumed that work', async (t) => {
  const s = await startTestService(t)
  const { runner, id } = await withKeptWork(s)
  await form(s, runner, step('Mend it'))
  const { work: second } = await runningCycle(s)
  await work(s, runner, kept('origin/intendant/run-2'))
  await inState(s, second.item_id, 'preserved')
  await move(s, 'complete', { reason: 'the rest by hand' })
  await s.expect(201, 'POST', `/api/work-items/${second.item_id}/resume`, {})
  await finish(s, runner, (await begin(s, runner)).request_id)
  await inState(s, id, 'landed')
  t.strictSame(await landings(s), [
    ['landed', 'abc1234'],
    ['landed', 'abc1234'],
  ])
})

t.test('the next task starts from work preserved before its provider became unavailable', async (t) => {
  const s = await startTestService(t)
  const runner = await inFirstCycle(s)
  const { request_id, engine } = await begin(s, runner)
  const limit = { failure_class: 'execution', failure_code: 'usage_limit', detail: 'five hours' }
  const half = verdict('runner_error', { ...limit, preservation_ref: 'origin/intendant/half' })
  const event = { event_type: 'task_run_completed', occurred_at: AT, payload: half }
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events: [event] }, runner)
  await fail(s, runner, request_id, { code: 'usage_limit' })
  t.match(await comesTo(s, 'paused'), { cycles_completed: 0, base_ref: 'origin/intendant/half' })
  await move(s, 'resume')
  await inState(s, engine.payload.item_id, 'cancelled')
  const formation = await form(s, runner, step('Add invoices'))
  t.match(formation.engine.payload.prompt, '"origin/intendant/half": the next task starts from it')
  await runningCycle(s)
  t.equal((await work(s, runner)).engine.payload.base_ref, 'origin/intendant/half')
})

/** The running task preserves half of its work, and its provider is unavailable for a minute. */
async function keepHalf(s: TestService, runner: Runner, ref: string): Promise<any> {
  const { request_id, engine } = await begin(s, runner)
  const limit = { failure_class: 'execution', failure_code: 'usage_limit', detail: 'a minute' }
  const half = verdict('runner_error', { ...limit, preservation_ref: ref })
  const event = { event_type: 'task_run_completed', occurred_at: AT, payload: half }
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events: [event] }, runner)
  await fail(s, runner, request_id, { code: 'usage_limit', result: { retry_after: 60 } })
  await comesTo(s, 'paused')
  return inState(s, engine.payload.item_id, 'failed')
}

t.test('work preserved in an outage is not built upon once a person has closed it', async (t) => {
  const s = await startTestService(t)
  const { id } = await keepHalf(s, await inFirstCycle(s), 'origin/half')
  const item = async () => (await s.expect(200, 'GET', `/api/work-items/${id}`)).body
  t.match(await item(), { built_upon_by: 'pay' })
  await s.expect(200, 'POST', `/api/work-items/${id}/close`, { reason: 'the half is wrong' })
  await until(reading(s), ({ base_ref }) => base_ref === undefined)
  t.notOk('built_upon_by' in (await item()))
})

t.test('work preserved in an outage lands with the task built upon it', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const runner = await inFirstCycle(s)
  const items: any[] = []
  for (const ref of ['origin/half', 'origin/more']) {
    items.push(await keepHalf(s, runner, ref))
    platform.advance(61_000)
    await s.call('GET', '/api/runners/r1/run-requests/next', undefined, runner)
    await comesTo(s, 'active', 'forming')
    await form(s, runner, step('Add invoices'))
    await runningCycle(s)
  }
  const [first, second] = items
  const closed = await inState(s, first.id, 'cancelled')
  t.match(closed, { reason: `closed: its work continues in ${second.id}` })
  t.equal((await work(s, runner)).engine.payload.base_ref, 'origin/more')
  t.match(await inState(s, second.id, 'landed'), { disposition: { landed_commit: 'abc1234' } })
  t.match((await s.expect(200, 'GET', '/api/attention?reason=failed')).body, { items: [] })
})
