/**
 * How the dispatcher, scheduler and steward read an entity: they decide on committed state, and one bad record holds up
 * nothing else.
 */
import { JournalFailure } from '../../storage/journal.ts'
import type { ActorRef, Runtime, SnapshotOf } from '../api.ts'

/**
 * Undefined if the entity does not exist or its record cannot be read, which is no fault of the caller
 * (control-loop.ts). Throws JournalFailure: then nothing is known, and nothing may be decided.
 */
export function committed<C = any>(runtime: Pick<Runtime, 'read'>, ref: ActorRef): SnapshotOf<C> | undefined {
  try {
    return runtime.read(ref)
  } catch (error) {
    if (error instanceof JournalFailure) throw error
    return undefined
  }
}
