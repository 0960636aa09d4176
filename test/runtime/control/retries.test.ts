/** When an entity that was passed over is reread, and that a closed component rereads nothing more. */
import t from 'tap'
import { Retries } from '../../../runtime/control/retries.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { ManualPlatform } from '../../platforms/manual.ts'

const REF = { kind: 'run_request', id: 'a' } as const

function open() {
  const platform = new ManualPlatform()
  const reread: string[] = []
  const parts = { platform, log: silentLogger, name: 'dispatcher', reread: ({ id }: { id: string }) => reread.push(id) }
  return { platform, reread, retries: new Retries(parts) }
}

t.test('an entity that was passed over is reread when its retry is due', async (t) => {
  const { platform, reread, retries } = open()
  retries.guard.failed(REF, new Error('it cannot be'))
  platform.advance(999)
  t.same(reread, [])
  platform.advance(1)
  t.same(reread, ['a'])
  t.ok(retries.guard.isClear)
})

t.test('a closed component rereads nothing, whether the failure came before or after', async (t) => {
  const { platform, reread, retries } = open()
  retries.guard.failed(REF, new Error('it cannot be'))
  retries.close()
  retries.guard.failed({ ...REF, id: 'b' }, new Error('nor this'))
  platform.advance(100_000)
  t.same(reread, [])
})
