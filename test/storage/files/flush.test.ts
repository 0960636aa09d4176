/** What is on disk after a secret was written for its owner, and after names were flushed. */
import { Buffer } from 'node:buffer'
import fs, { readFileSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { flushNamesUpTo, writeOwnerOnly } from '../../../storage/files/flush.ts'
import { failing } from '../../failing-files.ts'

t.test(
  'a secret is written in full, over an older one and readable only by its owner, even when writes are partial',
  (t) => {
    const path = join(t.testdir(), 'token')
    writeFileSync(path, 'an older and a longer one, for all to read\n', { mode: 0o644 })
    const real = fs.writeSync as (...args: any[]) => number
    const partly = (file: number, what: string | Uint8Array, from = 0, length = what.length, at?: number): number =>
      real(file, Buffer.from(what), from, Math.min(length, 3), at)
    t.teardown(() => {
      Object.assign(fs, { writeSync: real })
      syncBuiltinESMExports()
    })
    Object.assign(fs, { writeSync: partly })
    syncBuiltinESMExports()
    writeOwnerOnly(path, 'sécret-token\n')
    t.equal(readFileSync(path, 'utf8'), 'sécret-token\n')
    t.equal(statSync(path).mode & 0o777, 0o600)
    t.end()
  },
)

t.test('names that could not be flushed are not reported as being on disk', async (t) => {
  const folder = t.testdir()
  for (const code of ['EIO', 'ENOSPC']) {
    const heal = failing(t, 'fsyncSync', (path) => (path === folder ? code : undefined))
    t.throws(() => flushNamesUpTo(join(folder, 'made')), { code })
    heal()
  }
  t.doesNotThrow(() => flushNamesUpTo(join(folder, 'made')))
})

t.test('a parent folder that this user may not read ends the flush', async (t) => {
  const folder = t.testdir({ inner: {} })
  const opened: string[] = []
  failing(t, 'openSync', (path) => {
    opened.push(path)
    return path === folder ? 'EACCES' : undefined
  })
  flushNamesUpTo(join(folder, 'inner', 'made'))
  t.same(opened, [join(folder, 'inner'), folder])
})
