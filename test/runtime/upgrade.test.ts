import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { modules } from '../../machines/index.ts'
import { silentLogger } from '../../runtime/log.ts'
import { upgradeIndexes } from '../../runtime/upgrade.ts'
import { verifyHome } from '../../storage/verify/verify.ts'
import { Indexes } from '../../storage/view/indexes.ts'
import { openIn } from '../storage/open.ts'
import { append, step } from '../storage/steps.ts'

t.test('a home with indexes of another version is read-only when opened under the disk reserve', async (t) => {
  const home = `${t.testdir()}/home`
  const room = 64 * 1024 * 1024
  const reserve = { diskReserveBytes: room + 1, freeBytes: async () => room }
  const opened = async (bounds: Parameters<typeof openIn>[2]) => {
    const journal = await openIn(t, home, bounds)
    await upgradeIndexes(journal, modules, silentLogger)
    return journal
  }
  const first = await openIn(t, home)
  await append(first, step('a', 1))
  await first.close()
  const behind = await opened(reserve)
  t.equal(behind.refuses(), 'read_only')
  await behind.close()
  await (await opened({})).close()
  t.equal((await opened(reserve)).refuses(), 'disk_reserve')
})

t.test('indexes whose version is unreadable are rebuilt', async (t) => {
  const home = `${t.testdir()}/home`
  const opened = async () => {
    const journal = await openIn(t, home)
    await upgradeIndexes(journal, modules, silentLogger)
    return journal
  }
  await (await opened()).close()
  const file = `${home}/view/data.mdb`
  const bytes = readFileSync(file)
  // In every page that holds it, whichever of them is the newest.
  for (let at = bytes.indexOf('"run_request":'); at >= 0; at = bytes.indexOf('"run_request":', at + 1))
    bytes[at + 1]! ^= 2
  writeFileSync(file, bytes)
  t.match((await verifyHome(home)).findings, [{ code: 'checksum', where: 'note of indexes' }])
  const again = await opened()
  t.equal(new Indexes(again.environments.view).versions().run_request, modules.run_request.version)
  await again.close()
  t.same((await verifyHome(home)).findings, [])
})
