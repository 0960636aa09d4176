/**
 * A client refused while still sending can read why; what it sends after that is dropped, within limits of size and
 * time.
 */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { DROPPED_BYTES_MAX, LINGER_MS_MAX, Lingering } from '../../../http/wire/lingering.ts'
import type { UwsResponse } from '../../../http/wire/uws.ts'
import { startTestService } from '../service-harness.ts'

const PIECE_BYTES = 256 * 1024
const PIECE = Buffer.concat([
  Buffer.from(`${PIECE_BYTES.toString(16)}\r\n`),
  Buffer.alloc(PIECE_BYTES, ' '),
  Buffer.from('\r\n'),
])
const LAST_PIECE = '0\r\n\r\n'

interface Talk {
  /** Sent in order, each after the one before was written. */
  readonly sends: Iterable<string | Buffer | Promise<unknown>>
  /** The client reads only after it has sent everything, as many do. */
  readonly readsLast?: true
}

interface Heard {
  readonly text: string
  readonly sentBytes: number
  readonly error: string | undefined
}

/** Everything that the client reads until its connection ends. */
async function talk(port: number, { sends, readsLast }: Talk): Promise<Heard> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  let sentBytes = 0
  let error: string | undefined
  if (readsLast === true) socket.pause()
  const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.on('error', (one: NodeJS.ErrnoException) => {
    error = one.code
  })
  const listen = () =>
    socket.on('data', (data) => {
      text += data.toString('latin1')
    })
  if (readsLast !== true) listen()
  for (const one of sends) {
    if (one instanceof Promise) await one
    else if (!socket.destroyed) {
      await new Promise<void>((resolve) => socket.write(one, () => resolve()))
      sentBytes += one.length
    }
  }
  if (readsLast === true) {
    listen()
    socket.resume()
  }
  await ended
  return { text, sentBytes, error }
}

/** The answer, checked to be complete and the only one. */
function answerIn({ text }: Heard): { status: number; head: string; body: any } {
  const at = text.indexOf('\r\n\r\n')
  const head = text.slice(0, at)
  const body = text.slice(at + 4)
  if (Number(/^content-length: (\d+)$/im.exec(head)?.[1]) !== body.length) throw new Error(`not one answer: ${text}`)
  return { status: Number(text.slice(9, 12)), head, body: JSON.parse(body) }
}

function headOf(path: string, token: string, more: string): string {
  return `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n${more}\r\n`
}

const JSON_LINES = 'content-type: application/jsonl\r\n'
const JSON_TYPE = 'content-type: application/json\r\n'
const CHUNKED = 'transfer-encoding: chunked\r\n'
const INGEST = '/engine/traces/t1/ingest'

t.test('a client that is refused while it sends a chunked body can finish sending and read why', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const viewer = await s.token('viewer', { roles: ['viewer'] })
  const { port } = s.service
  const nowhere = headOf(`${INGEST}?project=nowhere`, s.admin, JSON_LINES + CHUNKED)
  const malformed = headOf(INGEST, s.admin, JSON_TYPE + CHUNKED)
  const cases: [status: number, code: string, head: string, first?: string][] = [
    [401, 'unauthenticated', headOf(INGEST, 'itd_nobody', JSON_LINES + CHUNKED)],
    [403, 'forbidden', headOf(INGEST, viewer, JSON_LINES + CHUNKED)],
    [404, 'not_found', nowhere],
    [404, 'no_such_route', headOf('/nowhere', s.admin, CHUNKED)],
    [415, 'unsupported_media_type', headOf(INGEST, s.admin, CHUNKED)],
    [400, 'malformed_body', malformed, '3\r\n"x"\r\n'],
    [413, 'body_too_large', headOf('/api/projects', s.admin, JSON_TYPE + CHUNKED)],
  ]
  const pieces = Array.from({ length: (8 * 1024 * 1024) / PIECE_BYTES }, () => PIECE)
  for (const [status, code, head, first = ''] of cases) {
    const heard = await talk(port, { sends: [head + first, ...pieces, LAST_PIECE], readsLast: true })
    t.equal(heard.error, undefined, code)
    const answer = answerIn(heard)
    t.match(answer, { status, body: { code, status }, head: /connection: close/i })
    t.match(answer.head, /^content-type: application\/problem\+json$/im)
    t.match(answer.head, /^date: .* GMT$/im)
    t.match(answer.head, /^api-version: 1$/im)
  }
  await s.expect(200, 'GET', '/healthz')
})

t.test('a client that keeps sending after it was refused gets its answer at once, and is cut off', async (t) => {
  const s = await startTestService(t)
  const { port } = s.service
  const pieces = Array.from({ length: 400 }, () => PIECE)
  const length = `content-length: ${pieces.length * PIECE.length}\r\n`
  for (const framing of [CHUNKED, length]) {
    const heard = await talk(port, {
      sends: [headOf(`${INGEST}?project=nowhere`, s.admin, JSON_LINES + framing), sleep(50), ...pieces],
    })
    t.match(answerIn(heard), { status: 404 }, framing)
    t.ok(heard.sentBytes >= DROPPED_BYTES_MAX, `${heard.sentBytes} sent`)
    t.ok(heard.sentBytes < 4 * DROPPED_BYTES_MAX, `${heard.sentBytes} sent`)
  }
})

t.test('nothing sent after a refused body is taken for a request', async (t) => {
  const s = await startTestService(t)
  const refused = headOf(INGEST, 'itd_nobody', JSON_LINES + CHUNKED) + PIECE.toString()
  const second = `GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n`
  const shapes: Record<string, (string | Promise<unknown>)[]> = {
    'behind its last piece': [refused, sleep(50), LAST_PIECE + second],
    'later than its last piece': [refused, sleep(50), LAST_PIECE, sleep(50), second],
    'as its trailers': [refused, sleep(50), `0\r\n${second}`],
    'in place of a piece': [refused, sleep(50), second],
    'at once': [refused + LAST_PIECE + second],
  }
  for (const [name, sends] of Object.entries(shapes)) {
    const { text } = await talk(s.service.port, { sends })
    // After an invalid chunk uWebSockets.js itself answers, behind an answer that announced the close.
    t.ok(text.split('API-Version: 1').length <= 2, `${name}: ${text}`)
    t.notMatch(text, /"ok"/, name)
  }
})

t.test('the connection of a refused body that trickles in is cut after a fixed time', (t) => {
  const timers: [() => void, number][] = []
  const value = (callback: () => void, ms: number) => {
    timers.push([callback, ms])
    return { unref: () => {} }
  }
  t.intercept(globalThis, 'setTimeout', { value })
  let closed = 0
  const response = { writeHeader: () => response, close: () => ++closed } as unknown as UwsResponse
  const body = new Lingering(response)
  body.came(DROPPED_BYTES_MAX + 1, false)
  t.equal(closed, 0, 'bytes before the refusal are not counted')
  body.refuse('{}')
  body.came(1, false)
  t.equal(closed, 0)
  const [[cut, ms] = [() => {}, 0]] = timers
  t.equal(ms, LINGER_MS_MAX)
  cut()
  t.equal(closed, 1)
  t.end()
})
