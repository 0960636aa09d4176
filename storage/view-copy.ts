/**
 * The view copied by a process of its own (storage/view-copier.ts). LMDB's copy cannot be broken off once it has begun, and a process
 * that ends under its own ends by SIGSEGV; one that does nothing else can be killed at any moment.
 */
import { type StdioOptions, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { apartIn } from './apart.ts'
import { readingPath } from './home-paths.ts'
import type { OpenView } from './lmdb-view.ts'

const COPIER = fileURLToPath(new URL('./view-copier.js', import.meta.url))
/** Of what it says of its failure. */
const WORDS_MAX = 2_000

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
      await copier(apart.folder, to, signal)
    } finally {
      apart.remove()
    }
  } finally {
    kept.done()
  }
}

function copier(from: string, to: string, signal: AbortSignal): Promise<void> {
  // What this process was started with is for itself: a debugger would hold up the copy.
  const { NODE_OPTIONS: _, ...env } = process.env
  return new Promise((resolve, reject) => {
    // Its standard input ends with this process, however that ends, and it with that.
    const stdio: StdioOptions = ['pipe', 'ignore', 'pipe']
    const child = spawn(process.execPath, [COPIER, from, to], { env, stdio, signal, killSignal: 'SIGKILL' })
    let words = ''
    let failure: Error | undefined
    child.on('error', (error) => {
      failure ??= error
      // It has not begun, and has no end.
      if (child.pid === undefined) reject(error)
    })
    child.on('close', (code, by) => {
      const end = words.trim() || `its process ended with ${by ?? code}`
      if (code === 0) resolve()
      else reject(failure ?? new Error(`the view was not copied: ${end}`))
    })
    // Where there are no more files to be had, it has neither.
    child.stdin?.on('error', () => {})
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(0, WORDS_MAX)
    })
  })
}
