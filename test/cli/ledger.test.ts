import { hostname } from 'node:os'
import t from 'tap'
import { AT, begin, finish, fleet, reading, submit, take, waits } from '../http/ledger-harness.ts'
import { startTestService } from '../http/service-harness.ts'
import { until } from '../until.ts'
import { cli, cliOn, service } from './in-process.ts'
import { ENV, runCommand, serve } from './processes.ts'

const ITEM = {
  id: 'wi_0a1b2c3d4e5f60718293a4b5',
  project: 'shop',
  objective: 'Let customers pay by invoice',
  kind: 'task',
  lane: 'interactive',
  state: 'queued',
  reason: 'next to start',
  origin: 'laptop',
  source: { kind: 'operator', ref: 'ada' },
  trace_id: 'a'.repeat(32),
  submitted_at: '2030-01-01T00:00:00Z',
}
const item = (n: number, more: object) => ({ ...ITEM, id: `wi_${String(n).repeat(24)}`, ...more })
const at = (minute: number) => `2030-01-01T00:${String(minute).padStart(2, '0')}:00Z`

const LISTS: Record<string, object[]> = {
  running: [
    item(2, { state: 'running', reason: 'running on r1', started_at: at(2), objective: 'Second' }),
    item(1, { state: 'running', reason: 'running on r2', started_at: at(1), objective: 'First' }),
  ],
  queued: [
    item(4, { submitted_at: at(4), reason: 'lane interactive is paused' }),
    item(3, { submitted_at: at(3), reason: 'waits for wi_1 to land (running)' }),
  ],
  held: [item(5, { state: 'held', submitted_at: at(3), reason: 'held by ada' })],
  preserved: [
    item(6, { state: 'preserved', settled_at: at(6), disposition: { preservation_ref: 'x' }, started_at: at(1) }),
  ],
  failed: [item(7, { state: 'failed', settled_at: at(7), reason: 'run failed (execution): no disk' })],
  landed: [item(8, { state: 'landed', settled_at: at(8), reason: 'complete: done' })],
}

const call = (document: any, reason = document.state) => ({ kind: 'work_item', reason, work_item: document })
const CALLING = [...LISTS.preserved!, ...LISTS.failed!].map((open) => call(open))

const ledger = (asked: { url: string }): readonly [number, unknown] => {
  const url = new URL(asked.url, 'http://x')
  if (url.pathname === '/api/pacing')
    return [
      200,
      {
        ...{ max_running: 4, running: [], running_count: 2, waiting_count: 3, paused: ['campaign'] },
        label_limits: [
          { label: 'gpu', max_running: 0, under_way: 1 },
          { label: 'ci', max_running: 1, under_way: 1 },
        ],
        weights: [{ project: 'shop', weight: 3 }],
      },
    ]
  if (url.pathname === '/api/attention') return [200, { items: CALLING }]
  if (url.pathname !== '/api/work-items') return [200, { items: [] }]
  return [
    200,
    {
      items: url.searchParams
        .get('state')!
        .split(',')
        .flatMap((state) => LISTS[state] ?? []),
    },
  ]
}

t.test('queue lists running, waiting, open and finished items, each group in its own order', async (t) => {
  const { env, asked } = await service(t, ledger)
  const { code, out } = await cli(env, 'queue', '--project', 'shop', '--source', 'operator:ada')
  t.equal(code, 0)
  const lines = out.split('\n')
  t.equal(lines[0], '2 of 4 running or handed out, 3 waiting, 2 need you, paused: campaign, label gpu, weights: shop 3')
  const ids = [...out.matchAll(/wi_(\d)\1{23}/g)].map(([, n]) => n).join('')
  t.equal(ids, '12354768', 'running by start, waiting by submission, the others by settlement with the newest first')
  for (const heading of ['Running', 'Waiting', 'Needs you', 'Done']) t.ok(lines.includes(heading), heading)
  t.ok(asked.filter(({ url }) => url.includes('work-items')).every(({ url }) => url.includes('source=operator%3Aada')))
  const json = JSON.parse((await cli(env, 'queue', '--json')).out)
  t.same(Object.keys(json), [...['running', 'waiting', 'open', 'terminal', 'campaigns'], ...['outside', 'attention']])
  const others = await cli(env, 'queue', '--source', 'campaign:spring')
  t.match(others.out, /waiting, nothing needs you/, 'items of other sources are not counted')
})

t.test('queue asks once for the campaigns that are not over, and shows what needs most first', async (t) => {
  const of = (name: string, status: string) => ({ name, status })
  const campaigns = [of('e', 'staged'), of('d', 'paused'), of('b', 'active'), of('c', 'active'), of('a', 'escalated')]
  const { env, asked } = await service(t, (one) =>
    one.url.startsWith('/api/campaigns') ? [200, { items: campaigns }] : ledger(one),
  )
  const json = JSON.parse((await cli(env, 'queue', '--json')).out)
  t.same(
    json.campaigns.map(({ name }: any) => name),
    ['a', 'b', 'c', 'd', 'e'],
  )
  const lists = asked.filter(({ url }) => url.startsWith('/api/campaigns'))
  t.match(
    lists.map(({ url }) => url),
    [/status=escalated(,|%2C)active(,|%2C)cancelling(,|%2C)paused(,|%2C)staged/],
  )
  t.equal(lists.length, 1)
})

t.test('queue counts everything that attention lists, and the runs outside the ledger', async (t) => {
  const run = (id: string, more: object) => ({ id, state: 'queued', project: 'shop', ...more })
  const runs = [run('a', { state: 'started' }), run('b', {}), run('c', { work_item_id: ITEM.id })]
  const items = [
    { kind: 'campaign', reason: 'paused', campaign: { name: 'gone' } },
    { kind: 'run_request', reason: 'unapproved', run_request: runs[1] },
    { kind: 'formation_brief', reason: 'reviewable', formation_brief: {} },
  ]
  const { env } = await service(t, ({ url }) => {
    const { pathname, searchParams } = new URL(url, 'http://x')
    if (pathname === '/api/pacing')
      return [200, { max_running: 4, running: [], running_count: 0, waiting_count: 0, paused: [] }]
    if (pathname === '/api/attention') return [200, { items: searchParams.get('project') === 'till' ? [] : items }]
    if (pathname === '/api/run-requests' && searchParams.get('project') !== 'till')
      return [200, { items: runs.filter(({ state }) => searchParams.get('state')!.split(',').includes(state)) }]
    return [200, { items: [] }]
  })
  const { out } = await cli(env, 'queue')
  t.equal(
    out,
    '0 of 4 running or handed out, 0 waiting, also 2 runs outside the ledger (1 under way), 3 need you: intendant attention\n',
  )
  const till = await cli(env, 'queue', '--project', 'till')
  t.equal(till.out, '0 of 4 running or handed out, 0 waiting, nothing needs you\n')
  const ofSource = await cli(env, 'queue', '--source', 'campaign:gone')
  t.equal(ofSource.out, '0 of 4 running or handed out, 0 waiting, 1 needs you: intendant attention\n')
})

t.test('queue show links a resumed item with its resumption, in both directions', async (t) => {
  const preserved = item(6, { state: 'preserved', disposition: { preservation_ref: 'x' }, started_at: at(1) })
  const shown = async (document: object) => {
    const { env } = await service(t, ({ url }) => [200, url.startsWith('/api/events') ? { items: [] } : document])
    return (await cli(env, 'queue', 'show', ITEM.id)).out
  }
  const child = item(7, {}).id
  const going = await shown({ ...preserved, resumptions: [{ item_id: child }] })
  t.match(going, `it continues as ${child}: intendant queue show ${child}`)
  t.notMatch(going, 'intendant queue resume')
  t.match(await shown({ ...preserved, resumptions: [{ item_id: child, state: 'failed' }] }), 'intendant queue resume')
  const failed = await shown(item(7, { state: 'failed', resumes: preserved.id, started_at: at(1) }))
  t.match(failed, `intendant queue retry ${child}\nintendant queue close ${child}`)
})

t.test("attention shows the objective of a run's brief", async (t) => {
  const run_request = { id: 'runreq_1', entry_event: 'execution_requested', payload: {} }
  const row = { kind: 'run_request', reason: 'unapproved', project: 'shop', since: at(1), run_request }
  const governed_by = { id: 'brief_1', objective: 'Invoices' }
  const { env } = await service(t, () => [200, { items: [row, { ...row, governed_by }] }])
  const { out } = await cli(env, 'attention')
  t.match(out, /^unapproved +runreq_1 +shop +\S+ +execution_requested +intendant/m)
  t.match(out, /^unapproved +runreq_1 +shop +\S+ +Invoices \(brief_1\) +intendant/m)
})

t.test('attention shows how to resume a campaign that its provider has paused without an end', async (t) => {
  const campaign = { name: 'pay', status: 'paused', reason: 'no provider', budget: {}, paused: { by: 'provider' } }
  const items = [{ kind: 'campaign', reason: 'paused', project: 'shop', since: at(1), campaign }]
  const { env } = await service(t, () => [200, { items }])
  t.match((await cli(env, 'attention')).out, /^paused +pay +shop .*intendant campaign resume pay$/m)
})

t.test('on a narrow terminal each item of queue takes several lines that fit its width', async (t) => {
  const { env } = await service(t, ledger)
  const terminal = { isTTY: true, columns: 60 }
  const { out } = await cliOn(terminal, { ...env, NO_COLOR: '1' }, 'queue')
  for (const line of out.split('\n')) t.ok(line.length <= 60, line)
  t.match(out, /running First\n {2}wi_1{24} {2}shop/)
  t.notMatch(out, '\u001b', 'NO_COLOR')
  t.match((await cliOn({ isTTY: true, columns: 140 }, env, 'queue')).out, '\u001b[32mlanded')
  t.notMatch((await cli(env, 'queue')).out, '\u001b', 'no colours without a terminal')
})

t.test('queue open shows the next commands for each item', async (t) => {
  const { env } = await service(t, ledger)
  const { out } = await cli(env, 'queue', 'open')
  t.match(out, `intendant queue resume wi_${'6'.repeat(24)}`)
  t.match(out, `intendant queue close wi_${'7'.repeat(24)} --reason TEXT`)
  t.match(
    out,
    `  intendant queue retry wi_${'7'.repeat(24)}\n  intendant queue close wi_7`,
    'a failed item can be retried',
  )
  const none = await service(t, () => [200, { items: [] }])
  t.equal((await cli(none.env, 'queue', 'open')).out, 'Nothing needs you.\n')
})

t.test('queue show prints the question of an item and how to answer it, unless a campaign owns the item', async (t) => {
  const asks = { state: 'needs_decision', reason: 'decision needed: net or gross? (net; gross)', started_at: at(1) }
  const disposition = { verdict: 'blocked_on_decision', preservation_ref: 'origin/intendant/runreq_1-1' }
  const payload = { verdict: 'blocked_on_decision', finding: 'Net\nor gross?', options: ['net', 'gross'] }
  const event = { event_type: 'task_run_completed', occurred_at: at(2), recorded_at: at(2), project: 'shop', payload }
  const open = (more: object) =>
    service(t, ({ url }) => [
      200,
      url.startsWith('/api/events')
        ? { items: url.includes('task_run_completed') ? [event] : [] }
        : item(6, { ...asks, disposition, ...more }),
    ])
  const { out } = await cli((await open({})).env, 'queue', 'show', ITEM.id)
  t.match(out, /^asks +Net or gross\?\nanswers +net \| gross$/m)
  t.match(out, /^intendant queue answer wi_6+ --decision TEXT\nintendant queue close/m)
  const cycle = { kind: 'campaign', ref: 'pay', role: 'cycle', cycle: 2 }
  const theirs = await cli((await open({ source: cycle })).env, 'queue', 'show', ITEM.id)
  t.notMatch(theirs.out, 'intendant queue answer')
  t.match(theirs.out, /^campaign pay takes the decision: intendant campaign show pay\nintendant queue close/m)
})

t.test('an item whose run is lost counts as open, and is shown with the commands that help', async (t) => {
  const reason = 'its run is lost: its runner started a new session; requeue or fail runreq_1'
  const lost = item(2, {
    state: 'running',
    reason,
    started_at: at(2),
    run_request_id: 'runreq_1',
    reason_code: 'run_lost',
  })
  const { env } = await service(t, ({ url }) => {
    if (url.startsWith('/api/pacing'))
      return [200, { max_running: 4, running: [], running_count: 1, waiting_count: 0, paused: [] }]
    if (url.startsWith('/api/work-items/')) return [200, lost]
    if (url.startsWith('/api/attention')) {
      const run = { id: 'runreq_1', work_item_id: lost.id }
      return [200, { items: [{ kind: 'run_request', reason: 'lost', run_request: run }] }]
    }
    return [200, { items: url.includes('work-items') && url.includes('state=running') ? [lost] : [] }]
  })
  t.match((await cli(env, 'queue')).out, /^1 of 4 running or handed out, 0 waiting, 1 needs you: intendant attention\n/)
  const { out } = await cli(env, 'queue', 'show', lost.id)
  t.match(out, 'intendant run-request requeue runreq_1\nintendant run-request fail runreq_1 --message TEXT')
})

t.test('each queue command posts to its endpoint with its origin', async (t) => {
  const { env, asked } = await service(t, () => [200, { ...ITEM, state: 'held', reason: 'held by ada' }])
  const origin = `${hostname().slice(0, 64)} by hand`
  const run = async (...argv: string[]) => {
    const { code, out } = await cli(env, ...argv, ITEM.id, '--origin', 'by hand')
    t.equal(code, 0, argv.join(' '))
    t.match(out, ITEM.id)
    return asked.at(-1)!
  }
  for (const move of ['hold', 'release', 'cancel']) {
    const { method, url, body } = await run('queue', move)
    t.same([method, url, body], ['POST', `/api/work-items/${ITEM.id}/${move}`, { origin }])
  }
  t.same((await run('queue', 'close', '--reason', 'done')).body, { reason: 'done', origin })
  t.same((await run('queue', 'cancel', '--reason', 'no', '--discard-work')).body, {
    reason: 'no',
    discard_work: true,
    origin,
  })
  const resumed = await run('queue', 'resume', '--after', 'wi_1', '--after', 'wi_2', '--objective', 'On')
  t.same(resumed.body, { objective: 'On', depends_on: ['wi_1', 'wi_2'], origin })
  t.equal((await cli(env, 'queue', 'close', ITEM.id)).code, 2, 'a reason is required')
})

t.test('queue wait follows an existing item until it is settled, with the exit codes of task', async (t) => {
  const s = await startTestService(t)
  const run = (...argv: string[]) => cli({ ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }, ...argv)
  const runner = await fleet(s, 'shop')
  const { id } = await submit(s)
  const early = await run('queue', 'wait', id, '--wait-limit', '300ms')
  t.match(early, { code: 6, err: new RegExp(`still running\\. See: intendant queue show ${id}`) })
  const waiting = run('queue', 'wait', id)
  const { request_id } = await begin(s, runner)
  await finish(s, runner, request_id)
  t.match(await waiting, {
    code: 0,
    out: new RegExp(`^Item ${id}\n[\\s\\S]*${id} landed: complete: done\nLanded as abc1234`),
  })
  const settled = await run('queue', 'wait', id.slice(0, 12))
  t.match(settled, { code: 0, out: `Item ${id}\n\n${id} landed: complete: done` }, 'a settled item is printed at once')
  t.match(JSON.parse((await run('queue', 'wait', id, '--json')).out), { id, state: 'landed' })
  const other = await submit(s, { objective: 'Something else' })
  await s.expect(200, 'POST', `/api/work-items/${other.id}/cancel`, {})
  t.match(await run('queue', 'wait', other.id), { code: 5, out: /cancelled/ })
  t.match(await run('queue', 'wait', `wi_${'0'.repeat(24)}`), { code: 3, err: /not_found/ })
})

t.test("queue show prints an item, its history, its owners' moves and the next commands", async (t) => {
  const shown = {
    ...item(6, { state: 'preserved', reason: 'could not land', settled_at: at(6), started_at: at(1) }),
    disposition: { verdict: 'complete', preservation_ref: 'task/x' },
    operator_actions: [{ command: 'hold', at: at(2), by: { name: 'ada' }, origin: 'laptop', previous_state: 'queued' }],
  }
  const event = {
    event_type: 'work_item_settled',
    occurred_at: at(6),
    project: 'shop',
    payload: { item_id: shown.id, state: 'preserved' },
  }
  const { env } = await service(t, ({ url }) => [
    200,
    url.startsWith('/api/events') ? { items: url.includes('item_id') ? [event] : [] } : shown,
  ])
  const { out } = await cli(env, 'queue', 'show', shown.id)
  for (const text of [
    'preserved as',
    'task/x',
    'ada (laptop), previously queued',
    'History',
    'work_item_settled',
    'queue resume',
  ])
    t.match(out, text)
  t.equal(JSON.parse((await cli(env, 'queue', 'show', shown.id, '--json')).out).events.length, 1)
})

t.test('an idempotency key that cannot be sent is refused without a request', async (t) => {
  const { env, asked } = await service(t, () => [201, ITEM])
  for (const key of ['', ' ', 'größe-ü', 'ключ', 'k'.repeat(256)]) {
    const { code, err } = await cli(env, 'task', 'shop', 'Pay', '--no-wait', '--idempotency-key', key)
    t.equal(code, 2, key)
    t.match(err, /1 to 255 printable ASCII characters/)
  }
  t.equal(asked.length, 0)
})

t.test('task submits its objective and options, and with --no-wait returns at once', async (t) => {
  const { env, asked } = await service(t, () => [201, ITEM])
  const { code, out } = await cli(
    env,
    ...['task', 'shop', 'Let', 'customers', 'pay', '--after', 'wi_1', '--not-before', '2030-01-01T00:00:00Z'],
    ...['--base-ref', 'main', '--label', 'linux', '--timeout', '90s', '--idempotency-key', 'k', '--no-wait'],
  )
  t.equal(code, 0)
  t.match(out, /Item wi_\w+ is queued: next to start/)
  t.match(asked[0], {
    method: 'POST',
    url: '/api/work-items',
    body: {
      project: 'shop',
      objective: 'Let customers pay',
      depends_on: ['wi_1'],
      not_before: '2030-01-01T00:00:00.000Z',
      base_ref: 'main',
      labels: ['linux'],
      timeout_seconds: 90,
    },
  })
  t.ok(asked[0]!.body.origin)
  const there = await service(t, () => [200, ITEM, { 'idempotent-replay': 'true' }])
  t.match((await cli(there.env, 'task', 'shop', 'x', '--no-wait')).out, 'already exists and is queued')
})

t.test(
  'task reads its objective from an argument, a file or standard input, and refuses two of them or none',
  async (t) => {
    const { env, asked } = await service(t, () => [201, ITEM])
    const folder = t.testdir({ 'brief.md': '# Invoices\n\nLet customers pay by invoice.\n\n', 'empty.md': ' \n' })
    const brief = '# Invoices\n\nLet customers pay by invoice.'
    for (const flag of ['-f', '--file']) {
      t.match(await cli(env, 'task', 'shop', flag, `${folder}/brief.md`, '--no-wait'), { code: 0, err: '' })
      t.equal(asked.at(-1)!.body.objective, brief)
    }
    const piped = await runCommand(['task', 'shop', '--file', '-', '--no-wait'], { ...ENV, ...env }, `${brief}\n`)
    t.match(piped, { code: 0, err: '' })
    t.equal(asked.at(-1)!.body.objective, brief)
    asked.length = 0
    const wrong: [string[], RegExp][] = [
      [[], /Say what to do either as TEXT or with --file/],
      [['Pay', '--file', `${folder}/brief.md`], /Say what to do either as TEXT or with --file/],
      [['--file', `${folder}/none.md`], /none\.md cannot be read: ENOENT/],
      [['--file', `${folder}/empty.md`], /empty\.md is empty/],
    ]
    for (const [argv, words] of wrong) t.match(await cli(env, 'task', 'shop', ...argv), { code: 2, err: words })
    t.same(asked, [])
  },
)

t.test('task names the options that an existing item does not have', async (t) => {
  const there = { ...ITEM, depends_on: ['wi_1', 'wi_2'], labels: ['gpu'], not_before: '2030-01-01T00:00:00.000Z' }
  const { env } = await service(t, () => [200, there, { 'idempotent-replay': 'true' }])
  const submit = (...options: string[]) => cli(env, 'task', 'shop', ITEM.objective, '--no-wait', ...options)
  const same = ['--after', 'wi_2', '--after', 'wi_1', '--label', 'gpu', '--not-before', '2030-01-01T01:00:00+01:00']
  t.match(await submit(...same, '--kind', 'task'), { code: 0, out: /already exists/, err: '' })
  const other = await submit('--after', 'wi_3', '--label', 'gpu', '--runner', 'r9', '--context', '{"a":1}', '--json')
  t.match(JSON.parse(other.err).note, `${ITEM.id} stays as it was submitted; ignored: --after wi_3, `)
  t.match(other.err, /--after wi_3, --context .*, --runner r9\. For a new item, add --allow-duplicate/)
  t.equal(JSON.parse(other.out).id, ITEM.id)
})

t.test('project edit changes name and repository, and without options names those that it takes', async (t) => {
  const { env, asked } = await service(t, () => [200, { key: 'shop', name: 'Web shop', max_writers: 2 }])
  const edit = (...options: string[]) => cli(env, 'project', 'edit', 'shop', ...options)
  t.match(await edit('--name', 'Web shop'), {
    code: 0,
    out: 'Project shop is called Web shop; its repository: none, changed by 2 runs at a time.\n',
  })
  t.match(asked.at(-1), { method: 'PATCH', url: '/api/projects/shop', body: { name: 'Web shop' } })
  t.match((await cli(env, 'project', 'show', 'shop')).out, /max writers +2\n/)
  await edit('--max-writers', '4')
  t.match(asked.at(-1)!.body, { max_writers: 4 })
  t.match(await edit('--max-writers', '0'), { code: 2, err: /--max-writers/ })
  await edit('--repository', 'git@x:shop.git')
  t.match(asked.at(-1)!.body, { repository: 'git@x:shop.git' })
  await edit('--no-repository')
  t.equal(asked.at(-1)!.body.repository, null)
  const none = await edit()
  t.match([none.code, none.err], [2, /Nothing to change: give --name, --repository, --no-repository or --max-writers/])
})

t.test('pacing pauses and resumes the given lanes, or all', async (t) => {
  const lanes = ['interactive', 'campaign', 'maintenance'].map((lane) => ({ lane, paused: lane === 'campaign' }))
  const { env, asked } = await service(t, () => [200, { lanes }])
  t.match((await cli(env, 'pacing', 'pause', '--lane', 'campaign')).out, /campaign +paused/)
  t.same(asked.at(-1)!.body.lanes, ['campaign'])
  await cli(env, 'pacing', 'resume')
  t.same([asked.at(-1)!.url, asked.at(-1)!.body.lanes], ['/api/pacing/resume', undefined])
})

t.test('pacing weigh names the project, and the weights are shown', async (t) => {
  const lanes = ['interactive', 'campaign', 'maintenance'].map((lane) => ({ lane, paused: false }))
  const by = { id: 'tok_1', name: 'ann' }
  const weight = { project: 'shop', weight: 3, since: '2026-01-31T12:00:00Z', origin: 'here', by }
  const { env, asked } = await service(t, () => [200, { lanes, label_limits: [], weights: [weight] }])
  const { out } = await cli(env, 'pacing', 'weigh', 'shop', '3')
  t.match(out, /PROJECT +WEIGHT +SINCE[\s\S]*shop +3 +2026-01-31T12:00:00Z +ann \(here\)/)
  t.match(asked.at(-1), { url: '/api/pacing/weigh', body: { project: 'shop', weight: 3 } })
  for (const wrong of ['0', '101', '1.5', 'none'])
    t.equal((await cli(env, 'pacing', 'weigh', 'shop', wrong)).code, 2, wrong)
})

t.test('pacing limit and unlimit name the label, and the limits are shown with what is under way', async (t) => {
  const lanes = ['interactive', 'campaign', 'maintenance'].map((lane) => ({ lane, paused: false }))
  const by = { id: 'tok_1', name: 'ann' }
  const limit = { label: 'provider:x', max_running: 5, under_way: 5, since: '2026-01-31T12:00:00Z', origin: 'here', by }
  const { env, asked } = await service(t, () => [200, { lanes, label_limits: [limit] }])
  const { out } = await cli(env, 'pacing', 'limit', 'provider:x', '5')
  t.match(out, /LABEL +MAX +UNDER WAY[\s\S]*provider:x +5 +5 +2026-01-31T12:00:00Z +ann \(here\)/)
  t.match(asked.at(-1), { url: '/api/pacing/limit', body: { label: 'provider:x', max_running: 5 } })
  await cli(env, 'pacing', 'unlimit', 'provider:x')
  t.match(asked.at(-1), { url: '/api/pacing/unlimit', body: { label: 'provider:x' } })
  for (const wrong of ['-1', '1.5', 'none'])
    t.equal((await cli(env, 'pacing', 'limit', '--', 'x', wrong)).code, 2, wrong)
})

t.test('pacing drain ends once a requeued run waits behind the paused lane', async (t) => {
  const s = await startTestService(t)
  const run = (...argv: string[]) => cli({ ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }, ...argv)
  const runner = await fleet(s, 'shop')
  const { id } = await submit(s, {})
  const { request_id } = await take(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/started`, {}, runner)
  const started = { event_type: 'task_run_started', occurred_at: AT, payload: { branch: 'intendant/x-1' } }
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events: [started] }, runner)
  t.match(await run('pacing', 'drain', '--timeout', '1s'), { code: 6, err: `${id} (shop, running)` })
  await s.expect(200, 'POST', '/api/runners/r1/session', { instance: 'f'.repeat(16), version: '1' }, runner)
  await until(reading(s, id), ({ reason }) => /its run is lost/.test(reason))
  t.match(await run('pacing', 'drain', '--timeout', '1s'), { code: 6 }, 'a lost run waits for a person')
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/requeue`, {})
  await until(reading(s, id), waits('handed_out'))
  t.match(await run('pacing', 'drain', '--timeout', '10s'), { code: 0, out: /Nothing is running/ })
  t.match((await run('queue')).out, /handed out: runreq_\w+ \(The lane interactive is paused/i)
  const { out } = await run('queue', 'show', id)
  t.match(out, /waits because +handed out/)
  t.match(
    out,
    /History[\s\S]*task_run_started .*branch=intendant\/x-1[\s\S]*run_request_lost .*reason=[\s\S]*run_request_requeued .* by=admin/,
    'including the events of its run',
  )
})

t.test('a task is run by the bundled runner to each outcome, and pacing drain waits for a running one', async (t) => {
  const work = `read -r request
case "$request" in
*PRESERVE*) echo '{"event_type":"task_run_completed","payload":{"project":"shop","success":false,"landed":false,"summary":"no","verdict":"complete","land_blocked":"git_failed","preservation_ref":"task/x"}}';;
*FAIL*) exit 3;;
*WRONG*) echo '{"event_type":"task_run_completed","payload":{"project":"shop","success":false,"landed":false,"summary":"no","verdict":"defect"}}';;
*SLOW*) sleep 60;;
esac`
  const home = t.testdir()
  // The runner hears of a cancellation by its next heartbeat, of which there are three in a lease.
  const s = await serve(t, home, '--runner', 'local', '--exec', work, '--lease', '10s')
  await s.cli('project', 'add', '--name', 'Shop', '--key', 'shop')
  const landed = await s.cli('task', 'shop', 'Tidy up')
  t.equal(landed.code, 0, landed.err)
  t.match(landed.out, /work_item_started[\s\S]*task_run_completed[\s\S]*wi_\w+ landed/)
  const preserved = await s.cli('task', 'shop', 'PRESERVE', '--json')
  t.equal(preserved.code, 1)
  t.match(JSON.parse(preserved.out), { state: 'preserved', disposition: { preservation_ref: 'task/x' } })
  t.match(await s.cli('task', 'shop', 'FAIL'), { code: 1, out: /failed: runner error/ })
  t.match(await s.cli('task', 'shop', 'WRONG'), {
    code: 1,
    out: /failed: runner error: the service refused task_run_completed: invalid_event: .*diagnosis/,
  })
  const child = await s.cli('queue', 'resume', JSON.parse(preserved.out).id, '--json')
  t.match(JSON.parse(child.out), { resumes: JSON.parse(preserved.out).id, base_ref: 'task/x' })

  t.match(await s.cli('project', 'archive', 'shop'), { code: 0, out: /Project shop is archived/ })
  t.match(await s.cli('task', 'shop', 'Later'), { code: 3, err: /archived/ })
  t.match(await s.cli('project', 'restore', 'shop', '--json'), { code: 0, out: /"state": *"active"/ })

  const slow = JSON.parse((await s.cli('task', 'shop', 'SLOW', '--no-wait', '--json')).out)
  const waited = await s.cli('task', 'shop', 'SLOW', '--wait-limit', '2s')
  t.equal(waited.code, 6, 'the existing item has not settled in time')
  const draining = s.start('pacing', 'drain')
  await draining.until((out) => out.includes(`Waiting for ${slow.id}`))
  const early = await s.cli('pacing', 'drain', '--timeout', '1s')
  t.match(early, { code: 6, err: new RegExp(`${slow.id} \\(shop, running\\)`) })
  await s.cli('queue', 'cancel', slow.id, '--reason', 'too slow')
  t.equal(await draining.ended, 0)
  t.match(draining.out(), `${slow.id} cancelled: cancelled by admin: too slow`)
  t.match((await s.cli('pacing')).out, /maintenance +paused/, 'the lanes stay paused')
  const trace = await s.cli('trace', slow.id)
  t.match(trace.out, /complete +no/)
  t.match(trace.out, /work_item_submitted[\s\S]*\n {2}\S+ {2}run_request_created[\s\S]*work_item_cancelled/)
  t.match(JSON.parse((await s.cli('trace', slow.trace_id, '--json')).out), { trace_id: slow.trace_id, complete: false })
  await s.cli('pacing', 'resume')
  const emitted = await s.cli('emit', 'greet_requested', '--project', 'shop', '--payload', '{"name":"Ada"}', '--wait')
  t.match(emitted, { code: 0, out: /runreq_\w+ completed/ })
  t.equal(await s.end('SIGTERM'), 0)
})

t.test('task names the commands that register a runner when no runner may take the item', async (t) => {
  const waits = {
    ...ITEM,
    reason: 'no runner that is online may take it',
    waiting_because: { code: 'no_runner', detail: 'no runner that is online may take it' },
  }
  const { env } = await service(t, ({ method, url }) => {
    if (method === 'POST') return [201, waits, { 'watch-cursor': 'e.1' }]
    return url.startsWith('/api/watch') ? [200, ''] : [200, waits]
  })
  const { code, err } = await cli(env, 'task', 'shop', 'x', '--wait-limit', '300ms')
  t.equal(code, 6)
  t.match(
    err,
    /queued: no runner that is online may take it\n {2}intendant runner list\n {2}intendant runner add ID --project shop --trusted --save-token/,
  )
})

t.test('what an item needs is told by the codes of its answer, not by its words', async (t) => {
  const told = async (more: object) => {
    const shown = item(6, { run_request_id: 'runreq_1', ...more })
    const { env } = await service(t, ({ url }) => (url.startsWith('/api/watch') ? [200, ''] : [200, shown]))
    return (await cli(env, 'queue', 'wait', shown.id, '--wait-limit', '300ms')).err
  }
  const detail = 'Nobody takes it.'
  const waits = { reason: detail, waiting_because: { code: 'no_runner', detail } }
  t.match(await told({ state: 'queued', ...waits }), /Nobody takes it\.\n {2}intendant runner list/)
  const full = { code: 'running_cap', detail: 'no runner that is online may take it' }
  t.notMatch(await told({ state: 'queued', reason: full.detail, waiting_because: full }), 'runner list')
  t.match(await told({ state: 'running', reason: 'r1 is silent', reason_code: 'run_lost' }), 'running: r1 is silent')
  t.match(await told({ state: 'running', reason: 'ends soon', reason_code: 'stopping' }), 'running: ends soon')
  t.notMatch(await told({ state: 'running', reason: 'running on lost-and-found' }), 'lost-and-found')
})

t.test('task suggests cancelling an item that waits for a removed runner', async (t) => {
  const detail = 'runner r9, which it names, was removed'
  const waits = {
    ...ITEM,
    state: 'queued',
    runner_id: 'r9',
    reason: detail,
    waiting_because: { code: 'runner_removed', detail },
  }
  const { env } = await service(t, ({ method, url }) => {
    if (method === 'POST') return [201, waits, { 'watch-cursor': 'e.1' }]
    return url.startsWith('/api/watch') ? [200, ''] : [200, waits]
  })
  const { code, err } = await cli(env, 'task', 'shop', 'x', '--runner', 'r9', '--wait-limit', '300ms')
  t.equal(code, 6)
  t.match(err, new RegExp(`queued: .*${detail}\\n {2}intendant queue cancel ${ITEM.id}`))
  t.notMatch(err, /runner add/)
})

t.test('attention names the offline runners of a stalled project and what to do', async (t) => {
  const row = { project: 'shop', since: at(1), because: { code: 'no_runner_online', detail: 'Offline: r1, r2.' } }
  const stalled_project = { id: `proj_${'1'.repeat(24)}`, key: 'shop', name: 'Web shop' }
  const items = [{ kind: 'stalled_project', reason: 'no_runner_online', ...row, stalled_project }]
  const { env } = await service(t, () => [200, { items }])
  const { out } = await cli(env, 'attention')
  t.match(
    out,
    /^no_runner_online +proj_1+ +shop .* work of Web shop waits for a runner +Offline: r1, r2\. Start one on its machine/m,
  )
  t.match(out, /, or intendant runner add ID --project shop --save-token \(with the labels/m)
})

t.test(
  'attention shows what keeps a sentinel from submitting, or which items of it failed, and what to do',
  async (t) => {
    const sentinel = {
      name: 'nightly',
      item: { objective: 'Update the dependencies' },
      last: { at: at(1), skipped: 'duplicate', item_id: ITEM.id },
      skipping: { times: 3, since: at(1) },
    }
    const told = (reason: string) => ({ kind: 'sentinel', reason, project: 'shop', since: at(1), sentinel })
    const missed = { ...sentinel, last: { at: at(1), skipped: 'missed' } }
    const failed = ['failed', 'needs_decision', 'failed'].map((state, n) => ({
      item_id: `wi_${`${n}`.repeat(24)}`,
      state,
      reason: `the agent ended with exit code ${n}`,
    }))
    const items = [
      { ...told('failing'), sentinel: { ...sentinel, failing: { since: at(1), items: failed } } },
      told('skipping'),
      { ...told('skipping'), sentinel: missed },
      { ...told('unscheduled'), sentinel: { ...sentinel, time_zone: 'Mars/Olympus' } },
      {
        kind: 'certificate',
        reason: 'certificate_expiring',
        project: 'system',
        since: at(1),
        certificate: { expires_at: at(9) },
      },
    ]
    const { env } = await service(t, ({ url }) => [200, { items: url.startsWith('/api/attention') ? items : [] }])
    const lines = (await cli(env, 'attention')).out.split('\n')
    t.match(
      lines[1],
      /^failing +nightly +shop .* its last 3 items: failed, needs_decision, failed; the newest, wi_2+: the agent ended with exit code 2 +intendant queue show wi_2+, then intendant sentinel edit nightly TEXT, or pause nightly$/,
    )
    t.match(
      lines[2],
      /^skipping +nightly +shop .* 3 times in a row: submitted nothing: wi_\w+ asks for .* intendant queue show wi_\w+, then intendant sentinel edit nightly --cron PATTERN, or pause nightly$/,
    )
    t.match(
      lines[3],
      /3 times in a row: submitted nothing: the service was not running then +keep the service running at these times, or intendant sentinel edit nightly --cron PATTERN/,
    )
    t.match(
      lines[4],
      /^unscheduled +nightly .* does not know the time zone Mars\/Olympus +intendant sentinel edit nightly --time-zone ZONE, or start/,
    )
    t.match(
      lines[5],
      /^certificate_expiring +system .* TLS certificate until 20\S+ +renew it, and restart the service$/,
    )
  },
)

t.test('attention shows why no runner may take work, and the commands that help or cancel it', async (t) => {
  const run = { id: `runreq_${'1'.repeat(24)}`, project: 'shop', throttle: 'dry_run', access: 'full', labels: ['gpu'] }
  const told = (kind: string, code: string, document: object) => ({
    kind,
    reason: 'no_runner',
    project: 'shop',
    since: at(1),
    because: { code, detail: `Told by ${code}.` },
    [kind]: document,
  })
  const assessment = { source: { kind: 'initiative', ref: 'pay', role: 'assessment' } }
  const items = [
    told('run_request', 'no_runner_with_labels', run),
    told('run_request', 'no_runner_allowed', { ...run, throttle: 'full', runner_id: 'r2' }),
    told('run_request', 'no_capable_engine', { ...run, work_item_id: ITEM.id }),
    told('work_item', 'no_runner_registered', ITEM),
    told('run_request', 'runner_removed', { ...run, runner_id: 'r9' }),
    told('work_item', 'runner_removed', { ...ITEM, runner_id: 'r9' }),
    told('work_item', 'no_runner_registered', { ...ITEM, source: { kind: 'campaign', ref: 'pay', role: 'advance' } }),
    told('work_item', 'no_runner_allowed', { ...ITEM, ...assessment, payload: { initiative: 'pay' } }),
    told('work_item', 'no_runner_allowed', { ...ITEM, ...assessment, payload: { initiative: 'pay', member: 'x' } }),
  ]
  const { env } = await service(t, () => [200, { items }])
  const lines = (await cli(env, 'attention')).out.split('\n').slice(1)
  const expected = [
    `Told by no_runner_with_labels. intendant runner add ID --project shop --label gpu --save-token, or intendant run-request cancel ${run.id}`,
    `Told by no_runner_allowed. intendant runner edit r2 --trusted --project shop --project OTHER (OTHER: each other project that it has), or intendant run-request cancel ${run.id}`,
    `Told by no_capable_engine. intendant engine list --project shop, or intendant queue cancel ${ITEM.id}`,
    `Told by no_runner_registered. intendant runner add ID --project shop --trusted --save-token, or intendant queue cancel ${ITEM.id}`,
    `Told by runner_removed. intendant run-request cancel ${run.id}`,
    `Told by runner_removed. intendant queue cancel ${ITEM.id}`,
    `Told by no_runner_registered. intendant runner add ID --project shop --save-token, or intendant queue cancel ${ITEM.id}`,
    `Told by no_runner_allowed. intendant runner add ID --project shop --project OTHER --save-token (OTHER: each other project that intendant initiative show pay lists), or intendant queue cancel ${ITEM.id}`,
    `Told by no_runner_allowed. intendant runner add ID --project shop --save-token, or intendant queue cancel ${ITEM.id}`,
  ]
  for (const [n, text] of expected.entries()) t.ok(lines[n]!.startsWith('no_runner ') && lines[n]!.endsWith(text), text)
})
