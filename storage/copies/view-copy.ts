/**
 * The view copied by a process of its own (storage/copies/view-copier.ts). LMDB's copy cannot be broken off once it has begun, and a process
 * that ends under its own ends by SIGSEGV; one that does nothing else can be killed at any moment.
 */

import { ownProcess } from '../files/own-process.ts'
import { apartIn } from '../home/apart.ts'
import { readingPath } from '../home/home-paths.ts'
import type { OpenView } from '../view/lmdb-view.ts'

const COPIER = new URL('./view-copier.js', import.meta.url)

/**
 * Copies the view as it is now into the folder `to`, which is there, beside other work. Settles only when nobody writes there any more.
 * Rejects with what LMDB says, and when it is aborted.
 */
export async function copyView({ path, root }: OpenView, to: string, signal: AbortSignal): Promise<void> {
  // Of what is there from now on nothing is written over.
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
