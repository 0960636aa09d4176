/** One idempotency key, one body: creates whose id is derived from what is asked for, not from the key. */
import t from 'tap'
import { askerOf } from '../../http/idempotency.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import { KEPT_KEYS } from '../../runtime/entities/kept-keys.ts'
import { retentionSweepMs } from '../../runtime/limits.ts'
import type { DiskJournal } from '../../storage/disk-journal.ts'
import { LAST_PART } from '../../storage/environments.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { GATE } from './campaign-harness.ts'
import { COMPLETE, finish, fleet, submit, take } from './ledger-harness.ts'
import { raw, startOnDisk, startTestService, type TestService } from './service-harness.ts'

const MANIFEST = {
  engine_version: '1',
  supported_entry_events: ['greet_requested'],
  supported_throttle_modes: ['dry_run'],
}

/** Creates by name: the path, and the body for a given name. */
const NAMED: readonly (readonly [path: string, body: (name: string) => object])[] = [
  ['/api/projects', (key) => ({ key, name: 'P' })],
  ['/api/runners', (id) => ({ id, allowed_projects: ['shop'] })],
  ['/api/projects/shop/intent-records', (slug) => ({ slug, title: 'T', capability: 'C' })],
  ['/api/projects/shop/engine-capabilities', (engine) => ({ ...MANIFEST, engine })],
  ['/api/campaigns', (name) => ({ name, project: 'shop', mission: 'M', done_evidence: [GATE] })],
  ['/api/initiatives', (name) => ({ name, outcome: 'O', members: [{ kind: 'project', ref: 'shop' }] })],
]

const headers = { 'idempotency-key': 'k' }
const HOUR_MS = 60 * 60_000

async function counted(s: TestService, path: string): Promise<number> {
  return (await s.expect(200, 'GET', path)).body.items.length
}

for (const [path, bodyOf] of NAMED) {
  t.test(`${path}: a key used for one name is refused for another, and is free after 24 h`, async (t) => {
    const platform = new AdvanceablePlatform()
    const s = await startTestService(t, {}, { platform })
    await s.project('shop')
    await s.expect(201, 'POST', path, bodyOf('one'), { headers })
    const before = await counted(s, path)
    const other = await s.expect(422, 'POST', path, bodyOf('two'), { headers })
    t.equal(other.body.code, 'idempotency_key_reused')
    t.match(other.body.detail, /with another body, or for another/)
    t.equal(await counted(s, path), before, 'nothing was created')
    const again = await s.expect(200, 'POST', path, bodyOf('one'), { headers })
    t.equal(again.headers.get('idempotent-replay'), 'true')
    await s.expect(201, 'POST', path, bodyOf('two'), { headers: { 'idempotency-key': 'another' } })
    const token = await s.token('other', { roles: ['admin'] })
    await s.expect(201, 'POST', path, bodyOf('three'), { headers, token })
    platform.advance(24 * HOUR_MS + 1)
    await s.expect(201, 'POST', path, bodyOf('four'), { headers })
    t.equal(
      (await s.call('POST', path, bodyOf('five'), { headers })).status,
      422,
      'from then on it belongs to the new one',
    )
  })
}

t.test(
  'of two names under one key the second waits for the first, and the winner is remembered over a restart',
  async (t) => {
    const home = t.testdir()
    const s = await startOnDisk(t, home)
    const release = holdCreates(s)
    const posts = ['one', 'two', 'one'].map(async (key) => {
      const { status } = await s.call('POST', '/api/projects', { key, name: 'P' }, { headers })
      return [key, status]
    })
    // Lets requests sent at the same time arrive first.
    for (let asked = 0; asked < 5; asked++) await s.expect(200, 'GET', '/healthz')
    release()
    const answers = await Promise.all(posts)
    const made = answers.find(([, status]) => status === 201)![0]
    for (const [key, status] of answers) t.ok(key === made ? status === 201 || status === 200 : status === 422)
    t.equal(answers.filter(([, status]) => status === 201).length, 1)
    t.equal(await counted(s, '/api/projects'), 1)
    await s.service.close()
    const restarted = await startOnDisk(t, home)
    await restarted.expect(200, 'POST', '/api/projects', { key: made, name: 'P' }, { headers })
    await restarted.expect(422, 'POST', '/api/projects', { key: 'three', name: 'P' }, { headers })
  },
)

/** Holds creates back from their actors until the returned function is called. */
function holdCreates({ service: { runtime } }: TestService): () => void {
  const ask = runtime.ask.bind(runtime)
  const held: Parameters<typeof ask>[] = []
  runtime.ask = (...asked) => {
    if (asked[1].type === 'create') held.push(asked)
    else ask(...asked)
  }
  return () => {
    runtime.ask = ask
    for (const asked of held) ask(...asked)
  }
}

t.test('a used key is forgotten when its time is over, and not before', async (t) => {
  const home = t.testdir()
  const platform = new AdvanceablePlatform()
  const s = await startOnDisk(t, home, { platform })
  const named = (key: string) => ({ headers: { 'idempotency-key': `k-${key}` } })
  const kept = async (): Promise<number> => {
    const journal = s.service.runtime.journal as DiskJournal
    await journal.settled()
    return journal.environments.view.reservations.getKeysCount({ start: [KEPT_KEYS], end: [KEPT_KEYS, LAST_PART] })
  }
  for (const key of ['first', 'second']) await s.expect(201, 'POST', '/api/projects', { key, name: 'P' }, named(key))
  t.equal(await kept(), 2)
  platform.advance(23 * HOUR_MS)
  await s.expect(201, 'POST', '/api/projects', { key: 'third', name: 'P' }, named('third'))
  await s.expect(422, 'POST', '/api/projects', { key: 'other', name: 'P' }, named('first'))
  t.equal(await kept(), 3)
  platform.advance(HOUR_MS + 1)
  while ((await kept()) > 1) {
    platform.advance(retentionSweepMs)
    await s.expect(200, 'GET', '/healthz')
  }
  await s.expect(422, 'POST', '/api/projects', { key: 'other', name: 'P' }, named('third'))
  await s.expect(201, 'POST', '/api/projects', { key: 'other', name: 'P' }, named('first'))
  t.equal(await kept(), 2)
  await s.service.close()
  const restarted = await startOnDisk(t, home, { platform })
  await restarted.expect(422, 'POST', '/api/projects', { key: 'more', name: 'P' }, named('first'))
  await restarted.expect(201, 'POST', '/api/projects', { key: 'more', name: 'P' }, named('second'))
})

t.test('a refused create leaves its key free', async (t) => {
  const s = await startTestService(t)
  await s.project('taken')
  await s.expect(409, 'POST', '/api/projects', { key: 'taken', name: 'x' }, { headers })
  await s.expect(201, 'POST', '/api/projects', { key: 'free', name: 'x' }, { headers })
})

t.test('a late repeat of an older manifest does not replace a newer one', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const path = '/api/projects/shop/engine-capabilities'
  const older = { ...MANIFEST, engine: 'factory' }
  await s.expect(201, 'POST', path, older, { headers })
  const newer = { ...older, engine_version: '2' }
  await s.expect(201, 'POST', path, newer, { headers: { 'idempotency-key': 'newer' } })
  t.match((await s.expect(200, 'POST', path, older, { headers })).body, { engine_version: '2', version: 2 })
  await s.expect(422, 'POST', path, { ...older, engine_version: '3' }, { headers })
})

t.test('resuming preserved work under a used key with another body is refused', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const item = await submit(s, {})
  const blocked = { ...COMPLETE, success: false, landed: false, land_blocked: 'git_failed', preservation_ref: 'task/x' }
  await finish(s, runner, (await take(s, runner)).request_id, blocked)
  const path = `/api/work-items/${item.id}/resume`
  const made = await s.expect(201, 'POST', path, { objective: 'Go on' }, { headers })
  t.equal((await s.expect(200, 'POST', path, { objective: 'Go on' }, { headers })).body.id, made.body.id)
  const other = await s.expect(422, 'POST', path, { objective: 'Begin anew' }, { headers })
  t.equal(other.body.code, 'idempotency_key_reused')
})

t.test('a key answered with an existing twin keeps leading to that item, even once it has settled', async (t) => {
  const home = t.testdir()
  const s = await startOnDisk(t, home)
  await s.project('shop')
  const path = '/api/work-items'
  const body = { project: 'shop', objective: 'Tidy up' }
  const { id } = (await s.expect(201, 'POST', path, body)).body
  t.equal((await s.expect(200, 'POST', path, body, { headers })).body.id, id)
  t.equal((await s.expect(200, 'POST', path, body, { headers })).body.id, id)
  await s.expect(200, 'POST', `${path}/${id}/cancel`)
  const events = (await s.expect(200, 'GET', `/api/events?item_id=${id}`)).body.items.length
  const again = await s.expect(200, 'POST', path, body, { headers })
  t.match([again.body.id, again.body.state, again.headers.get('idempotent-replay')], [id, 'cancelled', 'true'])
  t.equal((await s.expect(200, 'GET', `/api/events?item_id=${id}`)).body.items.length, events, 'nothing is recorded')
  for (const other of [{ objective: 'Sweep' }, { allow_duplicate: true }])
    t.equal((await s.expect(422, 'POST', path, { ...body, ...other }, { headers })).body.code, 'idempotency_key_reused')
  await s.service.close()
  const platform = new AdvanceablePlatform()
  const restarted = await startOnDisk(t, home, { platform })
  t.equal((await restarted.expect(200, 'POST', path, body, { headers })).body.id, id)
  const token = await restarted.token('other', { roles: ['admin'] })
  await restarted.expect(201, 'POST', path, { ...body, objective: 'Sweep' }, { headers, token })
  platform.advance(24 * HOUR_MS + 1)
  t.not((await restarted.expect(201, 'POST', path, body, { headers })).body.id, id, 'the key is free after its time')
})

t.test('a key used for an unchanged manifest is refused for another manifest', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const path = '/api/projects/shop/engine-capabilities'
  const manifest = { ...MANIFEST, engine: 'factory' }
  await s.expect(201, 'POST', path, manifest)
  t.equal((await s.call('POST', path, manifest, { headers })).status, 200)
  await s.expect(422, 'POST', path, { ...MANIFEST, engine: 'workshop' }, { headers })
})

t.test('a doubled, empty, overlong or non-ASCII idempotency key is answered 400', async (t) => {
  const s = await startTestService(t)
  const body = JSON.stringify({ key: 'shop', name: 'P' })
  const post = (...keys: string[]) =>
    raw(s.service.port, [
      `POST /api/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${s.admin}\r\nContent-Type: application/json\r\n` +
        `${keys.map((key) => `Idempotency-Key: ${key}\r\n`).join('')}Content-Length: ${body.length}\r\n\r\n${body}`,
    ])
  for (const keys of [['a', 'b'], ['a', 'a'], ['', 'a'], [''], ['""'], ['ü'], ['ключ'], ['a ü b'], ['a'.repeat(256)]]) {
    const answer = await post(...keys)
    t.match(answer, /^HTTP\/1.1 400/, keys.join())
    t.match(answer, /"code":"invalid_header".*/)
  }
  t.equal(await counted(s, '/api/projects'), 0)
  t.match(await post('"'), /^HTTP\/1.1 201/, 'a lone quote is a key, not an empty key in quotes')
})

t.test('a runner’s key is not that of a token with its name', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const runner = await s.runner('r1')
  const token = await s.token('r1', { roles: ['admin'] })
  const post = (text: string, token: string) => {
    const body = { observations: [{ ref: 'a', summary: text }] }
    return s.expect(201, 'POST', '/projects/shop/discoveries', body, { headers, token })
  }
  await post('seen by the runner', runner)
  await post('seen by a person', token)
})

t.test('a caller is the same in whatever order its projects are, and a runner whatever it may serve', async (t) => {
  const asker = (kind: 'token' | 'runner', ...projects: string[]) =>
    askerOf({ name: 'n', kind, projects: new Set(projects) } as unknown as Principal)
  t.equal(asker('token', 'a', 'b'), asker('token', 'b', 'a'))
  t.not(asker('token', 'a'), asker('token', 'a', 'b'))
  t.equal(asker('runner', 'a'), asker('runner', 'a', 'b'))
})
