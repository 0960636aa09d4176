import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import t from 'tap'
import { verifyHome } from '../../../storage/verify/verify.ts'
import { failing } from '../../failing-files.ts'
import { openIn } from '../open.ts'
import { append, step } from '../steps.ts'

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
  t.same((await verifyHome(home)).findings, [])
})
