import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer, globalAgent } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createClient } from '../../engine/client.ts'
import { CERTIFICATE, KEY } from '../cli/forward-proxy.ts'
import { until } from '../until.ts'

/** A client of a service that answers with `answer`, and how many connections it has made. */
async function asking(test: Test, answer: RequestListener) {
  let connections = 0
  const server = createServer(answer).on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { client: createClient({ url, token: () => 'x', userAgent: 'test' }), connections: () => connections }
}

t.test('an upload that is refused before its end is not continued', async (t) => {
  const problem = { code: 'body_too_large', detail: 'too much' }
  const { client } = await asking(t, (_, response) => response.writeHead(413).end(JSON.stringify(problem)))
  let isEnded = false
  async function* endless() {
    try {
      for (;;) {
        yield Buffer.alloc(65_536)
        await new Promise(setImmediate)
      }
    } finally {
      isEnded = true
    }
  }
  await t.rejects(client.request('POST', '/', { body: endless() }), { name: 'ServiceRefused', problem })
  t.ok(
    await until(
      async () => isEnded,
      (ended) => ended,
    ),
  )
})

t.test('an upload whose source fails ends with the reason', async (t) => {
  const { client } = await asking(t, (request) => request.resume())
  async function* failing() {
    yield Buffer.from('some')
    throw new Error('the disk is gone')
  }
  await t.rejects(client.request('POST', '/', { body: failing() }), {
    name: 'ServiceUnreachable',
    message: /the disk is gone/,
  })
})

t.test('an answer that is cut off in its middle is no answer', async (t) => {
  const { client } = await asking(t, (_, response) => {
    response.writeHead(200, { 'content-length': 100 }).write('{"items":')
    setImmediate(() => response.destroy())
  })
  await t.rejects(client.request('GET', '/'), { name: 'ServiceUnreachable', message: /no answer from .*: aborted/ })
})

t.test('an answer that only switches protocols is no answer', async (t) => {
  const { client } = await asking(t, ({ socket }) =>
    socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n'),
  )
  await t.rejects(client.request('GET', '/', { answerMs: 5_000 }), {
    name: 'ServiceUnreachable',
    message: /was closed/,
  })
})

t.test('requests one after the other use one connection', async (t) => {
  const { client, connections } = await asking(t, (_, response) => response.end('{}'))
  for (let n = 0; n < 3; n += 1) t.equal((await client.request('POST', '/', { body: { n } })).status, 200)
  t.equal(connections(), 1)
})

t.test('an unused connection is given up also where only one certificate is accepted', async (t) => {
  const { timeout } = globalAgent.options
  globalAgent.options.timeout = 50
  t.teardown(() => Object.assign(globalAgent.options, { timeout }))
  let open = 0
  const server = createTlsServer({ cert: CERTIFICATE, key: KEY }, (_, response) => response.end('{}'))
  server.keepAliveTimeout = 0
  server.on('secureConnection', (socket) => {
    open += 1
    socket.on('close', () => {
      open -= 1
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createClient({ url, token: () => 'x', userAgent: 'test', certificate: CERTIFICATE })
  await client.request('GET', '/')
  t.equal(open, 1)
  t.equal(
    await until(
      async () => open,
      (count) => count === 0,
    ),
    0,
  )
})
