/**
 * Bytes that no careful client sends, on real sockets: slow, endless, ambiguous, truncated. Each connection is answered
 * or closed in time, no other bytes are read as a request, and a client beside them is served meanwhile.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Service } from '../../bench/service.ts'
import { beside } from './beside.ts'

/**
 * The library's binary for Node.js 24 immediately answers requests that those for 20 and 22 close without an answer.
 */
const ANSWERS_AT_ONCE = Number(process.versions.modules) > 127

/** uWebSockets.js closes a connection that brought no complete request for about 10 s, at its next tick of 4 s. */
const PATIENCE_MS = 16_000

interface Ended {
  /** Statuses of the answers, in order. */
  readonly statuses: readonly number[]
  readonly text: string
  readonly ms: number
  readonly isClosed: boolean
}

/** A text is sent, a number is a pause in milliseconds, `end` closes our side of the connection. */
type Act = string | Buffer | number | 'end'

function talk(port: number, acts: readonly Act[], untilMs = PATIENCE_MS): Promise<Ended> {
  return new Promise((resolve) => {
    let text = ''
    let isClosed = true
    const begunMs = performance.now()
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.setNoDelay(true)
    const timer = setTimeout(() => {
      isClosed = false
      socket.destroy()
    }, untilMs)
    socket.on('connect', () => void act(socket, acts))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('end', () => socket.end())
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
      resolve({ statuses, text, isClosed, ms: performance.now() - begunMs })
    })
  })
}

async function act(socket: Socket, acts: readonly Act[]): Promise<void> {
  for (const one of acts) {
    if (socket.destroyed) return
    if (typeof one === 'number') await sleep(one)
    else if (one === 'end') socket.end()
    else socket.write(one)
  }
}

async function started(t: Test): Promise<Service> {
  const service = await Service.start(t.testdir())
  t.teardown(() => service.stop())
  return service
}

const GET = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
const BODY = '{"key":"made","name":"Made"}'

function post(token: string, headers: string, body: string): string {
  return `POST /api/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`
}

function dripped(text: string, everyMs: number): Act[] {
  return [...text].flatMap((character) => [character, everyMs])
}

/** Each connection is closed by the service itself, whatever still trickles in. */
t.test('slow, endless and malformed requests are closed in time and delay no other client', async (t) => {
  const service = await started(t)
  const { port } = service.target
  const poll = `GET /api/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\n\r\n`
  const client = beside(service, poll)
  const slow: [name: string, acts: Act[], atOnce?: number][] = [
    ['nothing at all', []],
    [
      'a header byte a second',
      ['GET /healthz HTTP/1.1\r\nHost: x\r\n', ...dripped(`X-Slow: ${'a'.repeat(60)}`, 1_000)],
    ],
    ['headers without an end', ['GET /healthz HTTP/1.1\r\nHost: x\r\n']],
    ['a body byte a second', [post(service.token, 'Content-Length: 100\r\n', '{'), ...dripped('a'.repeat(60), 1_000)]],
    ['a body that never comes', [post(service.token, 'Content-Length: 100\r\n', '')]],
    ['a chunk that never ends', [post(service.token, 'Transfer-Encoding: chunked\r\n', '5\r\n{"nam')]],
    ['chunks without an end', [post(service.token, 'Transfer-Encoding: chunked\r\n', '1\r\n{\r\n')]],
    ['a header of NUL', ['GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: a\0b\r\n\r\n'], 400],
    ['a folded header', ['GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: a\r\n b\r\n\r\n'], 400],
    ['a header without a colon', ['GET /healthz HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n'], 400],
    ['a header name with an underscore', ['GET /healthz HTTP/1.1\r\nHost: x\r\na_b: c\r\n\r\n'], 200],
    [
      'one header more than allowed',
      [`GET /healthz HTTP/1.1\r\nHost: x\r\n${Array.from({ length: 98 }, (_, i) => `X-${i}: v\r\n`).join('')}\r\n`],
      431,
    ],
    [
      'a chunk extension',
      [post(service.token, 'Transfer-Encoding: chunked\r\n', 'c;a=b\r\n{"name":"P"}\r\n0\r\n\r\n')],
    ],
    ['leading line ends', [`\r\n\r\n${GET}`]],
  ]
  const crowd = Array.from({ length: 200 }, () => talk(port, ['GET /healthz HTTP/1.1\r\nHost: x\r\n']))
  const ended = await Promise.all(
    slow.map(async ([name, acts, atOnce]) => ({ name, atOnce, ...(await talk(port, acts)) })),
  )
  for (const { name, atOnce, isClosed, statuses, ms } of ended) {
    const expected = ANSWERS_AT_ONCE && atOnce !== undefined ? [atOnce] : []
    t.same([isClosed, statuses], [true, expected], `${name}: ${Math.round(ms)} ms`)
  }
  t.ok((await Promise.all(crowd)).every(({ isClosed }) => isClosed))
  t.same(await client.stop(), [])
  const { ok, words } = client.wasHardlyFelt()
  t.ok(ok, words)
  const metrics = await fetch(`http://127.0.0.1:${port}/metrics`, {
    headers: { authorization: `Bearer ${service.token}` },
  })
  t.match(await metrics.text(), /intendant_http_body_bytes_in_flight 0\n/, 'no memory is held for unfinished bodies')
})

t.test('what follows a request with an ambiguous end on its connection is never read as a request', async (t) => {
  const service = await started(t)
  const { port } = service.target
  const { token } = service
  const SMUGGLED = `DELETE /api/tokens/tok_000000000000000000000000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`
  const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n`
  // Without `Upgrade`: a key of 24 characters suffices for uWebSockets.js.
  const upgrade = (headers: string, coding: string): string =>
    `GET /api/watch HTTP/1.1\r\nHost: x\r\nSec-WebSocket-Key: ${'A'.repeat(22)}==\r\n${headers}Transfer-Encoding: ${coding}\r\n\r\n0\r\n${SMUGGLED}`
  const shapes: [string, string][] = [
    ['two lengths', post(token, 'Content-Length: 5\r\nContent-Length: 6\r\n', `12345${SMUGGLED}`)],
    ['a length and chunks', post(token, 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['chunks and a length', post(token, 'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['another coding', post(token, 'Transfer-Encoding: xchunked\r\n', SMUGGLED)],
    ['a coding after chunked', post(token, 'Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${SMUGGLED}`)],
    [
      'two codings',
      post(token, 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', `0\r\n\r\n${SMUGGLED}`),
    ],
    ['a list of lengths', post(token, 'Content-Length: 5, 5\r\n', `12345${SMUGGLED}`)],
    ['a signed length', post(token, 'Content-Length: +5\r\n', `12345${SMUGGLED}`)],
    ['a negative length', post(token, 'Content-Length: -5\r\n', SMUGGLED)],
    ['a hexadecimal length', post(token, 'Content-Length: 0x5\r\n', `12345${SMUGGLED}`)],
    ['a length beyond 64 bits', post(token, 'Content-Length: 99999999999999999999\r\n', SMUGGLED)],
    ['trailers that are a request', post(token, 'Transfer-Encoding: chunked\r\n', `${chunked(BODY)}0\r\n${SMUGGLED}`)],
    [
      'trailers behind a refusal',
      post('itd_nobody', 'Transfer-Encoding: chunked\r\n', `${chunked(BODY)}0\r\n${SMUGGLED}`),
    ],
    [
      'trailers behind an unknown path',
      post(token, 'Transfer-Encoding: chunked\r\n', `${chunked(BODY)}0\r\n${SMUGGLED}`).replace(
        '/api/projects',
        '/nowhere',
      ),
    ],
    ['trailers of a GET', `GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${SMUGGLED}`],
    ['trailers of a HEAD', `HEAD /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${SMUGGLED}`],
    ...['chunked', 'gzip, chunked'].flatMap((coding): [string, string][] => [
      [`trailers behind an upgrade, ${coding}`, upgrade('', coding)],
      [`trailers behind an upgrade that is let in, ${coding}`, upgrade(`Authorization: Bearer ${token}\r\n`, coding)],
    ]),
    ['chunks with bare line feeds', post(token, 'Transfer-Encoding: chunked\r\n', `1c\n${BODY}\n0\n\n${SMUGGLED}`)],
    [
      'a chunk longer than it says',
      post(token, 'Transfer-Encoding: chunked\r\n', `1c\r\n${BODY}XX0\r\n\r\n${SMUGGLED}`),
    ],
    [
      'a chunk size that overflows',
      post(token, 'Transfer-Encoding: chunked\r\n', `1000000000000001c\r\n${BODY}\r\n0\r\n\r\n${SMUGGLED}`),
    ],
    ['a negative chunk', post(token, 'Transfer-Encoding: chunked\r\n', `-1\r\n${SMUGGLED}`)],
    ['no chunk size', post(token, 'Transfer-Encoding: chunked\r\n', `zz\r\n${SMUGGLED}`)],
  ]
  for (const [name, text] of shapes) {
    const { statuses, text: answer, isClosed } = await talk(port, [text], 5_000)
    // The smuggled request would be answered 404, because that token does not exist.
    t.ok(
      isClosed && statuses.length <= 1 && !answer.includes('There is no token'),
      `${name}: ${statuses.join(', ') || 'closed'}`,
    )
  }
  // In two segments: the answer to the first ends the connection before the second is read.
  const parted = await talk(
    port,
    [post(token, 'Transfer-Encoding: chunked\r\n', `${chunked(BODY)}0\r\n\r\n`), 50, SMUGGLED],
    5_000,
  )
  t.ok(parted.isClosed && parted.statuses.length === 1 && !parted.text.includes('There is no token'))
  const kept = await talk(port, [post(token, `Content-Length: ${BODY.length}\r\n`, BODY), 200, GET], 2_000)
  t.same(kept.statuses, [409, 200], 'a body with one length keeps its connection open')
})

t.test('malformed, pipelined and half-closed requests get the expected answer or none, and are closed', async (t) => {
  const service = await started(t)
  const { port } = service.target
  const { token } = service
  const whole = post(token, `Content-Length: ${BODY.length}\r\n`, BODY)
  const cases: [name: string, acts: Act[], allowed: RegExp][] = [
    ['HTTP/1.0', ['GET /healthz HTTP/1.0\r\n\r\n'], /^505$/],
    ['the preface of HTTP/2', ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'], /^505$/],
    ['TLS', [Buffer.from('16030100c8010000c40303', 'hex'), 300, 'end'], /^(505|400)?$/],
    ['absolute form', ['GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n'], /^(505|200)$/],
    ['asterisk form', ['OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n'], /^505$/],
    ['authority form', ['CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n'], /^505$/],
    ['bare line feeds', ['GET /healthz HTTP/1.1\nHost: x\n\n'], /^505$/],
    ['NUL in the path', ['GET /health\0z HTTP/1.1\r\nHost: x\r\n\r\n'], /^505$/],
    ['a proxy header', [`PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\n${GET}`], /^505$/],
    ['a request line in two pieces', ['GET /heal', 50, 'thz HTTP/1.1\r\nHost: x\r\n\r\n'], /^(505|200)$/],
    ['headers in two pieces', ['GET /healthz HTTP/1.1\r\nHo', 50, 'st: x\r\n\r\n', 50, 'end'], /^200$/],
    // The answer may be lost to a reset if the connection is closed while unread bytes are still in transit.
    [
      'a header beyond the size limit',
      [`GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(1_000_000)}\r\n\r\n`],
      /^(431)?$/,
    ],
    [
      'as many headers as allowed',
      [`GET /healthz HTTP/1.1\r\nHost: x\r\n${Array.from({ length: 97 }, (_, i) => `X-${i}: v\r\n`).join('')}\r\n`],
      /^200$/,
    ],
    ['no host', ['GET /healthz HTTP/1.1\r\nX-A: a\r\n\r\n'], /^400$/],
    [
      'five thousand headers',
      [`GET /healthz HTTP/1.1\r\nHost: x\r\n${Array.from({ length: 5_000 }, (_, i) => `X-${i}: v\r\n`).join('')}\r\n`],
      /^431$/,
    ],
    ['a long chunk extension', [post(token, 'Transfer-Encoding: chunked\r\n', `c;${'a'.repeat(16_000)}`)], /^400$/],
    // As with the header: most of the bytes are still in transit.
    [
      'an endless chunk extension',
      [post(token, 'Transfer-Encoding: chunked\r\n', `c;${'a'.repeat(3_000_000)}`)],
      /^(400)?$/,
    ],
    [
      'a long path',
      [`GET /${'a'.repeat(15_000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 300, 'end'],
      /^404$/,
    ],
    ['many pipelined', [GET.repeat(500), 500, 'end'], /^(200,?){500}$/],
    ['pipelined behind a request that is answered later', [whole + GET, 500, 'end'], /^$/],
    ['half closed behind a whole request', [GET, 'end'], /^(200)?$/],
    ['half closed behind a whole body', [whole, 'end'], /^(201|409)?$/],
    ['half closed in the headers', ['GET /heal', 'end'], /^(505)?$/],
    ['half closed in the body', [post(token, 'Content-Length: 100\r\n', '{'), 'end'], /^$/],
  ]
  for (const [name, acts, allowed] of cases) {
    const { statuses, text, isClosed, ms } = await talk(port, acts)
    t.ok(
      isClosed && allowed.test(statuses.join(',')),
      `${name}: ${statuses.slice(0, 5).join(', ') || 'closed'} after ${Math.round(ms)} ms`,
    )
    if (text.includes('problem+json')) t.ok(text.length < 6_000, `${name}: the answer is short`)
  }
  t.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200)
})

t.test('thousands of idle and aborted connections delay no other client and cost little memory', async (t) => {
  const service = await started(t)
  const { port } = service.target
  const { token } = service
  await service.createProject('quiet')
  const before = await service.child.heap()
  const create = (n: number): string => {
    const body = `{"entry_event":"scan_requested","payload":{"n":${n}}}`
    return `POST /api/projects/quiet/run-requests HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  }
  const client = beside(service, create(1))
  const idle = await Promise.all(Array.from({ length: 3_000 }, () => opened(port)))
  const open = idle.filter((socket) => !socket.destroyed).length
  t.ok(open > 2_500, `${open} idle connections`)
  const text = create(2)
  for (let n = 0; n < 3_000; n++) {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(text.slice(0, 1 + (n % text.length)), () =>
        n % 2 === 0 ? socket.destroy() : socket.resetAndDestroy(),
      )
    })
    socket.on('error', () => {})
    if (n % 100 === 0) await sleep(5)
  }
  for (const socket of idle) socket.destroy()
  await sleep(500)
  t.same(await client.stop(), [])
  const { ok, words } = client.wasHardlyFelt()
  t.ok(ok, words)
  const after = await service.child.heap()
  const grownMib =
    (after.heapUsedBytes + after.externalBytes - before.heapUsedBytes - before.externalBytes) / 1024 / 1024
  t.ok(grownMib < 24, `the heap has grown by ${grownMib.toFixed(1)} MiB`)
})

function opened(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.on('error', () => resolve(socket))
  })
}
