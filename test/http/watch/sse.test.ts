/** Watch as server-sent events over real connections: fields, resuming like an EventSource, slow readers, ends. */
import t from 'tap'
import { watchBySse } from '../../../http/watch/sse.ts'
import type { Exchange } from '../../../http/wire/exchange.ts'
import type { EventStream } from '../../../runtime/stream/event-stream.ts'
import type { Frame } from '../../../runtime/stream/frame.ts'
import type { Sink } from '../../../runtime/stream/sink.ts'
import type { EventDraft } from '../../runtime/stream/fake-log.ts'
import { harnessFor, idOf, idsOf, openDeaf, watchSse } from '../watch-harness.ts'

const draft = (project: string, payload: Record<string, unknown> = {}): EventDraft => ({
  event_type: 'noted',
  project,
  payload,
})

const asking = (query: string): string =>
  `GET /api/watch${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\nAccept: text/event-stream\r\n\r\n`

t.test(
  'each frame is one server-sent event with its cursor as id, its type as event and its JSON as data',
  async (t) => {
    const harness = await harnessFor(t)
    harness.log.commit([draft('a')])
    const { frames, ids, types, response } = await watchSse(harness, '?since=earliest')
    t.equal(response.headers.get('content-type'), 'text/event-stream')
    t.equal(response.headers.get('cache-control'), 'no-store')
    t.equal(response.headers.get('api-version'), '1')
    await frames.until((f) => f.ids.length === 1)
    harness.log.commit([draft('a', { text: 'two\nlines\r\n\u2028 and data: lookalikes' })])
    await frames.until((f) => f.ids.length === 2)
    t.same(types, ['hello', 'events', 'events'])
    t.same(ids, ['e0e0e0e0e0e0.0', 'e0e0e0e0e0e0.1.i0i0i0', 'e0e0e0e0e0e0.2.i0i0i0'])
    t.same(
      ids,
      frames.all.map((frame) => frame.cursor),
    )
  },
)

t.test('Last-Event-ID takes precedence over since in the URL', async (t) => {
  const harness = await harnessFor(t)
  harness.log.commit([draft('a'), draft('a'), draft('a')])
  const { frames } = await watchSse(harness, '?since=earliest', { 'last-event-id': 'e0e0e0e0e0e0.2.i0i0i0' })
  await frames.until((f) => f.ids.length === 1)
  t.same(frames.ids, [idOf(3)])
})

t.test('a long replay arrives complete and continues live', async (t) => {
  const harness = await harnessFor(t)
  const text = 'x'.repeat(1_000)
  for (let i = 0; i < 20; i++) harness.log.commit(Array.from({ length: 1_000 }, () => draft('a', { text })))
  const { frames } = await watchSse(harness, '?since=earliest')
  await frames.until((f) => f.ids.length >= 20_000)
  harness.log.commit([draft('a')])
  await frames.until((f) => f.ids.length > 20_000)
  t.same(frames.ids, idsOf(1, 20_001))
})

t.test('a reader that pauses is parked, and gets everything when it reads again', async (t) => {
  const harness = await harnessFor(t)
  const socket = openDeaf(harness, asking(''))
  t.teardown(() => socket.destroy())
  const { frames } = await watchSse(harness, '')
  await frames.until((f) => f.all.length === 1)
  const text = 'x'.repeat(4_000)
  for (let i = 0; i < 60; i++) {
    harness.log.commit(Array.from({ length: 50 }, () => draft('a', { text })))
    await frames.until((f) => f.ids.length >= (i + 1) * 50)
  }
  t.match(await harness.metrics(), /intendant_watchers\{state="parked"\} 1/)
  let received = ''
  socket.setEncoding('utf8')
  await new Promise<void>((resolve) => {
    socket.on('data', (chunk: string) => {
      received += chunk
      // The last event must arrive without another commit that could push it out.
      if (received.includes(idOf(3_000))) resolve()
    })
    socket.resume()
  })
  const ids = [...received.matchAll(/"id":"(evt_[0-9a-f]{32})"/g)].map(([, id]) => id)
  t.same(ids, idsOf(1, 3_000))
})

t.test('an invalid request is answered with a problem instead of a stream', async (t) => {
  const harness = await harnessFor(t)
  harness.log.commit(Array.from({ length: 10 }, () => draft('a')))
  harness.log.trim(5)
  const ask = async (query: string, headers: Record<string, string> = {}) => {
    const { response } = await watchSse(harness, query, headers)
    return { status: response.status, problem: (await response.json()) as Record<string, unknown> }
  }
  t.match(await ask('?since=e0e0e0e0e0e0.1.i0i0i0'), {
    status: 410,
    problem: { code: 'cursor_too_old', oldest: 'e0e0e0e0e0e0.5.i0i0i0' },
  })
  t.match(await ask('?since=ffffffffffff.7'), { status: 410, problem: { code: 'cursor_of_another_log' } })
  t.match(await ask('', { 'last-event-id': 'nonsense' }), { status: 400, problem: { code: 'invalid_cursor' } })
  t.match(await ask('?colour=red'), { status: 400, problem: { code: 'invalid_query' } })
  t.match(await ask('', { accept: 'application/json' }), { status: 406, problem: { code: 'not_acceptable' } })
  t.match(await ask('', { authorization: 'Bearer nobody' }), { status: 401, problem: { code: 'unauthenticated' } })
})

t.test('a replay that retention overtakes ends with the oldest valid cursor', async (t) => {
  const harness = await harnessFor(t)
  const { log } = harness
  log.commit(Array.from({ length: 10 }, () => draft('a')))
  const events = log.events.bind(log)
  log.events = (...asked) => {
    log.trim(5)
    return events(...asked)
  }
  const { frames } = await watchSse(harness, '?since=earliest')
  await frames.until((f) => f.ended !== undefined)
  t.match(frames.all.at(-1), { type: 'error', problem: { code: 'cursor_too_old', oldest: 'e0e0e0e0e0e0.5.i0i0i0' } })
})

t.test('a confined token gets only events of its projects and lane pauses', async (t) => {
  const harness = await harnessFor(t)
  harness.principals.add('confined', ['a'])
  const { frames } = await watchSse(harness, '?since=earliest', { authorization: 'Bearer confined' })
  await frames.until((f) => f.all.length === 1)
  harness.log.commit([draft('b'), { event_type: 'pacing_resumed', project: 'system' }, draft('system'), draft('a')])
  await frames.until((f) => f.ids.length === 2)
  t.same(frames.ids, [idOf(2), idOf(4)])
})

t.test('revocation ends a stream with an error frame', async (t) => {
  const harness = await harnessFor(t)
  harness.principals.add('passing')
  const { frames } = await watchSse(harness, '', { authorization: 'Bearer passing' })
  await frames.until((f) => f.all.length === 1)
  harness.principals.revoke('passing')
  await frames.until((f) => f.ended !== undefined, 1_000)
  t.match(frames.all.at(-1), { type: 'error', problem: { status: 401, code: 'token_revoked' } })
})

t.test('a graceful stop ends the stream cleanly, with all committed events and a stopping frame', async (t) => {
  const harness = await harnessFor(t)
  const { frames } = await watchSse(harness, '')
  await frames.until((f) => f.all.length === 1)
  harness.log.commit([draft('a')])
  harness.stopStreams()
  await frames.until((f) => f.ended !== undefined)
  t.same(frames.ids, [idOf(1)])
  t.match(frames.all.at(-1), { type: 'error', problem: { code: 'stopping', status: 503, retryable: true } })
  t.equal(frames.ended!.reason, 'end', 'the connection was not cut')
  const { response } = await watchSse(harness, '')
  t.equal(response.status, 503)
  t.ok(response.headers.get('retry-after'))
})

t.test('a stream whose client disconnects is removed', async (t) => {
  const harness = await harnessFor(t)
  const { frames, close } = await watchSse(harness, '')
  await frames.until((f) => f.all.length === 1)
  t.equal(harness.principals.listening('all'), 1)
  close()
  await frames.until((f) => f.ended !== undefined)
  // The server notices in one of its next turns; a commit after that reaches nobody.
  while (harness.principals.listening('all') > 0) await new Promise(setImmediate)
  harness.log.commit([draft('a')])
  t.match(await harness.metrics(), /intendant_watchers\{state="live"\} 0/)
})

/** A stream on a simulated connection: what is written, and the calls to the event stream. */
function byHand() {
  const self = { isFull: false, written: [] as string[], told: [] as string[], revoke: () => {} }
  let writable = (): void => {}
  let sink!: Sink
  const connection = {
    write(chunk: string | Uint8Array) {
      self.written.push(chunk.toString())
      return !self.isFull
    },
    onWritable(callback: () => void) {
      writable = callback
    },
    end: () => self.told.push('ended'),
    close: () => self.told.push('cut'),
  }
  const exchange = {
    principal: { name: 'all', revoked: true },
    path: '/api/watch',
    setHeader() {},
    onAborted() {},
    stream: () => connection,
  }
  const subscription = {
    drained: () => self.told.push('drained'),
    progressed: () => self.told.push('progressed'),
    close: () => self.told.push('closed'),
  }
  const stream = {
    subscribe(_filter: unknown, _after: number, given: Sink) {
      sink = given
      return subscription
    },
  }
  const hold = (_: unknown, revoked: () => void) => {
    self.revoke = revoked
    return () => {}
  }
  watchBySse(exchange as unknown as Exchange, stream as unknown as EventStream, hold, {} as never, 0)
  self.written.length = 0
  return Object.assign(self, { sink, writable: () => writable() })
}

const FRAME: Frame = { type: 'events', cursor: 'e0.1', bytes: Buffer.from('{}') } as never

t.test('a full connection gets only comments until its buffer is empty', (t) => {
  const one = byHand()
  t.equal(one.sink.send(FRAME), 'sent')
  one.writable()
  t.same([one.written.length, one.told], [1, []], 'nothing is reported for one that was never full')
  one.isFull = true
  t.equal(one.sink.send(FRAME), 'full')
  one.writable()
  t.same(one.told, ['progressed'], 'some was sent, but it is still full')
  one.isFull = false
  one.writable()
  t.same(one.told, ['progressed', 'drained'])
  t.same(one.written.slice(2), [':\n', ':\n'])
  t.equal(one.sink.send(FRAME), 'sent')
  t.end()
})

t.test('a full connection is cut without a last frame, and one that reads gets it', (t) => {
  type Ending = (one: ReturnType<typeof byHand>) => void
  const ends: Ending[] = [({ sink }) => sink.end({ code: 'stopping' }), ({ revoke }) => revoke()]
  for (const end of ends) {
    const [reading, full] = [byHand(), byHand()]
    end(reading)
    t.match(reading.written, [/^event: error\ndata: /])
    t.same(reading.told, ['closed', 'ended'])
    full.isFull = true
    full.sink.send(FRAME)
    full.written.length = 0
    end(full)
    t.same(full.written, [])
    t.same(full.told, ['closed', 'cut'])
  }
  t.end()
})
