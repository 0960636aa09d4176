/** The other side of storage/copies/view-copy.ts, a process of its own: copies the view of one folder into another. */

import { workOfOwn } from '../files/own-process.ts'
import { openToCopy } from '../view/lmdb-view.ts'

await workOfOwn(async ([from = '', to = '']) => {
  const view = openToCopy(from)
  await view.backup(to, true)
  await view.close()
  return ''
})
