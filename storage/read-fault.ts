/** Errors that a read of the log may throw without a fault of this program. */
import { CorruptRow } from './checked-text.ts'

const READING: readonly unknown[] = ['open', 'read', 'fstat']
/** Errors that mean the process or the machine has run out of something for the moment. */
const SHORTAGES: readonly unknown[] = ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN']

/** Whether the error is a shortage, which says nothing about the file to be read. */
export function isShortage(error: unknown): boolean {
  return SHORTAGES.includes(((error ?? {}) as NodeJS.ErrnoException).code)
}

/**
 * `damaged`: the bytes are not what was written, or the disk does not return them. `short`: a passing shortage.
 * Undefined: anything else.
 */
export function readFault(error: unknown): 'damaged' | 'short' | undefined {
  if (error instanceof CorruptRow) return 'damaged'
  const { syscall } = (error ?? {}) as NodeJS.ErrnoException
  if (!READING.includes(syscall)) return undefined
  return isShortage(error) ? 'short' : 'damaged'
}
