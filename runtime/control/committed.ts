/**
 * What those who hand out, start and steer work read of an entity: they decide on committed state, and one bad record holds up nothing
 * else.
 */
import { JournalFailure } from '../../storage/journal.ts'
import type { ActorRef, Runtime, SnapshotOf } from '../api.ts'

/**
 * Undefined: there is none that can be read, whatever the reason: that is no mistake of theirs (`control-loop.ts`). Throws JournalFailure: then nothing is known, and nothing may be decided upon it.
 */
export function committed(runtime: Pick<Runtime, 'read'>, ref: ActorRef): SnapshotOf<any> | undefined {
  try {
    return runtime.read(ref)
  } catch (error) {
    if (error instanceof JournalFailure) throw error
    return undefined
  }
}
