/** Values that no machine may receive are refused at the edge, by name and place: no client input is answered 500. */
import { pino } from 'pino'
import t from 'tap'
import { examples } from '../../http/api-documents/examples.ts'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { raw, startOnDisk, startTestService, type TestService } from './service-harness.ts'

const AT = '2026-01-31T12:00:00Z'
const JSON_TYPE = 'Content-Type: application/json\r\n'

/** JSON texts whose values cannot be serialized again, by the name of their fault. */
const BROKEN = { 'half of a pair': '"\\ud800"', 'half of a pair in a name': '{"\\uDFFF":1}', 'too large': '1e999' }

async function runHeld(s: TestService, token: string, key: string): Promise<{ id: string; run: string }> {
  const { id } = await s.request('greeter', { idempotency_key: key })
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=2', undefined, { token })
  const started = await s.expect(200, 'POST', `/api/run-requests/${id}/started`, {}, { token })
  return { id, run: started.body.run_request.engine_run_id }
}

t.test('/api/version reports the port that the service listens on, even if it was chosen freely', async (t) => {
  const s = await startTestService(t, { port: 0 })
  const { body } = await s.expect(200, 'GET', '/api/version')
  t.equal(body.settings.port, s.service.port)
})

t.test('the example of /api/version has the names that it answers with', async (t) => {
  const s = await startTestService(t)
  const { body } = await s.expect(200, 'GET', '/api/version')
  const example = examples['GET /api/version']!.answer as Record<'limits' | 'settings', object>
  for (const part of ['limits', 'settings'] as const)
    for (const name of Object.keys(example[part])) t.type(body[part][name], name === 'host' ? 'string' : 'number', name)
})

t.test('/api/version reports the maintenance limits to any runner', async (t) => {
  const s = await startTestService(t, { majorTasksPerNight: 0 })
  const token = await s.runner('r1')
  const { limits, settings } = (await s.expect(200, 'GET', '/api/version', undefined, { token })).body
  for (const told of [limits, settings]) t.match(told, { major_tasks_per_project: 2, major_tasks_per_night: 0 })
})

t.test('values that JSON cannot represent are refused with their place, at every endpoint', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1', { capacity: 10 })
  const path = '/api/projects/greeter/run-requests'
  for (const [name, value] of Object.entries(BROKEN)) {
    const { id, run } = await runHeld(s, token, name)
    const doors: [path: string, body: string, pointer: string, token?: string][] = [
      [path, `{"entry_event":"x","payload":{"a":${value}}}`, '/payload/a'],
      [path, `{"entry_event":"x","idempotency_key":"k","payload":{"a":[${value}]}}`, '/payload/a/0'],
      ['/api/projects/greeter/formation-briefs', `{"mission":{"objective":"x","y":${value}}}`, '/mission/y'],
      [`/api/run-requests/${id}/completed`, `{"result":{"x":${value}}}`, '/result/x', token],
      [
        `/api/run-requests/${id}/failed`,
        `{"class":"safety","message":"m","result":{"x":${value}}}`,
        '/result/x',
        token,
      ],
      [`/api/engine-runs/${run}/trace-summary`, `{"x":${value}}`, '/x', token],
    ]
    for (const [door, body, pointer, by = s.admin] of doors) {
      const refused = await s.expect(422, 'POST', door, body, { token: by })
      t.match(refused.body, { code: 'invalid_body', errors: [{ pointer }] }, `${name}: ${door}`)
    }
    const event = `{"event_type":"x","occurred_at":"${AT}","payload":{"a":${value}}}`
    const posted = await s.expect(422, 'POST', `/api/run-requests/${id}/events`, `{"events":[${event}]}`, { token })
    t.match(posted.body, { code: 'invalid_event', errors: [{ pointer: '/events/0/payload/a' }] }, name)
  }
  const texts: [method: string, path: string, body: string, pointer: string][] = [
    ['POST', '/api/projects', '{"name":"\\ud800"}', '/name'],
    ['PATCH', '/api/projects/greeter', '{"repository":"\\udc00\\ud800"}', '/repository'],
    ['PUT', '/api/projects/greeter/charter', '{"mission":"a\\uDBFF"}', '/mission'],
    ['POST', '/api/tokens', '{"name":"\\ud800","roles":["viewer"]}', '/name'],
    ['POST', '/api/runners', '{"id":"r2","name":"\\ud800"}', '/name'],
  ]
  for (const [method, door, body, pointer] of texts) {
    t.match((await s.expect(422, method, door, body)).body, { errors: [{ pointer }] }, door)
  }
  const stray = `{"events":[{"project":"greeter","event_type":"x","occurred_at":"${AT}","payload":{},"gather_id":"\\ud800"}]}`
  t.equal((await s.expect(422, 'POST', '/api/events', stray)).body.errors[0].pointer, '/events/0/gather_id')
  const whole = await s.expect(
    201,
    'POST',
    path,
    '{"entry_event":"x","payload":{"a":"\\ud83d\\ude00","b":1e30,"c":"e999"}}',
  )
  t.same(whole.body.payload, { a: '😀', b: 1e30, c: 'e999' })
  const proto = await s.expect(201, 'POST', path, '{"entry_event":"x","payload":{"__proto__":{"x":1}}}')
  t.equal(JSON.stringify(proto.body.payload), '{"__proto__":{"x":1}}', 'allowed as a member of an open object')
})

t.test('a duplicate member is refused with its place', async (t) => {
  const s = await startTestService(t)
  const refused = await s.expect(400, 'POST', '/api/projects', '{"name":"a","key":"k","name":"b"}')
  t.match(refused.body, { code: 'malformed_body', errors: [{ pointer: '/name' }] })
  await s.project('greeter')
  const nested = '{"entry_event":"x","payload":{"list":[{"a":1,"b":":"},{"a":1,"a":2}]}}'
  const deep = await s.expect(400, 'POST', '/api/projects/greeter/run-requests', nested)
  t.equal(deep.body.errors[0].pointer, '/payload/list/1/a')
})

t.test('a leap second is refused as a time when something is due, and accepted in events', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const leap = '2030-12-31T23:59:60Z'
  const tokens = await s.expect(422, 'POST', '/api/tokens', { name: 'x', roles: ['viewer'], expires_at: leap })
  t.equal(tokens.body.errors[0].pointer, '/expires_at')
  for (const field of ['not_before', 'expires_at']) {
    const body = { entry_event: 'greet_requested', [field]: leap }
    const refused = await s.expect(422, 'POST', '/api/projects/greeter/run-requests', body)
    t.match(refused.body, { code: 'invalid_body', detail: new RegExp(`${field} is in a leap second`) })
    t.equal(refused.body.errors[0].pointer, `/${field}`)
  }
  const event = { project: 'greeter', event_type: 'x', occurred_at: leap, payload: {} }
  await s.expect(200, 'POST', '/api/events', { events: [event] })
})

t.test('overlong ids and ids with control characters are answered as not found, on the real storage', async (t) => {
  const home = t.testdir()
  const s = await startTestService(
    t,
    { home },
    { openJournal: (onFailure) => openDiskJournal({ home, diskReserveBytes: 0, onFailure }) },
  )
  await s.project('greeter')
  const long = 'x'.repeat(5_000)
  const emoji = encodeURIComponent('😀'.repeat(128))
  for (const path of [
    `/api/runners/${long}`,
    `/api/traces/${long}`,
    '/api/runners/%00',
    '/api/traces/a%00b',
    `/api/projects/${long}`,
  ]) {
    t.equal((await s.call('GET', path)).status, 404, path.slice(0, 60))
  }
  for (const query of [
    `events?run_request_id=${long}`,
    `events?trace_id=${long}`,
    `events?item_id=${long}`,
    `run-requests?label=${emoji}`,
    `run-requests?runner=${emoji}`,
    'run-requests?label=%00',
  ]) {
    t.same((await s.expect(200, 'GET', `/api/${query}`)).body.items, [], query.slice(0, 60))
  }
  t.equal((await s.call('PATCH', `/api/runners/${long}`, { capacity: 2 })).status, 404)
  for (const kind of ['project', 'runner', 'run_request', 'engine_run', 'formation_brief', 'token'] as const) {
    for (const id of [long, 'a\u0001b', '', '😀'.repeat(600)]) {
      t.equal(s.service.runtime.read({ kind, id }), undefined, 'read throws for no text')
    }
  }
})

t.test('a runner id of the maximum length works, on the real storage', async (t) => {
  const s = await startOnDisk(t, t.testdir())
  await s.project('greeter')
  const id = 'r'.repeat(128)
  const token = await s.runner(id)
  const made = await s.request('greeter')
  const offer = await s.expect(200, 'GET', `/api/runners/${id}/run-requests/next?wait=2`, undefined, { token })
  t.equal(offer.body.request_id, made.id)
  t.equal((await s.expect(200, 'GET', `/api/run-requests?runner=${id}`)).body.items.length, 1)
  await s.expect(422, 'POST', '/api/runners', { id: `${id}r` })
})

t.test('a request with an invalid, repeated or ambiguous body length is answered 400', async (t) => {
  const s = await startTestService(t)
  const { port } = s.service
  const head = `POST /api/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${s.admin}\r\n${JSON_TYPE}`
  const body = '{"name":"x"}'
  for (const framing of [
    'Content-Length: abc',
    'Content-Length: 1e3',
    'Content-Length: -1',
    'Content-Length: 12, 12',
    'Content-Length: 12\r\nContent-Length: 2',
    'Content-Length: 12\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: gzip, chunked',
  ]) {
    const answered = await raw(port, [`${head}${framing}\r\n\r\n${body}`], 150)
    t.match(answered, /^HTTP\/1.1 400 /, framing)
    t.equal(answered.split('HTTP/1.1 ').length, 2, `${framing}: the rest is not taken for a request`)
  }
  const empty = `${head}Content-Length:\r\n\r\n`
  t.match(await raw(port, [empty], 150), /^HTTP\/1.1 400 /, 'an empty length')
  t.notMatch(await raw(port, [`${empty}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`], 150), / 200 OK/)
  const { body: metrics } = await s.call('GET', '/metrics')
  t.match(metrics, /intendant_http_body_bytes_in_flight 0\n/, 'the total of bodies in flight is still a number')
  t.same((await s.expect(200, 'GET', '/api/projects')).body.items, [])
})

t.test('a request with two Host headers is answered 400', async (t) => {
  const s = await startTestService(t)
  const request = `GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n`
  // The library's binary for Node.js 24 refuses such a request by itself.
  t.match(await raw(s.service.port, [request], 150), /^HTTP\/1.1 400 [\s\S]*(two Host headers|<h1>Bad Request)/)
})

t.test(
  'each request is one log line at level debug, with ids and without secrets, and none at level info',
  async (t) => {
    const lines: Record<string, any>[] = []
    const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line)) })
    const s = await startTestService(t, {}, { log })
    const made = await s.project('greeter')
    await s.expect(404, 'GET', '/api/projects/nothing?', undefined)
    await s.expect(401, 'GET', '/api/projects', undefined, { token: 'itd_wrong' })
    await s.call('POST', '/api/nowhere', {})
    const answered = lines.filter((line) => line.msg === 'answered' && line.route !== '/openapi.json')
    t.match(answered, [
      { method: 'POST', route: '/api/projects', path: '/api/projects', status: 201, by: /^tok_/, ms: Number },
      { method: 'GET', route: '/api/projects/:id', path: '/api/projects/nothing', status: 404, problem: 'not_found' },
      { method: 'GET', route: '/api/projects', status: 401, problem: 'unauthenticated' },
      { method: 'POST', route: '/*', path: '/api/nowhere', status: 404, problem: 'no_such_route' },
    ])
    t.equal(answered.length, 4)
    t.notMatch(JSON.stringify(lines), /itd_|Bearer/)
    t.ok(made)
    const quiet: string[] = []
    const silent = await startTestService(
      t,
      {},
      { log: pino({ level: 'info' }, { write: (line: string) => quiet.push(line) }) },
    )
    await silent.project('greeter')
    t.notMatch(quiet.join(''), /answered/)
  },
)
