/** What is on disk when a secret was written for its owner. */
import { Buffer } from 'node:buffer'
import fs, { readFileSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { writeOwnerOnly } from '../../../storage/files/flush.ts'

t.test(
  'a secret is written whole where the system takes a part at a time, over an older one and for its owner alone',
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
