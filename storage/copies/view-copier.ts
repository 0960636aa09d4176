/** The other side of storage/copies/view-copy.ts, a process of its own: copies the view of one folder into another. */

import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { FILE_MODE } from '../files/modes.ts'
import { workOfOwn } from '../files/own-process.ts'
import { DATA_FILE } from '../home/home-paths.ts'
import { openToCopy } from '../view/lmdb-view.ts'

await workOfOwn(async ([from = '', to = '']) => {
  const view = openToCopy(from)
  await view.backup(to, true)
  await view.close()
  // LMDB makes it for everybody to read.
  chmodSync(join(to, DATA_FILE), FILE_MODE)
  return ''
})
