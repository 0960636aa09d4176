import { hostname } from 'node:os'
import t from 'tap'
import { begin, finish, fleet, submit } from '../http/ledger-harness.ts'
import { startTestService } from '../http/service-harness.ts'
import { NOWHERE } from '../nowhere.ts'
import { cli, service } from './in-process.ts'

const RUN = {
  id: 'runreq_1',
  state: 'queued',
  project: 'demo',
  entry_event: 'greet_requested',
  payload: {},
  throttle: 'dry_run',
  access: 'full',
  lane: 'interactive',
  priority: 0,
  labels: [],
  attempt: 1,
  trace_id: 'a',
  requested_by: { id: 'tok_1', name: 'ada' },
  created_at: '2030-01-01T00:00:00Z',
}

t.test('--help prints examples, environment and exit codes on standard output, and exits with 0', async (t) => {
  const { code, out, err } = await cli({}, '--help')
  t.equal(code, 0)
  t.equal(err, '')
  for (const text of ['Examples:', 'ENGINE_TOKEN', 'Exit codes:', 'run-request', 'attention']) t.match(out, text)
})

t.test('every command has a help text with a description that fits 100 columns', async (t) => {
  const names = [
    'serve',
    'project add',
    'project list',
    'project show',
    'project charter',
    'intent add',
    'intent list',
    'intent show',
    'intent edit',
    'intent accept',
    'intent activate',
    'intent deprecate',
    'intent contradict',
    'intent supersede',
    'intent relate',
    'intent unrelate',
    'intent check',
    'discover',
    'discovery list',
    'discovery show',
    'hypothesis list',
    'hypothesis show',
    'hypothesis accept',
    'hypothesis reject',
    'drift',
    'drift show',
    'drift history',
    'drift classify',
    'drift repair',
    'runner',
    'runner add',
    'runner list',
    'runner show',
    'runner edit',
    'runner drain',
    'runner undrain',
    'runner remove',
    'runner token',
    'run-request create',
    'run-request list',
    'run-request show',
    'run-request log',
    'run-request approve',
    'run-request cancel',
    'run-request requeue',
    'run-request fail',
    'run-request release',
    'task',
    'queue',
    'queue show',
    'queue wait',
    'queue open',
    'queue hold',
    'queue release',
    'queue close',
    'queue cancel',
    'queue resume',
    'queue retry',
    'queue answer',
    'initiative',
    'initiative add',
    'initiative list',
    'initiative show',
    'initiative findings',
    'initiative advance',
    'initiative decide',
    'initiative complete',
    'initiative cancel',
    'initiative owner-action',
    'initiative finding',
    'pacing',
    'pacing show',
    'pacing pause',
    'pacing resume',
    'pacing limit',
    'pacing unlimit',
    'pacing weigh',
    'pacing drain',
    'watch',
    'events',
    'emit',
    'trace',
    'attention',
    'status',
    'completion',
    'token create',
    'token list',
    'token revoke',
    'backup',
    'restore',
    'verify',
    'export',
    'import',
  ]
  for (const name of names) {
    const { code, out } = await cli({}, ...name.split(' '), '--help')
    t.equal(code, 0, name)
    t.match(out, new RegExp(`^Usage: intendant ${name}`), name)
    t.match(out, /\n\n[A-Z].*\.\n/, `${name} says what it does`)
    if (name.endsWith(' list')) t.match(out, /^Usage: intendant [\w-]+ list\|ls /, `${name} has the alias ls`)
    t.notOk(
      out.split('\n').find((line) => line.length > 100),
      `${name} fits 100 columns`,
    )
    t.notMatch(out, /default: \d{4,}\)/, `${name} shows the default of a duration with its unit`)
  }
})

t.test('a faulty command line exits with 2 and names the fault', async (t) => {
  const faults: [string[], RegExp][] = [
    [['frobnicate'], /unknown command/],
    [['project', 'list', '--colour'], /unknown option/],
    [['project', 'list', '--limit', '0'], /--limit.*whole number from 1/],
    [['project', 'add'], /--name/],
    [['run-request', 'create', '--project', 'p', '--entry-event', 'e', '--payload', '[1]'], /--payload.*JSON object/],
    [['run-request', 'create', '--project', 'p', '--entry-event', 'e', '--timeout', '5'], /--timeout.*duration/],
    [['run-request', 'create', '--project', 'p', '--entry-event', 'e', '--brief', 'b'], /go together/],
    [['runner'], /--id ID and --exec COMMAND/],
    [['runner', '--id', 'r1', '--exec', ' '], /--exec.*A shell command is expected/],
    [['serve', '--runner', 'r1', '--exec', ''], /--exec.*A shell command is expected/],
    [['runner', 'edit', 'r1'], /nothing to change/],
    [['serve', '--runner', 'r1'], /go together/],
    [['serve', '--port', '0', '--capacity', '3'], /--capacity and --drain need --runner/],
    [['serve', '--port', '0', '--drain', '1m'], /--capacity and --drain need --runner/],
    [['serve', '--port', 'x'], /--port is "x"/],
    [['watch', '--url', 'ftp://x'], /not an http/],
  ]
  for (const [argv, message] of faults) {
    const { code, err } = await cli({ ENGINE_TOKEN: 'x' }, ...argv)
    t.equal(code, 2, argv.join(' '))
    t.match(err, message)
  }
})

t.test('every command that changes something sends its origin: the host name, and --origin if given', async (t) => {
  const { env, asked } = await service(t, ({ method }) => (method === 'DELETE' ? [204] : [200, { ...RUN, token: 'x' }]))
  const changes = [
    ['project', 'add', '--name', 'n'],
    ['runner', 'add', 'r1'],
    ['runner', 'edit', 'r1', '--capacity', '2'],
    ['runner', 'drain', 'r1'],
    ['runner', 'undrain', 'r1'],
    ['runner', 'remove', 'r1'],
    ['runner', 'token', 'r1'],
    ['run-request', 'create', '--project', 'p', '--entry-event', 'e'],
    ['run-request', 'approve', 'x'],
    ['run-request', 'cancel', 'x'],
    ['run-request', 'requeue', 'x'],
    ['run-request', 'fail', 'x', '--message', 'm'],
    ['run-request', 'release', 'x'],
    ['token', 'create', '--name', 'n'],
    ['token', 'revoke', 'x'],
    ['backup'],
  ]
  for (const argv of changes) {
    for (const [more, origin] of [
      [[], hostname()],
      [['--origin', 'a «b» & c'], `${hostname()} a «b» & c`],
    ] as const) {
      asked.length = 0
      const { err } = await cli(env, ...argv, ...more)
      const [{ method, url, body } = asked[0]!] = asked.filter(({ method }) => method !== 'GET')
      const told = method === 'DELETE' ? new URL(url, 'http://x').searchParams.get('origin') : body.origin
      t.equal(told, origin, `${argv.join(' ')} ${err}`)
    }
  }
  for (const bad of ['', ' ', 'a\nb', 'x'.repeat(181)]) {
    const { code, err } = await cli(env, 'token', 'revoke', 'x', '--origin', bad)
    t.equal(code, 2)
    t.match(err, /--origin(.|\n)*One line/)
  }
})

t.test('without a token a command names the places where it looked', async (t) => {
  const { code, err } = await cli({ ENGINE_URL: 'http://127.0.0.1:1' }, 'project', 'list')
  t.equal(code, 2)
  t.match(err, `ENGINE_TOKEN is not set, and ${NOWHERE}/admin.token does not exist`)
})

t.test('a URL with a password is refused without showing the password', async (t) => {
  const { code, err } = await cli({ ENGINE_URL: 'http://ada:pa55@127.0.0.1:1', ENGINE_TOKEN: 'x' }, 'project', 'list')
  t.equal(code, 2)
  t.match(err, 'ENGINE_URL contains a user or a password')
  t.notMatch(err, 'pa55')
})

t.test('an unreachable service exits with 4 and suggests a remedy', async (t) => {
  const { code, err } = await cli({ ENGINE_URL: 'http://127.0.0.1:4171', ENGINE_TOKEN: 'x' }, 'project', 'list')
  t.equal(code, 4)
  t.match(err, /no answer from http:\/\/127.0.0.1:4171: .*ECONNREFUSED/)
  t.match(err, /intendant serve/)
})

t.test('a refused request exits with 3 and shows the detail, fields, state, allowed moves and code', async (t) => {
  const problem = {
    title: 'Not allowed in the current state',
    status: 409,
    detail: 'A completed request cannot be cancelled.',
    code: 'illegal_move',
    state: 'completed',
    allowed: ['events'],
    errors: [{ pointer: '/reason', detail: 'is too long' }],
  }
  const { env } = await service(t, () => [409, problem])
  const { code, err } = await cli(env, 'run-request', 'cancel', 'runreq_1')
  t.equal(code, 3)
  for (const text of [
    'A completed request cannot be cancelled.',
    '/reason',
    'It is completed',
    'events',
    '409 illegal_move',
  ])
    t.match(err, text)
})

t.test('watch --count continues from its own note without losing an event', async (t) => {
  const s = await startTestService(t)
  for (const key of ['a', 'b', 'c', 'd']) await s.project(key)
  const env = { ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }
  const seen: string[] = []
  for (let since = 'earliest'; seen.length < 4; ) {
    const argv = ['watch', '--event-type', 'project_created', '--since', since, '--count', '1', '--json']
    const { out, err } = await cli(env, ...argv)
    seen.push(JSON.parse(out).payload.key)
    since = /--since (\S+)/.exec(JSON.parse(err).note)![1]!
  }
  t.same(seen, ['a', 'b', 'c', 'd'])
})

t.test('events and watch begin at a time, and say which person caused what', async (t) => {
  const s = await startTestService(t)
  const env = { ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }
  for (const key of ['a', 'b', 'c', 'd']) await s.project(key)
  const { out } = await cli(env, 'events', '--event-type', 'project_created', '--json')
  const recorded: string[] = JSON.parse(out).map((event: any) => event.recorded_at)
  const keysIn = (text: string) => [...text.matchAll(/ key=(\w)/g)].map(([, key]) => key)
  const listed = async (since: string, ...more: string[]) =>
    keysIn((await cli(env, 'events', '--event-type', 'project_created', '--since', since, ...more)).out)
  t.same(await listed(recorded[2]!), ['c', 'd'])
  t.same(await listed(recorded[1]!, '--limit', '2'), ['b', 'c'])
  t.same(await listed(recorded[0]!), ['a', 'b', 'c', 'd'])
  t.same(await listed('24h'), ['a', 'b', 'c', 'd'])
  t.same(await listed('2090-01-31T08:00:00Z'), [])
  const argv = ['watch', '--event-type', 'project_created', '--since', recorded[2]!, '--count', '2']
  t.same(keysIn((await cli(env, ...argv)).out), ['c', 'd'])
  t.match((await cli(env, 'events', '--since', '24h', '--limit', '1000')).out, / key=a .* by admin\n/)
  t.match(await cli(env, 'events', '--since', '2026-11-26'), { code: 2, err: /such as 24h, is expected/ })
})

t.test('watch reports once that it has reconnected after a break', async (t) => {
  const event = (n: number) => ({ event_type: `e${n}`, project: 'demo', occurred_at: RUN.created_at, payload: {} })
  const streams = [
    [{ type: 'hello', cursor: 'e.0', oldest: 'e.0' }],
    [
      { type: 'hello', cursor: 'e.0', oldest: 'e.0' },
      { type: 'bookmark', cursor: 'e.1' },
      { type: 'events', cursor: 'e.2', events: [event(1)] },
    ],
  ]
  const { env } = await service(t, () => {
    const frames = streams.shift()!
    return [200, frames.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')]
  })
  const { err } = await cli(env, 'watch', '--count', '1')
  const [broke, again, ...rest] = err.trimEnd().split('\n')
  t.match(broke, /the stream ended; trying again$/)
  t.equal(again, 'connected again')
  t.same(rest, ['continue with: --since e.2'])
})

t.test('runner drain --wait returns once the runner holds no run', async (t) => {
  const s = await startTestService(t)
  const drain = (...more: string[]) =>
    cli({ ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }, 'runner', 'drain', 'r1', ...more)
  const runner = await fleet(s, 'shop')
  await submit(s)
  const { request_id: id } = await begin(s, runner)
  t.match(await drain(), { code: 0, out: 'Runner r1 is draining; it holds 1 run(s).\n' })
  const early = await drain('--wait-limit', '300ms')
  t.match(early, { code: 6, err: /It still holds work and is still draining\. See: intendant runner show r1/ })
  t.match(early.err, `draining: it holds ${id}`)
  const waiting = drain('--wait')
  const json = drain('--wait', '--json')
  await finish(s, runner, id)
  t.match(await waiting, { code: 0, out: /it holds \d run\(s\)\.\nRunner r1 holds nothing\.\n$/ })
  t.match(JSON.parse((await json).out), { id: 'r1', state: 'draining', in_flight: [] })
})

t.test('a token with characters that no header can carry is refused, neither sent nor shown', async (t) => {
  const { env, asked } = await service(t, () => [200, { items: [] }])
  const token = `itd_${'s'.repeat(40)}`
  const home = t.testdir({ 'two.token': `${token}\n${token}\n`, 'word.token': '# mine\n', 'one.token': `${token}\n` })
  const bad = [
    [{ ...env, ENGINE_TOKEN: `${token}\n${token}` }, ['queue'], /ENGINE_TOKEN contains more than a token/],
    [{ ...env, ENGINE_TOKEN: 'itd_ü“' }, ['queue', '--json'], /ENGINE_TOKEN contains more than a token/],
    [env, ['queue', '--token-file', `${home}/two.token`], /token file .*two.token contains more than a token/],
    [
      env,
      ['runner', '--id', 'r1', '--exec', 'true', '--token-file', `${home}/word.token`],
      /contains more than a token/,
    ],
  ] as const
  for (const [given, argv, words] of bad) {
    const { code, out, err } = await cli(given, ...argv)
    t.match(err, words)
    t.equal(code, 2, argv.join(' '))
    t.notMatch(out + err, token)
  }
  t.same(asked, [])
  t.equal((await cli(env, 'project', 'list', '--token-file', `${home}/one.token`)).code, 0)
})

t.test('an id of only dots is refused without a request', async (t) => {
  const { env, asked } = await service(t, () => [200, { items: [] }])
  for (const argv of [
    ['run-request', 'cancel', '.', '--reason', 'x'],
    ['project', 'show', '..'],
    ['token', 'revoke', '..'],
  ]) {
    const { code, err } = await cli(env, ...argv)
    t.equal(code, 3, argv.join(' '))
    t.match(err, /does not exist/)
  }
  t.same(asked, [])
})

t.test('watch --count and events print the cursor to continue from', async (t) => {
  const event = (n: number) => ({ event_type: `e${n}`, project: 'demo', occurred_at: RUN.created_at, payload: {} })
  const frames = [
    { type: 'hello', cursor: 'e.0', oldest: 'e.0' },
    { type: 'events', cursor: 'e.2', events: [event(1), event(2)] },
    { type: 'bookmark', cursor: 'e.3' },
    { type: 'events', cursor: 'e.5', events: [event(4), event(5)] },
  ]
  const { env } = await service(t, ({ url }) => {
    if (url.startsWith('/api/watch')) return [200, frames.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')]
    const isPart = url.includes('cursor=e.3') && url.includes('limit=1')
    const rest = url.includes('order=desc') ? {} : { next_cursor: isPart ? 'e.4' : 'e.7' }
    return [200, { items: [event(1)], ...rest }, { 'watch-cursor': 'e.9' }]
  })
  for (const [count, cursor] of [
    [2, 'e.2'],
    [3, 'e.4'],
    [4, 'e.5'],
  ] as const) {
    const { out, err } = await cli(env, 'watch', '--since', 'earliest', '--json', '--count', String(count))
    t.equal(out.trim().split('\n').length, count)
    t.same(JSON.parse(err), { note: `continue with: --since ${cursor}` })
  }
  t.match((await cli(env, 'events', '--since', 'e.1', '--limit', '1')).err, 'continue with: --since e.7')
  t.equal((await cli(env, 'events', '--limit', '1')).err, '')
})

t.test('with --json every error is one JSON object on standard error, with the same exit code', async (t) => {
  const problem = {
    type: '/problems/illegal_move',
    title: 'Not allowed in the current state',
    status: 409,
    detail: 'A completed request cannot be cancelled.',
    code: 'illegal_move',
    state: 'completed',
    allowed: [],
    instance: '/api/run-requests/runreq_1/cancel',
  }
  const { env } = await service(t, ({ url }) => (url.includes('runreq_1') ? [409, problem] : [502, 'a proxy']))
  const nobody = { ENGINE_URL: 'http://127.0.0.1:4171', ENGINE_TOKEN: 'x' }
  for (const [line, where, wanted] of [
    ['run-request cancel runreq_1', env, { ...problem, exit_code: 3 }],
    ['project list', env, { status: 502, code: 'http_502', detail: 'a proxy', exit_code: 4 }],
    ['project list', nobody, { code: 'unreachable', title: String, detail: /^no answer from /, exit_code: 4 }],
    ['project list', { ENGINE_URL: 'nowhere' }, { code: 'usage', detail: /ENGINE_URL is "nowhere"/, exit_code: 2 }],
    ['project lst', env, { code: 'usage', detail: /unknown command 'lst'/, exit_code: 2 }],
    ['project show', env, { code: 'usage', detail: /missing required argument 'project'/, exit_code: 2 }],
    ['project list --limit many', env, { code: 'usage', detail: /A whole number/, exit_code: 2 }],
    ['pacing', env, { status: 502, exit_code: 4 }],
    ['token', env, { code: 'usage', detail: 'a command is missing: see --help', exit_code: 2 }],
    ['discover --project x /', env, { code: 'usage', detail: /^\/ cannot be read: EISDIR/, exit_code: 2 }],
    [`trace ingest t1 ${NOWHERE} --project x`, env, { code: 'failed', detail: /ENOTDIR/, exit_code: 1 }],
  ] as const) {
    const { code, out, err } = await cli(where, ...line.split(' '), '--json')
    t.equal(out, '', line)
    t.equal(err.trim().split('\n').length, 1, `${line}: one line`)
    t.match(JSON.parse(err), wanted, line)
    t.equal(code, wanted.exit_code, line)
    const told = await cli(where, ...line.split(' '))
    t.equal(told.code, code, `${line}: the same code without --json`)
    t.notMatch(told.err, /^{/, `${line}: plain words without --json`)
  }
  const asked = await cli(env, 'project', 'list', '--help', '--json')
  t.equal(asked.code, 0)
  t.match(asked.out, 'Usage:')
})

t.test('a service that is temporarily unavailable exits with 4', async (t) => {
  const { env } = await service(t, () => [
    503,
    { status: 503, code: 'disk_reserve', detail: 'The disk is nearly full.' },
  ])
  t.equal((await cli(env, 'project', 'list')).code, 4)
})

t.test('a list is an aligned table or JSON, and its pages are followed up to the limit', async (t) => {
  const project = (key: string) => ({ key, state: 'active', created_at: new Date().toISOString(), name: `The ${key}` })
  const { env, asked } = await service(t, ({ url }) =>
    url.includes('cursor=two')
      ? [200, { items: [project('c')] }]
      : [200, { items: [project('a-long-key'), project('b')], next_cursor: 'two' }],
  )
  const table = await cli(env, 'project', 'list')
  t.equal(table.code, 0)
  const lines = table.out.trimEnd().split('\n')
  t.equal(lines.length, 4)
  t.equal(new Set(lines.map((line) => line.search(/(STATE|active)/))).size, 1, 'the second column is aligned')
  t.equal(asked[0]!.token, 'Bearer secret')
  const json = await cli(env, 'project', 'list', '--json', '--limit', '2')
  t.same(
    JSON.parse(json.out).map((item: any) => item.key),
    ['a-long-key', 'b'],
  )
})

t.test('control characters in names are not printed', async (t) => {
  const { env } = await service(t, () => [
    200,
    { key: 'x', id: 'proj_1', name: 'a\u001b[2Jb\nc', state: 'active', created_at: '' },
  ])
  const { out } = await cli(env, 'project', 'show', 'x')
  t.notOk(out.includes('\u001b'))
  t.match(out, /a \[2Jb c/)
})

t.test('emit without an answer prints the occurred-at to repeat it with', async (t) => {
  const env = { ENGINE_URL: 'http://127.0.0.1:1', ENGINE_TOKEN: 'secret' }
  const { code, err } = await cli(env, 'emit', 'noted', '--project', 'demo')
  t.equal(code, 4)
  const [, at = ''] = /may have been recorded.* add --occurred-at (\S+) /.exec(err) ?? []
  t.ok(Math.abs(Date.now() - Date.parse(at)) < 60_000, err)
  const stated = await service(t, () => [200, { events: ['evt_1'], run_requests: [], duplicates: 0 }])
  t.equal((await cli(stated.env, 'emit', 'noted', '--project', 'demo', '--occurred-at', at)).code, 0)
  t.equal(stated.asked[0]!.body.events[0].occurred_at, at)
  t.match(await cli(env, 'emit', 'noted', '--project', 'demo', '--occurred-at', 'today'), {
    code: 2,
    err: /RFC 3339|A time/,
  })
  t.match((await cli(env, 'emit', '--help')).out, /the same command can be\s+repeated/)
})

t.test('an event emitted without a payload has an empty one', async (t) => {
  const { env, asked } = await service(t, () => [200, { events: ['evt_1'], duplicates: 0, run_requests: [] }])
  t.match(await cli(env, 'emit', 'noted', '--project', 'demo'), { code: 0, out: /Event evt_1/ })
  t.match(asked[0]!.body, { events: [{ event_type: 'noted', payload: {} }] })
  t.match((await cli(env, 'emit', '--help')).out, /--payload <json> +Its payload[^-]+Default: {}\./)
})

t.test('run-request create sends exactly the given options', async (t) => {
  const { env, asked } = await service(t, () => [201, RUN])
  const argv =
    '--project demo --entry-event greet_requested --label a,b --label c --timeout 90s --branch main --idempotency-key k'
  const { code, out } = await cli(env, 'run-request', 'create', ...argv.split(' '), '--payload', '{"name":"Ada"}')
  t.equal(code, 0)
  t.match(out, /runreq_1 is queued/)
  t.equal(asked[0]!.url, '/api/projects/demo/run-requests')
  t.same(asked[0]!.body, {
    entry_event: 'greet_requested',
    payload: { name: 'Ada' },
    labels: ['a', 'b', 'c'],
    repo: { branch: 'main' },
    timeout_seconds: 90,
    origin: hostname(),
  })
})

t.test('create --wait follows the run, shows why it waits, and exits with its outcome', async (t) => {
  for (const [state, code] of [
    ['completed', 0],
    ['failed', 1],
    ['cancelled', 5],
  ] as const) {
    let reads = 0
    const settled = {
      ...RUN,
      state,
      ...(state === 'failed' ? { failure: { class: 'execution', code: 'exit_3', message: 'no' } } : {}),
    }
    const event = (type: string) => ({
      event_type: type,
      project: 'demo',
      occurred_at: RUN.created_at,
      run_request_id: RUN.id,
      payload: { state },
    })
    const frame = {
      type: 'events',
      cursor: 'e.2',
      events: [event('run_request_started'), event(`run_request_${state}`)],
    }
    const { env, asked } = await service(t, ({ method, url }) => {
      if (method === 'POST') return [201, RUN, { 'watch-cursor': 'e.1' }]
      if (url.startsWith('/api/watch')) return [200, `data: ${JSON.stringify(frame)}\n\n`]
      reads += 1
      return [
        200,
        reads === 1
          ? { ...RUN, waiting_because: { code: 'no_runner_online', detail: 'No runner is online.' } }
          : settled,
      ]
    })
    const outcome = await cli(env, 'run-request', 'create', '--project', 'demo', '--entry-event', 'x', '--wait')
    t.equal(outcome.code, code, state)
    t.match(outcome.err, /No runner is online/)
    t.match(outcome.out, new RegExp(`run_request_started.*\\n.*run_request_${state}.*\\nrunreq_1 ${state}\\n$`))
    t.match(asked.find(({ url }) => url.startsWith('/api/watch'))!.url, /run_request_id=runreq_1&since=e.1/)
    if (state === 'failed') t.match(outcome.err, /execution, exit_3: no/)
  }
})

t.test('create --wait tries again when something other than the service answers', async (t) => {
  let reads = 0
  const completed = {
    event_type: 'run_request_completed',
    project: 'demo',
    occurred_at: RUN.created_at,
    run_request_id: RUN.id,
    payload: {},
  }
  const { env } = await service(t, ({ method, url }) => {
    if (method === 'POST') return [201, RUN, { 'watch-cursor': 'e.1' }]
    if (url.startsWith('/api/watch'))
      return [200, `data: ${JSON.stringify({ type: 'events', cursor: 'e.2', events: [completed] })}\n\n`]
    reads += 1
    return reads === 2 ? [404, '404 page not found'] : [200, { ...RUN, state: reads === 1 ? 'started' : 'completed' }]
  })
  const { code, err } = await cli(env, 'run-request', 'create', '--project', 'demo', '--entry-event', 'x', '--wait')
  t.equal(code, 0)
  t.match(err, 'something other than the service answered, with status 404: 404 page not found; trying again')
})

t.test('a wait longer than a timer allows is refused', async (t) => {
  for (const argv of [
    ['runner', '--id', 'r1', '--exec', 'true', '--drain', '30d'],
    ['runner', '--id', 'r1', '--exec', 'true', '--stop-grace', '25d'],
    ['serve', '--drain', '25d', '--runner', 'r1'],
    ['run-request', 'create', '--project', 'p', '--entry-event', 'e', '--wait-limit', '25d'],
    ['task', 'p', 'x', '--wait-limit', '25d'],
    ['emit', 'x_requested', '--project', 'p', '--wait-limit', '25d'],
    ['pacing', 'drain', '--timeout', '25d'],
  ]) {
    const { code, err } = await cli({ ENGINE_URL: 'nowhere' }, ...argv)
    t.equal(code, 2, argv.join(' '))
    t.match(err, /The longest possible wait is 24d/)
  }
})

t.test('a time must be RFC 3339 or a duration from now', async (t) => {
  const { env, asked } = await service(t, () => [201, RUN])
  const create = ['run-request', 'create', '--project', 'p', '--entry-event', 'e', '--not-before']
  for (const time of ['10', '90', '2030', '2030-01-31', '2030-01-31T08:00:00', 'Jan 31 2030', '2030-13-01T08:00:00Z']) {
    const { code, err } = await cli(env, ...create, time)
    t.equal(code, 2, time)
    t.match(err, /A time such as 2030-01-31T08:00:00Z, or a duration from now such as 2h/)
  }
  t.same(asked, [])
  for (const time of ['2030-01-31T08:00:00Z', '2030-01-31T09:00:00.000+01:00']) {
    t.equal((await cli(env, ...create, time)).code, 0)
    t.equal(asked.at(-1)!.body.not_before, '2030-01-31T08:00:00.000Z')
  }
  t.equal((await cli(env, ...create, '9999-12-31T23:59:59-23:59')).code, 0)
  t.equal(asked.at(-1)!.body.not_before, '9999-12-31T23:59:59.999Z')
})

t.test('a duration counts from now by the clock of the service, if that tells its time', async (t) => {
  const hourMs = 3_600_000
  for (const aheadMs of [-2 * hourMs, 0, 2 * hourMs, undefined]) {
    const date = aheadMs === undefined ? '' : new Date(Date.now() + aheadMs).toUTCString()
    const { env, asked } = await service(t, () => [201, RUN, { date }])
    for (const [member, ...argv] of [
      ['expires_at', 'token', 'create', '--name', 'ada', '--role', 'viewer', '--expires'],
      ['expires_at', 'run-request', 'create', '--project', 'p', '--entry-event', 'e', '--expires'],
      ['not_before', 'run-request', 'create', '--project', 'p', '--entry-event', 'e', '--not-before'],
      ['not_before', 'task', 'shop', 'Pay', '--no-wait', '--not-before'],
    ] as const) {
      t.equal((await cli(env, ...argv, '1h', '--json')).code, 0)
      const offMs = Date.parse(asked.at(-1)!.body[member]) - (Date.now() + (aheadMs ?? 0) + hourMs)
      t.ok(Math.abs(offMs) < 30_000, `${argv.join(' ')}: ${offMs} ms off, the service being ${aheadMs} ms ahead`)
    }
  }
})

t.test('create --wait-limit exits with 6 when its time is over', async (t) => {
  const { env } = await service(t, ({ method, url }) =>
    method === 'POST'
      ? [201, RUN]
      : url.startsWith('/api/watch')
        ? [503, { code: 'busy' }]
        : [200, RUN, { 'watch-cursor': 'c' }],
  )
  const { code, err } = await cli(
    env,
    'run-request',
    'create',
    '--project',
    'demo',
    '--entry-event',
    'x',
    '--wait-limit',
    '200ms',
  )
  t.equal(code, 6)
  t.match(err, /run-request show runreq_1/)
})

t.test('run-request show says why a request waits and which command helps', async (t) => {
  const waiting = { ...RUN, waiting_because: { code: 'not_approved', detail: 'Full-throttle work needs an approval.' } }
  const { env } = await service(t, () => [200, waiting])
  const { out } = await cli(env, 'run-request', 'show', 'runreq_1')
  t.match(out, /waits because +Full-throttle work needs an approval. \(not_approved\)/)
  t.match(out, /intendant run-request approve runreq_1/)
})

t.test('run-request show suggests cancelling a request for a removed runner, not adding a runner', async (t) => {
  const why = { code: 'runner_removed', detail: 'Runner r9, which it names, was removed.' }
  const { env } = await service(t, () => [200, { ...RUN, runner_id: 'r9', waiting_because: why }])
  const { out } = await cli(env, 'run-request', 'show', 'runreq_1')
  t.match(
    out,
    /, which it names, was removed[\s\S]*create another without --runner[\s\S]*intendant run-request cancel runreq_1/,
  )
  t.notMatch(out, /runner add/)
})

t.test("a runner started with a person's token says so and how to get its own", async (t) => {
  const { env } = await service(t, () => [403, { status: 403, code: 'not_the_runner', detail: 'd' }])
  const { code, err } = await cli(env, 'runner', '--id', 'r1', '--exec', 'true')
  t.equal(code, 3)
  t.match(err, /not runner r1's own; it comes from ENGINE_TOKEN/)
  t.match(err, /intendant runner token r1 --save-token \(that file is read only if ENGINE_TOKEN is not set\)/)
})

t.test('a runner whose token is unknown names the file that the token came from', async (t) => {
  const { env } = await service(t, () => [401, { status: 401, code: 'unauthenticated', detail: 'd' }])
  const home = t.testdir({ 'admin.token': 'a', 'runner-r1.token': 'r' })
  const { code, err } = await cli(
    { ...env, ENGINE_TOKEN: '', ENGINE_HOME: home },
    ...['runner', '--id', 'r1', '--exec', 'true'],
  )
  t.equal(code, 3)
  t.match(err, `it comes from ${home}/runner-r1.token.`)
  t.match(err, /intendant runner token r1 --save-token\n$/)
})

t.test('with --json a runner logs in lines of JSON', async (t) => {
  const { env } = await service(t, ({ url }) =>
    url.endsWith('/session') ? [200, {}] : [401, { status: 401, code: 'unauthenticated', detail: 'd' }],
  )
  const { err } = await cli(env, 'runner', '--id', 'r1', '--exec', 'true', '--json')
  const said = err
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(said[0], { note: /^runner r1 connected/, at: /Z$/ })
  t.match(said.at(-1), { exit_code: 3 })
})

t.test('a runner that is not registered is told how to register', async (t) => {
  const { env } = await service(t, () => [404, { status: 404, code: 'not_found', detail: 'd' }])
  const { code, err } = await cli(env, 'runner', '--id', 'r1', '--exec', 'true')
  t.equal(code, 3)
  t.match(err, /intendant runner add r1/)
})

t.test('runner add --save-token writes the token to a file that only its owner can read', async (t) => {
  const { readFileSync, statSync } = await import('node:fs')
  const home = t.testdir()
  const { env, asked } = await service(t, () => [201, { id: 'r1', token: 'tok' }])
  const argv = ['runner', 'add', 'r1', '--project', '*', '--capacity', '3', '--trusted', '--save-token']
  const { out } = await cli({ ...env, ENGINE_HOME: home }, ...argv)
  t.notMatch(out, /tok\n/)
  t.equal(readFileSync(`${home}/runner-r1.token`, 'utf8'), 'tok\n')
  t.equal(statSync(`${home}/runner-r1.token`).mode & 0o777, 0o600)
  t.same(asked[0]!.body, {
    id: 'r1',
    allowed_projects: ['*'],
    capacity: 3,
    trusted: true,
    origin: hostname(),
  })
})

t.test(
  'a token that could not be saved is not requested, and one that was not saved comes with the command for a new one',
  async (t) => {
    const { existsSync, mkdirSync, rmSync } = await import('node:fs')
    const home = t.testdir({ file: '' })
    const file = `${home}/runner-r1.token`
    let answer = (): readonly [number, object] => [200, { id: 'r1', token: 'tok' }]
    const { env, asked } = await service(t, () => answer())
    for (const verb of ['add', 'token']) {
      const { code, err } = await cli({ ...env, ENGINE_HOME: `${home}/file` }, 'runner', verb, 'r1', '--save-token')
      t.equal(code, 1)
      t.match(err, /cannot be written to .*\/file\/runner-r1\.token \(.+\); none was requested from the service/)
      t.equal(asked.length, 0)

      answer = () => [409, { status: 409, code: 'already_exists', detail: 'd' }]
      t.equal((await cli({ ...env, ENGINE_HOME: home }, 'runner', verb, 'r1', '--save-token')).code, 3)
      t.notOk(existsSync(file), 'a refusal leaves no file')

      answer = () => {
        rmSync(file)
        mkdirSync(file)
        return [200, { id: 'r1', token: 'tok' }]
      }
      const late = await cli({ ...env, ENGINE_HOME: home }, 'runner', verb, 'r1', '--save-token')
      t.equal(late.code, 1)
      t.match(late.err, /runner r1 has a (new )?token, but it could not be written to .*EISDIR/)
      t.match(late.err, /intendant runner token r1 --save-token\n/)
      t.notMatch(late.err, 'tok\n')
      rmSync(file, { recursive: true })
      asked.length = 0
    }
  },
)

t.test('a refusal does not repeat a state that its detail already names', async (t) => {
  const problem = { status: 409, code: 'illegal_move', detail: 'It is completed.', state: 'completed' }
  const { env } = await service(t, ({ body }) => [
    409,
    { ...problem, ...(body?.reason ? { allowed: ['advance'] } : {}) },
  ])
  t.notMatch((await cli(env, 'queue', 'cancel', 'wi_1')).err, /It is completed\.\n +It is completed/)
  t.match(
    (await cli(env, 'queue', 'cancel', 'wi_1', '--reason', 'r')).err,
    /It is completed\.\n +It accepts: advance\./,
  )
})

t.test('runner edit changes only what is given', async (t) => {
  const runner = {
    id: 'r1',
    state: 'registered',
    allowed_projects: ['a', 'b'],
    labels: [],
    capacity: 1,
    trusted: false,
  }
  const { env, asked } = await service(t, () => [200, runner])
  const { code, out } = await cli(env, 'runner', 'edit', 'r1', '--project', 'a', '--project', 'b', '--no-trusted')
  t.equal(code, 0)
  t.match(out, /projects +a, b/)
  await cli(env, 'runner', 'edit', 'r1', '--trusted')
  await cli(env, 'runner', 'edit', 'r1', '--run-right', 'view,work.submit', '--run-right', 'event.emit')
  await cli(env, 'runner', 'edit', 'r1', '--no-run-right')
  await cli(env, 'runner', 'edit', 'r1', '--no-run-right', '--run-right', 'view')
  t.match((await cli(env, 'runner', 'edit', 'r1', '--run-right', 'token.manage')).err, /Allowed choices are view, /)
  t.same(
    asked.map(({ method, url, body }) => [method, url, body]),
    [
      ['PATCH', '/api/runners/r1', { allowed_projects: ['a', 'b'], trusted: false, origin: hostname() }],
      ['PATCH', '/api/runners/r1', { trusted: true, origin: hostname() }],
      ['PATCH', '/api/runners/r1', { run_rights: ['view', 'work.submit', 'event.emit'], origin: hostname() }],
      ['PATCH', '/api/runners/r1', { run_rights: [], origin: hostname() }],
      ['PATCH', '/api/runners/r1', { run_rights: ['view'], origin: hostname() }],
    ],
  )
})

t.test('the help of a subcommand shows global options, not those of its group', async (t) => {
  const { out } = await cli({}, 'runner', 'token', '--help')
  t.match(out, /Global Options:\n(.*\n)* +--token-file/)
  t.notMatch(out, /--stop-grace/)
})

t.test('a refused token is named by where it comes from', async (t) => {
  const { env } = await service(t, () => [403, { status: 403, code: 'forbidden', detail: 'd' }])
  t.match((await cli({ ...env, ENGINE_TOKEN: 'x' }, 'watch')).err, /comes from ENGINE_TOKEN\./)
  const file = `${t.testdir({ 'a.token': 'x' })}/a.token`
  t.match((await cli({ ...env, ENGINE_TOKEN: 'x' }, '--token-file', file, 'watch')).err, `comes from ${file}.`)
})

t.test('create --wait suggests registering a runner if none may take the run', async (t) => {
  const waits = { ...RUN, waiting_because: { code: 'no_runner_allowed', detail: 'No runner is allowed for demo.' } }
  const { env } = await service(t, ({ method, url }) => {
    if (method === 'POST') return [201, waits, { 'watch-cursor': 'e.1' }]
    return url.startsWith('/api/watch') ? [200, ''] : [200, waits]
  })
  const argv = ['run-request', 'create', '--project', 'demo', '--entry-event', 'x', '--wait', '--wait-limit', '300ms']
  const { code, err } = await cli(env, ...argv)
  t.equal(code, 6)
  t.match(err, /intendant runner add ID --project demo --save-token/)
})

t.test(
  'project add takes the key as its operand, as runner add takes the id, or a name from which it is derived',
  async (t) => {
    const { env, asked } = await service(t, () => [201, { id: 'proj_1', key: 'shop' }])
    const cases = [
      [['shop'], { key: 'shop', name: 'shop' }],
      [['web--shop'], { key: 'web--shop', name: 'web--shop' }],
      [['Web Shop'], { name: 'Web Shop' }],
      [['shop', '--name', 'Web shop'], { key: 'shop', name: 'Web shop' }],
      [['--name', 'Web shop'], { name: 'Web shop' }],
      [['--key', 'shop'], { key: 'shop', name: 'shop' }],
      [['Web Shop', '--key', 'shop'], { key: 'shop', name: 'Web Shop' }],
    ] as const
    for (const [given, sent] of cases) {
      asked.length = 0
      t.equal((await cli(env, 'project', 'add', ...given)).code, 0)
      const { origin: _, ...body } = asked[0]!.body
      t.same(body, sent, given.join(' '))
    }
    asked.length = 0
    const both = await cli(env, 'project', 'add', 'a', '--key', 'b', '--name', 'c')
    t.equal(both.code, 2)
    t.match(both.err, /the key "b", and "a" besides: give one of them/)
    t.match((await cli(env, 'project', 'add')).err, /intendant project add KEY, or --name NAME/)
    t.same(asked, [])
  },
)
