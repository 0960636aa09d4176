/**
 * The other side of storage/view-copy.ts, a process of its own: copies the view of one folder into another, and says on standard
 * error what failed. It lives no longer than who began it.
 */
import { openToCopy } from './lmdb-view.ts'

/** Sent to a whole group of processes, as by systemd or a terminal, they are for who began it, and gives it up. */
const FOR_ANOTHER = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP'] as const

for (const signal of FOR_ANOTHER) process.on(signal, () => {})
// An exit would wait for LMDB's copy, or break under it.
const end = () => process.kill(process.pid, 'SIGKILL')
process.stdin.on('end', end).on('error', end).resume()

const [from = '', to = ''] = process.argv.slice(2)
try {
  const view = openToCopy(from)
  await view.backup(to, true)
  await view.close()
  process.exit(0)
} catch (error) {
  process.stderr.write((error as Error).message)
  process.exit(1)
}
