/** A runner's credentials: hashes of tokens, the newest and those that a rotation leaves valid for a while. */

/** How long a replaced credential is still accepted. Milliseconds: ten minutes. */
const ROTATION_OVERLAP_MS = 600_000
/** The most credentials kept: the newest, and those about to expire. */
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
