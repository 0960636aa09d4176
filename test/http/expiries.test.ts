/** What ends with time: credentials, tokens, keys, leases. The whole service, with its clocks advanced by the test. */
import t from 'tap'
import { WebSocket } from 'ws'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { until } from '../until.ts'
import { startTestService, type TestService } from './service-harness.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** The text of an SSE stream, complete when the stream ends. */
async function followed(s: TestService, token: string): Promise<Promise<string>[]> {
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  const response = await fetch(`${s.service.url}/api/watch`, { headers })
  return [response.text()]
}

/** A browser's WebSocket: when it opened, and the code that it was closed with. */
function closed(s: TestService, token: string): Promise<[opened: Promise<void>, code: Promise<number>]> {
  const url = `${s.service.url.replace('http', 'ws')}/api/watch`
  const socket = new WebSocket(url, ['intendant.watch.v1', `bearer.${token}`])
  const opened = new Promise<void>((resolve) => socket.once('message', () => resolve()))
  const code = new Promise<number>((resolve) => socket.once('close', resolve))
  return Promise.resolve([opened, code])
}

t.test('a rotation repeated under its key changes nothing, and says how to go on', async (t) => {
  const s = await startTestService(t)
  const first = await s.runner('r1')
  const rotate = (key: string, token?: string) =>
    s.call('POST', '/api/runners/r1/token', undefined, {
      headers: { 'idempotency-key': key },
      ...(token === undefined ? {} : { token }),
    })
  const made = await rotate('k')
  t.match(made, { status: 201, body: { token: /./ } })
  const again = await rotate('k')
  t.match(again.body, { status: 409, code: 'already_rotated', detail: /r1 .*with another key/ })
  t.notMatch(JSON.stringify(again.body), made.body.token)
  const both = await Promise.all([rotate('l'), rotate('l')])
  t.same(both.map(({ status }) => status).sort(), [201, 409], 'also if both are sent at once')
  t.equal((await rotate('k', first)).status, 201, 'the key of another caller is another key')
  await s.expect(204, 'DELETE', '/api/runners/r1')
  t.equal((await rotate('m')).body.code, 'runner_removed')
})

t.test("a rotated credential is valid for 10 more minutes, even if a rotation's answer was lost", async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  const first = await s.runner('r1')
  const rotate = async (token: string): Promise<string> =>
    (await s.expect(201, 'POST', '/api/runners/r1/token', {}, { token })).body.token
  const lost = await rotate(first)
  const newest = await rotate(first)
  const poll = (token: string, wait = 0) =>
    s.call('GET', `/api/runners/r1/run-requests/next?wait=${wait}`, undefined, { token })
  platform.advance(9 * MINUTE + 50 * SECOND)
  for (const token of [first, lost, newest]) t.equal((await poll(token)).status, 204)
  const parked = poll(first, 60)
  while (!/intendant_parked_polls 1/.test((await s.call('GET', '/metrics')).body)) await new Promise(setImmediate)
  const begun = performance.now()
  platform.advance(11 * SECOND)
  t.match(await parked, { status: 401, body: { code: 'token_expired' } })
  t.ok(performance.now() - begun < SECOND)
  t.equal((await poll(first)).status, 401)
  t.equal((await poll(lost)).status, 401)
  t.equal((await poll(newest)).status, 204)
})

t.test(
  'expiry and revocation of a token end its SSE and WebSocket streams within a second, with the reason',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, {}, { platform })
    const expires_at = new Date(platform.wallMs() + HOUR).toISOString()
    const short = await s.token('short', { roles: ['viewer'], expires_at })
    const lasting = await s.token('lasting', { roles: ['viewer'] })
    const watched = async (token: string) => {
      const [text] = await followed(s, token)
      const [opened, code] = await closed(s, token)
      await opened
      return { text: text!, code }
    }
    const ofShort = await watched(short)
    const ofLasting = await watched(lasting)
    const letIn = async () => /intendant_tokens_active (\d+)/.exec((await s.call('GET', '/metrics')).body)?.[1]
    t.equal(await letIn(), '3', 'the admin and both viewers')
    const begun = performance.now()
    platform.advance(HOUR)
    t.match(await ofShort.text, /event: error\ndata: .*"code":"token_expired"/)
    t.equal(await ofShort.code, 4401)
    t.ok(performance.now() - begun < SECOND)
    t.equal(await letIn(), '2', 'an expired token is not counted')
    const { items } = (await s.expect(200, 'GET', '/api/tokens')).body
    await s.expect(204, 'DELETE', `/api/tokens/${items.find(({ name }: any) => name === 'lasting').id}`)
    t.match(await ofLasting.text, /event: error\ndata: .*"code":"token_revoked"/)
    t.equal(await ofLasting.code, 4401)
    t.ok(performance.now() - begun < 2 * SECOND)
    t.match((await s.call('GET', '/metrics')).body, /intendant_watchers\{state="live"\} 0/)
  },
)

t.test('an idempotency key is kept for 24 h, or 24 h beyond settlement, and can be used anew after that', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  await s.project('greeter')
  const headers = { 'idempotency-key': 'nightly' }
  const path = '/api/projects/greeter/formation-briefs'
  const ids = new Set<string>()
  for (let day = 0; day < 70; day++) {
    const body = { mission: { objective: `Day ${day}` } }
    const made = await s.expect(201, 'POST', path, body, { headers })
    ids.add(made.body.id)
    if (day % 23 !== 0) {
      platform.advance(24 * HOUR)
      continue
    }
    platform.advance(24 * HOUR - MINUTE)
    const replay = await s.expect(200, 'POST', path, body, { headers })
    t.equal(replay.body.id, made.body.id)
    t.equal(
      (await s.expect(422, 'POST', path, { mission: { objective: 'x' } }, { headers })).body.code,
      'idempotency_key_reused',
    )
    platform.advance(2 * MINUTE)
  }
  t.equal(ids.size, 70)
  const body = { entry_event: 'scan_requested' }
  const requests = '/api/projects/greeter/run-requests'
  const first = await s.expect(201, 'POST', requests, body, { headers })
  platform.advance(25 * HOUR)
  t.equal(
    (await s.expect(200, 'POST', requests, body, { headers })).body.id,
    first.body.id,
    'kept while the request is unsettled',
  )
  await s.expect(200, 'POST', `/api/run-requests/${first.body.id}/cancel`)
  platform.advance(23 * HOUR)
  t.equal((await s.expect(200, 'POST', requests, body, { headers })).body.id, first.body.id, 'and for 24 h after that')
  platform.advance(2 * HOUR)
  t.not((await s.expect(201, 'POST', requests, { ...body, priority: -1 }, { headers })).body.id, first.body.id)
})

t.test('a repeated report about an earlier attempt does not renew the lease of the current one', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  await s.project('greeter')
  const first = { token: await s.runner('r1') }
  const { id } = await s.request('greeter', { retry: { max_attempts: 2, on: ['execution'], backoff_seconds: 0 } })
  const post = async (name: string, body: object, runner = first) =>
    (await s.expect(200, 'POST', `/api/run-requests/${id}/${name}`, body, runner)).body.run_request
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next?wait=5', undefined, first)
  const failed = { class: 'execution', message: 'no' }
  t.match(await post('failed', failed), { state: 'queued', attempt: 2 })
  const second = { token: await s.runner('r2') }
  await s.expect(200, 'GET', '/api/runners/r2/run-requests/next?wait=5', undefined, second)
  await post('started', { attempt: 2 }, second)
  platform.advance(50 * SECOND)
  await post('started', { attempt: 2 }, second)
  platform.advance(50 * SECOND)
  t.match(
    await post('failed', failed),
    { state: 'started', attempt: 2 },
    'its holder renewed it by repeating its own report',
  )
  platform.advance(11 * SECOND)
  const reading = async () => (await s.expect(200, 'GET', `/api/run-requests/${id}`)).body
  t.match(await until(reading, ({ state }) => state !== 'started'), { state: 'lost' })
})
