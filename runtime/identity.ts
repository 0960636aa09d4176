/** Ids and keys of what the service makes, derived from the names that must be unique and from what was asked for. */
import { deriveId } from '../machines/derived-id.ts'
import { digestOf } from '../machines/digest.ts'

export { deriveId, type IdPrefix, projectIdOf } from '../machines/derived-id.ts'
export { digestOf } from '../machines/digest.ts'

/** `generation` goes up when an earlier holder of the key is settled and its key has run out. */
export function runRequestIdOf(projectId: string, idempotencyKey: string, generation: number): string {
  return deriveId('runreq', 'run_request', projectId, idempotencyKey, String(generation))
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
