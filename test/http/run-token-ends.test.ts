/** The token of a run begins with its attempt and ends with it: whatever else is shown, its holder is not let in. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { retentionSweepMs } from '../../runtime/limits.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { until } from '../until.ts'
import { admits, Holder, underWay } from './run-token-harness.ts'
import { startOnDisk, startTestService } from './service-harness.ts'

const HOUR_MS = 3_600_000

t.test('a token is refused before its attempt is accepted, and whenever it is no longer under way', async (t) => {
  const platform = new AdvanceablePlatform()
  const { s, holder, token, id, attempt } = await underWay(t, { platform })
  t.ok(await admits(s, token))
  await holder.post(id, 'release', { attempt })
  t.notOk(await admits(s, token), 'released')
  const offered = await holder.poll()
  t.match(offered, { request_id: id, attempt: 2 })
  t.notOk(await admits(s, token), 'the next attempt is offered')
  const second = (await holder.post(id, 'accepted', { attempt: 2 })).body.run_token
  t.not(second, token)
  t.ok(await admits(s, second))
  t.notOk(await admits(s, token), 'of the attempt before')
  await holder.post(id, 'started', { attempt: 2 })
  t.ok(await admits(s, second), 'also once it is started')

  await holder.post(id, 'completed', { attempt: 2, result: { status: 'completed' } })
  t.notOk(await admits(s, second), 'completed')

  let runs = 0
  const next = async () => {
    await s.request('shop', { payload: { name: `run ${++runs}` } })
    const taken = await holder.take()
    await holder.post(taken.id, 'started')
    t.ok(await admits(s, taken.token))
    return taken
  }
  const failed = await next()
  await holder.post(failed.id, 'failed', { attempt: 1, class: 'execution', message: 'no' })
  t.notOk(await admits(s, failed.token), 'failed')

  const cancelled = await next()
  await s.expect(200, 'POST', `/api/run-requests/${cancelled.id}/cancel`, {})
  t.notOk(await admits(s, cancelled.token), 'asked to stop: at once, not only when it has stopped')
  await holder.post(cancelled.id, 'failed', { attempt: 1, class: 'cancelled', message: 'stopped' })
  t.notOk(await admits(s, cancelled.token), 'cancelled')

  const lost = await next()
  const reading = async () => (await s.expect(200, 'GET', `/api/run-requests/${lost.id}`)).body
  platform.advance(s.settings.leaseMs + 1_000)
  await until(reading, ({ state }) => state === 'lost')
  t.notOk(await admits(s, lost.token), 'lost')
  await holder.post(lost.id, 'heartbeat')
  t.match(await reading(), { state: 'started', attempt: 1 })
  t.ok(await admits(s, lost.token), 'and again once its runner is back with the same attempt')
  platform.advance(s.settings.leaseMs + 1_000)
  await until(reading, ({ state }) => state === 'lost')
  await s.expect(200, 'POST', `/api/run-requests/${lost.id}/requeue`, {})
  t.notOk(await admits(s, lost.token), 'requeued')
})

t.test(
  'a token is refused by a later request of the same id, whose key became free when the first was removed',
  async (t) => {
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, { retentionMs: HOUR_MS, idempotencyMs: HOUR_MS, lateEventsMs: 1 }, { platform })
    await s.project('shop')
    const holder = await Holder.of(s)
    const headers = { 'idempotency-key': 'nightly' }
    const body = { entry_event: 'scan_requested' }
    const take = async () => {
      await s.expect(201, 'POST', '/api/projects/shop/run-requests', body, { headers })
      return await holder.take()
    }
    const first = await take()
    t.ok(await admits(s, first.token))
    await holder.post(first.id, 'failed', { attempt: 1, class: 'execution', message: 'no' })
    const gone = async () => (await s.call('GET', `/api/run-requests/${first.id}`)).status === 404
    for (platform.advance(2 * HOUR_MS); !(await gone()); ) platform.advance(retentionSweepMs)
    const second = await take()
    t.match(second, { id: first.id, attempt: 1 })
    t.not(second.token, first.token)
    t.notOk(await admits(s, first.token))
    t.ok(await admits(s, second.token))
  },
)

t.test('a forged token, or one of another run, attempt or service, is refused', async (t) => {
  const { s, token } = await underWay(t)
  const [, digits, made, proof] = token.split(/^irt_([0-9a-f]{24})_1_(\d+)_(.+)$/)
  const another = (await s.request('shop', { payload: { name: 'another' } })).id.slice('runreq_'.length)
  const elsewhere = await underWay(t)
  const last = proof!.at(-1)!
  for (const [what, forged] of [
    ['of another request', `irt_${another}_1_${made}_${proof}`],
    ['of another attempt', `irt_${digits}_2_${made}_${proof}`],
    ['of no attempt', `irt_${digits}_0_${made}_${proof}`],
    ['of an attempt written otherwise', `irt_${digits}_01_${made}_${proof}`],
    ['of a request made at another time', `irt_${digits}_1_${Number(made) + 1}_${proof}`],
    ['that states no time', `irt_${digits}_1_${proof}`],
    ['with no proof', `irt_${digits}_1_${made}_`],
    ['with half of it', `irt_${digits}_1_${made}_${proof!.slice(0, 20)}`],
    ['with one more character', `${token}A`],
    [
      'with one character changed',
      `irt_${digits}_1_${made}_${proof!.slice(0, -2)}${proof!.at(-2) === 'A' ? 'B' : 'A'}${last}`,
    ],
    ['with bits that base64url ignores', `${token.slice(0, -1)}${String.fromCharCode(last.charCodeAt(0) + 1)}`],
    ['in capitals', token.toUpperCase()],
    ['of another service', elsewhere.token],
    ['of a request that never was', `irt_${'0'.repeat(24)}_1_${made}_${proof}`],
  ] as const) {
    t.notOk(await admits(s, forged), what)
  }
  t.ok(await admits(s, token))
})

t.test(
  'rights that are taken from the runs of a runner are gone at once, and so is the token with the last',
  async (t) => {
    const { s, token, id } = await underWay(t)
    const as = { token }
    const patch = (run_rights: readonly string[]) => s.expect(200, 'PATCH', '/api/runners/builder', { run_rights })
    await s.expect(200, 'GET', '/api/projects', undefined, as)
    await patch(['work.submit'])
    await s.expect(403, 'GET', '/api/projects', undefined, as)
    await patch([])
    t.notOk(await admits(s, token))
    await patch(['view'])
    await s.expect(200, 'GET', `/api/run-requests/${id}`, undefined, as)
    await s.expect(200, 'PATCH', '/api/runners/builder', { allowed_projects: ['bank'] })
    t.notOk(await admits(s, token), 'its runner no longer works for the project')
    await s.expect(200, 'PATCH', '/api/runners/builder', { allowed_projects: ['bank', 'shop'] })
    await s.expect(200, 'PATCH', '/api/runners/builder', { draining: true })
    t.ok(await admits(s, token), 'a draining runner finishes what it holds')
    await s.expect(204, 'DELETE', '/api/runners/builder')
    t.notOk(await admits(s, token), 'its runner is removed')
  },
)

t.test('streams end within a second of their run, or of the rights of its runner', async (t) => {
  const { s, holder, token, id } = await underWay(t)
  /** Resolves once the stream is open, to what resolves at its end, with the time. */
  const follow = async (): Promise<{ readonly end: Promise<{ text: string; atMs: number }> }> => {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
    const response = await fetch(`${s.service.url}/api/watch`, { headers })
    t.equal(response.status, 200)
    return { end: response.text().then((text) => ({ text, atMs: performance.now() })) }
  }
  const ended = async (what: string, end: () => Promise<unknown>): Promise<void> => {
    const stream = await follow()
    const beganMs = performance.now()
    await end()
    const { text, atMs } = await stream.end
    t.match(text, /"code":"token_revoked"/, what)
    t.match(text, `run:${id}`)
    t.ok(atMs - beganMs < 1_000, `${what}: ${atMs - beganMs} ms`)
  }
  await ended('rights', () => s.expect(200, 'PATCH', '/api/runners/builder', { run_rights: ['view'] }))
  await ended('end', () => holder.post(id, 'failed', { attempt: 1, class: 'execution', message: 'no' }))
})

t.test('a body that arrives after the end of its run is not taken', async (t) => {
  const { s, holder, token, id } = await underWay(t)
  const { port } = s.service
  const text = JSON.stringify({ entry_event: 'scan_requested' })
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', (data) => {
    answer += data.toString('latin1')
  })
  socket.write(
    `POST /api/projects/shop/run-requests HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text.slice(0, 5)}`,
  )
  await s.expect(200, 'GET', '/api/projects')
  await holder.post(id, 'failed', { attempt: 1, class: 'execution', message: 'no' })
  socket.write(text.slice(5))
  await new Promise((resolve) => socket.once('close', resolve))
  t.match(answer, /^HTTP\/1\.1 401 .*token_revoked.*its run has ended/s)
})

t.test('tokens survive a restart, and end with their key', async (t) => {
  const home = t.testdir()
  const file = join(home, 'run-tokens.key')
  const first = await startOnDisk(t, home)
  await first.project('shop')
  const holder = await Holder.of(first)
  await first.request('shop')
  const { id, token } = await holder.take()
  await holder.post(id, 'started')
  t.equal(statSync(file).mode & 0o777, 0o600)
  await first.service.close()

  const again = await startOnDisk(t, home)
  t.ok(await admits(again, token))
  await again.service.close()

  for (const [what, text] of [
    ['half a key', readFileSync(file, 'utf8').slice(0, 20)],
    ['nothing', ''],
  ] as const) {
    writeFileSync(file, text)
    const other = await startOnDisk(t, home)
    t.notOk(await admits(other, token), `the file holds ${what}`)
    await other.request('shop', { payload: { name: what } })
    const rotated = (await other.expect(201, 'POST', '/api/runners/builder/token')).body.token
    const next = await new Holder(other, 'builder', rotated).take()
    t.ok(await admits(other, next.token), 'a new key is made')
    t.notOk(await admits(other, token))
    await other.service.close()
  }
})
