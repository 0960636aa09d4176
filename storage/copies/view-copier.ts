/** The child process of storage/copies/view-copy.ts: copies the view from one folder into another. */

import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { FILE_MODE } from '../files/modes.ts'
import { childMain } from '../files/run-in-child.ts'
import { DATA_FILE } from '../home/home-paths.ts'
import { openToCopy } from '../view/lmdb-view.ts'

await childMain(async ([from = '', to = '']) => {
  const view = openToCopy(from)
  await view.backup(to, true)
  await view.close()
  // LMDB creates the file readable by everybody.
  chmodSync(join(to, DATA_FILE), FILE_MODE)
  return ''
})
