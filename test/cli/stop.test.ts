/**
 * The stop of the real process under load: accepted work is finished, waiting clients are answered, and it ends in
 * time.
 */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { SseFrames } from '../../engine/watch.ts'
import { until } from '../until.ts'
import { type Served, serve } from './processes.ts'

/** A stop that has nothing to wait for takes far less than this. */
const SOON_MS = 4_000
/** A signal that comes this much later counts as a second one. */
const NEXT_WISH_MS = 1_200

interface Caller {
  readonly headers: Record<string, string>
  post(path: string, body?: object): Promise<Response>
}

function caller(service: Served, token = readFileSync(`${service.home}/admin.token`, 'utf8').trim()): Caller {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = (path: string, body: object = {}) =>
    fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return { headers, post }
}

async function withProject(test: Test, home: string): Promise<{ service: Served; admin: Caller; runner: Caller }> {
  const service = await serve(test, home)
  const admin = caller(service)
  await admin.post('/api/projects', { name: 'Demo', key: 'demo' })
  const { token } = (await (await admin.post('/api/runners', { id: 'r1', allowed_projects: ['demo'] })).json()) as any
  return { service, admin, runner: caller(service, token) }
}

/** Follows by SSE from the cursor until the stream ends or `enough` events came; returns all frames. */
async function followed(
  url: string,
  headers: Record<string, string>,
  since: string,
  enough = Number.POSITIVE_INFINITY,
) {
  const answer = await fetch(`${url}/api/watch?since=${since}`, {
    headers: { ...headers, accept: 'text/event-stream' },
  })
  const all: any[] = []
  const frames = new SseFrames()
  const decoder = new TextDecoder()
  let seen = 0
  for await (const chunk of answer.body!) {
    for (const text of frames.push(decoder.decode(chunk, { stream: true }))) {
      all.push(JSON.parse(text))
      seen += all.at(-1).events?.length ?? 0
    }
    if (seen >= enough) break
  }
  return all
}

t.test('a stop under load loses no acknowledged request, and tells every client to come back', async (t) => {
  const home = `${t.testdir()}/home`
  const { service, admin, runner } = await withProject(t, home)
  const parked = fetch(`${service.url}/api/runners/r1/run-requests/next?wait=60`, { headers: runner.headers })
  const streamed = followed(service.url, admin.headers, 'earliest')
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/api/watch`, { headers: admin.headers })
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  await new Promise((resolve) => socket.once('message', resolve))

  const acknowledged = new Map<string, string>()
  const refusals = new Set<string>()
  let asked = 0
  let isOver = false
  const load = Array.from({ length: 16 }, async () => {
    while (!isOver) {
      const key = `key-${asked++}`
      try {
        // No runner may take it, so only the stop wakes the parked poll.
        const body = { entry_event: 'scan_requested', labels: ['nobody'], idempotency_key: key }
        const answer = await admin.post('/api/projects/demo/run-requests', body)
        const { id, code } = (await answer.json()) as any
        if (answer.status === 201) acknowledged.set(key, id)
        else refusals.add(`${answer.status} ${code}`)
      } catch {
        isOver = true
      }
    }
  })
  while (acknowledged.size < 300) await new Promise((resolve) => setTimeout(resolve, 5))
  const begunMs = performance.now()
  const ended = service.end('SIGTERM')
  t.equal(await ended, 0)
  t.ok(performance.now() - begunMs < SOON_MS, `${performance.now() - begunMs} ms`)
  isOver = true
  await Promise.all(load)
  t.same(
    [...refusals].filter((told) => told !== '503 stopping'),
    [],
    'unserved requests were told to come back',
  )
  const poll = await parked
  t.equal(poll.status, 204)
  t.equal(poll.headers.get('retry-after'), '1')
  t.equal(await closed, 1012)
  const frames = await streamed
  t.match(frames.at(-1), { type: 'error', problem: { code: 'stopping', retryable: true } })

  const again = await serve(t, home)
  for (const [key, id] of acknowledged) {
    const { status } = await fetch(`${again.url}/api/run-requests/${id}`, { headers: admin.headers })
    if (status !== 200) t.fail(`${key} was acknowledged and is lost`)
  }
  // One event more than any stream delivered before the stop, so that resuming has something to deliver.
  await fetch(`${again.url}/api/projects/demo/run-requests`, {
    method: 'POST',
    headers: { ...admin.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ entry_event: 'scan_requested', labels: ['nobody'], idempotency_key: 'afterwards' }),
  })
  const before = frames.flatMap((frame) => frame.events ?? []).map((event) => event.id)
  const whole = (await followed(again.url, admin.headers, 'earliest', before.length + 1)).flatMap((f) => f.events ?? [])
  const { cursor } = frames.filter(({ type }) => type === 'events').at(-1)
  const rest = (await followed(again.url, admin.headers, cursor, 1)).flatMap((frame) => frame.events ?? [])
  const ids = whole.map((event) => event.id)
  t.same([...before, rest[0].id], ids.slice(0, before.length + 1), 'resumed where it ended: no gap, no repeat')
  t.equal(await again.end('SIGTERM'), 0)
})

/** Sends a request that is never completed. */
async function unfinished(test: Test, { url }: Served, { headers }: Caller): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  test.teardown(() => socket.destroy())
  socket.on('error', () => {})
  const head = `POST /api/projects HTTP/1.1\r\nHost: x\r\nAuthorization: ${headers.authorization}\r\n`
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"name":`)
  const metrics = async () => (await fetch(`${url}/metrics`, { headers })).text()
  await until(metrics, (text) => /^intendant_http_body_bytes_in_flight [1-9]/m.test(text))
}

t.test('an unfinished request delays a stop for a bounded time only', async (t) => {
  const { service, admin } = await withProject(t, `${t.testdir()}/home`)
  await unfinished(t, service, admin)
  const begunMs = performance.now()
  t.equal(await service.end('SIGINT'), 0)
  const tookMs = performance.now() - begunMs
  t.ok(tookMs > 4_500, 'the request had its time')
  t.ok(tookMs < 5_000 + SOON_MS, `${tookMs} ms`)
  t.match(service.log(), /stopping: cutting off requests/)
})

t.test('a second signal ends the stop at once', async (t) => {
  const home = `${t.testdir()}/home`
  const { service, admin } = await withProject(t, home)
  await unfinished(t, service, admin)
  service.child.kill('SIGTERM')
  await new Promise((resolve) => setTimeout(resolve, NEXT_WISH_MS))
  t.equal(service.child.exitCode, null, 'it is still waiting')
  const begunMs = performance.now()
  t.equal(await service.end('SIGTERM'), 130)
  t.ok(performance.now() - begunMs < 1_000)
  const again = await serve(t, home)
  t.equal((await fetch(`${again.url}/api/projects/demo`, { headers: admin.headers })).status, 200)
})

t.test('signals of one Ctrl-C that arrive together count as one', async (t) => {
  const { service, admin } = await withProject(t, `${t.testdir()}/home`)
  await unfinished(t, service, admin)
  service.child.kill('SIGINT')
  // Pending signals of the same number merge into one.
  for (const laterMs of [20, 200]) setTimeout(() => service.child.kill('SIGINT'), laterMs)
  const begunMs = performance.now()
  t.equal(await service.end('SIGTERM'), 0)
  t.ok(performance.now() - begunMs > 4_500, 'the request had its time')
  t.match(service.log(), '"msg":"stopped"')
})
