/** An archived project starts nothing; work in progress continues, and the rest starts once the project is restored. */
import t from 'tap'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { until } from '../until.ts'
import { addCampaign, comesTo, done, form, GREEN, move, step } from './campaign-harness.ts'
import { add, advance, answer, item, steered } from './initiative-harness.ts'
import { begin, finish, fleet, reading, submit, take, waits } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

const POLL = '/api/runners/r1/run-requests/next'

const archive = (s: TestService, archived: boolean, project = 'shop') =>
  s.expect(200, 'PATCH', `/api/projects/${project}`, { archived })

t.test('a campaign takes no next step while its project is archived, and continues once it is restored', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await addCampaign(s)
  await move(s, 'advance')
  await form(s, runner, step('Add invoices'))
  const cycle = await begin(s, runner)
  await archive(s, true)
  await finish(s, runner, cycle.request_id)
  const { work: next } = await until(
    async () => (await s.expect(200, 'GET', '/api/campaigns/pay')).body,
    (one) => one.stage === 'forming',
  )
  const waiting = await until(reading(s, next.item_id), waits('project_archived'))
  t.match(waiting, { state: 'queued', waiting_because: { detail: 'project shop is archived' } })
  await s.expect(204, 'GET', POLL, undefined, runner)
  t.notOk((await reading(s, next.item_id)()).run_request_id, 'the item was not handed out')
  await archive(s, false)
  await form(s, runner, { ...done, gate_results: GREEN })
  t.match(await comesTo(s, 'completed'), { cycles_landed: 1 })
})

t.test('run requests and work items of an archived project wait with code project_archived', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'bank')
  const request = async (name: string) => {
    const body = { entry_event: 'greet_requested', payload: { name } }
    return (await s.expect(201, 'POST', '/api/projects/shop/run-requests', body)).body
  }
  const one = await request('ann')
  t.equal((await take(s, runner)).request_id, one.id, 'offered, but not accepted')
  const other = await request('bob')
  const held = await submit(s)
  await archive(s, true)
  for (const { id } of [one, other]) {
    const { body } = await s.expect(200, 'GET', `/api/run-requests/${id}`)
    t.match(body, {
      state: 'queued',
      waiting_because: { code: 'project_archived', detail: 'The project shop is archived.' },
    })
  }
  t.equal((await s.expect(200, 'GET', `/api/run-requests/${one.id}`)).body.attempt, 2, 'the offer was withdrawn')
  await s.expect(204, 'GET', POLL, undefined, runner)
  const elsewhere = await submit(s, { project: 'bank', objective: 'Count' })
  t.equal((await take(s, runner)).work_item_id ?? elsewhere.id, elsewhere.id, 'other projects continue')
  await archive(s, false)
  const parked = await s.expect(200, 'GET', `${POLL}?wait=5`, undefined, runner)
  t.ok(parked.body.request_id)
  t.not((await reading(s, held.id)()).waiting_because?.code, 'project_archived')
})

t.test('a project archived before a restart starts nothing after it', async (t) => {
  const home = t.testdir()
  const options = {
    openJournal: (onFailure: (failure: Error) => void) => openDiskJournal({ home, onFailure } as never),
  }
  const s = await startTestService(t, { home }, options)
  const runner = await fleet(s, 'shop')
  const { body } = await s.expect(201, 'POST', '/api/projects/shop/run-requests', { entry_event: 'scan_requested' })
  await archive(s, true)
  await s.service.close()
  const after = await startTestService(t, { home }, options)
  await after.expect(204, 'GET', POLL, undefined, runner)
  const { waiting_because } = (await after.expect(200, 'GET', `/api/run-requests/${body.id}`)).body
  t.equal(waiting_because.code, 'project_archived')
})

t.test(
  'an initiative steers around archived members, and skips the assessment when no other member is left',
  async (t) => {
    const s = await startTestService(t)
    const runner = await fleet(s, 'shop', 'bank')
    await addCampaign(s)
    const w = { s, runner }
    const member = { kind: 'campaign', ref: 'pay' }
    await add(s, { members: [member, { kind: 'project', ref: 'bank' }] })
    await archive(s, true)
    await advance(w, 'one')
    const request = await answer(w, { decision: 'wait' })
    t.match(request, { project: { key: 'bank' } }, 'the assessment runs in the project that is not archived')
    t.match(request.engine.payload.prompt, /campaign:pay in shop is staged \(its project is archived\)/)
    t.match(await steered(w, 1), { outcome: 'waited' })
    await advance(w, 'two', { member })
    t.match(await steered(w, 2), { outcome: 'skipped', detail: /campaign:pay: its project is archived/ })
    await archive(s, true, 'bank')
    await advance(w, 'three')
    const skipped = await steered(w, 3)
    t.match(skipped, { outcome: 'skipped', detail: /project:bank: it is archived/ })
    t.equal((await item(w, skipped.item_id)).state, 'landed')
  },
)
