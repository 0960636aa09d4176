/** Commands upon many: what they find, what they say before they change it, and what they tell of each. */
import t, { type Test } from 'tap'
import { begin, fleet, inState, reading, submit } from '../http/ledger-harness.ts'
import { startTestService } from '../http/service-harness.ts'
import { cliOn, service } from './in-process.ts'
import { runCommand } from './processes.ts'

/** A service, and commands against it, with somebody at the terminal who says yes or no, or nobody. */
async function shop(test: Test) {
  const s = await startTestService(test)
  const runner = await fleet(s, 'shop', 'bank')
  const env = { ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }
  const any = (...argv: string[]) => cliOn({}, env, ...argv)
  const run = (...argv: string[]) => any('queue', 'cancel', ...argv)
  const asked = (confirms: boolean, ...argv: string[]) => cliOn({ confirms }, env, 'queue', 'cancel', ...argv)
  const piped = (input: string, ...argv: string[]) => runCommand(argv, { ...process.env, ...env }, input)
  const stateOf = async ({ id }: any): Promise<string> => (await reading(s, id)()).state
  /** An item whose run has failed. */
  const failed = async (objective: string): Promise<any> => {
    const { id } = await submit(s, { objective })
    const { request_id } = await begin(s, runner)
    const why = { class: 'execution', message: 'bad deploy' }
    await s.expect(200, 'POST', `/api/run-requests/${request_id}/failed`, why, runner)
    return await inState(s, id, 'failed')
  }
  return { s, runner, any, run, asked, piped, stateOf, failed }
}

const linesOf = (out: string): any[] =>
  out
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
const idsOf = (out: string): string[] =>
  linesOf(out)
    .map(({ id }) => id)
    .sort()
const NONE = `wi_${'0'.repeat(24)}`

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
  const lines = [a, b].map((id) => `${id} is cancelled: cancelled by admin: no`)
  t.same(out.trim().split('\n').sort(), lines.sort())
  const some = await run(NONE, c)
  t.match(some, { code: 3, out: `${c} is cancelled`, err: `${NONE} is not cancelled: not_found` })
  t.match(some.err, /1 of 2 items cancelled, 1 refused\./)
  t.equal(await stateOf(items[2]), 'cancelled')
  const json = await run(a, NONE, '--json')
  t.match(
    linesOf(json.out).sort((one) => (one.id === a ? -1 : 1)),
    [
      { id: a, result: 'done', document: { id: a, state: 'cancelled' } },
      { id: NONE, result: 'refused', problem: { status: 404, code: 'not_found' } },
    ],
  )
  t.match(JSON.parse(json.err), { code: 'refused', exit_code: 3, detail: '1 of 2 items cancelled, 1 refused.' })
  t.match(JSON.parse((await run(a, '--json')).out), { id: a, state: 'cancelled' }, 'one alone is its document')
})

t.test('a filter tells first what it would cancel, and cancels that where it is said so', async (t) => {
  const { s, run, asked, stateOf } = await shop(t)
  const queued = await submit(s, { objective: 'Pay' })
  const held = await submit(s, { objective: 'Ship' })
  const theirs = await submit(s, { project: 'bank' })
  await s.expect(200, 'POST', `/api/work-items/${held.id}/hold`)
  const unsure = await run('--project', 'shop')
  t.match(unsure, { code: 2, err: /Nothing was cancelled\. To change these without being asked, add --yes\./ })
  t.match(unsure.out, new RegExp(`2 items to be cancelled\\n.*\\n(.*\\n)*${queued.id} `))
  t.match(unsure.out, held.id)
  t.notMatch(unsure.out, theirs.id)
  const json = await run('--project', 'shop', '--state', 'held', '--json')
  t.equal(json.code, 2)
  t.match(linesOf(json.out), [{ id: held.id, result: 'would_be_done', document: { state: 'held' } }])
  t.match(await asked(false, '--project', 'shop'), { code: 1, out: /Nothing was cancelled\.\n$/ })
  t.match(await asked(true, '--project', 'shop', '--state', 'held'), { code: 0, out: `${held.id} is cancelled` })
  t.same([await stateOf(queued), await stateOf(held)], ['queued', 'cancelled'])
  const done = await run('--source', 'operator:admin', '--yes', '--reason', 'over')
  t.match(done, { code: 0, out: `${queued.id} is cancelled: cancelled by admin: over` })
  t.same([await stateOf(queued), await stateOf(theirs)], ['cancelled', 'cancelled'])
  t.match(await run('--project', 'shop'), { code: 0, out: 'No item that can be cancelled matches.\n' })
  t.match(await run('--project', 'shop', '--json'), { code: 0, out: '' })
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
    t.match(await cliOn({}, env, 'queue', 'cancel', '--state', ...states), {
      code: 0,
      out: 'No item that can be cancelled matches.',
    })
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
    t.match(await run(...argv), {
      code: 2,
      err: /Name each item to cancel, or give - alone for the ids on standard input, or filter them by --project,/,
    })
  t.match(await run('--state', 'running'), { code: 2, err: /Allowed choices are queued, held/ })
})

t.test('a rehearsal says what would be done and what would be refused, and changes nothing', async (t) => {
  const { run, s, stateOf } = await shop(t)
  const [waits, over] = [await submit(s, { objective: 'A' }), await submit(s, { objective: 'B' })]
  await run(over.id)
  const ids = await run(waits.id, over.id, '--dry-run')
  t.match(ids, {
    code: 3,
    out: `${waits.id} would be cancelled: it is queued`,
    err: `${over.id} would not be cancelled: it is cancelled`,
  })
  t.match(await run('--project', 'shop', '--dry-run'), { code: 0, out: `1 item to be cancelled` })
  t.same(linesOf((await run(waits.id, '--dry-run', '--json')).out), [
    { id: waits.id, result: 'would_be_done', document: await reading(s, waits.id)() },
  ])
  t.equal(await stateOf(waits), 'queued')
})

t.test('failed items go back to the queue by a filter, once, and their campaigns keep theirs', async (t) => {
  const { any, failed, s, stateOf } = await shop(t)
  const old = [await failed('A'), await failed('B')]
  t.match(await any('queue', 'retry', '--project', 'shop', '--older-than', '1h'), { code: 0, out: /^No item that can/ })
  t.match(await any('queue', 'retry', '--project', 'bank', '--yes'), { code: 0, out: /^No item that can/ })
  t.match(await any('queue', 'retry', '--older-than', 'x'), { code: 2, err: /or a duration such as 2h, is expected/ })
  const retried = await any('queue', 'retry', '--project', 'shop', '--newer-than', '1h', '--yes', '--json')
  t.equal(retried.code, 0, retried.err)
  t.same(idsOf(retried.out), old.map(({ id }) => id).sort())
  t.match(linesOf(retried.out), [{ result: 'done', document: { state: 'queued' } }, { result: 'done' }])
  t.same(await Promise.all(old.map(stateOf)), ['cancelled', 'cancelled'])
  const again = await any('queue', 'retry', '--project', 'shop', '--state', 'failed,cancelled', '--yes')
  t.match(again, { code: 0, out: /^No item that can/, err: /2 more match, but cannot be retried/ })
  const { items } = (await s.expect(200, 'GET', '/api/work-items?state=queued')).body
  t.equal(items.length, 2)
  t.same(items.map(({ objective }: any) => objective).reverse(), ['A', 'B'], 'the oldest first')
})

t.test('lists print ids for commands that read them from standard input, as lines or as JSON', async (t) => {
  const { any, piped, s, stateOf } = await shop(t)
  const items = [await submit(s, { objective: 'A' }), await submit(s, { objective: 'B', lane: 'maintenance' })]
  const ids = items.map(({ id }) => id)
  const listed = await any('queue', 'list', '--state', 'queued', '--ids')
  t.same(listed.out, `${ids[1]}\n${ids[0]}\n`)
  t.equal((await any('queue', 'list', '--lane', 'maintenance', '--ids')).out, `${ids[1]}\n`)
  t.match(await any('queue', 'list', '--limit', '1', '--ids'), { out: `${ids[1]}\n`, err: /--limit prints more/ })
  t.match(await piped(listed.out, 'queue', 'hold', '-'), { code: 0, err: '' })
  t.same(await Promise.all(items.map(stateOf)), ['held', 'held'])
  const json = await any('queue', 'list', '--state', 'held', '--json')
  const released = await piped(json.out, 'queue', 'release', '-', '--json')
  t.same(idsOf(released.out), [...ids].sort())
  t.match(await piped(released.out, 'queue', 'cancel', '-'), { code: 0 }, 'what one command tells is read by the next')
  t.same(await Promise.all(items.map(stateOf)), ['cancelled', 'cancelled'])
})

t.test('standard input that holds anything but whole ids is refused before anything is done', async (t) => {
  const { piped, s, stateOf } = await shop(t)
  const item = await submit(s)
  for (const [input, err] of [
    ['', /names nothing/],
    [
      `${item.id}\n${item.id.slice(0, 12)}\n`,
      /names "wi_\w{9}", but a whole id of a work item \(wi_\.\.\.\) is expected/,
    ],
    [`${item.id}\nrunreq_${'1'.repeat(24)}\n`, /names "runreq_1+", but a whole id of a work item/],
    ['[{"name":"x"}]', /names ""/],
  ] as const)
    t.match(await piped(input, 'queue', 'cancel', '-'), { code: 2, err })
  t.match(await piped('', 'queue', 'cancel', '-', item.id), { code: 2, err: /one of the three/ })
  t.equal(await stateOf(item), 'queued')
})

t.test('run requests are approved, cancelled, requeued and failed in the same way', async (t) => {
  const { any, runner, s } = await shop(t)
  const of = (key: string) => s.request('shop', { throttle: 'full', access: 'read_only', idempotency_key: key })
  const [a, b, c] = [await of('a'), await of('b'), await of('c')]
  await s.request('shop', { idempotency_key: 'needs no approval' })
  const list = await any('run-request', 'list', '--state', 'queued', '--project', 'shop', '--ids')
  t.equal(list.out.split('\n').length, 5)
  const dry = await any('run-request', 'approve', '--project', 'shop', '--dry-run')
  t.match(dry, { code: 0, out: '3 run requests to be approved', err: '1 more matches, but cannot be approved.' })
  t.match(await any('run-request', 'cancel', c.id), { code: 0, out: `${c.id} is cancelled.\n` })
  t.match(await any('run-request', 'approve', a.id, c.id), {
    code: 3,
    out: `${a.id} is queued.`,
    err: `${c.id} is not`,
  })
  t.match(await any('run-request', 'approve', '--project', 'shop', '--yes'), { code: 0, out: `${b.id} is queued.\n` })
  for (const { id } of [a, b]) {
    await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, runner)
    await s.expect(200, 'POST', `/api/run-requests/${id}/started`, {}, runner)
  }
  for (const instance of ['x', 'y'])
    await s.expect(200, 'POST', '/api/runners/r1/session', { instance, version: '1' }, runner)
  const failed = await any('run-request', 'fail', '--runner', 'r1', '--message', 'gone', '--yes', '--json')
  t.same(idsOf(failed.out), [a.id, b.id].sort())
  t.match(await any('run-request', 'requeue', a.id, b.id), { code: 3, err: /0 of 2 run requests requeued, 2 refused/ })
})

t.test('runners are drained by their label', async (t) => {
  const { any, s } = await shop(t)
  await s.runner('r2', { labels: ['rack-2'] })
  await s.runner('r3', { labels: ['rack-2'] })
  t.equal((await any('runner', 'list', '--label', 'rack-2', '--ids')).out, 'r3\nr2\n')
  t.match(await any('runner', 'drain', '--label', 'rack-2', '--yes'), { code: 0, out: /Runner r2 is draining/ })
  const states = async () => JSON.parse((await any('runner', 'list', '--json')).out).map(({ state }: any) => state)
  t.same((await states()).sort(), ['draining', 'draining', 'registered'])
  t.match(await any('runner', 'drain', 'r1', 'r2', '--wait'), { code: 2, err: /--wait/ })
  t.match(await any('runner', 'undrain', 'r2', 'r3'), { code: 0, out: /Runner r3 takes work again\./ })
  t.same(await states(), ['registered', 'registered', 'registered'])
})

t.test('a filter cancels only what has not begun when its turn comes, and a name whatever it does', async (t) => {
  const [begun, waits] = ['runreq_00000000000000000000000a', 'runreq_00000000000000000000000b'] as const
  const of = (id: string, state = 'queued') => ({ id, project: 'shop', state, created_at: '2026-01-31T12:00:00Z' })
  const refusal = { status: 409, code: 'illegal_move', detail: 'it has begun on desk' }
  const { env, asked } = await service(t, ({ method, url, body }) => {
    const { pathname } = new URL(url, 'http://x')
    if (pathname === '/api/run-requests') return [200, { items: [of(waits), of(begun)] }]
    const id = pathname.split('/')[3]!
    if (method === 'GET') return [200, of(id)]
    return id === begun && body.unless_begun ? [409, refusal] : [200, of(id, 'cancelled')]
  })
  const cancel = (...argv: string[]) => cliOn({}, env, 'run-request', 'cancel', ...argv)
  const all = await cancel('--project', 'shop', '--yes')
  t.match(all, { code: 3, out: `${waits} is cancelled`, err: `${begun} is not cancelled: illegal_move: it has begun` })
  const told = () => asked.flatMap(({ method, body }) => (method === 'POST' ? [body.unless_begun] : []))
  t.strictSame(told(), [true, true])
  t.equal((await cancel(begun)).code, 0)
  t.strictSame(told(), [true, true, undefined])
})

t.test('a filter without a state looks in those in which the command usually helps', async (t) => {
  const { env, asked } = await service(t, () => [200, { items: [] }])
  const statesFor = async (...argv: string[]): Promise<string[]> => {
    asked.length = 0
    await cliOn({}, env, ...argv, '--project', 'shop', '--dry-run')
    return asked.flatMap(({ url }) =>
      new URL(url, 'http://x').searchParams.getAll('state').flatMap((one) => one.split(',')),
    )
  }
  t.same(await statesFor('run-request', 'cancel'), ['queued'])
  t.same(await statesFor('run-request', 'requeue'), ['lost'])
  t.same((await statesFor('run-request', 'release')).sort(), ['accepted', 'offered'])
  t.same(await statesFor('run-request', 'cancel', '--state', 'started'), ['started'])
})
