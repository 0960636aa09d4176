import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Client, createClient } from '../../engine/client.ts'
import { SseFrames, watch } from '../../engine/watch.ts'

function frame(cursor: number, type = 'events'): string {
  return `id: ${cursor}\nevent: ${type}\ndata: ${JSON.stringify({ type, cursor: String(cursor), events: [{ n: cursor }] })}\n\n`
}

type Script = ((response: ServerResponse) => void)[]

/** A service that answers each request with the next step of the script, and records the cursors of the requests. */
async function scripted(test: Test, script: Script): Promise<{ client: Client; asked: (string | null)[] }> {
  const asked: (string | null)[] = []
  const server = createServer((request, response) => {
    asked.push(new URL(request.url!, 'http://x').searchParams.get('since'))
    script.shift()!(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { client: createClient({ url, token: () => 'x', userAgent: 'test' }), asked }
}

t.test('frames are parsed wherever the stream is cut', async (t) => {
  const text = `: comment\r\n${frame(1)}data: {"a":\ndata: 1}\n\n`
  for (let cut = 0; cut <= text.length; cut += 1) {
    const frames = new SseFrames()
    t.same(
      [...frames.push(text.slice(0, cut)), ...frames.push(text.slice(cut))],
      [JSON.stringify({ type: 'events', cursor: '1', events: [{ n: 1 }] }), '{"a":\n1}'],
    )
  }
})

t.test('a broken stream resumes from the last cursor without gap or repeat', async (t) => {
  const { client, asked } = await scripted(t, [
    (response) => response.writeHead(200).write(frame(1) + frame(2), () => response.destroy()),
    (response) => response.writeHead(503).end(),
    (response) => response.writeHead(404).end('404 page not found'),
    (response) => response.writeHead(200).end(frame(3)),
    (response) => response.destroy(),
    (response) => void response.writeHead(200).write(frame(4)),
  ])
  const stop = new AbortController()
  const seen: number[] = []
  for await (const frame of watch({
    client,
    since: 'earliest',
    signal: stop.signal,
    backoff: { firstMs: 1, longestMs: 2 },
  })) {
    if (frame.type !== 'events') continue
    seen.push(Number(frame.cursor))
    if (seen.length === 4) stop.abort()
  }
  t.same(seen, [1, 2, 3, 4])
  t.same(asked, ['earliest', '2', '2', '2', '3', '3'])
})

t.test('a foreign page at the first request ends the watch, because the URL may be wrong', async (t) => {
  const { client } = await scripted(t, [(response) => response.writeHead(404).end('404 page not found')])
  const frames = watch({ client, since: 'latest', signal: new AbortController().signal })
  await t.rejects(frames.next(), { name: 'ServiceRefused', problem: { status: 404 } })
})

t.test('a slow consumer does not count as silence of the service', async (t) => {
  const { client, asked } = await scripted(t, [
    (response) => {
      response.writeHead(200).write(frame(1))
      setTimeout(() => response.write(frame(2)), 600)
    },
  ])
  const breaks: string[] = []
  const stop = new AbortController()
  const onBreak = ({ message }: Error): number => breaks.push(message)
  for await (const frame of watch({ client, since: 'latest', signal: stop.signal, silenceMs: 500, onBreak })) {
    if (frame.type === 'events' && frame.cursor === '2') stop.abort()
    else await pause(800)
  }
  t.same(asked, ['latest'])
  t.same(breaks, [])
})

t.test('a refusal or an error frame ends the watch with its problem', async (t) => {
  const { client } = await scripted(t, [
    (response) =>
      response
        .writeHead(410, { 'content-type': 'application/problem+json' })
        .end('{"code":"cursor_too_old","detail":"gone"}'),
    (response) =>
      response
        .writeHead(200)
        .end('data: {"type":"error","problem":{"status":401,"code":"token_revoked","detail":"d"}}\n\n'),
  ])
  for (const code of ['cursor_too_old', 'token_revoked']) {
    const frames = watch({ client, since: 'old', signal: new AbortController().signal })
    await t.rejects(frames.next(), { name: 'ServiceRefused', problem: { code } })
  }
})
