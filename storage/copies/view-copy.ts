/**
 * Copies the view in a process of its own (storage/copies/view-copier.ts). LMDB's copy cannot be interrupted, and a
 * process that ends during one of its own ends by SIGSEGV; one that does nothing else can be killed at any moment.
 */

import { ownProcess } from '../files/own-process.ts'
import { apartIn } from '../home/apart.ts'
import { readingPath } from '../home/home-paths.ts'
import type { OpenView } from '../view/lmdb-view.ts'

const COPIER = new URL('./view-copier.js', import.meta.url)

/**
 * Copies the present view into the existing folder `to`, beside other work. Settles only when nobody writes there any
 * more. Rejects with LMDB's error, and when aborted.
 */
export async function copyView({ path, root }: OpenView, to: string, signal: AbortSignal): Promise<void> {
  // Keeps the present pages from being overwritten.
  const kept = root.useReadTransaction()
  try {
    const apart = apartIn(readingPath(path), path)
    try {
      await ownProcess(COPIER, [apart.folder, to], 'the view was not copied', signal)
    } finally {
      apart.remove()
    }
  } finally {
    kept.done()
  }
}
