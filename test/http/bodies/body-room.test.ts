/** The memory that incoming bodies may take is shared among kinds and senders; a body ends with its token. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { BodyRoom, kindOf } from '../../../http/bodies/body-room.ts'
import { startTestService, type TestService } from '../service-harness.ts'

const MIB = 1024 * 1024
const LARGEST = { large: 4 * MIB, upload: 8 * MIB }
const INGEST = `/engine/traces/${'a'.repeat(32)}/ingest`

const event = (n: number) => ({
  id: `evt_${n.toString(16).padStart(16, '0')}`,
  event_type: 'greeting_composed',
  project: 'greeter',
  occurred_at: '2026-01-31T12:00:00Z',
  throttle: 'dry_run',
  payload: { greeting: `Hello, ${n}!` },
})
const lines = (from: number, to: number): string => {
  let text = ''
  for (let n = from; n < to; n++) text += `${JSON.stringify(event(n))}\n`
  return text
}

/** The number of bodies of a size that the room takes before it refuses one. */
function fill(room: BodyRoom, sender: object, bytes: number, kind: Parameters<BodyRoom['whyNot']>[2]): number {
  for (let taken = 0; ; taken++) {
    if (room.whyNot(sender, bytes, kind) !== undefined) return taken
    room.take(sender, bytes)
  }
}

t.test('uploads leave room for large bodies, and large bodies for small ones', (t) => {
  const room = new BodyRoom(256 * MIB, LARGEST)
  const many = Array.from({ length: 100 }, () => ({}))
  const fillOf = (bytes: number, kind: 'small' | 'large' | 'upload'): number =>
    many.reduce<number>((sum, sender) => sum + fill(room, sender, bytes, kind), 0)
  t.equal(fillOf(8 * MIB, 'upload'), 16, 'half of the room')
  t.equal(fillOf(MIB, 'large'), 96, 'seven eighths of it')
  t.equal(fillOf(64 * 1024, 'small'), 512, 'all of it')
  t.equal(room.bytes, 256 * MIB)
  t.match(room.whyNot({}, 1, 'small'), /Bodies totalling 268435456 bytes are being received/)
  t.strictSame([kindOf(100), kindOf(MIB)], ['small', 'large'])
  t.end()
})

t.test('a sender that already holds bytes gets at most the share left for others', (t) => {
  const room = new BodyRoom(256 * MIB, LARGEST)
  const [greedy, other, third] = [{}, {}, {}]
  t.equal(fill(room, greedy, 8 * MIB, 'upload'), 8)
  t.match(room.whyNot(greedy, 8 * MIB, 'upload'), /^This token is already sending 67108864 bytes /)
  t.equal(fill(room, other, 8 * MIB, 'upload'), 4)
  t.equal(room.whyNot(third, 8 * MIB, 'upload'), undefined)
  room.give(other, 32 * MIB)
  t.equal(room.bytes, 64 * MIB)
  t.equal(fill(room, other, 8 * MIB, 'upload'), 4, 'returned bytes are available again')
  t.end()
})

t.test('one body of each kind fits while it is alone, however small the room', (t) => {
  const room = new BodyRoom(9 * MIB, LARGEST)
  t.equal(fill(room, {}, 8 * MIB, 'upload'), 1)
  t.equal(fill(room, {}, 4 * MIB, 'large'), 0)
  room.give({}, 8 * MIB)
  t.equal(fill(room, {}, 4 * MIB, 'large'), 1)
  t.end()
})

async function open(s: TestService, path: string, token: string, more: string, part: string): Promise<Socket> {
  const socket = connect(s.service.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${more}\r\n\r\n${part}`)
  return socket
}

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const CHUNKED = 'Content-Type: application/jsonl\r\nTransfer-Encoding: chunked'

/** The first complete answer on the socket: its head and a body of the announced length. */
async function answerOf(socket: Socket): Promise<{ readonly status: number; readonly body: any }> {
  let text = ''
  for await (const data of socket) {
    text += data
    const [head = '', body = ''] = text.split('\r\n\r\n')
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
    if (body.length >= length) return { status: Number(text.slice(9, 12)), body: JSON.parse(body) }
  }
  throw new Error(`it was closed after ${JSON.stringify(text)}`)
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 10_000; !(await isSo()); ) {
    if (performance.now() > end) throw new Error('it has not come to that within 10 s')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

t.test('stalled uploads of one token block neither heartbeats nor uploads of another token', async (t) => {
  const s = await startTestService(t, { bodiesInFlightBytesMax: 64 * MIB })
  await s.project('greeter')
  const runner = await s.runner('r1')
  const { id } = await s.request('greeter')
  await s.expect(200, 'GET', '/api/runners/r1/run-requests/next', undefined, { token: runner })
  const sockets = await Promise.all(Array.from({ length: 20 }, () => open(s, INGEST, s.admin, CHUNKED, '')))
  t.teardown(() => sockets.map((socket) => socket.destroy()))
  // As much as one token gets. To ask by an upload would take room and turns, and while one waits the stalled ones end.
  const full = `body_bytes_in_flight ${16 * MIB}`
  await until(async () => (await s.call('GET', '/metrics')).body.includes(full))
  const refused = await s.expect(503, 'POST', INGEST, '[]')
  t.match(refused.body, {
    code: 'bodies_in_flight',
    detail: /^This token is already sending \d+ bytes .*: the rest is for other tokens/,
  })
  await s.expect(200, 'POST', `/api/run-requests/${id}/heartbeat`, {}, { token: runner })
  await s.project('other')
  const { token } = (await s.expect(201, 'POST', '/api/tokens', { name: 'another', rights: ['event.emit'] })).body
  const taken = await s.expect(200, 'POST', INGEST, [event(1)], { token })
  t.match(taken.body, { accepted: 1 })
})

t.test('a small body that does not arrive reserves no bytes', async (t) => {
  const s = await startTestService(t, { bodiesInFlightBytesMax: 100_000 })
  const more = 'Content-Type: application/json\r\nContent-Length: 20000'
  const sockets = await Promise.all(Array.from({ length: 30 }, () => open(s, '/api/projects', s.admin, more, '')))
  t.teardown(() => sockets.map((socket) => socket.destroy()))
  t.match((await s.call('GET', '/metrics')).body, /intendant_http_body_bytes_in_flight 0/)
  await s.project('greeter')
})

t.test('a body whose token is revoked while it arrives is answered 401, and changes nothing', async (t) => {
  const s = await startTestService(t)
  const { id, token } = (await s.expect(201, 'POST', '/api/tokens', { name: 'gone', rights: ['intent.write'] })).body
  const body = '{"name":"Late"}'
  const more = `Content-Type: application/json\r\nContent-Length: ${body.length}`
  const socket = await open(s, '/api/projects', token, more, body.slice(0, 5))
  await until(async () => /body_bytes_in_flight 5/.test((await s.call('GET', '/metrics')).body))
  await s.expect(204, 'DELETE', `/api/tokens/${id}`)
  socket.write(body.slice(5))
  t.match(await answerOf(socket), {
    status: 401,
    body: {
      code: 'token_revoked',
      detail: 'The token gone was revoked. The body, received meanwhile, was discarded.',
    },
  })
  await s.expect(404, 'GET', '/api/projects/late')
})

t.test('a trace upload ends with 401 when its token is revoked; events committed before that stay', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const { id, token } = (await s.expect(201, 'POST', '/api/tokens', { name: 'gone', rights: ['event.emit'] })).body
  const socket = await open(s, INGEST, token, CHUNKED, chunk(lines(0, 500)))
  const { journal } = s.service.runtime
  const before = journal.lastSequence
  await until(() => journal.lastSequence >= before + 250)
  await s.expect(204, 'DELETE', `/api/tokens/${id}`)
  socket.write(`${chunk(lines(500, 2_000))}0\r\n\r\n`)
  const { status, body } = await answerOf(socket)
  t.equal(status, 401)
  t.match(body, {
    code: 'token_revoked',
    detail: /gone was revoked. The rest of the trace was not ingested/,
    refused_count: 0,
  })
  t.ok(body.accepted > 0 && body.accepted <= 500, `${body.accepted} were committed`)
  const again = await s.expect(200, 'POST', INGEST, lines(0, 501), { headers: { 'content-type': 'application/jsonl' } })
  t.match(again.body, { accepted: 501 - body.accepted, duplicates: body.accepted })
})
