/** A backup over HTTP: at once where it is small, followed where it takes long, and one at a time. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { DiskJournal } from '../../storage/disk-journal.ts'
import { dataFilesOf } from '../../storage/home/home-paths.ts'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { flip, flipInIndex } from '../storage/log-surgery.ts'
import { until } from '../until.ts'
import { startOnDisk, type TestService } from './service-harness.ts'

const PATH = '/api/backups'

/** Holds up every backup until the function that it answers is called. */
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

t.test(
  'a backup that takes long is answered before its end, goes on by itself, and is read where that says',
  async (t) => {
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
      t.match(refused.body, { code: 'backup_running', backup: 'long', detail: /long .*2\d{3}-/ })
    }
    release()
    const completed = await ended(s, 'long')
    t.match(completed, { state: 'completed', begun_at: begun.body.begun_at, ended_at: /Z$/ })
    t.ok(completed.bytes > 0 && completed.sequence > 0)
    t.ok(existsSync(join(completed.path, 'backup.json')))
    for (const file of readdirSync(s.settings.home, { recursive: true, withFileTypes: true })) {
      const path = join(file.parentPath, file.name)
      if (file.isFile()) t.equal(statSync(path).mode & 0o077, 0, `${path} is its owner's alone`)
    }
    t.equal((await s.expect(409, 'POST', PATH, { name: 'long' })).body.code, 'already_exists')
    t.same((await s.expect(200, 'GET', `${PATH}/long`)).body, completed, 'what is told of the first one stays')
    t.equal((await s.expect(404, 'GET', `${PATH}/other`)).body.code, 'not_found')
    await s.project('mine')
    const confined = { token: await s.token('confined', { roles: ['admin'], projects: ['mine'] }) }
    t.equal((await s.expect(403, 'GET', `${PATH}/long`, undefined, confined)).body.code, 'forbidden')
  },
)

t.test('a backup goes on when its client has gone, and what a failed one failed of is told', async (t) => {
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

t.test('a stop gives up what is being copied, tells who waits for it, and leaves nothing of it', async (t) => {
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

t.test('a backup of a log that is damaged is made, and answered as a problem that names it and the file', async (t) => {
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
  // Its last flush may begin a file of the log: while there is a folder for it.
  await s.service.close()
})

t.test('a backup that is named as drafts of backups were stays when another is made, and over a start', async (t) => {
  const home = t.testdir()
  const s = await startOnDisk(t, home)
  const { path } = (await s.expect(201, 'POST', PATH, { name: `unfinished-${s.service.runtime.journal.epoch}` })).body
  await s.expect(201, 'POST', PATH, { name: 'other' })
  t.ok(existsSync(join(path, 'backup.json')), 'when another is made')
  await s.service.close()
  await startOnDisk(t, home)
  t.ok(existsSync(join(path, 'backup.json')), 'over a start')
})

t.test(
  'a backup that is asked for again under its key is not made twice: not while it runs, nor when it is whole',
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
    t.same([replay.body, replay.headers.get('idempotent-replay')], [whole, 'true'], 'no body is an empty one')
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
    t.equal(theirs.headers.get('idempotent-replay'), null, 'a key is of who asks')
  },
)
