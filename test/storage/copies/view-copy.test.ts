/**
 * The view is copied by a process of its own, which can be ended at any moment. Only that process runs under the shim
 * here, which can hold it up in the middle of the copy.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { BackupAborted, backup, restoreFiles } from '../../../storage/copies/backup.ts'
import { copyView } from '../../../storage/copies/view-copy.ts'
import type { DiskJournal } from '../../../storage/disk-journal.ts'
import { environmentPaths, LOCK_FILE, readingPath } from '../../../storage/home/home-paths.ts'
import { verify } from '../../../storage/verify/verify.ts'
import type { OpenView } from '../../../storage/view/lmdb-view.ts'
import { childrenOf, lives } from '../../children-of.ts'
import { buildShim, ERRNO, Orders, shimmed } from '../../crash/shim.ts'
import { until } from '../../until.ts'
import { FREELY, openIn } from '../open.ts'
import { append, appendEvents, event, step } from '../steps.ts'

/** Longer than any test waits. */
const FOR_EVER_MS = 300_000
const library = buildShim(t.testdir())

interface Scene {
  readonly home: string
  readonly journal: DiskJournal
  readonly orders: Orders
  /** Where the backup goes. */
  readonly to: string
}

/** A journal with a view, and the shim set for every process that is started from now on. */
async function scene(t: Test): Promise<Scene> {
  const root = t.testdir()
  const home = join(root, 'home')
  const journal = await openIn(t, home)
  await appendEvents(journal, event('1'))
  await journal.settled()
  const to = join(root, 'to')
  mkdirSync(to)
  const orders = new Orders(join(root, 'orders'))
  const env = shimmed(library, to, { orders: orders.file })
  Object.assign(process.env, env)
  t.teardown(() => {
    for (const name of Object.keys(env)) delete process.env[name]
  })
  return { home, journal, orders, to }
}

/** Resolves with the copier's process id once it is in the middle of its copy. */
async function underWay({ orders }: Scene): Promise<number> {
  await until(
    async () => orders.writesSlowed,
    (count) => count > 0,
  )
  const [pid, ...others] = childrenOf(process.pid)
  if (pid === undefined || others.length > 0) throw new Error('one process copies')
  return pid
}

/** LMDB lock files that the process has open. */
function locksOf(pid: number): string[] {
  const mapped = readFileSync(`/proc/${pid}/maps`, 'utf8').matchAll(/\/\S+$/gm)
  return [...new Set([...mapped].map(([path]) => path))].filter((path) => path.endsWith(LOCK_FILE))
}

/** The copier has ended and left nothing behind, and the next backup is complete. */
async function leavesNothing(t: Test, one: Scene, pid: number): Promise<void> {
  t.notOk(lives(pid))
  t.notOk(existsSync(readingPath(environmentPaths(one.home).view)))
  t.same(readdirSync(one.to), [])
  one.orders.heal()
  await appendEvents(one.journal, event('2'))
  await backup(one.journal, join(one.to, 'backup'), FREELY)
  await restoreFiles(join(one.to, 'backup'), join(one.to, 'restored'))
  const restored = await openIn(t, join(one.to, 'restored'))
  t.equal(restored.lastSequence, 2)
  t.same((await verify(restored.environments)).findings, [])
}

t.test('aborting a backup ends the process that copies the view', async (t) => {
  const one = await scene(t)
  one.orders.slowWrites(FOR_EVER_MS)
  const stop = new AbortController()
  const reason = new BackupAborted('the service is stopping')
  const copied = backup(one.journal, join(one.to, 'backup'), FREELY, stop.signal)
  const pid = await underWay(one)
  stop.abort(reason)
  await t.rejects(copied, reason)
  await leavesNothing(t, one, pid)
})

t.test("the copier does not touch the view's locks, and writes meanwhile do not spoil its copy", async (t) => {
  const { home, journal, orders, to } = await scene(t)
  // Longer than what LMDB reads ahead of what it writes.
  const ids = Array.from({ length: 400 }, (_, i) => `${i}`)
  const padding = 'x'.repeat(20_000)
  const record = (id: string, version: number) => JSON.stringify({ v: version, id, padding })
  const writtenAnew = async (version: number) => {
    await append(journal, ...ids.map((id) => step(id, version, { record: record(id, version) })))
    await journal.settled()
  }
  await writtenAnew(1)
  orders.slowWrites(100)
  const copied = backup(journal, join(to, 'backup'), FREELY)
  const view = environmentPaths(home).view
  // Whoever opens them says which transaction is the newest, and may be wrong.
  t.same(locksOf(await underWay({ home, journal, orders, to })), [join(readingPath(view), LOCK_FILE)])
  for (let version = 2; version < 8; version++) {
    await writtenAnew(version)
    t.equal(journal.actor('run_request', '7'), record('7', version))
  }
  t.notOk(existsSync(join(to, 'backup')), 'the copy is still under way')
  orders.heal()
  await copied
  await restoreFiles(join(to, 'backup'), join(to, 'restored'))
  const restored = await openIn(t, join(to, 'restored'))
  t.same((await verify(restored.environments)).findings, [])
})

t.test('a backup that reaches the disk reserve while copying the view removes what it wrote', async (t) => {
  const one = await scene(t)
  one.orders.slowWrites(FOR_EVER_MS)
  const copyTo = one.journal.environments.copyTo.bind(one.journal.environments)
  let freeBytes = 1e12
  one.journal.environments.copyTo = (directory) =>
    Object.assign(copyTo(directory), { freeBytes: async () => freeBytes })
  const copied = backup(one.journal, join(one.to, 'backup'), { ...FREELY, reserveBytes: 1_000 })
  const pid = await underWay(one)
  freeBytes = 999
  await t.rejects(copied, { name: 'BackupAborted', message: /fell below the disk reserve during the backup/ })
  freeBytes = 1e12
  await leavesNothing(t, one, pid)
})

t.test('a failed copy of the view fails the backup with its cause, and the journal goes on', async (t) => {
  const one = await scene(t)
  const back = () => backup(one.journal, join(one.to, 'backup'), FREELY)
  one.orders.failWrites({ errno: ERRNO.ENOSPC, times: -1, where: 'others' })
  await t.rejects(back(), { message: 'the view was not copied: No space left on device' })
  one.orders.heal()
  const { execPath } = process
  process.execPath = '/nowhere/node'
  await t.rejects(back(), { code: 'ENOENT' })
  process.execPath = execPath
  one.orders.slowWrites(FOR_EVER_MS)
  const killed = back()
  const pid = await underWay(one)
  process.kill(pid, 'SIGKILL')
  await t.rejects(killed, { message: 'the view was not copied: its process ended with SIGKILL' })
  await leavesNothing(t, one, pid)
})

t.test('the copier ignores signals sent to the process group, and ends with its backup', async (t) => {
  const one = await scene(t)
  one.orders.slowWrites(FOR_EVER_MS)
  const stop = new AbortController()
  const copied = backup(one.journal, join(one.to, 'backup'), FREELY, stop.signal)
  const pid = await underWay(one)
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP'] as const) process.kill(pid, signal)
  await sleep(100)
  t.ok(lives(pid))
  t.notOk(existsSync(join(one.to, 'backup')))
  stop.abort(new BackupAborted('the service is stopping'))
  await t.rejects(copied, { name: 'BackupAborted' })
  await leavesNothing(t, one, pid)
})

t.test('a copier that cannot be started releases its read transaction', async (t) => {
  let kept = 0
  const root = {
    useReadTransaction: () => {
      kept += 1
      return {
        done() {
          kept -= 1
        },
      }
    },
  }
  const view = { path: join(t.testdir(), 'no\0name', 'view'), root } as unknown as OpenView
  await t.rejects(copyView(view, t.testdirName, new AbortController().signal))
  t.equal(kept, 0)
})
