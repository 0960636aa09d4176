/**
 * Bearer tokens: 32 random bytes, shown once; only their SHA-256 is ever stored. The prefix lets a person, or a
 * scanner for leaked secrets, recognize them.
 */
import { randomBytes } from 'node:crypto'
import { hashOfToken } from './principals.ts'

export const TOKEN_PREFIX = 'itd_'
const TOKEN_BYTES = 32

interface Secret {
  readonly token: string
  readonly hash: string
}

/** Not from the injected randomness: a simulation's seed must never lead to a token that lets somebody in. */
export function newSecret(): Secret {
  const token = TOKEN_PREFIX + randomBytes(TOKEN_BYTES).toString('base64url')
  return { token, hash: hashOfToken(token) }
}
