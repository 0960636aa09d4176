/** A token as it lies in a file. What is more than a token is none: it would be sent to whoever is asked. */
import { readFileSync } from 'node:fs'
import { isToken } from '../engine/client.ts'
import { MORE_THAN_TOKEN } from '../engine/errors.ts'

interface TokenRead {
  readonly token?: string
  /** Why there is none, as the end of a sentence. */
  readonly fault?: string
  readonly cause?: unknown
}

/** The token that the file holds, and nothing else. */
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
