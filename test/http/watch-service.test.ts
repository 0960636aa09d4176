/** Watch and the event endpoints on the whole service: LMDB on disk, real tokens, real restarts. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { WebSocket } from 'ws'
import { type Service, startService } from '../../http/service.ts'
import { defaultSettings } from '../../runtime/settings.ts'
import { Frames } from './watch-harness.ts'

const start = (home: string): Promise<Service> =>
  startService({ ...defaultSettings, home, port: 0 }, { version: '0.0.0', log: pino({ level: 'silent' }) })

class Client {
  readonly #service: Service
  readonly #token: string

  constructor(service: Service, token: string) {
    this.#service = service
    this.#token = token
  }

  async send(method: string, path: string, body?: object) {
    const response = await fetch(this.#service.url + path, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text), headers: response.headers }
  }

  async watch(query: string): Promise<Frames> {
    const socket = new WebSocket(`${this.#service.url.replace('http', 'ws')}/api/watch${query}`, {
      headers: { authorization: `Bearer ${this.#token}` },
    })
    const frames = new Frames()
    socket.on('message', (data) => frames.push(JSON.parse(data.toString())))
    socket.on('close', (code, reason) => frames.end(code, reason.toString()))
    socket.on('error', () => {})
    return frames.until((f) => f.all.length > 0)
  }
}

t.test('acknowledged changes are watched, and a stream resumes where it was after a restart', async (t) => {
  const home = t.testdir()
  let service = await start(home)
  t.teardown(() => service.close())
  const token = readFileSync(join(home, 'admin.token'), 'utf8').trim()
  let client = new Client(service, token)
  const frames = await client.watch('?since=earliest')
  const created = await client.send('POST', '/api/projects', { key: 'demo', name: 'Demo' })
  t.equal(created.status, 201)
  await frames.until((f) => f.ids.length >= 2)
  t.same(
    frames.all.flatMap((frame) => frame.events ?? []).map((event) => event.event_type),
    ['token_created', 'project_created'],
  )
  await service.close()
  await frames.until((f) => f.ended !== undefined)
  t.equal(frames.ended!.code, 1012)

  service = await start(home)
  client = new Client(service, token)
  const resumed = await client.watch(`?since=${frames.cursor}`)
  const patched = await client.send('PATCH', `/api/projects/${created.body.id}`, { name: 'Other' })
  t.equal(patched.status, 200)
  await resumed.until((f) => f.ids.length >= 1)
  t.same(
    resumed.all.flatMap((frame) => frame.events ?? []).map((event) => event.event_type),
    ['project_updated'],
  )
  const list = await client.send('GET', '/api/events?project=demo')
  t.same(
    list.body.items.map((event: { event_type: string }) => event.event_type),
    ['project_created', 'project_updated'],
  )
  t.equal(list.headers.get('watch-cursor'), resumed.cursor)
  const [event] = list.body.items
  t.same((await client.send('GET', `/api/events/${event.id}`)).body, event)
})

t.test('a run request can be watched by its id, and cancelling it leaves its trace incomplete', async (t) => {
  const home = t.testdir()
  const service = await start(home)
  t.teardown(() => service.close())
  const client = new Client(service, readFileSync(join(home, 'admin.token'), 'utf8').trim())
  await client.send('POST', '/api/projects', { key: 'demo', name: 'Demo' })
  const created = await client.send('POST', '/api/projects/demo/run-requests', {
    entry_event: 'greet_requested',
    payload: { name: 'you' },
  })
  t.equal(created.status, 201)
  const { id, trace_id } = created.body
  const frames = await client.watch(`?since=earliest&run_request_id=${id}`)
  await client.send('POST', `/api/run-requests/${id}/cancel`, {})
  await frames.until((f) => f.all.some((frame) => frame.events?.some((e) => e.event_type === 'run_request_cancelled')))
  t.ok(
    frames.all.flatMap((frame) => frame.events ?? []).every((e) => e.run_request_id === id && e.trace_id === trace_id),
  )
  const trace = await client.send('GET', `/api/traces/${trace_id}`)
  t.match(trace.body, { trace_id, complete: false, run_requests: [{ id, state: 'cancelled' }] })
  t.same(
    trace.body.events.map((e: { id: string }) => e.id),
    frames.ids,
  )
  const listed = await client.send('GET', `/api/events?run_request_id=${id}`)
  t.same(
    listed.body.items.map((e: { id: string }) => e.id),
    frames.ids,
  )
  t.equal((await client.send('GET', `/api/events/${frames.ids[0]}?trace_id=${trace_id}`)).status, 200)
})

t.test('a confined token watches only its projects, until it is revoked or expires', async (t) => {
  const home = t.testdir()
  const service = await start(home)
  t.teardown(() => service.close())
  const admin = new Client(service, readFileSync(join(home, 'admin.token'), 'utf8').trim())
  await admin.send('POST', '/api/projects', { key: 'a', name: 'A' })
  await admin.send('POST', '/api/projects', { key: 'b', name: 'B' })
  const made = await admin.send('POST', '/api/tokens', { name: 'eyes', roles: ['viewer'], projects: ['a'] })
  t.equal(made.status, 201)
  const frames = await new Client(service, made.body.token).watch('?since=earliest')
  await frames.until((f) => f.ids.length >= 1)
  await admin.send('PATCH', '/api/projects/b', { name: 'B2' })
  await admin.send('PATCH', '/api/projects/a', { name: 'A2' })
  await frames.until((f) => f.ids.length >= 2)
  t.same(
    frames.all.flatMap((frame) => frame.events ?? []).map((e) => `${e.project} ${e.event_type}`),
    ['a project_created', 'a project_updated'],
  )
  t.equal((await admin.send('DELETE', `/api/tokens/${made.body.id}`)).status < 300, true)
  await frames.until((f) => f.ended !== undefined, 1_000)
  t.same(frames.ended, { code: 4401, reason: 'token_revoked' })

  const expires_at = new Date(Date.now() + 1_500).toISOString()
  const brief = await admin.send('POST', '/api/tokens', { name: 'brief', roles: ['viewer'], expires_at })
  t.equal(brief.status, 201)
  const short = await new Client(service, brief.body.token).watch('')
  await short.until((f) => f.ended !== undefined, 2_600)
  t.same(short.ended, { code: 4401, reason: 'token_expired' })
})
