/** Clients that do not take their answers: what waits for them is bounded, and a client that reads keeps its connection. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { UnsentAnswers } from '../../../http/wire/unsent-answers.ts'
import type { UwsResponse } from '../../../http/wire/uws.ts'
import { until } from '../../until.ts'
import { metric, raw, startTestService, type TestService } from '../service-harness.ts'

/** A connection that takes only as many bytes as the test allows. */
class Slow {
  room: number
  isClosed = false
  taken = ''
  #aborted = (): void => {}
  #writable = (_: number): boolean => true

  constructor(room = 0) {
    this.room = room
  }

  tryEnd(body: string | Uint8Array, totalBytes = Buffer.byteLength(body)): readonly [boolean, boolean] {
    const bytes = Buffer.from(body as string)
    const taken = bytes.subarray(0, this.room)
    this.room -= taken.length
    this.taken += taken.toString('latin1')
    return [taken.length === bytes.length, this.taken.length === totalBytes]
  }

  cork(callback: () => void): this {
    callback()
    return this
  }

  onAborted(handler: () => void): this {
    this.#aborted = handler
    return this
  }

  onWritable(handler: (offset: number) => boolean): this {
    this.#writable = handler
    return this
  }

  close(): this {
    this.isClosed = true
    this.#aborted()
    return this
  }

  takes(bytes: number): boolean {
    this.room += bytes
    return this.#writable(this.taken.length)
  }
}

const sendTo = (answers: UnsentAnswers, one: Slow, text: string): void =>
  answers.send(one as unknown as UwsResponse, text)

t.test('an answer taken at once is not kept, and any other continues where it stopped', (t) => {
  const answers = new UnsentAnswers(100)
  const quick = new Slow(10)
  sendTo(answers, quick, '0123456789')
  t.same([quick.taken, answers.bytes], ['0123456789', 0])
  const slow = new Slow(3)
  sendTo(answers, slow, 'äöü789')
  t.equal(answers.bytes, 9, 'bytes, not characters')
  t.equal(slow.takes(4), false)
  t.equal(slow.takes(0), false, 'called for nothing')
  t.equal(slow.takes(9), true)
  t.equal(Buffer.from(slow.taken, 'latin1').toString(), 'äöü789')
  t.equal(answers.bytes, 0)
  t.end()
})

t.test('beyond the bound, the connections that have taken nothing for longest are closed, never the only one', (t) => {
  const answers = new UnsentAnswers(25)
  const [a, b, c, d] = Array.from({ length: 4 }, () => new Slow()) as [Slow, Slow, Slow, Slow]
  const closed = (): readonly boolean[] => [a, b, c, d].map(({ isClosed }) => isClosed)
  sendTo(answers, a, 'x'.repeat(10))
  sendTo(answers, b, 'x'.repeat(10))
  a.takes(1)
  sendTo(answers, c, 'x'.repeat(10))
  t.same(closed(), [false, true, false, false], 'a has taken something since')
  t.same([answers.bytes, answers.closed], [20, 1])
  sendTo(answers, d, 'x'.repeat(30))
  t.same(closed(), [true, true, true, false])
  t.same([answers.bytes, answers.closed], [30, 3])
  d.close()
  t.equal(answers.bytes, 0)
  t.end()
})

interface Reader {
  readonly socket: Socket
  /** Begins to read. Returns how many bytes came by the end of the connection, or once there are this many. */
  read(bytes: number): Promise<number>
}

function reader({ service, admin }: TestService, path: string): Reader {
  const socket = connect(service.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${admin}\r\n\r\n`)
  return {
    socket,
    read: (bytes) =>
      new Promise((resolve) => {
        let received = 0
        socket.on('data', (data) => {
          received += data.length
          if (received >= bytes) socket.destroy()
        })
        socket.on('close', () => resolve(received))
      }),
  }
}

t.test(
  'the bytes that wait for clients which do not read are bounded, and a client that reads at last gets its whole answer',
  async (t) => {
    const unsentBytesMax = 30_000_000
    const s = await startTestService(t, {}, { unsentBytesMax })
    await s.project('shop')
    // As many characters as a page may have, of three bytes each: far more than sockets hold by themselves.
    const text = '€'.repeat(340_000)
    for (let i = 0; i < 13; i++) await s.request('shop', { payload: { name: text }, idempotency_key: String(i) })
    const whole = Buffer.byteLength(JSON.stringify((await s.expect(200, 'GET', '/api/run-requests')).body))
    const waiting = () => metric(s, 'intendant_http_unsent_bytes')
    const readers: Reader[] = []
    for (let n = 1; n <= 2; n++) {
      readers.push(reader(s, '/api/run-requests'))
      await until(waiting, (bytes) => bytes > (n - 0.5) * whole)
    }
    t.equal(await metric(s, 'intendant_http_unsent_closed_total'), 0)
    readers.push(reader(s, '/api/run-requests'))
    await until(
      () => metric(s, 'intendant_http_unsent_closed_total'),
      (count) => count === 1,
    )
    t.ok((await waiting()) <= unsentBytesMax)
    const [first, second, third] = await Promise.all(readers.map((one) => one.read(whole)))
    t.ok(first! < whole, 'the one that has waited longest is closed')
    t.ok(second! >= whole && third! >= whole)
    t.equal(await until(waiting, (bytes) => bytes === 0), 0)
    const impatient = reader(s, '/api/run-requests')
    await until(waiting, (bytes) => bytes > 0)
    impatient.socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(waiting, (bytes) => bytes === 0)
    impatient.socket.destroy()
  },
)

t.test(
  'a client that keeps sending requests and reads nothing is closed once its connection takes no more',
  async (t) => {
    const s = await startTestService(t)
    const socket = connect(s.service.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    const requests = 'GET /asyncapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(10)
    // A hundred megabytes of answers, of which a connection takes a fifth at most.
    for (let n = 0; n < 100 && !socket.destroyed; n++) {
      socket.write(requests)
      await sleep(2)
    }
    t.ok(socket.destroyed)
    socket.destroy()
  },
)

t.test('a client that reads nothing cannot pile up long answers by ending its connection with each', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const text = '€'.repeat(340_000)
  for (let i = 0; i < 8; i++) await s.request('shop', { payload: { name: text }, idempotency_key: String(i) })
  const head = `GET /api/run-requests HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${s.admin}\r\n`
  const ending = `${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`
  t.match(await raw(s.service.port, [ending], 300), /^HTTP\/1.1 400 /)
  const socket = connect(s.service.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  const before = process.memoryUsage().rss
  // Eight megabytes each: more than a connection takes by itself.
  for (let n = 0; n < 20 && !socket.destroyed; n++) {
    socket.write(ending)
    await sleep(100)
  }
  t.ok(process.memoryUsage().rss - before < 60_000_000)
  socket.destroy()
})
