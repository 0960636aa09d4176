/** Ids and keys of what the service makes, derived from the names that must be unique and from what was asked for. */
import { hash } from 'node:crypto'
import { canonical } from '../machines/canonical.ts'
import { deriveId } from '../machines/derived-id.ts'

export { deriveId, type IdPrefix } from '../machines/derived-id.ts'

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
