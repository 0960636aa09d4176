import t, { type Test } from 'tap'
import { add, advance, answer, SHOP } from '../http/initiative-harness.ts'
import { begin, finish, fleet, history, inState, type Runner, reading, submit } from '../http/ledger-harness.ts'
import { startTestService, type TestService } from '../http/service-harness.ts'
import { cli, service } from './in-process.ts'

/** A service with the project `shop` and a runner, and commands against it. */
async function shop(test: Test) {
  const s = await startTestService(test)
  const runner = await fleet(s, 'shop')
  const run = (...argv: string[]) => cli({ ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }, ...argv)
  return { s, runner, run }
}

/** An item whose run has failed, or ended with that result. */
async function ended(s: TestService, runner: Runner, body: object, result?: object): Promise<any> {
  const { id } = await submit(s, body)
  const { request_id } = await begin(s, runner)
  if (result !== undefined) await finish(s, runner, request_id, result)
  else {
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/failed`, NO_DISK, runner)
  }
  return await inState(s, id, result === undefined ? 'failed' : stateOf(result))
}

const stateOf = ({ verdict }: any): string => (verdict === 'blocked_on_decision' ? 'needs_decision' : 'preserved')
const NO_DISK = { class: 'execution', message: 'no disk' }
const result = (more: object) => ({ project: 'shop', success: false, landed: false, summary: 'no', ...more })
const QUESTION = result({
  verdict: 'blocked_on_decision',
  finding: 'Net or gross?',
  options: ['net', 'gross'],
})

const newIn = (out: string): string => /continues as (wi_\w+), which is queued/.exec(out)?.[1] ?? out

t.test('retry asks for the same work again, once, and closes what failed', async (t) => {
  const { s, runner, run } = await shop(t)
  const same = { objective: 'Pay', context: { ticket: 7 }, base_ref: 'main', lane: 'maintenance', timeout_seconds: 90 }
  const old = await ended(s, runner, { ...same, kind: 'major_upgrade', runner_id: 'r1' })
  const { code, out, err } = await run('queue', 'retry', old.id)
  t.equal(code, 0, err)
  const id = newIn(out)
  const source = { kind: 'work_item', ref: old.id }
  t.match(await reading(s, id)(), { ...same, kind: 'major_upgrade', runner_id: 'r1', source, state: 'queued' })
  t.match(await reading(s, old.id)(), { state: 'cancelled', reason: `closed: repeated as ${id}` })
  const events = (await history(s, old.id)).length
  t.match((await run('queue', 'retry', old.id)).out, `${old.id} continues as ${id}, which already exists and is queued`)
  t.equal((await history(s, old.id)).length, events, 'it is closed once')
  t.match(JSON.parse((await run('queue', 'retry', old.id, '--json')).out), { id })
})

t.test('retry of what was cancelled before it began waits for what that waited for', async (t) => {
  const { s, run } = await shop(t)
  const first = await submit(s, { objective: 'First' })
  const not_before = '2100-01-01T00:00:00.000Z'
  const second = await submit(s, { objective: 'Second', depends_on: [first.id], not_before })
  await run('queue', 'cancel', second.id)
  const again = await reading(s, newIn((await run('queue', 'retry', second.id)).out))()
  t.match(again, { objective: 'Second', depends_on: [first.id], not_before })
})

t.test('retry goes on from what has been kept, and resumes once more what was resumed', async (t) => {
  const { s, runner, run } = await shop(t)
  const kept = await ended(
    s,
    runner,
    { objective: 'Kept' },
    result({ verdict: 'defect', diagnosis: 'x', preservation_ref: 'task/a' }),
  )
  t.match(await run('queue', 'retry', kept.id), {
    code: 3,
    err: new RegExp(`is preserved .*\\n +intendant queue resume ${kept.id}\\n`),
  })
  const child = JSON.parse((await run('queue', 'resume', kept.id, '--json')).out)
  const { request_id } = await begin(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/failed`, { class: 'execution', message: 'x' }, runner)
  await inState(s, child.id, 'failed')
  const again = await reading(s, newIn((await run('queue', 'retry', child.id)).out))()
  t.match(again, { resumes: kept.id, base_ref: 'task/a', objective: 'Kept' })
  t.match(await reading(s, kept.id)(), { resumptions: [{ item_id: child.id }, { item_id: again.id }] })
  await run('queue', 'cancel', again.id)
  const lost = await ended(s, runner, { objective: 'Nothing kept' }, result({ verdict: 'defect', diagnosis: 'x' }))
  t.equal((await run('queue', 'retry', lost.id)).code, 0, 'of preserved work that is nowhere')
})

t.test('retry and answer refuse what has not settled, and say what is to be done instead', async (t) => {
  const { s, runner, run } = await shop(t)
  const { id } = await submit(s)
  t.match(await run('queue', 'retry', id), {
    code: 3,
    err: new RegExp(`only failed or cancelled items.*${id} is queued`),
  })
  t.match(await run('queue', 'answer', id, '--decision', 'x'), {
    code: 3,
    err: /asked for a decision can be answered: /,
  })
  await run('queue', 'cancel', id)
  t.match(await run('queue', 'answer', id, '--decision', 'x'), { code: 3 })
  const asks = await ended(s, runner, {}, QUESTION)
  const advice = new RegExp(`\\n +intendant queue answer ${asks.id} --decision TEXT`)
  t.match(await run('queue', 'retry', asks.id), { code: 3, err: advice })
  t.match(await run('queue', 'answer', asks.id, '--decision', ' '), { code: 2, err: /--decision is empty/ })
})

t.test('what a campaign asked for is retried and answered there', async (t) => {
  const source = { kind: 'campaign', ref: 'pay', role: 'cycle', cycle: 2 }
  const item = { id: `wi_${'1'.repeat(24)}`, state: 'failed', reason: 'x', started_at: '2030-01-01T00:00:00Z', source }
  const { env, asked } = await service(t, () => [200, item])
  for (const argv of [
    ['retry', item.id],
    ['answer', item.id, '--decision', 'x'],
  ])
    t.match(await cli(env, 'queue', ...argv), {
      code: 3,
      err: /belongs to campaign pay, .*intendant campaign show pay/,
    })
  t.notOk(asked.some(({ method }) => method === 'POST'))
})

t.test('a task started by an initiative is answered like any other; an assessment is not retried', async (t) => {
  const { s, runner, run } = await shop(t)
  await add(s, { members: [SHOP] })
  await advance({ s, runner }, 't1')
  await answer({ s, runner }, { decision: 'dispatch', member: SHOP, objective: 'Print invoices' })
  const { request_id, engine } = await begin(s, runner)
  await finish(s, runner, request_id, { ...QUESTION, preservation_ref: 'task/q' })
  const old = await inState(s, engine.payload.item_id, 'needs_decision')
  t.match(old.source, { kind: 'initiative', role: 'cycle' })
  t.match((await run('queue', 'show', old.id)).out, `intendant queue answer ${old.id} --decision TEXT`)
  const { code, out, err } = await run('queue', 'answer', old.id, '--decision', 'net')
  t.equal(code, 0, err)
  const next = await reading(s, newIn(out))()
  t.match(next, { base_ref: 'task/q', context: { initiative: 'checkout' }, source: { ref: old.id } })
  t.match(await reading(s, old.id)(), { state: 'cancelled', reason: `closed: answered as ${next.id}` })

  const again = await begin(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${again.request_id}/failed`, NO_DISK, runner)
  await inState(s, next.id, 'failed')
  await advance({ s, runner }, 't2')
  const steering = await begin(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${steering.request_id}/completed`, { result: {} }, runner)
  const assessment = await inState(s, steering.work_item_id!, 'failed')
  t.match(await run('queue', 'retry', assessment.id), { code: 3, err: /belongs to initiative checkout/ })
})

t.test('answer goes on from the work that was kept, with question and decision, and closes what asked', async (t) => {
  const { s, runner, run } = await shop(t)
  const old = await ended(s, runner, { objective: 'Pay' }, { ...QUESTION, preservation_ref: 'task/q' })
  t.match((await run('attention')).out, `intendant queue answer ${old.id} --decision TEXT, or intendant queue close`)
  const shown = (await run('queue', 'show', old.id)).out
  t.match(shown, /^asks +Net or gross\?\nanswers +net \| gross$/m)
  const json = JSON.parse((await run('queue', 'show', old.id, '--json')).out)
  t.same(json.question, { finding: 'Net or gross?', options: ['net', 'gross'] })
  const decide = (decision: string) => run('queue', 'answer', old.id, '--decision', decision)
  const { code, out, err } = await decide('net')
  t.equal(code, 0, err)
  const id = newIn(out)
  t.match(await reading(s, id)(), {
    objective: 'Pay\n\nAn earlier run asked for a decision: Net or gross?\nOptions: net; gross\nDecision: net',
    base_ref: 'task/q',
    source: { kind: 'work_item', ref: old.id },
  })
  t.match(await reading(s, old.id)(), { state: 'cancelled', reason: `closed: answered as ${id}` })
  t.match((await decide('net')).out, `${old.id} continues as ${id}, which already exists`)
  const late = await decide('gross')
  t.match(late, { code: 3, err: /idempotency_key_reused/ }, 'what is decided stays so')
  const first = `${old.id} was answered before, with another decision: closed: answered as ${id}.`
  t.match(late.err, first, 'says what became of the first answer')
})

t.test('where the old item cannot be closed the new one is told, and the same command goes on', async (t) => {
  const { s, runner, run } = await shop(t)
  const old = await ended(s, runner, {})
  const rights = ['view', 'work.submit']
  const token = await s.token('asker', { rights })
  const may = (...argv: string[]) => cli({ ENGINE_URL: s.service.url, ENGINE_TOKEN: token }, ...argv)
  const { code, err } = await may('queue', 'retry', old.id)
  t.equal(code, 3)
  t.match(err, /^(wi_\w+) was submitted, but (wi_\w+) is not closed yet\..*\n.*work\.operate/)
  t.equal((await reading(s, old.id)()).state, 'failed')
  t.match((await may('queue', 'retry', old.id)).err, /^wi_\w+ was submitted, but/)
  const { items } = (await s.expect(200, 'GET', `/api/work-items?source=work_item:${old.id}`)).body
  t.equal(items.length, 1)
  const own = await run('queue', 'retry', old.id)
  t.match(own.out, `${items[0].id}, which already exists`, 'the same work is asked for once, whoever asks')
})
