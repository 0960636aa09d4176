/**
 * Copies the view in a process of its own (storage/copies/view-copier.ts). LMDB's copy cannot be interrupted, and a
 * process that ends during one of its own ends by SIGSEGV; one that does nothing else can be killed at any moment.
 */

import { runInChild } from '../files/run-in-child.ts'
import { readingPath } from '../home/home-paths.ts'
import { linkedIn } from '../home/separate-reader.ts'
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
    const reader = linkedIn(readingPath(path), path)
    try {
      await runInChild(COPIER, [reader.folder, to], 'the view was not copied', signal)
    } finally {
      reader.remove()
    }
  } finally {
    kept.done()
  }
}
