/** Watch over real WebSockets: frames, cursors, filters, slow readers, revocation, browsers, the graceful stop. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { WebSocket } from 'ws'
import { encodeCursor } from '../../../runtime/stream/cursor.ts'
import { documentedScript } from '../../documented-script.ts'
import type { EventDraft } from '../../runtime/stream/fake-log.ts'
import { until } from '../../until.ts'
import { harnessFor, idOf, idsOf, openDeaf, watchSocket } from '../watch-harness.ts'

const draft = (project: string, event_type = 'noted', payload: Record<string, unknown> = {}): EventDraft => ({
  event_type,
  project,
  payload,
})

/** The status and problem of a refused upgrade. */
async function refused(opening: Promise<unknown>): Promise<{ readonly status?: number; readonly problem?: any }> {
  return opening.then(
    () => ({}),
    (error) => error,
  )
}

t.test('a stream begins with hello, whose cursor is the exact place where it starts', async (t) => {
  const harness = await harnessFor(t)
  harness.log.commit([draft('a'), draft('a')])
  const { frames } = await watchSocket(harness, '')
  await frames.until((f) => f.all.length === 1)
  t.same(frames.all[0], { type: 'hello', cursor: 'e0e0e0e0e0e0.2.i0i0i0', oldest: 'e0e0e0e0e0e0.0' })
  harness.log.commit([draft('a', 'third')])
  await frames.until((f) => f.ids.length === 1)
  t.equal(frames.all[1]!.type, 'events')
  t.equal(frames.all[1]!.cursor, 'e0e0e0e0e0e0.3.i0i0i0')
  t.equal(frames.all[1]!.events![0]!.event_type, 'third')
})

t.test('since=earliest replays the whole log and continues live without a gap', async (t) => {
  const harness = await harnessFor(t)
  for (let i = 0; i < 5; i++) harness.log.commit(Array.from({ length: 700 }, () => draft('a')))
  const { frames } = await watchSocket(harness, '?since=earliest')
  harness.log.commit([draft('a')])
  await frames.until((f) => f.ids.length >= 3_501)
  harness.log.commit([draft('a')])
  await frames.until((f) => f.ids.length >= 3_502)
  t.same(frames.ids, idsOf(1, 3_502))
})

t.test('resuming from the last cursor after many interruptions yields every event once and in order', async (t) => {
  const harness = await harnessFor(t)
  const seen: string[] = []
  let query = '?since=earliest'
  const writer = setInterval(
    () => harness.log.commit(Array.from({ length: 40 }, () => draft('a', 'noted', { text: 'x'.repeat(200) }))),
    1,
  )
  for (let cut = 0; cut < 15; cut++) {
    const { frames, socket } = await watchSocket(harness, query)
    const enough = 1 + cut
    await frames.until((f) => f.all.length >= enough)
    socket.terminate()
    seen.push(...frames.ids)
    query = `?since=${frames.cursor}`
  }
  clearInterval(writer)
  const { frames } = await watchSocket(harness, query)
  const last = idOf(harness.log.lastSequence)
  await frames.until((f) => f.ids.at(-1) === last || seen.at(-1) === last)
  seen.push(...frames.ids)
  t.same(seen, idsOf(1, harness.log.lastSequence))
})

t.test('filters select by envelope and payload, take lists, and apply together', async (t) => {
  const harness = await harnessFor(t)
  const open = async (query: string) => (await watchSocket(harness, query)).frames
  const byProject = await open('?project=a,b')
  const byType = await open('?event_type=landed')
  const byTrace = await open('?trace_id=t1')
  const byItem = await open('?item_id=wi_1')
  const bySession = await open('?session_id=s1')
  const byCampaign = await open('?campaign=c1')
  const byInitiative = await open('?initiative=i1')
  const byRequest = await open('?run_request_id=runreq_1')
  const byTwo = await open('?project=b&event_type=landed')
  harness.log.commit([
    draft('a', 'landed'),
    draft('b', 'landed'),
    draft('c', 'noted', { item_id: 'wi_1' }),
    { event_type: 'noted', project: 'c', trace_id: 't1' },
    draft('c', 'noted', { session_id: 's1' }),
    draft('c', 'noted', { campaign: 'c1' }),
    draft('c', 'noted', { initiative: 'i1' }),
    { event_type: 'noted', project: 'c', run_request_id: 'runreq_1' },
    // Lookalikes: the right words in the wrong places.
    draft('c', 'noted', { project: 'a', event_type: 'landed', trace_id: 't1', run_request_id: 'runreq_1' }),
    draft('c', 'noted', { text: '"project":"a","event_type":"landed","trace_id":"t1"', more: { item_id: 'wi_1' } }),
    draft('c', 'noted', { item_id: ['wi_1'], campaign: { campaign: 'c1' }, session_id: 1 }),
  ])
  const live: [string, Awaited<ReturnType<typeof open>>, number[]][] = [
    ['?project=a,b', byProject, [1, 2]],
    ['?event_type=landed', byType, [1, 2]],
    ['?trace_id=t1', byTrace, [4]],
    ['?item_id=wi_1', byItem, [3]],
    ['?session_id=s1', bySession, [5]],
    ['?campaign=c1', byCampaign, [6]],
    ['?initiative=i1', byInitiative, [7]],
    ['?run_request_id=runreq_1', byRequest, [8]],
    ['?project=b&event_type=landed', byTwo, [2]],
  ]
  for (const [query, frames, sequences] of live) {
    await frames.until((f) => f.ids.length >= sequences.length)
    const replay = await open(`${query}&since=earliest`)
    // A bookmark marks the end of a replay whose last events did not match.
    await replay.until((f) => f.cursor === encodeCursor(harness.log, 11))
    t.same(replay.ids, sequences.map(idOf), `replay ${query}`)
    t.same(frames.ids, sequences.map(idOf), `live ${query}`)
  }
})

t.test('a reader that never reads is parked, does not delay others, and gets every event once it reads', async (t) => {
  const harness = await harnessFor(t)
  const key = 'dGhlIHNhbXBsZSBub25jZQ=='
  const deaf = openDeaf(
    harness,
    `GET /api/watch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  )
  t.teardown(() => deaf.destroy())
  const stopped = await watchSocket(harness, '')
  const { frames } = await watchSocket(harness, '')
  await frames.until((f) => f.all.length === 1)
  await stopped.frames.until((f) => f.all.length === 1)
  stopped.socket.pause()
  const text = 'x'.repeat(4_000)
  for (let i = 0; i < 200; i++) {
    harness.log.commit(Array.from({ length: 50 }, () => draft('a', 'noted', { text })))
    const last = idOf(harness.log.lastSequence)
    await frames.until((f) => f.all.at(-1)!.events?.at(-1)?.id === last)
  }
  t.match(await harness.metrics(), /intendant_watchers\{state="parked"\} 2/)
  t.same(frames.ids, idsOf(1, 10_000))
  stopped.socket.resume()
  await stopped.frames.until((f) => f.ids.length >= 10_000)
  t.same(stopped.frames.ids, idsOf(1, 10_000), 'once it reads again it gets every event')
  // The log has no more of them: whatever arrives now was held by the service or the kernel.
  harness.log.trim(10_000)
  let bytes = 0
  deaf.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  deaf.resume()
  await until(
    async () => deaf.closed,
    (closed) => closed,
  )
  t.ok(bytes < 20 * 1024 * 1024, `${bytes} bytes of 40 MiB were held for the one that never reads`)
})

t.test('a confined token sees events of its projects and lane pauses, live and replayed', async (t) => {
  const harness = await harnessFor(t)
  harness.principals.add('confined', ['a'])
  const live = await watchSocket(harness, '', 'confined')
  const asking = await watchSocket(harness, '?project=b,system', 'confined')
  await live.frames.until((f) => f.all.length === 1)
  harness.log.commit([
    draft('a'),
    draft('b'),
    draft('system', 'pacing_paused'),
    draft('system', 'token_created'),
    draft('b', 'pacing_paused'),
    draft('b', 'noted', { project: 'a', text: '"project":"a"' }),
    draft('a'),
  ])
  await live.frames.until((f) => f.ids.length >= 3)
  t.same(live.frames.ids, [1, 3, 7].map(idOf))
  await asking.frames.until((f) => f.ids.length >= 1)
  t.same(asking.frames.ids, [idOf(3)])
  const replay = await watchSocket(harness, '?since=earliest', 'confined')
  await replay.frames.until((f) => f.cursor.endsWith('.7.i0i0i0'))
  t.same(replay.frames.ids, [1, 3, 7].map(idOf))
})

t.test('a cursor that is invalid, too old or of another log is refused with its own code', async (t) => {
  const harness = await harnessFor(t)
  harness.log.commit(Array.from({ length: 10 }, () => draft('a')))
  harness.log.trim(5)
  const refusal = async (query: string) => {
    const error = await refused(watchSocket(harness, query))
    return { status: error.status, code: error.problem?.code, oldest: error.problem?.oldest }
  }
  const oldest = 'e0e0e0e0e0e0.5.i0i0i0'
  t.same(await refusal('?since=e0e0e0e0e0e0.4.i0i0i0'), { status: 410, code: 'cursor_too_old', oldest })
  t.same(await refusal('?since=ffffffffffff.7'), { status: 410, code: 'cursor_of_another_log', oldest })
  t.same(
    await refusal('?since=e0e0e0e0e0e0.b.i0i0i0'),
    { status: 410, code: 'cursor_of_another_log', oldest },
    'beyond the end of the log',
  )
  t.match(await refusal('?since=nonsense'), { status: 400, code: 'invalid_cursor' })
  t.match(await refusal('?project=a,,b'), { status: 400, code: 'invalid_query' })
  t.match(await refusal('?projects=a'), { status: 400, code: 'invalid_query' })
  const { frames } = await watchSocket(harness, `?since=${oldest}`)
  await frames.until((f) => f.ids.length === 5)
  t.equal(frames.all[0]!.oldest, oldest)
})

t.test('a browser authenticates by subprotocol, and is told of an invalid cursor on the open socket', async (t) => {
  const harness = await harnessFor(t)
  const { frames, socket } = await watchSocket(harness, '', ['intendant.watch.v1', 'bearer.all'])
  await frames.until((f) => f.all.length === 1)
  t.equal(socket.protocol, 'intendant.watch.v1')
  const stale = await watchSocket(harness, '?since=ffffffffffff.0', ['intendant.watch.v1', 'bearer.all'])
  await stale.frames.until((f) => f.ended !== undefined)
  t.match(stale.frames.all, [{ type: 'error', problem: { status: 410, code: 'cursor_of_another_log' } }])
  t.same(stale.frames.ended, { code: 4410, reason: 'cursor_of_another_log' })
  t.match(await refused(watchSocket(harness, '', ['intendant.watch.v1', 'bearer.nobody'])), { status: 401 })
  t.match(await refused(watchSocket(harness, '', ['intendant.watch.v1'])), { status: 401 })
  t.match(await refused(watchSocket(harness, '', 'nobody')), { status: 401 })
})

t.test('the documented browser code follows events', async (t) => {
  const harness = await harnessFor(t)
  const [, lines] = /## In a browser\n\n```js\n([\s\S]*?)```/.exec(readFileSync(documentedScript('EVENTS.md'), 'utf8'))!
  const frames: any[] = []
  const run = new Function('WebSocket', 'url', 'token', 'onFrame', `${lines}\nreturn watch`)
  const watch = run(WebSocket, harness.url.replace('http', 'ws'), 'all', (frame: object) => frames.push(frame))
  t.teardown(() => watch.close())
  const first = await until(
    async () => frames[0],
    (frame) => frame !== undefined,
  )
  t.match(first, { type: 'hello', cursor: String })
  harness.log.commit([draft('a')])
  await until(
    async () => frames.flatMap(({ events = [] }) => events),
    (events) => events.length === 1,
  )
})

t.test('a page in a browser is told on an open socket why it is refused, and the socket then closes', async (t) => {
  const harness = await harnessFor(t)
  harness.principals.add('powerless', '*', 'none')
  const page = 'https://dashboard.example.com'
  const cases = [
    ['', ['bearer.nobody'], 'unauthenticated', 4401],
    ['', ['bearer.powerless'], 'forbidden', 4403],
    ['?no_such=x', ['bearer.all'], 'invalid_query', 4400],
  ] as const
  for (const [query, protocols, code, closed] of cases) {
    const { frames, socket } = await watchSocket(harness, query, ['intendant.watch.v1', ...protocols], page)
    await frames.until((f) => f.ended !== undefined)
    t.equal(socket.protocol, 'intendant.watch.v1')
    t.match(frames.all, [{ type: 'error', problem: { status: closed - 4_000, code, instance: '/api/watch' } }])
    t.same(frames.ended, { code: closed, reason: code })
  }
  t.match(await harness.metrics(), /intendant_watchers\{state="live"\} 0/)
  const noToken = watchSocket(harness, '', ['intendant.watch.v1'], page)
  t.match(await refused(noToken), { status: 401 }, 'without a token no socket is opened')
})

t.test('a runner or a token without the view right cannot watch', async (t) => {
  const harness = await harnessFor(t)
  harness.principals.add('worker', ['a'], 'none', 'runner')
  harness.principals.add('powerless', '*', 'none')
  t.match(await refused(watchSocket(harness, '', 'worker')), { status: 403 })
  t.match(await refused(watchSocket(harness, '', 'powerless')), { status: 403, problem: { code: 'forbidden' } })
})

t.test('revocation and expiry end a stream with their own codes', async (t) => {
  const harness = await harnessFor(t)
  for (const [name, cause, code] of [
    ['revoked', 'revocation', 'token_revoked'],
    ['expired', 'expiry', 'token_expired'],
  ] as const) {
    harness.principals.add(name)
    const { frames } = await watchSocket(harness, '', name)
    await frames.until((f) => f.all.length === 1)
    t.equal(harness.principals.listening(name), 1)
    harness.principals.revoke(name, cause)
    await frames.until((f) => f.ended !== undefined, 1_000)
    t.match(frames.all.at(-1), { type: 'error', problem: { status: 401, code } })
    t.same(frames.ended, { code: 4401, reason: code })
    t.equal(harness.principals.listening(name), 0, 'an ended stream no longer listens')
  }
})

t.test('a graceful stop sends committed events and a stopping frame, and closes with 1012', async (t) => {
  const harness = await harnessFor(t)
  const { frames } = await watchSocket(harness, '')
  await frames.until((f) => f.all.length === 1)
  harness.log.commit([draft('a')])
  harness.stopStreams()
  await frames.until((f) => f.ended !== undefined)
  t.same(frames.ids, [idOf(1)])
  t.match(frames.all.at(-1), { type: 'error', problem: { code: 'stopping' } })
  t.equal(frames.ended!.code, 1012)
  t.match(await refused(watchSocket(harness, '')), { status: 503, problem: { code: 'stopping' } })
})

t.test('small messages of a client are ignored, and a large one closes the socket', async (t) => {
  const harness = await harnessFor(t)
  const { frames, socket } = await watchSocket(harness, '')
  await frames.until((f) => f.all.length === 1)
  socket.send('hello?')
  harness.log.commit([draft('a')])
  await frames.until((f) => f.ids.length === 1)
  socket.send('x'.repeat(2_000))
  await frames.until((f) => f.ended !== undefined)
  t.equal(frames.ended!.code, 1009)
  t.match(await harness.metrics(), /intendant_watchers\{state="live"\} 0/)
})

t.test('pings at a steady pace never close the socket, and a burst of them does', async (t) => {
  const harness = await harnessFor(t)
  const { frames, socket } = await watchSocket(harness, '')
  await frames.until((f) => f.all.length === 1)
  let laterMs = 0
  const now = performance.now.bind(performance)
  performance.now = () => now() + laterMs
  t.teardown(() => {
    performance.now = now
  })
  for (let sent = 1; sent <= 200; sent++) {
    laterMs += 200
    const answered = Promise.race([once(socket, 'pong'), once(socket, 'close')])
    socket.ping()
    await answered
  }
  t.equal(frames.ended, undefined)
  for (let sent = 1; sent <= 130; sent++) socket.ping()
  await frames.until((f) => f.ended !== undefined)
  t.equal(frames.ended!.code, 1008)
})

t.test('watchers that disconnect abruptly leave nothing behind', async (t) => {
  const harness = await harnessFor(t)
  const opened = await Promise.all(Array.from({ length: 20 }, () => watchSocket(harness, '')))
  for (const { socket } of opened) socket.terminate()
  await Promise.all(opened.map(({ frames }) => frames.until((f) => f.ended !== undefined)))
  const { frames } = await watchSocket(harness, '')
  harness.log.commit([draft('a')])
  await frames.until((f) => f.ids.length === 1)
  t.match(await harness.metrics(), /intendant_watchers\{state="live"\} 1/)
  t.equal(harness.principals.listening('all'), 1)
})
