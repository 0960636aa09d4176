/** Waits that must end while the service is silent, even after a garbage collection as in a long-lived process. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createClient } from '../../engine/client.ts'
import { watch } from '../../engine/watch.ts'
import { collect } from '../collect.ts'

async function collected(): Promise<void> {
  for (let n = 0; n < 5; n += 1) {
    await pause(10)
    collect()
  }
}

/** A service that begins each answer and then goes silent. */
async function silent(test: Test, status = 200) {
  const hello = 'data: {"type":"hello","cursor":"1","oldest":"1"}\n\n'
  let connections = 0
  let open = 0
  const server = createServer((_, response) => {
    connections += 1
    open += 1
    response.on('close', () => {
      open -= 1
    })
    response.writeHead(status).write(hello)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createClient({ url, token: () => 'x', userAgent: 'test' })
  return { client, connections: () => connections, open: () => open }
}

t.test('an abort ends the watch and its connection at once', async (t) => {
  const { client, open } = await silent(t)
  const stop = new AbortController()
  const frames = watch({ client, since: 'latest', signal: stop.signal })
  await frames.next()
  const next = frames.next()
  await collected()
  stop.abort()
  const ended = await Promise.race([next.then(({ done }) => done), pause(2_000, 'it goes on', { ref: false })])
  t.equal(ended, true)
  for (let look = 0; look < 100 && open() > 0; look += 1) await pause(10)
  t.equal(open(), 0)
})

t.test('a silent stream is opened again after its time limit', async (t) => {
  const { client, connections } = await silent(t)
  const stop = new AbortController()
  const broken: string[] = []
  const frames = watch({
    client,
    since: 'latest',
    signal: stop.signal,
    silenceMs: 300,
    backoff: { firstMs: 1, longestMs: 2 },
    onBreak: (error) => broken.push(error.message),
  })
  await frames.next()
  const second = frames.next()
  await collected()
  t.match(await Promise.race([second, pause(2_000, undefined, { ref: false })]), { value: { type: 'hello' } })
  t.equal(connections(), 2)
  t.match(broken, [/nothing received for 0.3 s/])
  stop.abort()
  await frames.return()
})

t.test('an answer that keeps arriving is not cut off', async (t) => {
  const text = JSON.stringify({ items: Array(8).fill('x') })
  const server = createServer(async (_, response) => {
    for (const character of text.slice(0, 6)) {
      response.write(character)
      await pause(200)
    }
    response.end(text.slice(6))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createClient({ url, token: () => 'x', userAgent: 'test' })
  t.same((await client.request('GET', '/', { answerMs: 600 })).body, JSON.parse(text))
})

t.test('a request with a long answer time outlives the default timeout of Node.js', async (t) => {
  const server = createServer(async (_, response) => {
    await pause(3_000)
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createClient({ url, token: () => 'x', userAgent: 'test' })
  const agents = globalThis as Record<symbol, any>
  const name = Symbol.for('undici.globalDispatcher.1')
  new Headers()
  const agent = agents[name]
  t.teardown(() => {
    agents[name] = agent
  })
  // The default of 300 s would be too long for a test.
  agents[name] = new agent.constructor({ headersTimeout: 500 })
  await t.rejects(fetch(url), { cause: { message: /Headers Timeout/ } })
  t.match(await client.request('GET', '/', { answerMs: 6 * 3_600_000 }), { status: 200 })
})

t.test('an answer that stops halfway ends at its time limit or on an abort', async (t) => {
  for (const status of [200, 409]) {
    const { client } = await silent(t, status)
    const stop = new AbortController()
    const answers = [client.request('GET', '/', { answerMs: 300 }), client.request('GET', '/', { signal: stop.signal })]
    const ends = answers.map((answer) => answer.catch((error: Error) => error.message))
    await collected()
    stop.abort(new Error('enough'))
    const outcomes = await Promise.race([Promise.all(ends), pause(2_000, 'it goes on', { ref: false })])
    t.match(outcomes, [/took too long/, 'enough'], `status ${status}`)
  }
})
