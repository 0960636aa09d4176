import t, { type Test } from 'tap'
import { fleet, reading, submit } from '../http/ledger-harness.ts'
import { startTestService } from '../http/service-harness.ts'
import { cliOn, service } from './in-process.ts'

/** A service, and commands against it, with somebody at the terminal who says yes or no, or nobody. */
async function shop(test: Test) {
  const s = await startTestService(test)
  await fleet(s, 'shop', 'bank')
  const env = { ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }
  const run = (...argv: string[]) => cliOn({}, env, 'queue', 'cancel', ...argv)
  const asked = (confirms: boolean, ...argv: string[]) => cliOn({ confirms }, env, 'queue', 'cancel', ...argv)
  const stateOf = async ({ id }: any): Promise<string> => (await reading(s, id)()).state
  return { s, run, asked, stateOf }
}

t.test('several items are cancelled by their ids; one that is refused hinders no other', async (t) => {
  const { s, run, stateOf } = await shop(t)
  const items = [
    await submit(s, { objective: 'A' }),
    await submit(s, { objective: 'B' }),
    await submit(s, { objective: 'C' }),
  ]
  const [a, b, c] = items.map(({ id }) => id)
  const { code, out } = await run(a, b.slice(0, 14), a, '--reason', 'no')
  t.equal(code, 0)
  t.equal(out, `${a} is cancelled: cancelled by admin: no\n${b} is cancelled: cancelled by admin: no\n`)
  const none = `wi_${'0'.repeat(24)}`
  const some = await run(none, c)
  t.match(some, { code: 3, out: `${c} is cancelled`, err: `${none} is not cancelled: not_found` })
  t.match(some.err, /1 of 2 items not cancelled/)
  t.equal(await stateOf(items[2]), 'cancelled')
  t.match(JSON.parse((await run(a, b, '--json')).out), [{ id: a }, { id: b }])
})

t.test('a filter tells first what it would cancel, and cancels that where it is said so', async (t) => {
  const { s, run, asked, stateOf } = await shop(t)
  const queued = await submit(s, { objective: 'Pay' })
  const held = await submit(s, { objective: 'Ship' })
  const theirs = await submit(s, { project: 'bank' })
  await s.expect(200, 'POST', `/api/work-items/${held.id}/hold`)
  const unsure = await run('--project', 'shop')
  t.match(unsure, { code: 2, err: /Nothing was cancelled\. To cancel these without being asked, add --yes\./ })
  t.match(unsure.out, new RegExp(`2 items to cancel\\n.*\\n(.*\\n)*${queued.id} `))
  t.match(unsure.out, held.id)
  t.notMatch(unsure.out, theirs.id)
  const json = await run('--project', 'shop', '--state', 'held', '--json')
  t.equal(json.code, 2)
  t.match(JSON.parse(json.out), [{ id: held.id }])
  t.match(await asked(false, '--project', 'shop'), { code: 1, out: /Nothing was cancelled\.\n$/ })
  t.match(await asked(true, '--project', 'shop', '--state', 'held'), { code: 0, out: `${held.id} is cancelled` })
  t.same([await stateOf(queued), await stateOf(held)], ['queued', 'cancelled'])
  const done = await run('--source', 'operator:admin', '--yes', '--reason', 'over')
  t.match(done, { code: 0, out: `${queued.id} is cancelled: cancelled by admin: over` })
  t.same([await stateOf(queued), await stateOf(theirs)], ['cancelled', 'cancelled'])
  t.match(await run('--project', 'shop'), { code: 0, out: 'No waiting item matches.\n' })
  t.match(await run('--project', 'shop', '--json'), { code: 0, out: '[]\n' })
})

t.test('what has begun since it was listed is left alone by a filter', async (t) => {
  const items = [1, 2].map((n) => ({ id: `wi_${String(n).repeat(24)}`, state: 'queued', reason: '', objective: '' }))
  const [begun, waits] = items
  const refusal = { status: 409, code: 'illegal_move', detail: 'only what waits in the queue is held: it is running' }
  const { env, asked } = await service(t, ({ method, url }) => {
    if (method === 'GET') return [200, { items: url.includes('state=queued') ? items : [] }]
    if (url.endsWith('/hold')) return url.includes(begun!.id) ? [409, refusal] : [200, { ...waits, state: 'held' }]
    return [200, { ...waits, state: 'cancelled' }]
  })
  const { code, out, err } = await cliOn({}, env, 'queue', 'cancel', '--state', 'queued', '--yes')
  t.equal(code, 3)
  t.match(out, `${waits!.id} is cancelled`)
  t.match(err, `${begun!.id} is not cancelled: illegal_move: only what waits in the queue is held`)
  const cancels = asked.filter(({ url }) => url.endsWith('/cancel')).map(({ url }) => url)
  t.same(cancels, [`/api/work-items/${waits!.id}/cancel`])
})

t.test('a filter takes several states, and asks the service once for the items in any of them', async (t) => {
  const { env, asked } = await service(t, () => [200, { items: [] }])
  for (const states of [['queued,held'], ['queued', '--state', 'held'], ['held, queued,held']]) {
    t.match(await cliOn({}, env, 'queue', 'cancel', '--state', ...states), { code: 0, out: 'No waiting item matches.' })
    const lists = asked
      .splice(0)
      .map(({ url }) => new URL(url, 'http://x').searchParams.get('state')!.split(',').sort())
    t.same(lists, [['held', 'queued']])
  }
  for (const states of ['held,lost', '', ','])
    t.match(await cliOn({}, env, 'queue', 'cancel', '--state', states), { code: 2, err: /choices are queued, held/ })
})

t.test('ids or a filter: one of the two', async (t) => {
  const { run } = await shop(t)
  for (const argv of [[], [`wi_${'0'.repeat(24)}`, '--project', 'shop']])
    t.match(await run(...argv), { code: 2, err: /Name the items to cancel, or filter them/ })
  t.match(await run('--state', 'running'), { code: 2, err: /Allowed choices are queued, held/ })
})
