/** A service that is stopped or killed in the middle of a backup that would take far longer than a stop may. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { childrenOf, lives } from '../children-of.ts'
import { command } from '../cli/processes.ts'
import { until } from '../until.ts'
import { verified } from './check.ts'
import { ask, WAITED_ANSWER_MS } from './client.ts'
import { ServiceProcess } from './service-process.ts'
import { buildShim, Orders, shimmed } from './shim.ts'

/** The time of one write of the copy. A stop takes at most 25 s. */
const SLOW_MS = 120_000
/** A stop waits up to 5 s for what is under way; a slow machine needs time for the rest. */
const STOPPED_MS_MAX = 15_000
const folder = t.testdir()
const library = buildShim(folder)

/** A service in the middle of copying its view. */
async function copying(t: Test, name: string): Promise<{ service: ServiceProcess; copier: number }> {
  const home = join(folder, name)
  mkdirSync(home)
  const orders = new Orders(`${home}.orders`)
  const service = new ServiceProcess(home)
  t.teardown(() => service.kill())
  await service.start({ ENGINE_DISK_RESERVE: '0', ...shimmed(library, home, { orders: orders.file }) })
  orders.slowWrites(SLOW_MS)
  t.equal((await backUp(service, 'cut', '?wait=0')).status, 202)
  await until(
    async () => orders.writesSlowed,
    (count) => count > 0,
  )
  const [copier = 0] = childrenOf(service.pid)
  t.ok(copier > 0, 'a process of its own copies the view')
  return { service, copier }
}

const backUp = (service: ServiceProcess, name: string, query: string) =>
  ask({
    method: 'POST',
    url: `${service.url}/api/backups${query}`,
    token: service.adminToken,
    body: { name },
    timeoutMs: WAITED_ANSWER_MS,
  })

/** Started again, it has nothing left of the backup that was cut off, and the next backup is complete. */
async function comesBack(t: Test, service: ServiceProcess): Promise<void> {
  await service.start({ ENGINE_DISK_RESERVE: '0' })
  const backups = join(service.home, 'backups')
  t.same(existsSync(backups) ? readdirSync(backups) : [], [])
  const { status, body } = await backUp(service, 'cut', '?wait=60')
  t.equal(status, 201)
  t.equal(await service.stop(), 0)
  t.same(await verified(body.path), [])
  const restored = await command('restore', body.path, '--home', `${service.home}-restored`)
  t.equal(restored.code, 0, restored.err)
  t.same(await verified(`${service.home}-restored`), [])
  t.same(await verified(service.home), [])
}

t.test('a stop aborts a backup, and the service ends in time with code 0', async (t) => {
  const { service, copier } = await copying(t, 'stopped')
  const fromMs = performance.now()
  t.equal(await service.stop(), 0, service.errors)
  t.ok(performance.now() - fromMs < STOPPED_MS_MAX, `in ${Math.round(performance.now() - fromMs)} ms`)
  t.notOk(lives(copier))
  t.same(readdirSync(join(service.home, 'backups')), [], 'nothing is left of it')
  await comesBack(t, service)
})

t.test('the copier ends when its service is killed during a backup', async (t) => {
  const { service, copier } = await copying(t, 'killed')
  t.ok(lives(copier))
  await service.kill()
  await until(
    async () => lives(copier),
    (still) => !still,
  )
  await comesBack(t, service)
})
