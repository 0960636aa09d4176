/** Folders that are made with their parents, and places that hold none. */
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeFolder } from '../../../storage/files/make-folder.ts'

t.test('a folder is made with its missing parents, and one that is there is left alone', async (t) => {
  const folder = join(t.testdir({}), 'a', 'b', 'c')
  makeFolder(folder)
  makeFolder(folder)
  t.ok(existsSync(folder))
})

t.test(
  'a place that holds no folders is an error, not an endless try',
  { skip: !existsSync('/proc/self') },
  async (t) => {
    for (const path of ['/proc/home', '/proc/home/log']) t.throws(() => makeFolder(path), { code: 'ENOENT' }, path)
  },
)

t.test('a file in the place of a folder is an error, and so is a link that leads nowhere', async (t) => {
  const folder = t.testdir({ file: '' })
  symlinkSync(join(folder, 'gone', 'away'), join(folder, 'link'))
  for (const path of ['file/b', 'link', 'link/b']) t.throws(() => makeFolder(join(folder, path)), path)
  t.throws(() => makeFolder(join(folder, 'file')), { code: 'EEXIST' })
})
