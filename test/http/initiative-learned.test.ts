/** What went wrong with steering in earlier systems, each by its number in test/LEARNED.md, and does not here. */
import t from 'tap'
import { until } from '../until.ts'
import {
  advance,
  answer,
  events,
  NAME,
  post,
  read,
  SHOP,
  settledItem,
  steer,
  steered,
  world,
} from './initiative-harness.ts'
import { begin, finish, submit, take } from './ledger-harness.ts'
import { startTestService } from './service-harness.ts'

const dispatch = { decision: 'dispatch', member: SHOP, objective: 'Print invoices', reason: 'so' }

t.test(
  'learned 2: a decision posted by the run of another item settles no assessment and starts nothing',
  async (t) => {
    const s = await startTestService(t)
    const w = await world(s)
    await advance(w, 't1')
    const assessment = await begin(s, w.runner)
    const { id } = await submit(s, { project: 'bank', objective: 'Something else' })
    const other = await begin(s, w.runner)
    t.equal(other.engine.payload.item_id, id)
    await s.expect(200, 'POST', `/api/run-requests/${other.request_id}/completed`, { result: dispatch }, w.runner)
    await settledItem(w, id)
    const shown = await read(w)
    t.match(shown.assessment, { trigger_id: 't1', phase: 'assessing' })
    t.same(shown.actions, [])
    const result = { decision: 'wait', reason: 'not yet' }
    await s.expect(200, 'POST', `/api/run-requests/${assessment.request_id}/completed`, { result }, w.runner)
    t.match(await steered(w, 1), { outcome: 'waited' })
  },
)

t.test(
  'learned 4: cancelling the item of an assessment ends it as failed, and the next request is assessed',
  async (t) => {
    const s = await startTestService(t)
    const w = await world(s)
    await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['campaign'] })
    await advance(w, 't1')
    await advance(w, 't2')
    const { assessment } = await until(
      () => read(w),
      (body) => body.assessment !== undefined,
    )
    await s.expect(200, 'POST', `/api/work-items/${assessment.item_id}/cancel`, { reason: 'not now' })
    t.match(await steered(w, 1), { trigger_id: 't1', outcome: 'failed', detail: 'cancelled by admin: not now' })
    t.match(await settledItem(w, assessment.item_id), { state: 'cancelled' })
    await s.expect(200, 'POST', '/api/pacing/resume', {})
    await answer(w, { decision: 'wait' })
    t.match(await steered(w, 2), { trigger_id: 't2', outcome: 'waited' })
    t.equal((await read(w)).assessments_made, 1, 'an assessment that no agent started costs nothing')
  },
)

t.test('learned 9: a decision, completion or cancellation of an initiative without a reason is refused', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  t.match((await steer(w, 't1', { decision: 'wait', reason: ' \n' })).ended, {
    outcome: 'failed',
    detail: /has no valid steering decision: \/reason/,
  })
  for (const name of ['complete', 'cancel']) {
    t.equal((await post(w, name, { reason: '  ' })).status, 422, name)
    t.equal((await post(w, name)).status, 422, name)
  }
  t.equal((await post(w, 'decide', { decision: ' ' })).status, 422)
  t.equal((await read(w)).status, 'active')
})

t.test('learned 14: no request and no event revives an initiative that has ended', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await post(w, 'cancel', { reason: 'too dear' })
  t.equal((await post(w, 'complete', { reason: 'x' })).status, 409)
  const payload = { initiative: NAME, operator_origin: 'cron', trigger_id: 'nightly' }
  const event = { event_type: 'initiative_advance_requested', project: 'shop', throttle: 'full', payload }
  const posted = { events: [{ ...event, occurred_at: '2026-01-31T12:00:00Z' }] }
  t.match((await s.call('POST', '/api/events', posted)).body, { status: 409, detail: /steering has ended/ })
  await submit(s)
  await finish(s, w.runner, (await take(s, w.runner)).request_id)
  t.match(await read(w), { status: 'cancelled', waiting: [], assessments: [] })
})

t.test(
  'learned 15: a request for a member that does not exist is refused over HTTP, as an event and as a decision',
  async (t) => {
    const s = await startTestService(t)
    const w = await world(s)
    const member = { kind: 'project', ref: 'till' }
    t.equal((await post(w, 'advance', { member })).status, 409)
    const payload = { initiative: NAME, member, operator_origin: 'cron', trigger_id: 'nightly' }
    const event = { event_type: 'initiative_advance_requested', project: 'shop', throttle: 'full', payload }
    const posted = { events: [{ ...event, occurred_at: '2026-01-31T12:00:00Z' }] }
    t.equal((await s.call('POST', '/api/events', posted)).status, 422)
    t.match((await steer(w, 't1', { ...dispatch, member })).ended, { outcome: 'rejected', detail: /is not a member/ })
    t.same((await read(w)).waiting, [])
  },
)

t.test(
  'learned 20: a follow-up has no follow-up, and an initiative that never settles exhausts its budget',
  async (t) => {
    const s = await startTestService(t)
    const w = await world(s, { budget: { max_assessments: 4 } })
    await steer(w, 't1', { decision: 'relay', text: 'one' })
    await answer(w, { decision: 'relay', text: 'two' })
    await steered(w, 2)
    t.same((await read(w)).waiting, [])
    await advance(w, 't2')
    for (const text of ['three', 'four']) {
      const { request_id } = await begin(s, w.runner)
      await post(w, 'findings', { text })
      const result = { decision: 'wait', reason: 'x' }
      await s.expect(200, 'POST', `/api/run-requests/${request_id}/completed`, { result }, w.runner)
    }
    t.match(await steered(w, 5), { outcome: 'skipped', detail: 'its budget of 4 assessments is spent' })
    t.same(
      (await events(w, 'initiative_steered')).map(({ payload }) => payload.outcome),
      ['applied', 'applied', 'stale', 'stale', 'skipped'],
    )
    t.same((await read(w)).waiting, [])
  },
)
