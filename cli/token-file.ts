/**
 * A token stored in a file. A file with anything besides the token is refused: its content would be sent to the
 * service.
 */
import { readFileSync } from 'node:fs'
import { isToken } from '../engine/client.ts'
import { MORE_THAN_TOKEN } from '../engine/errors.ts'

interface TokenRead {
  readonly token?: string
  /** Why there is no token, as the end of a sentence. */
  readonly fault?: string
  readonly cause?: unknown
}

/** The token in the file, which must contain nothing else. */
export function readTokenFile(file: string): TokenRead {
  try {
    const token = readFileSync(file, 'utf8').trim()
    if (token === '') return { fault: 'is empty' }
    return isToken(token) ? { token } : { fault: MORE_THAN_TOKEN }
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR'
    return { fault: isAbsent ? 'does not exist' : `cannot be read (${code})`, cause }
  }
}
