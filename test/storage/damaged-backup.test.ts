/** Backups of a damaged log: the damage is reported, and the backup can still be used. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { backup, restoreFiles } from '../../storage/copies/backup.ts'
import { segmentPath } from '../../storage/home/home-paths.ts'
import { verifyHome } from '../../storage/verify/verify.ts'
import { flip, flipInEvents, flipInIndex } from './log-surgery.ts'
import { FREELY, ofManyFiles, openIn } from './open.ts'

const EVENTS = 40
const fileOf = (home: string, ordinal = 1) => segmentPath(join(home, 'log'), ordinal)

/** An open home with several log files, which `hurt` damages behind the journal's back. */
async function inUse(t: Test, hurt: (home: string) => void) {
  const root = t.testdir()
  const home = join(root, 'home')
  await ofManyFiles(t, home, EVENTS)
  const journal = await openIn(t, home)
  hurt(home)
  return { root, home, journal, to: join(root, 'backup') }
}

for (const [what, hurt, missing] of [
  ['an event', (home: string) => flipInEvents(home, 3, 9), [3]],
  ['where its rows are', (home: string) => flipInIndex(fileOf(home)), []],
] as const) {
  t.test(`a backup of a log with a damaged full file (${what}) reports it, and can be restored`, async (t) => {
    const { root, home, journal, to } = await inUse(t, hurt)
    const { faults, bytes } = await backup(journal, to, FREELY)
    t.ok(bytes > 0)
    t.match(faults, [/^.*home\/log\/0000000001\.segment is damaged \(the frame at byte \d+ is not what was written\)$/])
    t.equal(faults.length, 1)
    t.ok(faults[0]!.startsWith(fileOf(home)), 'it names the file that was copied')
    t.match((await verifyHome(to)).findings, [{ code: 'unreadable', detail: /0000000001\.segment is damaged/ }])
    // A restore checks no more than a start does.
    await restoreFiles(to, join(root, 'restored'))
    const restored = await openIn(t, join(root, 'restored'))
    const read: number[] = []
    for (let n = 1; n <= EVENTS; n += 1) {
      try {
        if (restored.event(n) !== undefined) read.push(n)
      } catch {
        // It is the one that is missing.
      }
    }
    const all = Array.from({ length: EVENTS }, (_, i) => i + 1)
    t.same(
      all.filter((n) => !read.includes(n)),
      missing,
    )
  })
}

t.test('a backup of a sound log reports no faults', async (t) => {
  const { journal, to } = await inUse(t, () => {})
  t.same((await backup(journal, to, FREELY)).faults, [])
})

t.test('no backup is made of a log that a start would refuse, and the file is named', async (t) => {
  const { root, home, journal, to } = await inUse(t, (home) => flip(fileOf(home, 2), 9))
  const message = `${fileOf(home, 2)} does not begin like a log file`
  await t.rejects(backup(journal, to, FREELY), { message })
  t.same(readdirSync(root), ['home'])
})

t.test('a backup that cannot read a log file fails with the name of that file', async (t) => {
  const { root, home, journal, to } = await inUse(t, (home) => {
    rmSync(fileOf(home, 2))
    mkdirSync(fileOf(home, 2))
  })
  await t.rejects(backup(journal, to, FREELY), { message: `${fileOf(home, 2)} cannot be read (EISDIR` })
  t.same(readdirSync(root), ['home'])
})
