import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { selfTimes } from '../../bench/profile.ts'
import { Connection, contentLength, formatRequest } from '../../bench/wire.ts'

t.test('the load client reads complete answers, however they are fragmented, on one reused connection', async (t) => {
  const long = 'y'.repeat(3_000_000)
  const server = createServer((request, response) => {
    if (request.url === '/empty') response.writeHead(204).end()
    else response.setHeader('Content-Length', long.length + 2).end(`"${long}"`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const connection = await Connection.open({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  t.same(await connection.ask('GET', '/empty', 'token'), { status: 204, body: undefined })
  t.equal((await connection.ask('GET', '/long', 'token')).body, long)
  t.same(await connection.ask('POST', '/empty', 'token', { a: 1 }), { status: 204, body: undefined })
  connection.close()
  await new Promise((resolve) => server.close(resolve))
})

t.test('a request has a Content-Length, and an answer without one has no body', async (t) => {
  t.match(
    formatRequest('POST', '/x', 'abc', '{"a":1}'),
    /^POST \/x HTTP\/1\.1\r\n.*Content-Length: 7\r\n\r\n\{"a":1\}$/s,
  )
  const text = 'HTTP/1.1 200 OK\r\ncontent-length: 42\r\n\r\n'
  t.equal(contentLength(text, 0, text.length), 42)
  t.equal(contentLength('HTTP/1.1 204 No Content\r\n\r\n', 0, 24), 0)
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
  t.throws(() => contentLength(chunked, 0, chunked.length), /chunked/)
})

t.test('a profile is summed by function without idle time', async (t) => {
  const node = (id: number, functionName: string, url: string, children: number[] = []) => ({
    id,
    callFrame: { functionName, url, lineNumber: 9 },
    children,
  })
  const nodes = [
    node(1, '(idle)', ''),
    node(2, 'step', 'file:///x/dist/runtime/scope.js', [4]),
    node(3, '', 'file:///x/node_modules/lmdb/write.js'),
    node(4, 'writeSync', ''),
  ]
  const profile = { nodes, samples: [1, 2, 2, 3, 4], timeDeltas: [100, 30, 30, 30, 10] }
  t.same(selfTimes(profile, 5), [
    { what: 'step runtime/scope.js:10', share: 0.6 },
    { what: '(anonymous) lmdb/write.js:10', share: 0.3 },
    { what: 'writeSync < step runtime/scope.js:10', share: 0.1 },
  ])
})
