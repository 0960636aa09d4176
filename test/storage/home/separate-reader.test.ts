import fs, { readdirSync, readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import t, { type Test } from 'tap'
import { verifyHome } from '../../../storage/verify/verify.ts'
import { failing } from '../../failing-files.ts'
import { openIn } from '../open.ts'
import { append, step } from '../steps.ts'

/** A temporary folder whose files take so many bytes and no more: a write beyond that is made in part, the next fails. */
function fillingUp(t: Test, bytesMax: number): () => void {
  const heal = failing(t, 'writeSync', (path, _bytes, _offset, _length, at) =>
    path.startsWith(tmpdir()) && at >= bytesMax ? 'ENOSPC' : undefined,
  )
  const real = fs.writeSync as (...args: any[]) => number
  const put = (as: unknown): void => {
    Object.assign(fs, { writeSync: as })
    syncBuiltinESMExports()
  }
  put((file: number, bytes: Uint8Array, offset: number, length: number, at: number) => {
    const isFilling = readlinkSync(`/proc/self/fd/${file}`).startsWith(tmpdir()) && at < bytesMax
    return real(file, bytes, offset, isFilling ? Math.min(length, bytesMax - at) : length, at)
  })
  return heal
}

t.test('a full temporary folder is reported by name, not as a fault of the home, and is left empty', async (t) => {
  const home = `${t.testdir({ home: {}, temporary: {} })}/home`
  process.env.TMPDIR = `${t.testdirName}/temporary`
  t.teardown(() => delete process.env.TMPDIR)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1))
  await journal.close()
  const heal = failing(t, 'writeSync', (path) => (path.startsWith(tmpdir()) ? 'ENOSPC' : undefined))
  await t.rejects(verifyHome(home), { name: 'TemporaryFolderFailed', message: /temporary \(ENOSPC.*: set TMPDIR/ })
  t.same(readdirSync(tmpdir()), [])
  heal()
  const full = fillingUp(t, 4_096)
  await t.rejects(verifyHome(home), { name: 'TemporaryFolderFailed' }, 'nor where a part of it fits')
  t.same(readdirSync(tmpdir()), [])
  full()
  t.same((await verifyHome(home)).findings, [])
})
