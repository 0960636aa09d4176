/** A whole trace into the log: streamed, tolerant, idempotent, and without effects. */
import t from 'tap'
import { valuesMax } from '../../http/bodies/json-text.ts'
import { ingester } from '../../machines/events/envelope.ts'
import { retentionSweepMs } from '../../runtime/limits.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { until } from '../until.ts'
import { raw, startOnDisk, startTestService, type TestService } from './service-harness.ts'

const TRACE = 'a'.repeat(32)
const PATH = `/engine/traces/${TRACE}/ingest`
const AT = '2026-01-31T12:00:00Z'
const HOUR_MS = 3_600_000

const event = (n: number, more: object = {}) => ({
  id: `evt_${n.toString(16).padStart(16, '0')}`,
  event_type: 'greeting_composed',
  project: 'greeter',
  occurred_at: AT,
  throttle: 'dry_run',
  payload: { greeting: `Hello, ${n}!` },
  ...more,
})
const lines = (events: readonly unknown[]): string => events.map((one) => `${JSON.stringify(one)}\n`).join('')
const JSON_LINES = { headers: { 'content-type': 'application/x-ndjson' } }

async function start(t: Parameters<typeof startTestService>[0], ...more: any[]): Promise<TestService> {
  const s = await startTestService(t, ...more)
  await s.project('greeter')
  return s
}

t.test('a trace is ingested as JSON or JSON lines, each event once, with its own id if it has one', async (t) => {
  const s = await start(t)
  const events = [event(1), event(2, { trace_id: null }), { ...event(3), id: undefined }]
  const first = await s.expect(200, 'POST', PATH, events)
  t.match(first.body, { trace_id: TRACE, accepted: 3, duplicates: 0, refused_count: 0, marked_count: 0 })
  const again = await s.expect(200, 'POST', PATH, lines([...events, event(4)]), JSON_LINES)
  t.match(again.body, { accepted: 1, duplicates: 3 })
  const wrapped = await s.expect(200, 'POST', PATH, { events })
  t.match(wrapped.body, { accepted: 0, duplicates: 3 })
  const trace = (await s.expect(200, 'GET', `/api/traces/${TRACE}`)).body
  const taken = trace.events.filter((one: any) => one.event_type === 'greeting_composed')
  t.strictSame(
    taken.map((one: any) => one.payload.greeting),
    ['Hello, 1!', 'Hello, 2!', 'Hello, 3!', 'Hello, 4!'],
  )
  t.equal(taken[0].id, event(1).id, 'the id of another engine is kept')
  t.match(taken[2].id, /^evt_[0-9a-f]{32}$/, 'one without an id is given one')
  const { items } = (await s.expect(200, 'GET', '/api/tokens')).body
  t.strictSame(taken[0].by, ingester({ id: items[0].id, name: 'admin', origin: 'admin@127.0.0.1' }))
  const told = trace.events.filter((one: any) => one.event_type === 'trace_ingested')
  t.strictSame(
    told.map(({ payload, by }: any) => [payload, by.name]),
    [
      [{ accepted: 3, duplicates: 0, refused: 0, trace_id: TRACE }, 'admin'],
      [{ accepted: 1, duplicates: 3, refused: 0, trace_id: TRACE }, 'admin'],
    ],
    'an ingest that adds nothing is not recorded',
  )
})

t.test('a faulty line is refused with its number, and the others are accepted', async (t) => {
  const s = await start(t)
  const body = [
    JSON.stringify(event(1)),
    '{"event_type":',
    '',
    '[]',
    JSON.stringify(event(2, { event_type: 'work_item_settled' })),
    JSON.stringify(event(3, { trace_id: 'b'.repeat(32) })),
    JSON.stringify(event(4, { project: 'nowhere' })),
    JSON.stringify(event(5, { occurred_at: 'yesterday' })),
    '{"event_type":"x","event_type":"y"}',
    JSON.stringify(event(6, { payload: { greeting: 'x'.repeat(600_000) } })),
    JSON.stringify(event(7)).replace('Hello, 7!', '\\ud800'),
    JSON.stringify(event(8, { payload: { greeting: 7 } })),
    JSON.stringify(event(9, { event_type: 'unheard_of', payload: {} })),
  ].join('\n')
  const { body: report } = await s.expect(200, 'POST', PATH, body, JSON_LINES)
  t.match(report, { accepted: 3, duplicates: 0, refused_count: 9, marked_count: 1 })
  t.strictSame(
    report.refused.map(({ line, errors }: any) => [line, errors[0].pointer]),
    [
      [2, ''],
      [4, ''],
      [5, '/event_type'],
      [6, '/trace_id'],
      [7, '/project'],
      [8, '/occurred_at'],
      [9, '/event_type'],
      [10, ''],
      [11, '/payload/greeting'],
    ],
  )
  t.match(report.refused[0].errors, [{ detail: /^Column 15: unexpected end of the line/ }])
  t.match(report.marked, [{ line: 12, errors: [{ pointer: '/payload/greeting', detail: /must be a string/ }] }])
})

t.test('a line with too many members and elements is refused, and the others are accepted', async (t) => {
  const s = await start(t)
  const of = (count: number): string =>
    JSON.stringify(event(1, { event_type: 'x', payload: { all: [] } })).replace('[]', `[${'1,'.repeat(count - 1)}1]`)
  const members = Object.keys(event(1)).length + 1
  const texts = [of(valuesMax.line - members), of(valuesMax.line - members + 1), JSON.stringify(event(2))]
  const { body } = await s.expect(200, 'POST', PATH, texts.join('\n'), JSON_LINES)
  t.match(body, { accepted: 2, refused_count: 1 })
  t.match(body.refused, [{ line: 2, errors: [{ detail: /^Column \d+: one member or element too many; at most / }] }])
})

t.test('the list of refused lines is bounded, their count is not', async (t) => {
  const s = await start(t)
  const { body } = await s.expect(200, 'POST', PATH, '{}\n'.repeat(1_500), JSON_LINES)
  t.equal(body.refused_count, 1_500)
  t.equal(body.refused.length, 200)
  t.equal(body.refused[199].line, 200)
})

t.test('a malformed body is answered 400, and the events before the fault stay', async (t) => {
  const s = await start(t)
  const broken = `[${JSON.stringify(event(1))},${JSON.stringify(event(2))},`
  const { body } = await s.expect(400, 'POST', PATH, broken)
  t.match(body, { code: 'malformed_body', accepted: 2, duplicates: 0, detail: /ends before its array does/ })
  t.match((await s.expect(200, 'POST', PATH, `${broken.slice(0, -1)}]`)).body, { accepted: 0, duplicates: 2 })
  t.equal((await s.expect(400, 'POST', PATH, '{"other":[]}')).body.code, 'malformed_body')
  t.equal((await s.expect(400, 'POST', PATH, '')).body.code, 'malformed_body')
  t.match((await s.expect(200, 'POST', PATH, '', JSON_LINES)).body, { accepted: 0 })
  const types = ['text/plain', 'application/x-ndjson; charset=latin1']
  for (const type of types) {
    const refused = await s.expect(415, 'POST', PATH, '[]', { headers: { 'content-type': type } })
    t.match(refused.body.detail, /application\/x-ndjson/)
  }
  t.equal((await s.expect(400, 'POST', `/engine/traces/${'x'.repeat(200)}/ingest`, [])).body.code, 'malformed_path')
})

t.test(
  'a trace over the size limit is answered 413, with or without a length, and committed events stay',
  async (t) => {
    const s = await start(t, { ingestBytesMax: 200_000 })
    const events = Array.from({ length: 1_200 }, (_, n) => event(n))
    const announced = await s.expect(413, 'POST', PATH, events)
    t.equal(announced.body.code, 'body_too_large')
    const text = lines(events)
    const chunks: string[] = []
    for (let at = 0; at < text.length; at += 50_000) chunks.push(text.slice(at, at + 50_000))
    const answer = await raw(
      s.service.port,
      [
        `POST ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${s.admin}\r\ncontent-type: application/jsonl\r\ntransfer-encoding: chunked\r\n\r\n`,
        ...chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`),
        '0\r\n\r\n',
      ],
      3_000,
    )
    t.match(answer, /^HTTP\/1\.1 413 /)
    const { accepted } = JSON.parse(answer.slice(answer.indexOf('{')))
    t.ok(accepted > 0 && accepted % 250 === 0, `only whole batches: ${accepted}`)
    const again = lines(events.slice(0, accepted + 1))
    t.match((await s.expect(200, 'POST', PATH, again, JSON_LINES)).body, { accepted: 1, duplicates: accepted })
  },
)

t.test('project and throttle default to those of the run, then to the query; events may name their own', async (t) => {
  const s = await start(t)
  await s.project('other')
  const bare = { event_type: 'noted', occurred_at: AT, payload: {} }
  const { body } = await s.expect(200, 'POST', PATH, [bare])
  t.match(body.refused, [{ line: 1, errors: [{ pointer: '/project' }] }])
  t.match((await s.expect(200, 'POST', `${PATH}?project=other`, [bare, event(1)])).body, { accepted: 2 })
  t.equal((await s.expect(404, 'POST', `${PATH}?project=nowhere`, [bare])).body.code, 'not_found')
  const projects = (await s.expect(200, 'GET', `/api/traces/${TRACE}`)).body.events.map((one: any) => one.project)
  t.strictSame(projects.sort(), ['greeter', 'greeter', 'other', 'other'], 'each project has its own trace_ingested')
  const request = await s.request('greeter', { throttle: 'full' })
  await s.expect(200, 'POST', `/engine/traces/${request.trace_id}/ingest`, [bare])
  const own = (await s.expect(200, 'GET', `/api/traces/${request.trace_id}`)).body.events
  t.match(
    own.find((one: any) => one.event_type === 'noted'),
    { project: 'greeter', throttle: 'full' },
  )
})

t.test('a runner ingests only traces of runs that it holds or held', async (t) => {
  const s = await start(t)
  await s.project('other')
  const token = await s.runner('r1')
  const as = { token }
  const stranger = { token: await s.runner('r2') }
  const request = await s.request('greeter')
  const path = `/engine/traces/${request.trace_id}/ingest`
  const bare = { event_type: 'noted', occurred_at: AT, payload: {} }
  t.equal((await s.expect(404, 'POST', path, [bare], as)).body.code, 'not_found', 'nothing was offered yet')
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, as)
  await s.expect(200, 'POST', `/api/run-requests/${request.id}/completed`, { result: { status: 'completed' } }, as)
  const { body } = await s.expect(200, 'POST', path, [bare, { ...bare, project: 'other' }], as)
  t.match(body, { accepted: 1, refused: [{ line: 2, errors: [{ pointer: '/project', detail: /greeter/ }] }] })
  t.equal((await s.expect(404, 'POST', path, [bare], stranger)).body.code, 'not_found')
  t.equal((await s.expect(404, 'POST', PATH, [bare], as)).body.code, 'not_found')
  const viewer = { token: await s.token('viewer', { roles: ['viewer'] }) }
  t.equal((await s.expect(403, 'POST', path, [bare], viewer)).body.code, 'forbidden')
  const confined = { token: await s.token('confined', { rights: ['event.emit'], projects: ['other'] }) }
  const theirs = await s.expect(200, 'POST', path, [{ ...bare, project: 'greeter' }], confined)
  t.match(theirs.body, {
    accepted: 0,
    refused: [{ errors: [{ pointer: '/project', detail: /is not the key of a project/ }] }],
  })
})

t.test('the trace of a run that lasts longer than the retention time can still be ingested', async (t) => {
  const platform = new AdvanceablePlatform()
  const forgetful = { retentionMs: HOUR_MS, lateEventsMs: 1, leaseMs: 100 * HOUR_MS }
  const s = await startTestService(t, forgetful, { platform })
  await s.project('greeter')
  const as = { token: await s.runner('r1') }
  const { id, trace_id } = await s.request('greeter')
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, as)
  await s.expect(200, 'POST', `/api/run-requests/${id}/started`, {}, as)
  const isForgotten = async () => (await s.call('GET', `/api/traces/${trace_id}`)).status === 404
  for (platform.advance(2 * HOUR_MS); !(await isForgotten()); ) platform.advance(retentionSweepMs)
  const path = `/engine/traces/${trace_id}/ingest`
  const event = { event_type: 'noted', occurred_at: new Date(platform.wallMs()).toISOString(), payload: {} }
  t.match((await s.expect(200, 'POST', path, [event], as)).body, { accepted: 1, refused_count: 0 })
  const stranger = { token: await s.runner('r2') }
  await s.expect(404, 'POST', '/engine/traces/of-nobody/ingest', [event], as)
  await s.expect(404, 'POST', path, [event], stranger)
})

t.test('a runner ingests only into the project of its run, even if it names another', async (t) => {
  const s = await start(t)
  await s.project('other')
  const as = { token: await s.runner('r1', { capacity: 2 }) }
  const { trace_id } = await s.request('greeter')
  const path = `/engine/traces/${trace_id}/ingest`
  const bare = { event_type: 'noted', occurred_at: AT, payload: {} }
  const poll = () => s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, as)
  const { request_id, attempt } = (await poll()).body
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/accepted`, { attempt }, as)
  t.equal((await s.expect(404, 'POST', `${path}?project=other`, [bare], as)).body.code, 'not_found')
  t.same((await s.expect(200, 'GET', '/api/events?project=other&event_type=noted')).body.items, [])
  t.match((await s.expect(200, 'POST', `${path}?project=greeter`, [bare], as)).body, { accepted: 1 })
  await s.request('other', { trace_id })
  await poll()
  t.match(
    (await s.expect(200, 'POST', `${path}?project=other`, [bare], as)).body,
    { accepted: 1 },
    'now it has a run there',
  )
  const { items } = (await s.expect(200, 'GET', '/api/events?event_type=noted')).body
  t.same(
    items.map(({ project }: any) => project),
    ['greeter', 'other'],
  )
})

t.test(
  'ingested events have no effects: a command creates no request, and the run of the trace is unchanged',
  async (t) => {
    const s = await start(t)
    const token = await s.runner('r1')
    const request = await s.request('greeter')
    await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, { token })
    await s.expect(200, 'POST', `/api/run-requests/${request.id}/started`, {}, { token })
    const before = (await s.expect(200, 'GET', `/api/run-requests/${request.id}`)).body
    const events = [
      event(1, { event_type: 'scan_requested', payload: {} }),
      event(2, {
        event_type: 'task_run_completed',
        payload: { project: 'greeter', success: true, landed: true, summary: 'done', verdict: 'complete' },
      }),
    ]
    const { body } = await s.expect(200, 'POST', `/engine/traces/${request.trace_id}/ingest`, events)
    t.equal(body.accepted, 2)
    const { lease_expires_at: _, ...after } = (await s.expect(200, 'GET', `/api/run-requests/${request.id}`)).body
    t.match(before, after)
    t.equal((await s.expect(200, 'GET', '/api/run-requests')).body.items.length, 1, 'no run request was created')
  },
)

t.test('no more of the body is read while a batch commits, however much the client sends', async (t) => {
  const s = await start(t)
  const { journal } = s.service.runtime
  const waiting: (() => void)[] = []
  const wait = journal.waitForRoom.bind(journal)
  let isHeld = true
  journal.waitForRoom = (resume) => {
    if (!isHeld) return wait(resume)
    waiting.push(resume)
    return true
  }
  const events = Array.from({ length: 400 }, (_, n) => event(n, { payload: { greeting: 'x'.repeat(100_000) } }))
  const body = lines(events)
  let sent = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = Buffer.from(body.slice(sent, sent + 262_144))
        sent += chunk.length
        if (chunk.length === 0) controller.close()
        else controller.enqueue(chunk)
      },
    },
    { highWaterMark: 0 },
  )
  const answer = fetch(s.service.url + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${s.admin}`, 'content-type': 'application/x-ndjson' },
    body: stream,
    duplex: 'half',
  } as RequestInit)
  for (let still = 0, last = -1; still < 20; still = sent === last ? still + 1 : 0) {
    last = sent
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  t.ok(waiting.length > 0, 'a batch waits')
  t.ok(sent < body.length, `the client was stopped after ${sent} of ${body.length} bytes`)
  isHeld = false
  for (const resume of waiting) resume()
  t.match(await (await answer).json(), { accepted: 400, duplicates: 0 })
})

t.test('an interrupted ingest is completed by sending the same trace again after a restart', async (t) => {
  const home = t.testdir()
  const first = await startOnDisk(t, home)
  await first.project('greeter')
  const events = Array.from({ length: 2_500 }, (_, n) => event(n))
  const text = lines(events)
  const half = text.slice(0, text.length - 20_000)
  await raw(
    first.service.port,
    [
      `POST ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${first.admin}\r\ncontent-type: application/x-ndjson\r\ncontent-length: ${text.length}\r\n\r\n`,
      half,
    ],
    1_000,
  )
  await first.service.close()
  const s = await startOnDisk(t, home)
  const told = (await s.call('GET', `/api/events?trace_id=${TRACE}&event_type=trace_ingested`)).body.items
  t.match(told, [{ payload: { accepted: 2_250 } }], 'what was accepted is recorded, although its sender is gone')
  const { body } = await s.expect(200, 'POST', PATH, text, JSON_LINES)
  t.match(body, { accepted: 250, duplicates: 2_250 }, 'whole batches were committed before')
})

t.test('an ingest that was killed before it was stated is stated by a repeat, once', async (t) => {
  const s = await start(t)
  await s.project('other')
  const { runtime } = s.service
  const { ask } = runtime
  const events = [event(1), event(2), event(3, { project: 'other' })]
  const isStatement = (message: any): boolean => message.events?.[0].event_type === 'trace_ingested'
  const told = async () =>
    (await s.expect(200, 'GET', `/api/events?trace_id=${TRACE}&event_type=trace_ingested`)).body.items.map(
      ({ project, payload: { accepted, duplicates } }: any) => [project, accepted, duplicates],
    )
  /** As if the process ended once the last batch was on disk. */
  const killed = async (text: string) => {
    const client = new AbortController()
    runtime.ask = (ref, message, reply) => {
      if (isStatement(message)) {
        client.abort()
        reply({ ok: false, refusal: { code: 'shutting_down' } } as never)
      } else ask.call(runtime, ref, message, reply)
    }
    await t.rejects(s.call('POST', PATH, text, { ...JSON_LINES, signal: client.signal }))
    runtime.ask = ask
  }
  await killed(lines(events))
  t.strictSame(await told(), [])
  await s.expect(200, 'POST', PATH, lines(events), JSON_LINES)
  const first = [
    ['greeter', 0, 2],
    ['other', 0, 1],
  ]
  t.strictSame(await told(), first, 'each project has its own')
  await s.expect(200, 'POST', PATH, lines(events), JSON_LINES)
  t.strictSame(await told(), first, 'stated before')
  await killed(lines([...events, event(4)]))
  await s.expect(200, 'POST', PATH, lines([...events, event(4)]), JSON_LINES)
  t.strictSame(await told(), [...first, ['greeter', 0, 3]], 'what came later was not stated yet')
  await killed(lines([...events, event(4), event(5)]))
  const again = () => s.expect(200, 'POST', PATH, lines([...events, event(4), event(5)]), JSON_LINES)
  await Promise.all([again(), again(), again()])
  t.strictSame(await told(), [...first, ['greeter', 0, 3], ['greeter', 0, 4]], 'by one of three at the same time')
})

t.test('a trace that is sent again while its first ingest is under way is stated by that alone', async (t) => {
  const s = await start(t)
  const events = Array.from({ length: 300 }, (_, n) => event(n))
  const text = lines(events.slice(0, 250))
  let send: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      send = controller
    },
  })
  const first = fetch(s.service.url + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${s.admin}`, 'content-type': 'application/x-ndjson' },
    body,
    duplex: 'half',
  } as RequestInit)
  send!.enqueue(Buffer.from(text))
  const path = `/api/events?trace_id=${TRACE}&limit=500`
  await until(
    async () => (await s.expect(200, 'GET', path)).body.items,
    ({ length }) => length === 250,
  )
  t.match((await s.expect(200, 'POST', PATH, text, JSON_LINES)).body, { accepted: 0, duplicates: 250 })
  send!.enqueue(Buffer.from(lines(events.slice(250))))
  send!.close()
  t.match(await (await first).json(), { accepted: 300, duplicates: 0 })
  const { items } = (await s.expect(200, 'GET', `${path}&event_type=trace_ingested`)).body
  t.match(items, [{ payload: { accepted: 300, duplicates: 0 } }])
  t.equal(items.length, 1)
})

t.test('a line with an unpaired surrogate is refused with its place, even if it has an id', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const odd =
    '{"id":"evt_ab","event_type":"abc","project":"greeter","occurred_at":"2026-01-01T00:00:00Z","gather_id":"\\ud800","payload":{}}\n'
  const { body } = await s.expect(200, 'POST', PATH, lines([event(1)]) + odd, JSON_LINES)
  t.match(body, { accepted: 1, refused: [{ line: 2, errors: [{ pointer: '/gather_id' }] }] })
})
