/**
 * Backups over HTTP: a small one is answered complete, a long one is followed by its URL, and only one runs at a time.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { DiskJournal } from '../../storage/disk-journal.ts'
import { dataFilesOf } from '../../storage/home/home-paths.ts'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { flip, flipInIndex } from '../storage/log-surgery.ts'
import { until } from '../until.ts'
import { startOnDisk, type TestService } from './service-harness.ts'

const PATH = '/api/backups'

/** Blocks every backup until the returned function is called. */
function held({ service }: TestService): () => void {
  let release = (): void => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  void (service.runtime.journal as DiskJournal).whileRedoKept(() => gate)
  return release
}

const ended = (s: TestService, name: string): Promise<any> =>
  until(
    async () => (await s.expect(200, 'GET', `${PATH}/${name}`)).body,
    ({ state }) => state !== 'running',
  )

t.test('a backup that takes long is answered 202, continues, and is read under its Location', async (t) => {
  const s = await startOnDisk(t, t.testdir())
  const release = held(s)
  t.teardown(release)
  const begun = await s.expect(202, 'POST', `${PATH}?wait=0`, { name: 'long' })
  t.equal(begun.headers.get('location'), `${PATH}/long`)
  t.match(begun.body, { name: 'long', state: 'running', path: join(s.settings.home, 'backups/long') })
  t.notOk('bytes' in begun.body || 'ended_at' in begun.body)
  t.same((await s.expect(200, 'GET', `${PATH}/long`)).body, begun.body)
  for (const name of ['other', 'long', undefined]) {
    const refused = await s.expect(409, 'POST', PATH, { name })
    t.match(refused.body, { code: 'backup_running', backup: 'long', detail: /long .*2\d{3}-/, retryable: true })
    t.equal(refused.headers.get('retry-after'), '10')
  }
  release()
  const completed = await ended(s, 'long')
  t.match(completed, { state: 'completed', begun_at: begun.body.begun_at, ended_at: /Z$/ })
  t.ok(completed.bytes > 0 && completed.sequence > 0)
  t.ok(existsSync(join(completed.path, 'backup.json')))
  for (const file of readdirSync(s.settings.home, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name)
    if (file.isFile()) t.equal(statSync(path).mode & 0o077, 0, `${path} is readable by its owner alone`)
  }
  t.equal((await s.expect(409, 'POST', PATH, { name: 'long' })).body.code, 'already_exists')
  t.same((await s.expect(200, 'GET', `${PATH}/long`)).body, completed, 'the record of the first one is unchanged')
  t.equal((await s.expect(404, 'GET', `${PATH}/other`)).body.code, 'not_found')
  await s.project('mine')
  const confined = { token: await s.token('confined', { roles: ['admin'], projects: ['mine'] }) }
  t.equal((await s.expect(403, 'GET', `${PATH}/long`, undefined, confined)).body.code, 'forbidden')
})

t.test('a backup continues when its client disconnects, and a failed one reports its cause', async (t) => {
  const s = await startOnDisk(t, t.testdir())
  const release = held(s)
  t.teardown(release)
  const gone = new AbortController()
  const asked = s.call('POST', PATH, { name: 'left' }, { signal: gone.signal })
  await until(
    () => s.call('GET', `${PATH}/left`),
    ({ status }) => status === 200,
  )
  gone.abort()
  await t.rejects(asked)
  release()
  t.equal((await ended(s, 'left')).state, 'completed')
  const again = held(s)
  t.teardown(again)
  await s.expect(202, 'POST', `${PATH}?wait=0`, { name: 'refused' })
  const journal = s.service.runtime.journal as DiskJournal
  journal.environments.copyTo = () => {
    throw new Error('no such folder')
  }
  again()
  t.match(await ended(s, 'refused'), { state: 'failed', failure: { code: 'backup_failed', message: 'no such folder' } })
})

t.test('a stop abandons a running backup, answers its waiting client 503 and leaves no files of it', async (t) => {
  const home = t.testdir()
  const s = await startOnDisk(t, home)
  const release = held(s)
  const asked = s.call('POST', PATH, { name: 'cut' })
  await until(
    () => s.call('GET', `${PATH}/cut`),
    ({ status }) => status === 200,
  )
  const closed = s.service.close()
  t.match(await asked, { status: 503, body: { code: 'stopping' } })
  release()
  await closed
  t.notOk(existsSync(join(home, 'backups/cut')))
  const next = await startOnDisk(t, home)
  t.equal((await next.expect(404, 'GET', `${PATH}/cut`)).body.code, 'not_found')
  await next.expect(201, 'POST', PATH, { name: 'cut' })
})

t.test('a backup of a damaged log is kept, and answered as a problem that names the backup and the file', async (t) => {
  const home = t.testdir()
  const s = await startOnDisk(t, home, {
    openJournal: (onFailure) => openDiskJournal({ home, diskReserveBytes: 0, logFileBytesMax: 2_000, onFailure }),
  })
  for (const key of ['one', 'two', 'three', 'four']) await s.project(key)
  const [path] = dataFilesOf(join(home, 'log'))
  t.ok(dataFilesOf(join(home, 'log')).length > 2)
  await s.expect(201, 'POST', PATH, { name: 'sound' })
  flipInIndex(path!)
  const { body } = await s.expect(500, 'POST', PATH, { name: 'hurt' })
  t.match(body, { code: 'backup_damaged', backup: 'hurt', detail: `${path} is damaged (the frame at byte ` })
  const told = (await s.expect(200, 'GET', `${PATH}/hurt`)).body
  t.match(told, { state: 'damaged', failure: { code: 'backup_damaged', message: body.detail }, path: /backups\/hurt$/ })
  t.ok(told.bytes > 0 && told.sequence > 0)
  t.ok(existsSync(join(told.path, 'backup.json')))
  flip(path!, 9)
  const refused = await s.expect(500, 'POST', PATH, { name: 'no-more' })
  t.match(refused.body, { code: 'backup_failed', detail: `${path} does not begin like a log file` })
  t.notOk(existsSync(join(home, 'backups/no-more')))
  // The last flush may start a new log file, so close while its folder exists.
  await s.service.close()
})

t.test('a backup named like an unfinished draft survives the next backup and a restart', async (t) => {
  const home = t.testdir()
  const s = await startOnDisk(t, home)
  const { path } = (await s.expect(201, 'POST', PATH, { name: `unfinished-${s.service.runtime.journal.epoch}` })).body
  await s.expect(201, 'POST', PATH, { name: 'other' })
  t.ok(existsSync(join(path, 'backup.json')), 'after another backup')
  await s.service.close()
  await startOnDisk(t, home)
  t.ok(existsSync(join(path, 'backup.json')), 'after a restart')
})

t.test(
  'repeating a backup under its idempotency key returns the same backup, both while it runs and once it is complete',
  async (t) => {
    const s = await startOnDisk(t, t.testdir())
    const release = held(s)
    t.teardown(release)
    const headers = { 'idempotency-key': 'nightly' }
    const begun = await s.expect(202, 'POST', `${PATH}?wait=0`, undefined, { headers })
    t.equal(begun.headers.get('idempotent-replay'), null)
    const again = await s.expect(202, 'POST', `${PATH}?wait=0`, undefined, { headers })
    t.equal(again.headers.get('idempotent-replay'), 'true')
    t.same(again.body, begun.body)
    release()
    const whole = await ended(s, begun.body.name)
    const replay = await s.expect(200, 'POST', PATH, {}, { headers })
    t.same([replay.body, replay.headers.get('idempotent-replay')], [whole, 'true'], 'no body equals an empty one')
    for (const name of ['other', whole.name]) {
      const other = await s.expect(422, 'POST', PATH, { name }, { headers })
      t.equal(other.body.code, 'idempotency_key_reused', 'another body')
    }
    const named = { headers: { 'idempotency-key': 'named' } }
    await s.expect(201, 'POST', PATH, { name: 'first' }, named)
    await s.expect(200, 'POST', PATH, { name: 'first' }, named)
    t.equal((await s.expect(422, 'POST', PATH, undefined, named)).body.code, 'idempotency_key_reused')
    const token = await s.token('other', { roles: ['admin'] })
    const theirs = await s.expect(201, 'POST', PATH, { name: 'theirs' }, { headers, token })
    t.equal(theirs.headers.get('idempotent-replay'), null, 'a key belongs to its token')
  },
)

t.test('a key outlasts a restart for complete backups, until its 24 h are over', async (t) => {
  const home = t.testdir()
  const platform = new AdvanceablePlatform()
  const asked = (key: string) => ({ headers: { 'idempotency-key': key } })
  let s = await startOnDisk(t, home, { platform })
  const restart = async (): Promise<void> => {
    await s.service.close()
    s = await startOnDisk(t, home, { platform })
  }
  const { body: first } = await s.expect(201, 'POST', PATH, undefined, asked('nightly'))
  const { body: named } = await s.expect(201, 'POST', PATH, { name: 'named' }, asked('named'))
  const manifest = readFileSync(join(named.path, 'backup.json'), 'utf8')
  t.notMatch(manifest, 'nightly', 'a key is kept as a digest')
  await restart()
  const replay = await s.expect(200, 'POST', PATH, {}, asked('nightly'))
  t.same([replay.body, replay.headers.get('idempotent-replay')], [first, 'true'])
  t.same((await s.expect(200, 'GET', replay.headers.get('location')!)).body, first)
  t.same((await s.expect(200, 'POST', PATH, { name: 'named' }, asked('named'))).body, named)
  const other = await s.expect(422, 'POST', PATH, { name: 'other' }, asked('nightly'))
  t.match(other.body, { code: 'idempotency_key_reused', detail: first.name })
  const theirs = { ...asked('nightly'), token: await s.token('other', { roles: ['admin'] }) }
  await s.expect(201, 'POST', PATH, { name: 'theirs' }, theirs)
  platform.advance(s.settings.idempotencyMs)
  await s.expect(201, 'POST', PATH, { name: 'next' }, asked('nightly'))
  await restart()
  const { body: next } = await s.expect(200, 'POST', PATH, { name: 'next' }, asked('nightly'))
  t.equal(next.name, 'next')
  const path = join(next.path, 'backup.json')
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), faults: ['a file is damaged'] }))
  await restart()
  const hurt = await s.expect(500, 'POST', PATH, { name: 'next' }, asked('nightly'))
  t.match(hurt.body, { code: 'backup_damaged', backup: 'next', detail: 'a file is damaged' })
})

t.test(
  'an interrupted backup does not count as made, and an unreadable manifest does not prevent a start',
  async (t) => {
    const home = t.testdir()
    const s = await startOnDisk(t, home)
    const headers = { 'idempotency-key': 'cut' }
    const { body } = await s.expect(201, 'POST', PATH, { name: 'cut' }, { headers })
    const { epoch } = s.service.runtime.journal
    await s.service.close()
    // Everything is copied, the manifest too, but the copy does not have its name yet.
    renameSync(body.path, join(home, 'backups', `.unfinished-${epoch}`))
    for (const [name, text] of Object.entries({
      torn: '{"log_b',
      former: '{"log_bytes":1,"view_bytes":1}',
      none: 'null',
    })) {
      mkdirSync(join(home, 'backups', name))
      writeFileSync(join(home, 'backups', name, 'backup.json'), text)
    }
    const next = await startOnDisk(t, home)
    const again = await next.expect(201, 'POST', PATH, { name: 'cut' }, { headers })
    t.equal(again.headers.get('idempotent-replay'), null)
    for (const name of ['torn', 'former', 'none']) await next.expect(404, 'GET', `${PATH}/${name}`)
  },
)
