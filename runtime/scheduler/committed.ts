/** What the scheduler reads of an entity: it decides on committed state, and one bad record holds up nothing else. */
import type { ActorRef, SnapshotOf } from '../../machines/machine.ts'
import type { Runtime } from '../api.ts'

/** Undefined: there is none that can be read. */
export function committed(runtime: Pick<Runtime, 'read'>, ref: ActorRef): SnapshotOf<any> | undefined {
  try {
    return runtime.read(ref)
  } catch {
    return undefined
  }
}
