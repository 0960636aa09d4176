/** By what a runner is let in: hashes of tokens, the newest beside those that a rotation has left a while to live. */

/** How long a rotated credential is still taken. Milliseconds: ten minutes. */
const ROTATION_OVERLAP_MS = 600_000
/** Credentials kept at most: the newest, and those that are about to expire. */
const CREDENTIALS_MAX = 8

export interface RunnerCredential {
  /** Lower-case hex of the token's SHA-256. */
  readonly hash: string
  readonly expires_at?: string
}

interface Rotation {
  readonly hash: string
  readonly at: string
  readonly atMs: number
}

export function rotated(credentials: readonly RunnerCredential[], { hash, at, atMs }: Rotation): RunnerCredential[] {
  const until = new Date(atMs + ROTATION_OVERLAP_MS).toISOString()
  const alive = credentials.filter(({ expires_at }) => expires_at === undefined || expires_at > at)
  const ending = alive.map((old) => ({ hash: old.hash, expires_at: old.expires_at ?? until }))
  return [...ending, { hash }].slice(-CREDENTIALS_MAX)
}
