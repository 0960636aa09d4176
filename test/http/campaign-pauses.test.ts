/** A paused campaign starts nothing and settles nothing: its waiting task waits, and its open question stays open. */
import t from 'tap'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { until } from '../until.ts'
import {
  addCampaign,
  comesTo,
  events,
  form,
  inFirstCycle,
  move,
  reading,
  step,
  verdict,
  work,
} from './campaign-harness.ts'
import { add, answer } from './initiative-harness.ts'
import { begin, finish, inState, reading as item, type Runner, take, waits } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

const POLL = '/api/runners/r1/run-requests/next'
const BECAUSE = { code: 'campaign_paused', detail: 'its campaign pay is paused' }

/** The item of the first cycle, handed out but not started. */
async function handedOut(s: TestService): Promise<any> {
  const { work: cycle } = await reading(s)()
  return until(item(s, cycle.item_id), waits('handed_out'))
}

const nothing = (s: TestService, runner: Runner, query = '') => s.expect(204, 'GET', POLL + query, undefined, runner)
const run = async (s: TestService, id: string) => (await s.expect(200, 'GET', `/api/run-requests/${id}`)).body

t.test('a task that was not started waits while its campaign is paused, and is charged once', async (t) => {
  const s = await startTestService(t)
  const runner = await inFirstCycle(s)
  const { id, run_request_id } = await handedOut(s)
  await move(s, 'pause')
  await nothing(s, runner)
  const waiting = await until(item(s, id), waits('campaign_paused'))
  t.match(waiting, { state: 'queued', reason: BECAUSE.detail, waiting_because: BECAUSE, run_request_id: undefined })
  t.match(await reading(s)(), { status: 'paused', stage: 'cycle', work: { waiting_because: BECAUSE } })
  t.match(await run(s, run_request_id), { state: 'cancelled' })
  await nothing(s, runner, '?wait=1')
  await move(s, 'resume')
  const request = await work(s, runner)
  t.equal(request.engine.payload.item_id, id, 'it is the same task')
  t.match(await until(reading(s), ({ stage }) => stage === 'forming'), { cycles_completed: 1, cycles_landed: 1 })
})

t.test('a task offered or accepted is withdrawn when its campaign is paused; a started one continues', async (t) => {
  for (const post of ['offered', 'accepted', 'started']) {
    const s = await startTestService(t)
    const runner = await inFirstCycle(s)
    const { id } = await handedOut(s)
    const { request_id } = await take(s, runner)
    const path = `/api/run-requests/${request_id}`
    if (post !== 'offered') await s.expect(200, 'POST', `${path}/${post}`, {}, runner)
    await move(s, 'pause')
    if (post === 'started') {
      await finish(s, runner, request_id)
      t.match(await until(reading(s), ({ stage }) => stage === 'idle'), { pending_run_result: { landed: true } })
      continue
    }
    await until(
      () => run(s, request_id),
      ({ state }) => state === (post === 'offered' ? 'cancelled' : 'cancelling'),
    )
    t.equal((await item(s, id)()).state, 'queued')
    if (post === 'accepted') await s.expect(200, 'POST', `${path}/failed`, { class: 'cancelled', message: 'x' }, runner)
    await nothing(s, runner)
    await move(s, 'resume')
    t.equal((await begin(s, runner)).engine.payload.item_id, id)
  }
})

t.test('a pause by an initiative also stops the task, over a restart and beside a hold by a person', async (t) => {
  const home = t.testdir()
  const options = {
    openJournal: (onFailure: (failure: Error) => void) => openDiskJournal({ home, onFailure } as never),
  }
  const before = await startTestService(t, { home }, options)
  const runner = await inFirstCycle(before)
  const { id } = await handedOut(before)
  await before.expect(200, 'POST', `/api/work-items/${id}/hold`)
  const member = { kind: 'campaign', ref: 'pay' }
  await add(before, { members: [member, { kind: 'project', ref: 'shop' }] })
  await before.expect(200, 'POST', '/api/initiatives/checkout/advance', { trigger_id: 't1' })
  const w = { s: before, runner }
  await answer(w, { decision: 'escalate', reason: 'Net or gross?', member })
  await comesTo(before, 'paused')
  await answer(w, { decision: 'wait' })
  await before.expect(200, 'POST', `/api/work-items/${id}/release`)
  t.match(await item(before, id)(), { state: 'queued', waiting_because: BECAUSE })
  await before.service.close()
  const s = await startTestService(t, { home }, options)
  t.match(await item(s, id)(), { state: 'queued', waiting_because: BECAUSE })
  await nothing(s, runner)
  await s.expect(200, 'POST', `/api/work-items/${id}/hold`)
  await move(s, 'resume')
  t.match(await item(s, id)(), { state: 'held' }, 'only a person releases a person’s hold')
  await s.expect(200, 'POST', `/api/work-items/${id}/release`)
  const request = await until(
    () => begin(s, runner),
    ({ engine }) => engine.entry_event === 'execution_requested',
  )
  t.equal(request.engine.payload.item_id, id)
})

t.test('a task of another campaign in the same project continues', async (t) => {
  const s = await startTestService(t)
  const runner = await inFirstCycle(s)
  await handedOut(s)
  await move(s, 'pause')
  await addCampaign(s, { name: 'other' })
  await move(s, 'advance', {}, 'other')
  await form(s, runner, step('Add receipts'))
  t.equal((await work(s, runner)).engine.payload.campaign, 'other')
})

t.test('a waiting task that ends with its campaign is not charged, whether it is cancelled or completed', async (t) => {
  for (const [type, body] of [
    ['cancel', {}],
    ['cancel', { now: true }],
    ['complete', {}],
  ] as const) {
    const s = await startTestService(t)
    await inFirstCycle(s)
    const { id } = await handedOut(s)
    await move(s, type, { reason: 'enough', ...body })
    await inState(s, id, 'cancelled')
    const status = type === 'cancel' ? 'cancelled' : 'completed'
    const over = await until(reading(s), (one) => one.status === status && one.stage === 'idle')
    t.match(over, { cycles_completed: 0, objective_history: undefined })
    const ends = (await events(s, `campaign_${status}`)).map(({ payload }) => payload.cycles_completed)
    t.same(ends, [0], JSON.stringify([type, body]))
  }
})

t.test('a running task that ends with its campaign is charged', async (t) => {
  const s = await startTestService(t)
  const runner = await inFirstCycle(s)
  const { request_id } = await begin(s, runner)
  await move(s, 'cancel', { reason: 'enough' })
  t.match((await events(s, 'campaign_cancelled'))[0].payload, { cycles_completed: 1 })
  await finish(s, runner, request_id)
  t.match(await until(reading(s), ({ stage }) => stage === 'idle'), { cycles_completed: 1 })
})

t.test('pausing an escalated campaign settles nothing, and its question stays open', async (t) => {
  const s = await startTestService(t)
  const runner = await inFirstCycle(s)
  const { work: cycle } = await reading(s)()
  await work(s, runner, verdict('blocked_on_decision', { finding: 'Net or gross?', options: ['net', 'gross'] }))
  const { question, reason } = await comesTo(s, 'escalated')
  await move(s, 'pause', { reason: 'a fair' })
  const paused = await reading(s)()
  t.match(paused, { status: 'paused', question, paused: { by: 'owner', escalated: reason }, needs: /^resume it, then/ })
  const attention = async () => (await s.expect(200, 'GET', '/api/attention?reason=escalated')).body.items
  t.match(await attention(), [{ kind: 'campaign', campaign: { name: 'pay', status: 'paused', question } }])
  const refused = await s.expect(409, 'POST', '/api/campaigns/pay/decide', { decision: 'net' })
  t.match(refused.body.detail, /resume it first/)
  t.match(await move(s, 'resume'), { status: 'escalated', question, reason })
  t.match(await attention(), [{ campaign: { status: 'escalated' } }])
  t.equal((await item(s, cycle.item_id)()).state, 'needs_decision', 'the question is still open')
  t.match((await events(s, 'campaign_resumed')).at(-1).payload, { status: 'escalated' })
  await move(s, 'decide', { decision: 'net' })
  t.match(await inState(s, cycle.item_id, 'cancelled'), { reason: 'closed: decided: net' })
  const { engine } = await form(s, runner, step('Show net prices'))
  t.match(engine.payload.prompt, /net/)
})
