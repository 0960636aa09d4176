/** `intendant restore` in this process, from backups of a service in this process. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { DiskJournal } from '../../storage/disk-journal.ts'
import { dataFilesOf } from '../../storage/home/home-paths.ts'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { failing } from '../failing-files.ts'
import { startOnDisk } from '../http/service-harness.ts'
import { flip, flipInIndex } from '../storage/log-surgery.ts'
import { cli } from './in-process.ts'

/** A service with a log of several files, and a function that makes a backup of it. */
async function served(t: Test) {
  const home = t.testdir()
  let journal: DiskJournal | undefined
  const s = await startOnDisk(t, home, {
    openJournal: async (onFailure) => {
      journal = await openDiskJournal({ home, diskReserveBytes: 0, logFileBytesMax: 2_000, onFailure })
      return journal
    },
  })
  for (const key of ['one', 'two', 'three', 'four']) await s.project(key)
  // Wait for the view: the next start would read what it lacks from the log, and fail at the damage.
  while (journal!.backlogBatches > 0) await sleep(10)
  const backUp = async (status: number): Promise<string> => {
    await s.expect(status, 'POST', '/api/backups', { name: 'today' })
    return join(home, 'backups/today')
  }
  // The last flush may start a new log file, so close while its folder exists.
  const stop = () => s.service.close()
  return { log: dataFilesOf(join(home, 'log')), backUp, stop, to: join(home, 'restored') }
}

for (const [what, hurt] of [
  ['the index of its rows', flipInIndex],
  ['an event', (path: string) => flip(path, readFileSync(path).indexOf('"project_created"') + 1)],
] as const) {
  t.test(
    `restoring a backup of a damaged log (${what}) is refused and suggests --no-verify, which works`,
    async (t) => {
      const { log, backUp, stop, to } = await served(t)
      const path = log.find((one) => readFileSync(one).includes('"project_created"'))!
      t.ok(log.indexOf(path) < log.length - 1, 'the file is full')
      hurt(path)
      const from = await backUp(500)
      await stop()
      const { code, out, err } = await cli({}, 'restore', from, '--home', to)
      t.equal(code, 1)
      t.match(out, /is damaged \(the frame at byte/)
      t.match(
        err,
        'nothing was restored: use another backup or, if there is none, restore this one as it is with --no-verify',
      )
      t.notOk(existsSync(to))
      t.match(await cli({}, 'restore', from, '--home', to, '--no-verify'), { code: 0, out: /Restored into/ })
      t.ok(existsSync(join(to, 'log')) && existsSync(join(to, 'admin.token')))
    },
  )
}

t.test('a restored home has its admin token before its log appears', async (t) => {
  const { backUp, stop, to } = await served(t)
  const from = await backUp(201)
  await stop()
  let token: string | undefined
  failing(t, 'renameSync', (_path, target: string) => {
    if (target === join(to, 'log')) token = readFileSync(join(to, 'admin.token'), 'utf8')
    return undefined
  })
  t.equal((await cli({}, 'restore', from, '--home', to)).code, 0)
  t.match(token, /\S{20}/)
  t.equal(readFileSync(join(to, 'admin.token'), 'utf8'), token)
})
