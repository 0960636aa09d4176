import { connect } from 'node:net'
import { pino } from 'pino'
import t from 'tap'
import { NAMES_MAX, valuesMax } from '../../http/bodies/json-text.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { MemoryJournal } from '../storage/memory.ts'
import { until } from '../until.ts'
import { metric, raw, startTestService } from './service-harness.ts'

const POST_PROJECT = (admin: string, more: string): string =>
  `POST /api/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${admin}\r\n${more}`

const JSON_TYPE = 'Content-Type: application/json\r\n'

t.test('a faulty body, header or path is answered with a problem that names the fault', async (t) => {
  const s = await startTestService(t)
  const post = (body: string, headers: Record<string, string> = {}) =>
    s.call('POST', '/api/projects', body, { headers })
  const malformed = await post('{"key": "a",\n "name": }')
  t.match(malformed, { status: 400, body: { code: 'malformed_body' } })
  t.match(malformed.body.detail, /Line 2, column 10: unexpected "}"/)
  t.match(await post('{"key": "a"'), { status: 400, body: { code: 'malformed_body' } })
  t.match(await post('\ufeff{"name":"a"}'), { status: 400, body: { code: 'malformed_body' } })
  t.match(await post('[]'), { status: 422, body: { code: 'invalid_body' } })
  t.match(await post('null'), { status: 422, body: { code: 'invalid_body' } })
  t.match(await post('{"name":"a","__proto__":{"x":1}}'), { status: 422, body: { code: 'invalid_body' } })
  t.match(await post(`${'['.repeat(100_000)}${']'.repeat(100_000)}`), { status: 400, body: { code: 'body_too_deep' } })
  t.match(
    await post(`{"name":"${'['.repeat(200)}"}`),
    { status: 422 },
    'brackets inside a string do not count as nesting',
  )
  t.match(await post('{"name":"a"}', { 'content-type': 'text/plain' }), {
    status: 415,
    body: { code: 'unsupported_media_type' },
  })
  t.match(await post('{"name":"a"}', { 'content-type': 'application/json; charset=latin1' }), { status: 415 })
  const packed = await post('{"name":"a"}', { 'content-encoding': 'gzip' })
  t.match(packed, { status: 415, body: { code: 'unsupported_content_encoding' } })
  t.equal(packed.headers.get('accept-encoding'), 'identity')
  t.match(await post('{"name":"Plain"}', { 'content-encoding': 'identity' }), { status: 201 })
  t.match(await post('{"name":"Utf"}', { 'content-type': 'application/json; charset=UTF-8' }), { status: 201 })
  t.match(await post(`{"name":"${'x'.repeat(1_100_000)}"}`), { status: 413, body: { code: 'body_too_large' } })
  t.match(await s.call('GET', '/api/projects', undefined, { headers: { accept: 'text/html' } }), {
    status: 406,
    body: { code: 'not_acceptable' },
  })
  t.match(await s.call('GET', '/api/projects', undefined, { headers: { accept: 'text/html, application/*;q=0.2' } }), {
    status: 200,
  })
  t.match(await s.call('GET', '/api/projects', undefined, { headers: { 'api-version': '2' } }), {
    status: 400,
    body: { code: 'unsupported_api_version' },
  })
  t.match(await s.call('GET', '/api/projects/%zz'), { status: 400, body: { code: 'malformed_path' } })
  t.match(await s.call('GET', '/api/projects/%2e%2e%2fetc'), { status: 404 })
  t.match(await s.call('GET', '/api/projects/'), { status: 404, body: { code: 'no_such_route' } })
  const wrongMethod = await s.call('DELETE', '/api/projects')
  t.match(wrongMethod, { status: 405, body: { code: 'method_not_allowed' } })
  t.equal(wrongMethod.headers.get('allow'), 'POST, GET, HEAD, OPTIONS')
})

t.test('a body with too many members and elements, or too many different names, is refused at any depth', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const { body, events } = valuesMax
  const limits = (await s.expect(200, 'GET', '/api/version')).body.limits
  t.match(limits, {
    body_values_max: body,
    events_body_values_max: events,
    ingest_event_values_max: valuesMax.line,
    member_names_max: NAMES_MAX,
  })
  const request = (payload: string) =>
    s.call('POST', '/api/projects/greeter/run-requests', `{"entry_event":"x","payload":${payload}}`)
  const elements = (count: number): string => `[${'1,'.repeat(count - 1)}1]`
  // `entry_event`, `payload` and `a` beside the elements.
  t.equal((await request(`{"a":${elements(body - 3)}}`)).status, 201)
  const place = `Line 1, column ${'{"entry_event":"x","payload":{"a":['.length + 2 * (body - 3)}`
  t.match(await request(`{"a":${elements(body - 2)}}`), {
    status: 413,
    body: {
      code: 'body_too_wide',
      detail: `${place}: one member or element too many; at most ${body} of both together are taken.`,
    },
  })
  const members = (count: number): string => Array.from({ length: count }, (_, i) => `"k${i}":0`).join()
  t.equal((await request(`{${members(NAMES_MAX - 2)}}`)).status, 201)
  t.match(await request(`{${members(1.1 * NAMES_MAX)}}`), {
    status: 413,
    body: {
      code: 'body_too_wide',
      detail: /^Line 1, column \d+: one name too many; at most 10000 different names of members are taken\.$/,
    },
  })
  const records = `[${'{"a":1,"b":2},'.repeat(2 * NAMES_MAX)}{}]`
  t.equal((await request(`{"a":${records}}`)).status, 201, 'the same names again')
  t.match(await request(`[${'{},'.repeat(body)}{}]`), { status: 413, body: { code: 'body_too_wide' } })
  t.equal((await request(`{"a":"${'1,'.repeat(2 * body)}"}`)).status, 201, 'commas in a string are not counted')
  const event = `"event_type":"x","project":"greeter","occurred_at":"${new Date().toISOString()}"`
  const emit = (count: number) =>
    s.call('POST', '/api/events', `{"events":[{${event},"payload":{"a":${elements(count)}}}]}`)
  t.match(await emit(events - 7), { status: 200 })
  t.match(await emit(events - 6), { status: 413, body: { code: 'body_too_wide' } })
})

t.test('HEAD answers the length of the body, OPTIONS the allowed methods', async (t) => {
  const s = await startTestService(t)
  const head = await fetch(`${s.service.url}/healthz`, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(head.headers.get('content-length'), '15')
  const options = await fetch(`${s.service.url}/api/runners/x`, { method: 'OPTIONS' })
  t.equal(options.status, 204)
  t.equal(options.headers.get('allow'), 'GET, HEAD, PATCH, DELETE, OPTIONS')
})

t.test('HEAD is refused where GET would take work or reset a value', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1')
  const { id } = await s.request('greeter')
  const path = '/api/runners/r1/run-requests/next'
  for (const [asked, by] of [
    [path, token],
    ['/metrics', s.admin],
  ]) {
    const head = await fetch(s.service.url + asked, { method: 'HEAD', headers: { authorization: `Bearer ${by}` } })
    t.equal(head.status, 405)
    t.equal(head.headers.get('allow'), 'GET, OPTIONS')
  }
  t.match((await s.expect(200, 'GET', `/api/run-requests/${id}`)).body, { state: 'queued', attempt: 1 })
  t.equal((await s.expect(200, 'GET', path, undefined, { token })).body.request_id, id)
})

t.test('malformed, truncated or noisy bytes on a connection do not disturb the service', async (t) => {
  const s = await startTestService(t)
  const { port } = s.service
  const { admin } = s
  const body = '{"name":"Chunked"}'
  const whole = POST_PROJECT(admin, `${JSON_TYPE}Content-Length: ${body.length}\r\n\r\n${body}`)
  t.match(await raw(port, [whole.slice(0, 40), whole.slice(40, 120), whole.slice(120)]), /^HTTP\/1.1 201/)
  const chunked = POST_PROJECT(admin, `${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`)
  const pieces = ['{"name":', '"Chunked ', 'two"}'].map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
  t.match(await raw(port, [chunked, ...pieces, '0\r\n\r\n']), /^HTTP\/1.1 201/)
  const invalid = Buffer.concat([
    Buffer.from(POST_PROJECT(admin, `${JSON_TYPE}Content-Length: 12\r\n\r\n{"name":"`)),
    Buffer.from([0xff]),
    Buffer.from('"}'),
  ])
  t.match(await raw(port, [invalid]), /not valid UTF-8/)
  t.match(await raw(port, [POST_PROJECT(admin, `${JSON_TYPE}Content-Length: 0\r\n\r\n`)]), /The body is empty/)
  t.match(await raw(port, [POST_PROJECT(admin, `${JSON_TYPE}Content-Length: 99999999999\r\n\r\n{`)]), /^HTTP\/1.1 413/)
  const tooLong = POST_PROJECT(admin, `${JSON_TYPE}Content-Length: 8000000\r\n\r\n${'x'.repeat(8_000_000)}`)
  const after = await raw(port, [tooLong, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'], 1_500)
  t.match(
    after,
    /^HTTP\/1.1 413[\s\S]*HTTP\/1.1 200/,
    'the connection still serves the next request after an oversized body is dropped',
  )
  const large = `X-Large: ${'a'.repeat(17_000)}\r\n`
  t.match(await raw(port, [`GET /healthz HTTP/1.1\r\nHost: x\r\n${large}\r\n`]), /^HTTP\/1.1 431/)
  t.match(
    await raw(port, [`GET /api/projects/sh%6Fp HTTP/1.1\r\nHost: x\r\n${large}\r\n`]),
    /"instance":"\/api\/projects\/shop"/,
    'a problem that comes before the checks names the path, too, and not the route',
  )
  await raw(port, [`GET /healthz HTTP/1.1\r\nHost: x\r\n${large.slice(0, 9_000)}`, 'a'.repeat(9_000), '\r\n\r\n'])
  for (const noise of [
    '\0\0\0\0',
    'GET\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'G'.repeat(100_000),
    `${whole.slice(0, -5)}`,
    'POST /api/projects HTTP/1.1\r\n\r\n',
    chunked,
    `${chunked}zz\r\n`,
  ]) {
    await raw(port, [noise], 100)
  }
  const two = `GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`
  t.equal(
    (await raw(port, [two + two + two])).split('{"status":"ok"}').length,
    4,
    'every pipelined request is answered',
  )
  await s.expect(200, 'GET', '/api/projects')
})

t.test('the bytes of all bodies in flight are bounded, and an aborted body gives its bytes back', async (t) => {
  const s = await startTestService(t, { bodiesInFlightBytesMax: 1_500_000 })
  const { port } = s.service
  const half = POST_PROJECT(s.admin, `${JSON_TYPE}Content-Length: 1000000\r\n\r\n{"name":"`)
  const inFlight = () => metric(s, 'intendant_http_body_bytes_in_flight')
  /** Sends the first part of a body; the returned function aborts it. */
  const begin = async (): Promise<() => Promise<unknown>> => {
    const socket = connect(port, '127.0.0.1')
    socket.write(half)
    await until(inFlight, (bytes) => bytes > 0)
    return () => {
      socket.destroy()
      return until(inFlight, (bytes) => bytes === 0)
    }
  }
  const breakOff = await begin()
  const second = await raw(port, [half], 150)
  t.match(second, /^HTTP\/1.1 503/)
  t.match(second, /Retry-After: 1/)
  t.match(second, /bodies_in_flight/)
  await breakOff()
  await (await begin())()
})

t.test('a poll whose client disconnects leaves its request queued and its place free', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const token = await s.runner('r1')
  const next = (wait: number, signal?: AbortSignal) =>
    s.call('GET', `/api/runners/r1/run-requests/next?wait=${wait}`, undefined, { token, ...(signal && { signal }) })
  const parked = (count: number) =>
    until(
      () => metric(s, 'intendant_parked_polls'),
      (now) => now === count,
    )
  for (const time of ['first', 'second']) {
    const client = new AbortController()
    const polls = [next(30, client.signal), next(30, client.signal)].map((poll) => t.rejects(poll, time))
    await parked(2)
    t.equal((await next(30)).body.code, 'too_many_polls', `${time}: both places are taken`)
    client.abort()
    await Promise.all(polls)
    await parked(0)
  }
  const made = await s.request('greeter')
  t.equal((await s.expect(200, 'GET', `/api/run-requests/${made.id}`)).body.state, 'queued')
  t.equal((await next(2)).body.request_id, made.id)
})

t.test('a graceful stop answers parked polls with 204 and accepts no new connection', async (t) => {
  const s = await startTestService(t)
  const token = await s.runner('r1')
  const parked = s.call('GET', '/api/runners/r1/run-requests/next?wait=30', undefined, { token })
  await until(
    () => metric(s, 'intendant_parked_polls'),
    (parked) => parked === 1,
  )
  const begun = performance.now()
  await s.service.close()
  t.equal((await parked).status, 204)
  t.ok(performance.now() - begun < 2_000)
  await t.rejects(fetch(`${s.service.url}/healthz`))
})

t.test('a service that refuses writes says why, and still answers reads', async (t) => {
  const journal = new MemoryJournal()
  const s = await startTestService(t, {}, { openJournal: async () => journal })
  await s.project('greeter')
  journal.refuse('disk_reserve')
  const refused = await s.expect(503, 'POST', '/api/projects', { name: 'Other' })
  t.match(refused.body, {
    code: 'disk_reserve',
    retryable: true,
    detail: /less than `disk_reserve` of the disk is free/,
  })
  t.equal(refused.headers.get('retry-after'), '30', 'the pause that the table of problems states')
  await s.expect(200, 'GET', '/api/projects/greeter')
  const unready = await s.expect(503, 'GET', '/readyz')
  t.match(unready.body, { code: 'disk_reserve', detail: refused.body.detail })
  t.equal(unready.headers.get('retry-after'), '30')
  await s.expect(200, 'GET', '/healthz')
  journal.refuse(undefined)
  await s.expect(200, 'GET', '/readyz')
})

t.test(
  'the log says once when the service stops taking writes and until when, and once when it takes them again',
  async (t) => {
    const journal = new MemoryJournal()
    const platform = new AdvanceablePlatform()
    const lines: any[] = []
    const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) })
    await startTestService(t, {}, { openJournal: async () => journal, platform, log })
    const told = (): any[] => lines.splice(0).filter(({ level }) => level >= 40)
    /** Timers that are due by then run before the one set here. */
    const look = (): Promise<void> => {
      platform.advance(2_000)
      return new Promise((resolve) => platform.setTimer(resolve, 0))
    }
    t.same(told(), [])
    for (const [reason, msg] of [
      ['disk_reserve', /accepts no writes until more than disk_reserve is free/],
      ['read_only', /accepts no writes until it is restarted with more than disk_reserve free/],
    ] as const) {
      journal.refuse(reason)
      await look()
      await look()
      t.match(told(), [{ reason, msg }])
    }
    journal.refuse('view_backlog')
    await look()
    t.same(told(), [], 'nothing is logged: a view backlog passes within moments')
    journal.refuse(undefined)
    await look()
    t.match(told(), [{ reason: 'read_only', msg: /disk space is available: the service accepts writes again/ }])
  },
)
