/**
 * What those who hand out, start and steer work read of an entity: they decide on committed state, and one bad record holds up nothing
 * else.
 */
import type { ActorRef, Runtime, SnapshotOf } from './api.ts'
import { readable } from './reader.ts'

/** Undefined: there is none that can be read. Throws JournalFailure: then nothing is known, and nothing may be decided upon it. */
export function committed(runtime: Pick<Runtime, 'read'>, ref: ActorRef): SnapshotOf<any> | undefined {
  return readable(() => runtime.read(ref))
}
