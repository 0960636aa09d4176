/** `intendant otel`: what has ended becomes spans, each at a collector before the cursor is kept. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Collector } from '../../cli/otel-collector.ts'
import { collectorSettings } from '../../cli/otel-settings.ts'
import { runSpans, type Span, sessionSpan } from '../../cli/otel-spans.ts'
import { AT, begin, finish, fleet, inState, type Runner, submit } from '../http/ledger-harness.ts'
import { startTestService, type TestService } from '../http/service-harness.ts'
import { until } from '../until.ts'
import { cli, startCli } from './in-process.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const SOON = { firstMs: 1, longestMs: 2 }

interface Collected {
  readonly headers: Record<string, unknown>
  readonly body: any
}

type Reply = readonly [status: number, body?: string, headers?: Record<string, string>]

/** A collector that gives these answers one after the other, and then takes all. */
async function collector(test: Test, ...replies: Reply[]) {
  const taken: Collected[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const [status, body = '{}', headers = {}] = replies.shift() ?? [200]
    if (status === 200) taken.push({ headers: { ...request.headers, path: request.url }, body: JSON.parse(text) })
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  test.teardown(() => server.close())
  const spans = (): any[] =>
    taken.flatMap(({ body }) => body.resourceSpans.flatMap((one: any) => one.scopeSpans.flatMap((s: any) => s.spans)))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, taken, spans }
}

/** The attributes of a span as an object. */
const attributesOf = (span: any): Record<string, unknown> =>
  Object.fromEntries(span.attributes.map(({ key, value }: any) => [key, Object.values(value)[0]]))

/** An event of a run request at a second of one minute. */
const at = (second: number, type: string, payload: object = {}) => ({
  id: `evt_${second}_${type}`,
  event_type: `run_request_${type}`,
  occurred_at: `2030-01-31T08:00:0${second}.000001Z`,
  project: 'shop',
  trace_id: TRACE,
  span_id: SPAN,
  parent_span_id: null,
  payload: { run_request_id: 'runreq_1', attempt: 1, ...payload },
})

const REQUEST = { id: 'runreq_1', project: 'shop', entry_event: 'x', labels: [], created_at: at(0, '').occurred_at }

const brief = ({ name, startAt, endAt, error, attributes }: Span): string =>
  `${name} ${startAt.slice(18, 19)}-${endAt.slice(18, 19)} ${attributes['intendant.attempt'] ?? ''}${error === undefined ? '' : ` ${error}`}`

t.test('a run request that was lost and begun again shows each wait and each attempt', async (t) => {
  const spans = runSpans(REQUEST, [
    at(0, 'created'),
    at(1, 'accepted', { runner_id: 'a' }),
    at(2, 'started', { runner_id: 'a' }),
    at(3, 'lost', { runner_id: 'a' }),
    at(4, 'requeued', { attempt: 2, code: 'gone' }),
    at(6, 'accepted', { attempt: 2, runner_id: 'b' }),
    at(9, 'failed', { attempt: 2, state: 'failed', class: 'execution', code: 'exit_1', message: 'no' }),
  ])
  t.same(spans.map(brief), [
    'run_request x 0-9  no',
    'queue 0-1 1',
    'attempt 1-4 1 gone',
    'queue 4-6 2',
    'attempt 6-9 2 no',
  ])
  t.equal(spans[0]!.spanId, SPAN)
  t.ok(spans.slice(1).every(({ parentSpanId }) => parentSpanId === SPAN))
  t.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length, 'each has an id of its own')
  t.same(spans[2]!.moments, [{ name: 'lost', at: '2030-01-31T08:00:03.000001Z' }])
  t.match(spans[4]!.attributes, { 'intendant.runner.id': 'b', 'error.type': 'exit_1' })
})

t.test('of a run request that nobody took, or whose beginning is gone, what is known is shown', async (t) => {
  const cancelled = at(5, 'cancelled', { state: 'cancelled', class: 'cancelled' })
  t.same(runSpans(REQUEST, [at(0, 'created'), at(2, 'requeued', { attempt: 2 }), cancelled]).map(brief), [
    'run_request x 0-5 ',
    'queue 0-5 1',
  ])
  const again = runSpans(REQUEST, [
    at(0, 'created'),
    at(1, 'accepted'),
    at(2, 'released'),
    at(3, 'cancelled', { state: 'cancelled' }),
  ])
  t.same(again.map(brief), ['run_request x 0-3 ', 'queue 0-1 1', 'attempt 1-2 1', 'queue 2-3 1'])
  t.equal(new Set(again.map(({ spanId }) => spanId)).size, again.length, 'also within one attempt')
  const rest = [at(3, 'started', { runner_id: 'a' }), at(5, 'completed', { state: 'completed' })]
  t.same(runSpans(REQUEST, rest).map(brief), ['run_request x 0-5 ', 'queue 3-3 1', 'attempt 3-5 1'])
  t.same(runSpans(REQUEST, []), [])
})

t.test('a session of its run’s trace is below the run, one of another trace is linked to it', async (t) => {
  const session = {
    session_id: 's1',
    project: 'shop',
    recorded_at: '2030-01-31T08:00:01Z',
    started_at: '2030-01-31T08:00:00Z',
    ended_at: '2030-01-31T08:00:05Z',
    agent_type: 'claude',
    status: 'agent_failed',
    tokens: { fast: { input: 1, output: 2, cache_read: 7 }, slow: { input: 10, output: 20 } },
    cost: { USD: 0.25 },
  }
  const run = at(0, 'created')
  const within = sessionSpan({ ...session, trace_id: TRACE }, run)!
  t.match(within, { traceId: TRACE, parentSpanId: SPAN, name: 'agent_session claude', error: 'agent_failed' })
  t.match(within.attributes, {
    'gen_ai.usage.input_tokens': 11,
    'gen_ai.usage.output_tokens': 22,
    'intendant.tokens.cache_read': 7,
    'intendant.cost.USD': 0.25,
  })
  t.equal(sessionSpan({ ...session, trace_id: '' }, run)!.parentSpanId, SPAN, 'it has none of its own')
  const other = 'a'.repeat(32)
  const linked = sessionSpan({ ...session, trace_id: other }, run)!
  t.match(linked, { traceId: other, link: { traceId: TRACE, spanId: SPAN } })
  t.equal(linked.parentSpanId, undefined)
  t.equal(sessionSpan({ ...session, trace_id: 'not-hex' }, undefined), undefined)
})

t.test('the collector is that of the environment, and a wrong variable is named without its value', async (t) => {
  const of = (env: NodeJS.ProcessEnv, address?: string) => collectorSettings(address, env)
  t.equal(of({}).endpoint.href, 'http://localhost:4318/v1/traces')
  t.equal(
    of({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://o.example/base/' }).endpoint.href,
    'https://o.example/base/v1/traces',
  )
  const both = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://b/as-is' }
  t.equal(of(both).endpoint.href, 'http://b/as-is')
  t.equal(of(both, 'http://c:1').endpoint.href, 'http://c:1/v1/traces')
  const { headers, resource, answerMs } = of({
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20YQ%3D%3D, x-tenant=1',
    OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=lab',
    OTEL_SERVICE_NAME: 'fleet',
  })
  t.same(headers, { authorization: 'Basic YQ==', 'x-tenant': '1' })
  t.same(resource, { 'service.name': 'fleet', 'deployment.environment.name': 'lab' })
  t.equal(answerMs, 2500)
  t.equal(of({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }).resource['service.name'], 'intendant')
  for (const [env, said] of [
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /http\/json/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'secret%' }, /^OTEL_EXPORTER_OTLP_HEADERS is not(?!.*secret%)/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'x-key=secret%0A' }, /^OTEL_EXPORTER_OTLP_HEADERS has(?!.*secret)/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'x key=secret' }, /^OTEL_EXPORTER_OTLP_HEADERS has(?!.*secret)/],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4317' }, /OTEL_EXPORTER_OTLP_ENDPOINT is "localhost:4317"/],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://u:p@h' }, /(?!.*u:p)user or a password/],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' }, /milliseconds/],
  ] as const) {
    t.throws(() => of(env), { name: 'CliFailure', message: said })
  }
})

t.test('spans wait for a collector that is away, and what it rejects of them is said', async (t) => {
  const { url, spans, taken } = await collector(
    t,
    [503, 'busy', { 'retry-after': '0' }],
    [429],
    [200, '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}'],
  )
  const notes: string[] = []
  const settings = collectorSettings(url, { OTEL_EXPORTER_OTLP_HEADERS: 'x-key=k' })
  const many = Array.from({ length: 501 }, (_, n) => ({
    ...runSpans(REQUEST, [at(0, 'created')])[0]!,
    name: `span ${n}`,
  }))
  await new Collector(settings, {}, (text) => notes.push(text), SOON).send(many, new AbortController().signal)
  t.same(notes, [
    `${url}/v1/traces refused the spans with status 503: busy; trying again`,
    'connected again',
    'the collector rejected 2 spans: too old',
  ])
  t.same(
    taken.map(({ body }) => body.resourceSpans[0].scopeSpans[0].spans.length),
    [500, 1],
  )
  t.match(taken[0]!.headers, { 'x-key': 'k', 'content-type': 'application/json', path: '/v1/traces' })
  t.match(spans()[0], { name: 'span 0', startTimeUnixNano: '1896076800000001000', kind: 1 })
})

t.test('with a service: an item, its run and its session in one trace, once each, from the cursor on', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const { url, spans } = await collector(t)
  const env = { ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }
  const argv = ['otel', '--endpoint', url, '--cursor-file', `${t.testdir()}/otel.cursor`, '--since', 'earliest']
  const exportUntil = async (count: number): Promise<void> => {
    const exporting = startCli(env, ...argv)
    await until(
      async () => spans().length,
      (length) => length >= count,
    )
    exporting.signal()
    t.match(await exporting.ended, { code: 0, out: '', err: '' })
    t.equal(spans().length, count)
  }
  const work = async (): Promise<{ item: any; request: any }> => {
    const item = await submit(s)
    const request = await begin(s, runner)
    await session(s, runner, request)
    await finish(s, runner, request.request_id)
    await inState(s, item.id, 'landed')
    return { item, request }
  }

  const { item, request } = await work()
  await exportUntil(5)
  const named = (start: string): any => spans().find(({ name }) => name.startsWith(start))
  const run = named('run_request execution_requested')
  t.match(run, { traceId: item.trace_id, spanId: request.trace.span_id }, 'its command has it in TRACEPARENT')
  t.match(attributesOf(run), { 'intendant.work_item.id': item.id, 'intendant.state': 'completed' })
  t.match(named('work_item task'), { traceId: item.trace_id, spanId: run.parentSpanId, status: {} })
  for (const name of ['queue', 'attempt', 'agent_session claude'])
    t.match(named(name), { traceId: item.trace_id, parentSpanId: run.spanId }, name)
  t.match(attributesOf(named('agent_session')), { 'gen_ai.usage.input_tokens': '7', 'intendant.cost.USD': 0.5 })
  t.ok(spans().every((span) => BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano)))

  await work()
  await exportUntil(10)
})

t.test('a collector that refuses for good ends it, and the cursor stays before what was refused', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const { id } = await s.request('shop')
  await s.expect(200, 'POST', `/api/run-requests/${id}/cancel`, {})
  const { url, spans } = await collector(t, [401, 'who are you'])
  const env = { ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }
  const argv = ['otel', '--endpoint', url, '--cursor-file', `${t.testdir()}/otel.cursor`, '--since', 'earliest']
  t.match(await cli(env, ...argv), { code: 1, err: /\/v1\/traces refused the spans with status 401: who are you\.\n/ })
  const exporting = startCli(env, ...argv.slice(0, -2))
  await until(
    async () => spans(),
    (all) => all.length >= 2,
  )
  exporting.signal()
  t.equal((await exporting.ended).code, 0)
  t.same(
    spans()
      .map(({ name }) => name)
      .sort(),
    ['queue', 'run_request greet_requested'],
  )
})

/** Reports an agent session on the run, from its beginning to its end. */
async function session(s: TestService, runner: Runner, { request_id, trace: { trace_id } }: any): Promise<void> {
  const session_id = `s-${request_id}`
  const started = {
    session_id,
    agent_type: 'claude',
    project: 'shop',
    working_dir: '/w',
    source_log_path: '/w/log',
    capability: 'coding',
    access: 'full',
    started_at: AT,
    trace_id,
  }
  const ended = {
    session_id,
    status: 'ok',
    exit_code: 0,
    ended_at: AT,
    bytes_written: 1,
    usage: { opus: { input: 7, output: 2 } },
    cost: { USD: 0.5 },
  }
  const events = [
    { event_type: 'agent_session_started', occurred_at: AT, payload: started },
    { event_type: 'agent_session_ended', occurred_at: AT, payload: ended },
  ]
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/events`, { events }, runner)
}
