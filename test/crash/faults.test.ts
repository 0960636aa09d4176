/**
 * A disk that fails under the real service: flushes and writes that end in an error, and a disk that is full. Each time
 * the service either goes on correctly or ends with a message and exit code 1; started again on a sound disk, it has
 * everything that it acknowledged. The errors come from the shim, which works wherever the tests do: nothing has to be
 * mounted.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Random } from '../random.ts'
import type { Load } from './actors.ts'
import { documentsAgreeWith, holdsWhatWasTold, verified, watchAgreesWith, watchResumes, wholeLog } from './check.ts'
import { ask } from './client.ts'
import { gather, PROJECT } from './crowd.ts'
import { Memory } from './memory.ts'
import { type End, ServiceProcess } from './service-process.ts'
import { buildShim, ERRNO, Orders, shimmed } from './shim.ts'

const MIB = 1024 * 1024
const ANSWERS = 60
const END_MS = 30_000
const folder = t.testdir()
const library = buildShim(folder)
let homes = 0

interface Scene {
  readonly service: ServiceProcess
  readonly orders: Orders
  readonly memory: Memory
  /** Stops the load. */
  readonly leave: () => Promise<unknown>
  readonly env: Record<string, string>
}

/** A service under the shim, and a load that has been given some answers. */
async function scene(t: Test, settings: Record<string, string> = {}): Promise<Scene> {
  const home = join(folder, `home-${homes++}`)
  mkdirSync(home)
  const orders = new Orders(`${home}.orders`)
  const env = { ENGINE_DISK_RESERVE: '0', ...settings, ...shimmed(library, home, { orders: orders.file }) }
  const service = new ServiceProcess(home)
  const memory = new Memory()
  let stopping = false
  t.teardown(async () => {
    stopping = true
    await service.kill()
  })
  await service.start(env)
  const token = service.adminToken
  const done = () => stopping
  const load: Load = { url: () => service.url, token, project: PROJECT, memory, closing: done, stopping: done }
  const { gone } = await gather(load, 'load', new Random(1))
  await until(() => memory.told.length > ANSWERS, 'the load was answered')
  const leave = () => {
    stopping = true
    return gone
  }
  return { service, orders, memory, leave, env }
}

async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const from = performance.now()
  while (!(await holds())) {
    if (performance.now() - from > END_MS) throw new Error(`not in time: ${what}`)
    await sleep(10)
  }
}

/** It ends by itself, with a message and not from a signal. */
const RIGHTLY: readonly End[] = [{ code: 1, signal: null }]
/**
 * LMDB's message about a refused write is longer than the memory that it takes for it (mdb_page_flush): the C library
 * may notice, or what lay behind that memory is used, which ends the process in the 200 ms between the message and the
 * end.
 */
const OR_ABORTED: readonly End[] = [...RIGHTLY, { code: null, signal: 'SIGABRT' }, { code: null, signal: 'SIGSEGV' }]

/** What LMDB itself says of a refused write, before anything else can. */
const LMDBS_WORDS = /Write error: Input\/output error/

async function endsWith({ service, leave }: Scene, t: Test, words: RegExp, ends = RIGHTLY): Promise<void> {
  const end = await Promise.race([service.ended(), sleep(END_MS, undefined, { ref: false })])
  if (end?.signal != null) t.comment(service.errors)
  t.ok(
    ends.some(({ code, signal }) => code === end?.code && signal === end?.signal),
    `it ended by itself: ${JSON.stringify(end)}`,
  )
  // A process that the C library ends within LMDB comes to no words of its own.
  t.match(service.errors, end?.signal == null ? words : LMDBS_WORDS, 'and said why')
  await leave()
}

/** Started where nothing fails, it has everything and takes new work. */
async function comesBack({ service, memory, orders }: Scene, t: Test): Promise<void> {
  orders.heal()
  await service.start({ ENGINE_DISK_RESERVE: '0' })
  const at = { url: service.url, token: service.adminToken }
  const log = await wholeLog(at)
  t.same(holdsWhatWasTold(memory, log), [], 'everything acknowledged is there')
  t.same([...watchAgreesWith(memory, log), ...(await watchResumes(at, memory, log))], [], 'Watch goes on')
  t.same(await documentsAgreeWith(at, log), [])
  const made = await ask({
    method: 'POST',
    url: `${at.url}/api/projects`,
    token: at.token,
    body: { key: 'after', name: 'A' },
  })
  t.equal(made.status, 201, 'new work is taken')
  t.equal(await service.stop(), 0)
  t.same(await verified(service.home), [], 'verify finds nothing')
  t.same(memory.faults, [], 'every refusal was a 503')
}

t.test('a flush of the log that fails once ends the service, and nothing acknowledged is lost', async (t) => {
  const one = await scene(t)
  one.orders.failFlushes({ errno: ERRNO.EIO, times: 1, where: 'log' })
  await endsWith(one, t, /the log could not be written: EIO/)
  t.equal(one.orders.flushesFailed, 1, 'it did not flush again, which would have reported success')
  await comesBack(one, t)
})

t.test('a failed flush of the view ends the service, and nothing acknowledged is lost', async (t) => {
  const one = await scene(t)
  one.orders.failFlushes({ errno: ERRNO.EIO, times: 1, where: 'view' })
  await endsWith(one, t, /the view could not be written: Input\/output error/)
  await comesBack(one, t)
})

t.test('a meta page of the view that cannot be written ends the service', async (t) => {
  const one = await scene(t)
  one.orders.failWrites({ errno: ERRNO.EIO, times: 1, where: 'view', kind: 'through' })
  await endsWith(one, t, /the view could not be written: Input\/output error/)
  await comesBack(one, t)
})

t.test('a write to the view that fails or is cut short ends the service', async (t) => {
  for (const half of [false, true]) {
    const one = await scene(t)
    one.orders.failWrites({ errno: ERRNO.EIO, times: 1, where: 'view', kind: 'plain', half })
    await endsWith(one, t, /the view could not be written/, half ? RIGHTLY : OR_ABORTED)
    await comesBack(one, t)
  }
})

t.test(
  'a failed write to the log ends the service, with a name for the error also where Node.js has none',
  async (t) => {
    for (const [name, said] of [
      ['EIO', /the log could not be written: EIO/],
      ['EDQUOT', /the log could not be written: EDQUOT \(/],
    ] as const) {
      const one = await scene(t)
      one.orders.failWrites({ errno: ERRNO[name], times: 1, where: 'log' })
      await endsWith(one, t, said)
      await comesBack(one, t)
    }
  },
)

t.test('a partial write to the log is completed, and the service goes on', async (t) => {
  const one = await scene(t)
  one.orders.failWrites({ errno: ERRNO.EIO, times: 1, where: 'log', half: true })
  const heard = one.memory.told.length
  await until(() => one.orders.writesFailed === 1 && one.memory.told.length > heard + ANSWERS, 'it goes on')
  await one.leave()
  await one.service.kill()
  await comesBack(one, t)
})

t.test(
  'when a failed write is reported late, reads until then get 503 and the service ends with its message',
  async (t) => {
    const one = await scene(t)
    one.orders.failWrites({ errno: ERRNO.EIO, times: 1, where: 'view', kind: 'through', lateMs: 300 })
    await endsWith(one, t, /the view could not be written: Input\/output error/)
    await comesBack(one, t)
  },
)

t.test(
  'a failed write of a removal by retention ends the service, and the next one completes the removal',
  async (t) => {
    const forgotten = { ENGINE_RETENTION: '1s', ENGINE_IDEMPOTENCY: '1s', ENGINE_LATE_EVENTS: '1s' }
    for (const kind of ['plain', 'through'] as const) {
      const one = await scene(t)
      await one.leave()
      t.equal(await one.service.stop(), 0)
      // Nothing else writes the view now.
      await one.service.start({ ...one.env, ...forgotten })
      one.orders.failWrites({ errno: ERRNO.EIO, times: 1, where: 'view', kind })
      // The C library may end the process before the other thread reports: then LMDB's own message is there.
      if (kind === 'plain') await endsWith(one, t, /the view could not be written|mdb_page_(flush|spill)/, OR_ABORTED)
      else await endsWith(one, t, /the view could not be written: Input\/output error/)
      one.orders.heal()
      await one.service.start({ ...forgotten, ENGINE_DISK_RESERVE: '0' })
      t.equal(await one.service.stop(), 0)
      t.same(await verified(one.service.home), [], 'verify finds nothing')
    }
  },
)

t.test('on a disk that takes no flush the service does not start, and says so', async (t) => {
  const one = await scene(t)
  await one.leave()
  await one.service.kill()
  one.orders.failFlushes({ errno: ERRNO.EIO, times: -1 })
  await t.rejects(one.service.start(one.env), {
    message: /ended at start \(1\): intendant: the disk of .* fails \((EIO|Input\/output error)/s,
  })
  await comesBack(one, t)
})

t.test('a disk that fills up ends the service with a message', async (t) => {
  const one = await scene(t)
  one.orders.leaveRoom(64 * 1024)
  await endsWith(one, t, /the (log|view) could not be written/, OR_ABORTED)
  // Still full: it starts if the free pages in its files are enough, or says that they are not.
  const again = await one.service.start(one.env).catch((error: Error) => error)
  // A partial write is an I/O error to LMDB.
  if (again !== undefined)
    t.match(
      again.message,
      /ended at start \(1\): .*intendant: (the disk of .* fails|the (log|view) could not be written).*([Nn]o space left|Input\/output error)/s,
    )
  await one.service.kill()
  await comesBack(one, t)
})

t.test(
  'under its disk reserve the service reads and refuses writes, and writes again once there is space',
  async (t) => {
    const one = await scene(t, { ENGINE_DISK_RESERVE: '32MiB' })
    await one.leave()
    const { url, adminToken: token } = one.service
    const post = (key: string) => ask({ method: 'POST', url: `${url}/api/projects`, token, body: { key, name: 'P' } })
    let number = 0
    one.orders.leaveRoom(31 * MIB)
    await until(async () => (await post(`full-${number++}`)).status === 503, 'writes are refused')
    t.match(await post('full'), { status: 503, body: { code: 'disk_reserve' } })
    t.equal((await ask({ method: 'GET', url: `${url}/api/projects`, token })).status, 200, 'reads go on')
    one.orders.leaveRoom(undefined)
    await until(async () => (await post(`room-${number++}`)).status === 201, 'writes are taken again')
    t.equal(one.orders.writesFailed, 0, 'no write ever met the full disk')
    await one.service.kill()
    await comesBack(one, t)
  },
)

t.test(
  'started under its disk reserve the service is read-only and says so, and a start with space carries on',
  async (t) => {
    const one = await scene(t)
    await one.leave()
    await one.service.kill()
    one.orders.leaveRoom(MIB)
    await one.service.start({ ...one.env, ENGINE_DISK_RESERVE: '32MiB' })
    await until(() => one.service.errors.includes('it accepts no writes'), 'it says so')
    const at = { url: one.service.url, token: one.service.adminToken }
    t.same(holdsWhatWasTold(one.memory, await wholeLog(at)), [])
    const made = await ask({
      method: 'POST',
      url: `${at.url}/api/projects`,
      token: at.token,
      body: { key: 'no', name: 'N' },
    })
    t.equal(made.status, 503)
    await one.service.kill()
    await comesBack(one, t)
  },
)

t.test('started under its disk reserve with space for retention, the service resumes writing by itself', async (t) => {
  const one = await scene(t)
  await one.leave()
  t.equal(await one.service.stop(), 0)
  one.orders.leaveRoom(100 * MIB)
  await one.service.start({ ...one.env, ENGINE_DISK_RESERVE: '128MiB' })
  const { url, adminToken: token } = one.service
  const post = () => ask({ method: 'POST', url: `${url}/api/projects`, token, body: { key: 'room', name: 'P' } })
  t.match(await post(), { status: 503, body: { code: 'disk_reserve' } })
  one.orders.leaveRoom(undefined)
  await until(async () => (await post()).status === 201, 'writes are taken')
  await one.service.kill()
  await comesBack(one, t)
})

t.test('a log of an older version is not migrated without space for it, and stays as it was', async (t) => {
  const home = join(folder, `home-${homes++}`)
  for (const part of ['log', 'view']) {
    const from = join('test/upgrade/homes/schema-2', part, 'data.mdb.gz')
    mkdirSync(join(home, part), { recursive: true })
    writeFileSync(join(home, part, 'data.mdb'), gunzipSync(readFileSync(from)))
  }
  const orders = new Orders(`${home}.orders`)
  orders.leaveRoom(64 * 1024)
  const service = new ServiceProcess(home)
  t.teardown(() => service.kill())
  const env = { ENGINE_DISK_RESERVE: '0', ...shimmed(library, home, { orders: orders.file }) }
  await t.rejects(service.start(env), {
    message: /ended at start \(1\): .*is of an older version.* free as much space/s,
  })
  t.same(
    readdirSync(join(home, 'log')).filter((name) => name !== 'lock.mdb'),
    ['data.mdb'],
  )
  orders.heal()
  await service.start(env)
  t.equal(await service.stop(), 0)
  t.same(await verified(home), [])
})
