/**
 * A home of more log files than a process may open can be verified and exported, and a lack of files is not reported as
 * a fault.
 */
import fs, { readdirSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { backup } from '../../../storage/copies/backup.ts'
import { exportEvents } from '../../../storage/copies/export.ts'
import { environmentPaths, segmentsIn } from '../../../storage/home/home-paths.ts'
import { verifyHome } from '../../../storage/verify/verify.ts'
import { FREELY, ofManyFiles, openIn } from '../open.ts'

const FILES_MIN = 60
const EVENTS = 1_000
/** Log files whose indexes are in memory, and some files of the view. */
const OPEN_MAX = 25

const root = t.testdir()
const home = join(root, 'home')

t.before(async () => {
  await ofManyFiles(t, home, EVENTS)
  if (segmentsIn(environmentPaths(home).log).length < FILES_MIN) throw new Error('the home has too few files')
})

const opened = (): number => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0)

t.test('verify keeps only some files of the log open', async (t) => {
  const before = opened()
  let most = 0
  let events = 0
  const eventId = (): undefined => {
    most = Math.max(most, opened() - before)
    events += 1
  }
  t.same((await verifyHome(home, { eventId })).findings, [])
  t.equal(events, EVENTS)
  t.ok(most <= OPEN_MAX, `${most} files are open`)
})

/** From now on, at most this many files of the log can be open at one time. */
function refuseFrom(t: Test, count: number): void {
  const { openSync, closeSync } = fs
  const ofLog = new Set<number>()
  const refused = Object.assign(new Error('EMFILE: too many open files, open'), { code: 'EMFILE', syscall: 'open' })
  fs.openSync = (...asked) => {
    const isOfLog = /\/log\//.test(String(asked[0]))
    if (isOfLog && ofLog.size >= count) throw refused
    const file = openSync(...asked)
    if (isOfLog) ofLog.add(file)
    return file
  }
  fs.closeSync = (file) => {
    ofLog.delete(file)
    closeSync(file)
  }
  syncBuiltinESMExports()
  t.teardown(() => {
    Object.assign(fs, { openSync, closeSync })
    syncBuiltinESMExports()
  })
}

t.test('verify finds nothing wrong with a sound home when few files can be opened', async (t) => {
  refuseFrom(t, OPEN_MAX)
  t.same((await verifyHome(home)).findings, [], 'enough even to check every byte')
})

for (const count of [0, 1, 5]) {
  t.test(`verify fails with EMFILE when only ${count} log files can be opened`, async (t) => {
    refuseFrom(t, count)
    await t.rejects(verifyHome(home), { code: 'EMFILE' })
  })
}

t.test('a backup is exported with few files open', async (t) => {
  const journal = await openIn(t, home)
  const copy = join(root, 'copy')
  await backup(journal, copy, FREELY)
  await journal.close()
  refuseFrom(t, OPEN_MAX)
  t.match(await exportEvents(copy, join(root, 'events')), { events: EVENTS, unreadable: 0, unread: [] })
})
