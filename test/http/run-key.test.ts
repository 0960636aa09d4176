/** The file of the key for tokens of runs. */
import { chmodSync, mkdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runKeyIn } from '../../http/run-key.ts'

t.test('a key that cannot be read is refused by its name and with a code, and is not taken for none', async (t) => {
  const home = t.testdir()
  const file = join(home, 'run-tokens.key')
  mkdirSync(file)
  t.throws(() => runKeyIn(home).read(), { name: 'HomeRefused', code: 'corrupt', message: file })
  if (process.getuid!() === 0) return
  const other = t.testdir()
  runKeyIn(other).make()
  chmodSync(join(other, 'run-tokens.key'), 0)
  t.throws(() => runKeyIn(other).read(), { name: 'HomeRefused', code: 'not_permitted' })
})

t.test('a key takes the place of a link, and does not go where it leads', async (t) => {
  const home = t.testdir({ elsewhere: '' })
  const file = join(home, 'run-tokens.key')
  symlinkSync(join(home, 'elsewhere'), file)
  const store = runKeyIn(home)
  t.equal(store.read(), undefined)
  const key = store.make()
  t.same(store.read(), key)
  t.equal(statSync(join(home, 'elsewhere')).size, 0)
  t.equal(statSync(file).mode & 0o777, 0o600)
})
