/**
 * Watch with bad frames, floods, and readers that do not read. Whoever misbehaves is closed or parked at no cost to the
 * others: a watcher beside them gets every event once, and requests are answered meanwhile.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { Service } from '../../bench/service.ts'
import { beside } from './beside.ts'
import { frame, handshake, opened, speak } from './raw-socket.ts'

async function started(t: Test): Promise<Service> {
  const service = await Service.start(t.testdir())
  t.teardown(() => service.stop())
  await service.createProject('seen')
  return service
}

const bearer = (token: string): string => `Authorization: Bearer ${token}\r\n`

async function send(
  service: Service,
  method: string,
  path: string,
  body?: object,
  token = service.token,
): Promise<any> {
  const response = await fetch(`http://127.0.0.1:${service.target.port}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** Emits events of about `bytes` each. */
async function emit(service: Service, count: number, bytes: number, from = 0): Promise<void> {
  for (let n = 0; n < count; n += 50) {
    const events = Array.from({ length: Math.min(50, count - n) }, (_, i) => ({
      event_type: 'something_seen',
      project: 'seen',
      occurred_at: new Date().toISOString(),
      payload: { n: from + n + i, text: 'x'.repeat(bytes) },
    }))
    await send(service, 'POST', '/api/events', { events })
  }
}

async function watchers(service: Service): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${service.target.port}/metrics`, {
    headers: { authorization: `Bearer ${service.token}` },
  })
  const counts = [...(await response.text()).matchAll(/intendant_watchers\{state="\w+"\} (\d+)/g)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

/** Resolves once no watcher is connected any more. */
async function untilNobody(service: Service): Promise<void> {
  for (let tries = 0; tries < 200 && (await watchers(service)) > 0; tries++) await sleep(50)
}

t.test('a WebSocket that sends bad frames or floods is closed, one that sends a few messages is not', async (t) => {
  const service = await started(t)
  const { port } = service.target
  const hands = (): string => handshake(bearer(service.token))
  const bad: [string, Buffer[]][] = [
    ['a reserved bit', [frame({ opcode: 1, payload: 'x', reserved: 2 })]],
    ['compressed, though nobody agreed to it', [frame({ opcode: 1, payload: 'x', reserved: 4 })]],
    ['an unknown opcode', [frame({ opcode: 3, payload: 'x' })]],
    ['an unknown control opcode', [frame({ opcode: 11, payload: 'x' })]],
    ['a fragmented ping', [frame({ opcode: 9, payload: 'x', isFinal: false })]],
    ['a long ping', [frame({ opcode: 9, payload: 'x'.repeat(126) })]],
    ['a continuation of nothing', [frame({ opcode: 0, payload: 'x' })]],
    [
      'a message within a message',
      [frame({ opcode: 1, payload: 'x', isFinal: false }), frame({ opcode: 1, payload: 'x' })],
    ],
    ['text that is not UTF-8', [frame({ opcode: 1, payload: Buffer.from([0xff, 0xfe]) })]],
    ['a large message', [frame({ opcode: 1, payload: 'x'.repeat(2_000) })]],
    ['a huge message', [frame({ opcode: 2, payload: 'x'.repeat(100_000) })]],
    ['a length of 2^52', [frame({ opcode: 2, payload: 'x', length: 2 ** 52 })]],
    [
      'fragments without an end',
      Array.from({ length: 200 }, (_, n) =>
        frame({ opcode: n === 0 ? 1 : 0, payload: 'x'.repeat(1_000), isFinal: false }),
      ),
    ],
    ['a close of one byte', [frame({ opcode: 8, payload: 'x' })]],
    ['a close with an invalid code', [frame({ opcode: 8, payload: Buffer.from([3, 231]) })]],
    ['a flood of messages', [Buffer.concat(Array.from({ length: 20_000 }, () => frame({ opcode: 1, payload: 'm' })))]],
    ['a flood of pings', [Buffer.concat(Array.from({ length: 20_000 }, () => frame({ opcode: 9, payload: 'p' })))]],
  ]
  for (const [name, parts] of bad) {
    const { status, texts, isClosed } = await speak(port, hands(), parts)
    t.ok(status === 101 && isClosed && texts.length >= 1, `${name} (${texts.length} frames before)`)
  }
  const flood = await speak(port, hands(), [
    Buffer.concat(Array.from({ length: 100 }, () => frame({ opcode: 1, payload: 'm' }))),
  ])
  t.equal(flood.closeCode, 1008)
  const few = await speak(
    port,
    hands(),
    Array.from({ length: 20 }, (_, n) => frame({ opcode: n % 2 === 0 ? 1 : 9, payload: 'm' })),
    500,
  )
  t.equal(few.isClosed, false, 'a few messages and pings are allowed')
  await untilNobody(service)
  t.equal(await watchers(service), 0)
})

t.test(
  'a WebSocket handshake is authenticated like a request, and its answer has no token, unknown protocol or extension',
  async (t) => {
    const service = await started(t)
    const { port } = service.target
    const { token } = service
    const known = 'Sec-WebSocket-Protocol: intendant.watch.v1'
    const cases: [string, string, number, RegExp?][] = [
      ['a token', handshake(bearer(token)), 101],
      ['no token', handshake(''), 401],
      ['a token in the query', handshake('', `/api/watch?token=${token}`), 401],
      ['a token in the query beside a good one', handshake(bearer(token), `/api/watch?access_token=${token}`), 400],
      [
        'a token among the protocols',
        handshake(`${known}, bearer.${token}\r\n`),
        101,
        /sec-websocket-protocol: intendant\.watch\.v1$/im,
      ],
      [
        'a token alone among the protocols: it is not echoed',
        handshake(`Sec-WebSocket-Protocol: bearer.${token}\r\n`),
        101,
        /^((?!sec-websocket-protocol).)*$/is,
      ],
      ['a bad token among the protocols', handshake(`${known}, bearer.nobody\r\n`), 401],
      [
        'a bad token in the header, a good one among the protocols',
        handshake(`Authorization: Bearer nobody\r\n${known}, bearer.${token}\r\n`),
        401,
      ],
      [
        'a bad protocol token before a good one',
        handshake(`Sec-WebSocket-Protocol: bearer.nobody, bearer.${token}\r\n`),
        401,
      ],
      ['an unknown protocol', handshake(`${bearer(token)}Sec-WebSocket-Protocol: evil\r\n`), 101, /^((?!evil).)*$/is],
      [
        'compression',
        handshake(`${bearer(token)}Sec-WebSocket-Extensions: permessage-deflate\r\n`),
        101,
        /^((?!permessage).)*$/is,
      ],
      ['another origin, without a token', handshake('Origin: https://evil.example\r\nCookie: token=x\r\n'), 401],
      ['an invalid cursor', handshake(bearer(token), '/api/watch?since=x'), 400],
      ['another path', handshake(bearer(token), '/api/projects'), 200],
    ]
    for (const [name, hands, status, head] of cases) {
      const received = await speak(port, hands, [], 300)
      t.equal(received.status, status, name)
      t.notOk(received.head.includes(token), `${name}: the token is not in the answer`)
      if (head !== undefined) t.match(received.head, head, name)
    }
  },
)

t.test('watchers that never read delay no other client and cost little memory', async (t) => {
  const service = await started(t)
  const { port } = service.target
  const before = await service.child.heap()
  const deaf: Socket[] = []
  for (let n = 0; n < 200; n++) {
    const socket = await opened(port, handshake(bearer(service.token), '/api/watch?since=earliest'))
    socket.pause()
    deaf.push(socket)
  }
  for (let n = 0; n < 100; n++) {
    const hands = `GET /api/watch?since=earliest HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n${bearer(service.token)}\r\n`
    const socket = await opened(port, hands)
    if (n % 2 === 0) socket.pause()
    else socket.end()
    deaf.push(socket)
  }
  const seen: number[] = []
  const reader = new WebSocket(`ws://127.0.0.1:${port}/api/watch?event_type=something_seen`, {
    headers: { authorization: `Bearer ${service.token}` },
  })
  reader.on('message', (data) => {
    for (const { payload } of JSON.parse(String(data)).events ?? []) seen.push(payload.n)
  })
  await new Promise((resolve) => reader.once('message', resolve))
  const client = beside(service, `GET /api/projects/seen HTTP/1.1\r\nHost: x\r\n${bearer(service.token)}\r\n`)
  // About 20 MB, which is more than all kernel buffers of one socket hold.
  await emit(service, 2_000, 10_000)
  for (let tries = 0; tries < 200 && seen.length < 2_000; tries++) await sleep(50)
  t.same(
    seen,
    Array.from({ length: 2_000 }, (_, n) => n),
    'a reader gets every event once and in order',
  )
  t.same(await client.stop(), [])
  const { ok, words } = client.wasHardlyFelt()
  t.ok(ok, words)
  const after = await service.child.heap()
  const grownMib =
    (after.heapUsedBytes + after.externalBytes - before.heapUsedBytes - before.externalBytes) / 1024 / 1024
  // For each parked watcher at most 256 KiB of frames are held, most of them shared; and the newest events.
  t.ok(grownMib < 100, `the heap has grown by ${grownMib.toFixed(1)} MiB`)
  reader.terminate()
  for (const socket of deaf) socket.destroy()
  await untilNobody(service)
  t.equal(await watchers(service), 0, 'no watcher is left')
})

t.test('thousands of short-lived watchers leave neither watchers nor memory behind', async (t) => {
  const service = await started(t)
  const { port } = service.target
  await emit(service, 50, 100)
  const before = await service.child.heap()
  const client = beside(service, `GET /api/projects/seen HTTP/1.1\r\nHost: x\r\n${bearer(service.token)}\r\n`)
  for (let round = 0; round < 30; round++) {
    const sockets = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        opened(port, handshake(bearer(service.token), `/api/watch?since=earliest&item_id=i${round}-${n}`)),
      ),
    )
    for (const [n, socket] of sockets.entries()) {
      if (n % 3 === 0) socket.destroy()
      else if (n % 3 === 1) socket.resetAndDestroy()
      else socket.end(frame({ opcode: 8, payload: Buffer.from([3, 232]) }))
    }
  }
  // Closed in the middle of the handshake.
  for (let n = 0; n < 500; n++) {
    const hands = handshake(bearer(service.token))
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(hands.slice(0, 60 + (n % (hands.length - 60))), () => socket.destroy()),
    )
    socket.on('error', () => {})
  }
  await untilNobody(service)
  t.equal(await watchers(service), 0)
  t.same(await client.stop(), [])
  const { ok, words } = client.wasHardlyFelt()
  t.ok(ok, words)
  const after = await service.child.heap()
  const grownMib =
    (after.heapUsedBytes + after.externalBytes - before.heapUsedBytes - before.externalBytes) / 1024 / 1024
  t.ok(grownMib < 16, `the heap has grown by ${grownMib.toFixed(1)} MiB`)
})

t.test(
  'revoking a token ends its streams, and removing a runner its parked poll, promptly even under a flood of events',
  async (t) => {
    const service = await started(t)
    const { port } = service.target
    const made = await send(service, 'POST', '/api/tokens', { name: 'eyes', roles: ['viewer'] })
    const runner = await send(service, 'POST', '/api/runners', { id: 'gone', allowed_projects: ['seen'] })
    const ends: Promise<number>[] = []
    // A WebSocket ends with its connection, a chunked answer with its last chunk.
    const endOf = (socket: Socket): Promise<number> =>
      new Promise((resolve) => {
        socket.on('data', (chunk) => {
          if (chunk.includes('\r\n0\r\n\r\n')) resolve(performance.now())
        })
        socket.once('close', () => resolve(performance.now()))
      })
    for (let n = 0; n < 20; n++) ends.push(endOf(await opened(port, handshake(bearer(made.token)))))
    const sse = `GET /api/watch HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n${bearer(made.token)}\r\n`
    for (let n = 0; n < 20; n++) ends.push(endOf(await opened(port, sse)))
    const poll = fetch(`http://127.0.0.1:${port}/api/runners/gone/run-requests/next?wait=30`, {
      headers: { authorization: `Bearer ${runner.token}` },
    })
    let isFlooding = true
    const flood = (async () => {
      for (let from = 0; isFlooding; from += 100) await emit(service, 100, 500, from)
    })()
    await sleep(300)
    const begunMs = performance.now()
    await send(service, 'DELETE', `/api/tokens/${made.id}`)
    await send(service, 'DELETE', '/api/runners/gone')
    const endedMs = Math.max(...(await Promise.all(ends))) - begunMs
    t.ok(endedMs < 1_000, `the last stream ended after ${Math.round(endedMs)} ms`)
    const answered = await poll
    t.ok(answered.status === 401 || answered.status === 409, `the poll was answered ${answered.status}`)
    t.ok(performance.now() - begunMs < 2_000)
    isFlooding = false
    await flood
    t.equal((await speak(port, handshake(bearer(made.token)), [], 300)).status, 401)
  },
)
