/** A restore that is cut short, or whose disk fails: it can be repeated, and the error names the disk. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { backup, restoreFiles } from '../../storage/copies/backup.ts'
import { failing } from '../failing-files.ts'
import { FREELY, openIn } from './open.ts'
import { appendEvents, event } from './steps.ts'

/** A backup, and the home to restore it to. */
async function backedUp(t: Test): Promise<{ from: string; home: string }> {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  await appendEvents(journal, event('1'))
  const from = join(root, 'backup')
  await backup(journal, from, FREELY)
  return { from, home: join(root, 'restored') }
}

/** Settles the draft as a restore with the product's machines does. */
const withToken = {
  async settle(draft: string) {
    writeFileSync(join(draft, 'admin.token'), 'secret\n')
  },
}

async function isWhole(t: Test, home: string): Promise<void> {
  t.equal((await openIn(t, home)).lastSequence, 1)
  t.equal(readFileSync(join(home, 'admin.token'), 'utf8'), 'secret\n')
  t.notOk(existsSync(join(home, 'restoring')))
}

t.test('a restore onto a full disk names the home, and one from an unreadable backup names the file', async (t) => {
  const { from, home } = await backedUp(t)
  const ofTarget = { code: 'disk_failed', message: `the disk of ${home} fails (ENOSPC` }
  const isInDraft = (path: string) => (path.startsWith(home) ? 'ENOSPC' : undefined)
  for (const call of ['writeSync', 'fsyncSync', 'mkdirSync', 'renameSync'] as const) {
    const heal = failing(t, call, isInDraft)
    await t.rejects(restoreFiles(from, home), ofTarget, call)
    heal()
    t.notOk(existsSync(home), 'as it was')
  }
  const file = join(from, 'log', '0000000001.segment')
  const heal = failing(t, 'readSync', (path) => (path === file ? 'EIO' : undefined))
  await t.rejects(restoreFiles(from, home), { code: 'disk_failed', message: `the disk of ${file} fails (EIO` })
  heal()
  await restoreFiles(from, home, withToken)
  await isWhole(t, home)
})

for (const part of ['view', 'admin.token', 'log']) {
  t.test(`a restore that fails to move its ${part} leaves nothing, and can be repeated`, async (t) => {
    const { from, home } = await backedUp(t)
    const heal = failing(t, 'renameSync', (path) => (path.endsWith(part) ? 'EIO' : undefined))
    await t.rejects(restoreFiles(from, home, withToken), { code: 'disk_failed', message: `the disk of ${home} fails` })
    heal()
    t.notOk(existsSync(home))
    await restoreFiles(from, home, withToken)
    await isWhole(t, home)
  })

  t.test(`a restore that is killed before it moves its ${part} can be repeated`, async (t) => {
    const { from, home } = await backedUp(t)
    const killed = failing(t, 'renameSync', (path) => {
      if (path.endsWith(part)) cpSync(home, `${home}-killed`, { recursive: true })
      return undefined
    })
    await restoreFiles(from, home, withToken)
    killed()
    const left = `${home}-killed`
    t.ok(existsSync(join(left, 'restoring')) && !existsSync(join(left, 'log')))
    const there = readdirSync(left)
    await t.rejects(openIn(t, left), { code: 'restore_unfinished', message: 'run that restore again' })
    t.same(readdirSync(left), there)
    await restoreFiles(from, left, withToken)
    await isWhole(t, left)
  })
}

t.test('a restored home that cannot be flushed after the moves is removed', async (t) => {
  const { from, home } = await backedUp(t)
  const heal = failing(t, 'fsyncSync', (path) => (path === home && existsSync(join(home, 'log')) ? 'EIO' : undefined))
  await t.rejects(restoreFiles(from, home), { code: 'disk_failed' })
  heal()
  t.notOk(existsSync(home))
})

t.test('a start removes the empty draft that a killed restore left', async (t) => {
  const { from, home } = await backedUp(t)
  await restoreFiles(from, home, withToken)
  mkdirSync(join(home, 'restoring'))
  await t.rejects(restoreFiles(from, home, withToken), { code: 'not_empty' })
  await isWhole(t, home)
})

t.test('a restore refuses a folder that holds anything but a draft', async (t) => {
  const { from, home } = await backedUp(t)
  for (const names of [['view'], ['admin.token'], ['restoring', 'config.json'], ['restoring', 'view', 'log']]) {
    const there = `${home}-${names}`
    for (const name of names) mkdirSync(join(there, name), { recursive: true })
    await t.rejects(restoreFiles(from, there), { code: 'not_empty' }, `${names}`)
    t.same(readdirSync(there).sort(), [...names].sort())
  }
})

t.test('a second restore into the same home is refused, and does not disturb the first', async (t) => {
  const { from, home } = await backedUp(t)
  await restoreFiles(from, home, {
    async settle(draft) {
      await withToken.settle(draft)
      await t.rejects(restoreFiles(from, home), { code: 'locked' })
      t.ok(existsSync(join(draft, 'log')))
    },
  })
  await isWhole(t, home)
})

t.test('an unreadable backup is refused as not permitted, and an incomplete one as no backup', async (t) => {
  const { from, home } = await backedUp(t)
  const heal = failing(t, 'readdirSync', (path) => (path.startsWith(from) ? 'EACCES' : undefined))
  await t.rejects(restoreFiles(from, home), {
    code: 'not_permitted',
    message: `${join(from, 'log')} cannot be opened (EACCES`,
  })
  heal()
  renameSync(join(from, 'log'), join(from, 'gone'))
  await t.rejects(restoreFiles(from, home), {
    code: 'corrupt',
    message: `is not a backup: ${join(from, 'log')} is missing`,
  })
})

t.test('restoring or creating a home on a read-only disk says so', async (t) => {
  const { from, home } = await backedUp(t)
  const empty = `${home}-empty`
  mkdirSync(empty)
  // As Node.js answers it where nothing is there yet.
  failing(t, 'mkdirSync', (path, options) => {
    if (existsSync(path)) return undefined
    return options?.recursive === true ? 'ENOENT' : 'EROFS'
  })
  const refused = (place: string) => ({ code: 'disk_failed', message: `the disk of ${place} fails (EROFS` })
  await t.rejects(restoreFiles(from, home), refused(home))
  await t.rejects(openIn(t, home), refused(home))
  await t.rejects(openIn(t, empty), refused(empty))
})
