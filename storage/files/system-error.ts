/**
 * The operating system's errors by number: Node.js has no name for some (`EDQUOT`, `ESTALE`) and then says only
 * "unknown error", and LMDB gives none.
 */
import { constants } from 'node:os'

const NUMBERS: Readonly<Record<string, number>> = constants.errno
const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(NUMBERS).map(([name, errno]) => [errno, name]))

/** The number of a system call's error, from Node.js or from LMDB; undefined for any other error. */
export function errnoOf(error: Error): number | undefined {
  const { code, errno } = error as { readonly code?: unknown; readonly errno?: unknown }
  if (typeof code === 'number') return code
  const named = typeof code === 'string' ? NUMBERS[code] : undefined
  return named ?? (typeof errno === 'number' ? Math.abs(errno) : undefined)
}

/** The error's message, which names the system's error if Node.js could not. */
export function messageOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  const errno = errnoOf(error)
  // By version of Node.js: UNKNOWN, or "Unknown system error -122".
  if (errno === undefined || typeof code !== 'string' || !/^unknown/i.test(code)) return error.message
  return `${NAMES.get(errno) ?? `error ${errno}`} (${error.message})`
}
