/** What a read of the log may throw that is no fault of this program. */
import { CorruptRow } from './checked-text.ts'

const READING: readonly unknown[] = ['open', 'read', 'fstat']
/** Of these the process, or the machine, has too many or too much at the moment. */
const SHORTAGES: readonly unknown[] = ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN']

/** It says nothing of what was to be read. */
export function isShortage(error: unknown): boolean {
  return SHORTAGES.includes(((error ?? {}) as NodeJS.ErrnoException).code)
}

/** `damaged`: the bytes are not what was written, or the disk does not give them. `short`: it passes. Undefined: anything else. */
export function readFault(error: unknown): 'damaged' | 'short' | undefined {
  if (error instanceof CorruptRow) return 'damaged'
  const { syscall } = (error ?? {}) as NodeJS.ErrnoException
  if (!READING.includes(syscall)) return undefined
  return isShortage(error) ? 'short' : 'damaged'
}
