/** A restore that is cut short, or that a disk fails: who repeats it comes to its end, and is told which disk it was. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { backup, restoreFiles } from '../../storage/copies/backup.ts'
import { failing } from '../failing-files.ts'
import { FREELY, openIn } from './open.ts'
import { appendEvents, event } from './steps.ts'

/** A backup, and where it is to go. */
async function backedUp(t: Test): Promise<{ from: string; home: string }> {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  await appendEvents(journal, event('1'))
  const from = join(root, 'backup')
  await backup(journal, from, FREELY)
  return { from, home: join(root, 'restored') }
}

/** As who knows the machines does it. */
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

t.test(
  'a disk that takes no more is told as the one that the home is on, and the backup as one that cannot be read',
  async (t) => {
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
  },
)

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
    await restoreFiles(from, left, withToken)
    await isWhole(t, left)
  })
}

t.test('a home that fails to be flushed when all was moved is none', async (t) => {
  const { from, home } = await backedUp(t)
  const heal = failing(t, 'fsyncSync', (path) => (path === home && existsSync(join(home, 'log')) ? 'EIO' : undefined))
  await t.rejects(restoreFiles(from, home), { code: 'disk_failed' })
  heal()
  t.notOk(existsSync(home))
})

t.test('of a restore that is killed when all was moved a start removes what is left', async (t) => {
  const { from, home } = await backedUp(t)
  await restoreFiles(from, home, withToken)
  mkdirSync(join(home, 'restoring'))
  await t.rejects(restoreFiles(from, home, withToken), { code: 'not_empty' })
  await isWhole(t, home)
})

t.test('a restore goes over nothing that is not of one', async (t) => {
  const { from, home } = await backedUp(t)
  for (const names of [['view'], ['admin.token'], ['restoring', 'config.json'], ['restoring', 'view', 'log']]) {
    const there = `${home}-${names}`
    for (const name of names) mkdirSync(join(there, name), { recursive: true })
    await t.rejects(restoreFiles(from, there), { code: 'not_empty' }, `${names}`)
    t.same(readdirSync(there).sort(), [...names].sort())
  }
})

t.test('another restore into the same home is not disturbed by one that is refused', async (t) => {
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

t.test('a backup that may not be read is told so, and one of which a part is missing', async (t) => {
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

t.test('a home on a disk that takes no writes is told so', async (t) => {
  const { from, home } = await backedUp(t)
  // As Node.js has it.
  failing(t, 'mkdirSync', (_path, options) => (options?.recursive === true ? 'ENOENT' : 'EROFS'))
  const message = `the disk of ${home} fails (EROFS`
  await t.rejects(restoreFiles(from, home), { code: 'disk_failed', message })
  await t.rejects(openIn(t, home), { message: 'EROFS' })
})
