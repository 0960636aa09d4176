/** What a read of the log may throw that is no fault of this program. */
import { CorruptRow } from './checked-text.ts'

const READING: readonly unknown[] = ['open', 'read', 'fstat']
/** Of these the process, or the machine, has too many or too much at the moment. */
const SHORTAGES: readonly unknown[] = ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN']

/** `damaged`: the bytes are not what was written, or the disk does not give them. `short`: it passes. Undefined: anything else. */
export function readFault(error: unknown): 'damaged' | 'short' | undefined {
  if (error instanceof CorruptRow) return 'damaged'
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException
  if (!READING.includes(syscall)) return undefined
  return SHORTAGES.includes(code) ? 'short' : 'damaged'
}
