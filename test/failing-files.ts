/** A file system that fails where a test says so, for whoever calls it in this process. */
import fs, { readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { Test } from 'tap'

type Call = 'openSync' | 'readSync' | 'writeSync' | 'fsyncSync' | 'renameSync' | 'mkdirSync' | 'readdirSync'

/**
 * `fails` gets the path (of a file that is open, the one that it was opened by) and the further arguments, and answers the code of the
 * error, if any. Until the function that is returned is called, and the test is over at the latest.
 */
export function failing(t: Test, call: Call, fails: (path: string, ...rest: any[]) => string | undefined): () => void {
  const real = fs[call] as (...args: any[]) => any
  const syscall = call.slice(0, -'Sync'.length)
  const failed = (first: string | number, ...rest: any[]): unknown => {
    const path = typeof first === 'number' ? readlinkSync(`/proc/self/fd/${first}`) : first
    const code = fails(path, ...rest)
    if (code === undefined) return real(first, ...rest)
    const isNamed = typeof first === 'string'
    const message = `${code}: as the test wants it, ${syscall}${isNamed ? ` '${first}'` : ''}`
    throw Object.assign(new Error(message), { code, syscall, ...(isNamed && { path: first }) })
  }
  const put = (as: unknown): void => {
    Object.assign(fs, { [call]: as })
    syncBuiltinESMExports()
  }
  put(failed)
  const heal = (): void => put(real)
  t.teardown(heal)
  return heal
}
