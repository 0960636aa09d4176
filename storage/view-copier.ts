/** The other side of storage/view-copy.ts, a process of its own: copies the view of one folder into another. */
import { openToCopy } from './lmdb-view.ts'
import { workOfOwn } from './own-process.ts'

await workOfOwn(async ([from = '', to = '']) => {
  const view = openToCopy(from)
  await view.backup(to, true)
  await view.close()
  return ''
})
