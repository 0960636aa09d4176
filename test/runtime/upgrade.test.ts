import t from 'tap'
import { modules } from '../../machines/index.ts'
import { silentLogger } from '../../runtime/log.ts'
import { upgradeIndexes } from '../../runtime/upgrade.ts'
import { openIn } from '../storage/open.ts'
import { append, step } from '../storage/steps.ts'

t.test(
  'a home whose lists are not of this version takes no writes when it is opened under the disk reserve',
  async (t) => {
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
  },
)
