/** A home of more log files than a process may have open is verified and taken out; what the system lacks is no fault of the home. */
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
/** Files of the log of which the places of the rows are in memory, and some of the view. */
const OPEN_MAX = 25

const root = t.testdir()
const home = join(root, 'home')

t.before(async () => {
  await ofManyFiles(t, home, EVENTS)
  if (segmentsIn(environmentPaths(home).log).length < FILES_MIN) throw new Error('the home has too few files')
})

const opened = (): number => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0)

t.test('whoever verifies a home holds some files of its log open, not all', async (t) => {
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

/** No more than so many files of the log can be opened at one time, as far as they were opened from now on. */
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

t.test('a home of which too few files can be opened is not called wrong', async (t) => {
  refuseFrom(t, OPEN_MAX)
  t.same((await verifyHome(home)).findings, [], 'so many are enough, also to check every byte')
})

for (const count of [0, 1, 5]) {
  t.test(`what the system says of too few files is told as that: ${count}`, async (t) => {
    refuseFrom(t, count)
    await t.rejects(verifyHome(home), { code: 'EMFILE' })
  })
}

t.test('a backup, which nobody writes, is taken out with few files open', async (t) => {
  const journal = await openIn(t, home)
  const copy = join(root, 'copy')
  await backup(journal, copy, FREELY)
  await journal.close()
  refuseFrom(t, OPEN_MAX)
  t.match(await exportEvents(copy, join(root, 'events')), { events: EVENTS, unreadable: 0, unread: [] })
})
