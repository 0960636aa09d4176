/**
 * Answers of something other than the service (a proxy, or an ingress during a restart) end neither a run nor a runner.
 */
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { until } from '../until.ts'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'

const PAGE = { status: 404, page: '404 page not found' }

t.test('a foreign page instead of a session or poll answer is retried and logged, and costs no run', async (t) => {
  const { service, runner, logs } = await hired(t, 'echo up; while [ ! -e "$GATE" ]; do sleep 0.02; done', {
    once: false,
    environment: { PATH: process.env.PATH, GATE: `${t.testdir()}/gate` },
  })
  let pages = 0
  let isBetween = true
  service.misbehave = ({ verb }) => {
    if (!isBetween || (verb !== 'session' && verb !== 'next')) return undefined
    pages += 1
    // These statuses would end the runner if they came from the service.
    return { ...PAGE, status: [401, 403, 404][pages % 3]! }
  }
  const seen = async (): Promise<number> => pages
  await until(seen, (count) => count >= 6)
  isBetween = false
  service.offer(executionRequest('runreq_g'))
  await service.until(({ verb }) => verb === 'events')
  const before = pages
  isBetween = true
  service.news({ 'Intendant-Draining': 'false' })
  await until(seen, (count) => count >= before + 6)
  t.equal(service.said('failed').length, 0)
  isBetween = false
  writeFileSync(`${t.testdirName}/gate`, '')
  await service.until(({ verb }) => verb === 'completed')
  runner.drain()
  t.same(await runner.finished, ['completed'])
  t.match(logs.join('\n'), /something other than the service answered, with status 404: 404 page not found/)
})

t.test('a foreign page instead of an answer to a post or heartbeat is retried', async (t) => {
  const { service, runner, logs } = await hired(t, 'echo one; sleep 0.3', { heartbeatMs: 40 })
  const tries = new Map<string, number>()
  service.misbehave = ({ verb }) => {
    const nth = (tries.get(verb) ?? 0) + 1
    tries.set(verb, nth)
    return verb !== 'next' && nth <= 3 ? PAGE : undefined
  }
  service.offer(executionRequest('runreq_p'))
  t.same(await runner.finished, ['completed'])
  t.ok(service.said('heartbeat').length > 0, 'heartbeats continued after the pages')
  t.match(logs.join('\n'), /404 page not found; the next heartbeat is in/)
})

t.test('a post that a proxy refuses as too large is split in half', async (t) => {
  const line = '{"event_type":"x","payload":{}}'
  const { service, runner } = await hired(t, `printf '%s\\n' ${Array(8).fill(`'${line}'`).join(' ')}`)
  service.misbehave = ({ verb, body }) =>
    verb === 'events' && body.events.length > 2 ? { status: 413, page: '413 Request Entity Too Large' } : undefined
  service.offer(executionRequest('runreq_l'))
  t.same(await runner.finished, ['completed'])
  t.equal(service.events().length, 8)
})

t.test('output that is too large is split in half in order, and lost output is logged', async (t) => {
  const lines = Array.from({ length: 400 }, (_, n) => `line ${n} ä\n`).join('')
  const folder = t.testdir({ lines })
  const { service, runner, logs } = await hired(t, `cat '${folder}/lines'; echo never >&2`)
  service.misbehave = ({ verb, body }) => {
    if (verb !== 'events') return undefined
    const texts: string[] = body.events.map(({ payload }: any) => payload.text)
    if (texts.some((text) => text.includes('never'))) return { status: 413, code: 'event_too_large' }
    return texts.some((text) => text.length > 500) ? { status: 413, page: '413 Request Entity Too Large' } : undefined
  }
  service.offer(executionRequest('runreq_o'))
  t.same(await runner.finished, ['completed'])
  const texts = service.events().map(({ payload }) => payload.text)
  t.equal(texts.join(''), lines)
  t.match(logs.join('\n'), /6 bytes of output were lost, refused by the service: event_too_large/)
})

t.test('server errors on a session or poll are retried without limit', async (t) => {
  const { service, runner } = await hired(t, 'true')
  const told = { session: 0, next: 0 }
  service.misbehave = ({ verb }) =>
    (verb === 'session' || verb === 'next') && ++told[verb] <= 15 ? { status: 500, code: 'internal' } : undefined
  service.offer(executionRequest('runreq_f'))
  t.same(await runner.finished, ['completed'])
})

t.test('a refusal by the service itself ends the runner', async (t) => {
  const { service, runner } = await hired(t, 'true')
  service.misbehave = ({ verb }) => (verb === 'next' ? { status: 404, code: 'not_found' } : undefined)
  await t.rejects(runner.finished, { name: 'ServiceRefused', problem: { code: 'not_found' } })
})
