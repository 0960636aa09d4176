/** A file system that fails on demand, for any caller in this process. */
import fs, { readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { constants } from 'node:os'
import { getSystemErrorMap } from 'node:util'
import type { Test } from 'tap'

type Call =
  | 'openSync'
  | 'readSync'
  | 'writeSync'
  | 'fsyncSync'
  | 'renameSync'
  | 'mkdirSync'
  | 'readdirSync'
  | 'statSync'

/**
 * Makes `call` fail with the error code that `fails` returns, if any, for a path (of an open file, the one it was
 * opened by) and the further arguments; until the returned function is called, and at most until the end of the test.
 */
export function failing(t: Test, call: Call, fails: (path: string, ...rest: any[]) => string | undefined): () => void {
  const real = fs[call] as (...args: any[]) => any
  const syscall = call.slice(0, -'Sync'.length)
  const failed = (first: string | number, ...rest: any[]): unknown => {
    const path = typeof first === 'number' ? readlinkSync(`/proc/self/fd/${first}`) : first
    const code = fails(path, ...rest)
    if (code === undefined) return real(first, ...rest)
    const isNamed = typeof first === 'string'
    const error = systemError(code, `as the test wants it, ${syscall}${isNamed ? ` '${first}'` : ''}`)
    throw Object.assign(error, { syscall, ...(isNamed && { path: first }) })
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

/** An error as Node.js throws it, which has no name for some of the system's. */
export function systemError(name: string, words: string): NodeJS.ErrnoException {
  const errno = -constants.errno[name as keyof typeof constants.errno]
  const [code] = getSystemErrorMap().get(errno) ?? ['UNKNOWN']
  return Object.assign(new Error(`${code}: ${words}`), { code, errno })
}
