/**
 * Ids that derive from what they name: a name that must be unique (a project's key, an idempotency key) is an
 * actor whose id derives from it, so that two creates of one name meet in one mailbox and only one can win.
 */
import { hash } from 'node:crypto'
import { canonical } from '../machines/canonical.ts'

/** Prefixes of the service's ids. */
export type IdPrefix = 'proj' | 'runreq' | 'run' | 'brief' | 'tok' | 'obs' | 'cap' | 'wi'

const HEX_DIGITS = 24

/** `<prefix>_` + first 24 hex digits of SHA-256 over the parts, joined by NUL (which no part may contain). */
export function deriveId(prefix: IdPrefix, ...parts: readonly string[]): string {
  return `${prefix}_${hash('sha256', parts.join('\0'), 'hex').slice(0, HEX_DIGITS)}`
}

export function projectIdOf(key: string): string {
  return deriveId('proj', 'project', key)
}

/** `generation` goes up when an earlier holder of the key is settled and its key has run out. */
export function runRequestIdOf(projectId: string, idempotencyKey: string, generation: number): string {
  return deriveId('runreq', 'run_request', projectId, idempotencyKey, String(generation))
}

/** `sha256:` and the hash of a value's canonical JSON: fingerprints of bodies, digests of results, derived keys. */
export function digestOf(value: unknown): string {
  return `sha256:${hash('sha256', canonical(value), 'hex')}`
}

/** What makes two run requests the same work, where the caller gives no key of its own. */
export interface RunRequestFacts {
  readonly project: string
  readonly repo_revision: string | null
  readonly brief_digest: string | null
  readonly entry_event: string
  readonly payload: object
  readonly throttle: string
  readonly requester: string
}

export function derivedKeyOf(facts: RunRequestFacts): string {
  return digestOf(facts)
}
